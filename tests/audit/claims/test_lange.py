"""The claims of Lange et al. (2024), supplement."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.claims.claim import Claim, register_of
from discreet.audit.claims.lange import claims
from discreet.audit.claims.lange.curves import BUDGETS, biases, column, specific, variance
from discreet.audit.claims.lange.rankings import displacements, specially_ordered
from discreet.audit.claims.lange.stages import diagrams, marks_output, separates
from discreet.randomness import public_generator
from tests.audit.claims.covers import check_places, check_verdict, statements

CLAIMS = claims()

PLACES = [
    *(f"Corollary I.0.{n}" for n in range(1, 6)),
    *(f"Definition {n}" for n in ("I.1", "I.2", "II.1")),
    *(f"Lemma {n}" for n in ("I.1", "II.1", "IV.1", "IV.2", "V.3")),
    "Theorem V.1",
    *(f"Algorithm {n}" for n in (3, 4, 7, 8)),
    "Table I",
    *(f"Figure {n}" for n in range(1, 17)),
]
"""Every numbered item of the supplement; what is skipped, as Lemma V.2, is in the main paper alone."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_comes_to_the_verdict_and_can_fail(claim: Claim) -> None:
    check_verdict(claim)
    assert claim.statements
    assert set(claim.statements) <= statements()


def test_every_numbered_item_is_there() -> None:
    check_places(CLAIMS, PLACES)
    assert len(register_of(CLAIMS)) == len(CLAIMS)


def test_displacements_by_hand() -> None:
    assert displacements(2).tolist() == [0, 2, 2, 4, 4, 4]
    assert specially_ordered(2).tolist() == [3, 4, 5]


def test_diagrams_by_hand() -> None:
    assert list(diagrams(2)) == [((), (0,))]
    assert set(diagrams(3)) == {((), (0,), (1,)), ((), (0,), (0, 1))}
    square = ((), (0,), (0,), (1, 2))
    assert separates(square, {1, 2})
    assert not separates(square, {1})
    assert marks_output(square, {1, 2}, 1.0)
    assert not marks_output(square, {1}, 1.0)


@pytest.mark.parametrize("epsilon", BUDGETS[::4])
def test_expected_error_is_the_mean_of_drawn_ones(epsilon: float) -> None:
    asked, points, generator = column("age"), 20, public_generator(1)
    places, grid = np.linspace(*asked.ends, 1_000), np.linspace(*asked.ends, points)
    known = np.unique(asked.values)
    truth = np.interp(places, known, asked.model(known))
    scale = points / (len(asked.values) * 8 / 9 * epsilon)
    noise = generator.laplace(scale=scale, size=(400, points))
    drawn = [np.mean((np.interp(places, grid, asked.model(grid) + z) - truth) ** 2) for z in noise]
    spread = np.std(drawn) / math.sqrt(len(drawn))
    assert specific("age", points, epsilon) == pytest.approx(np.mean(drawn), abs=4 * spread)
    assert variance("age", points, epsilon, 200) > variance("age", points, epsilon, 400) > 0


def test_whole_points_have_no_bias() -> None:
    assert biases("education", 16)[0] < 1e-12 < biases("education", 20)[0]
