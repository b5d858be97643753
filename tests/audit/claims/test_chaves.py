"""The claims of Chaves et al. (2025)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.claims.chaves import claims
from discreet.audit.claims.chaves.earlier import by_distance
from discreet.audit.claims.chaves.errors import laplace_miss
from discreet.audit.claims.chaves.laws import published, winner_chance
from discreet.audit.claims.chaves.percentile import answers, onsets, published_repeats
from discreet.audit.claims.claim import Claim, register_of
from tests.audit.claims.covers import check_places, check_verdict, statements

CLAIMS = claims()

PLACES = [
    *(f"Lemma {n}" for n in ("2.3", "4.7")),
    *(f"Definition 2.{n}" for n in (1, 2, 4, 5, 6, 7, 9)),
    *(
        f"Definition {n}"
        for n in ("3.1", "3.2", "3.4", "3.5", "4.1", "4.9", "5.1", "6.1", "6.2", "7.1")
    ),
    *(f"Corollary {n}" for n in ("2.8", "4.3", "4.4", "4.5", "4.6", "4.11")),
    *(f"Theorem {n}" for n in ("3.3", "4.2", "4.8", "4.10", "7.2", "7.3")),
    *(f"Proposition {n}" for n in ("5.2", "5.3", "5.4", "6.3", "6.4")),
    *(f"Algorithm {n}" for n in range(1, 5)),
    *(f"Figure {n}" for n in range(1, 6)),
]
"""Every numbered item of the paper."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_comes_to_the_verdict_and_can_fail(claim: Claim) -> None:
    check_verdict(claim)
    assert claim.statements
    assert set(claim.statements) <= statements()


def test_every_numbered_item_is_there() -> None:
    check_places(CLAIMS, PLACES)


def test_numbering_has_no_gap() -> None:
    for section, last in {2: 9, 3: 5, 4: 11, 5: 4, 6: 4, 7: 3}.items():
        found = {place.split()[1] for place in PLACES if f" {section}." in place}
        assert found == {f"{section}.{i}" for i in range(1, last + 1)}


def test_ids_are_unique_and_figures_finite() -> None:
    assert len(register_of(CLAIMS)) == len(CLAIMS)
    cheap = [claim for claim in CLAIMS if claim.id.startswith("chaves-2025-definition")]
    assert all(math.isfinite(f) for claim in cheap for f in claim.run().figures.values())


def test_two_laplace_noises_differ_as_the_closed_form_says() -> None:
    x = np.linspace(0.5, 15, 30)
    assert laplace_miss(2, x) == pytest.approx(np.exp(-x) * (2 + x) / 4, rel=1e-9)


def test_published_calibrations() -> None:
    assert published("student-t", 1.0) == pytest.approx((math.sqrt(3) / 4, 1 / 8))
    assert published("laplace", 1.0) == pytest.approx((0.5, 1 / (2 * math.log(2e6))))
    assert winner_chance("student-t", 2, 0.1, 20) == pytest.approx(0.506, abs=5e-4)
    with_epsilon = winner_chance("student-t", 2, 0.1, 20, beta=0.1)
    assert with_epsilon == pytest.approx(winner_chance("student-t", 2, 0.1, 160), rel=1e-12)


def test_onset_of_a_median_by_hand() -> None:
    # One record, then 0 0 0 1 1, then 1 1 1: edits that change the median, less one.
    tables = np.array([[0, 1, 0], [3, 2, 0], [0, 3, 0]])
    assert answers(tables).tolist() == [1, 0, 1]
    assert published_repeats(tables).tolist() == [0, 0, 1]
    assert onsets(tables).tolist() == [0, 0, 2]


def test_four_tables_in_a_row_have_the_smooth_sensitivities_that_are_used() -> None:
    # Moves 1, 0 and exp(2 beta) between x, y, w and v: local sensitivities of each, then smooth ones.
    beta = 0.3
    last = math.exp(2 * beta)
    smooth = by_distance(np.array([1.0, 1.0, last, last]), beta, np.full(4, math.inf))
    assert smooth == pytest.approx([1.0, math.exp(beta), last, last])
