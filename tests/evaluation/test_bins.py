from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, probed
from discreet.data.contributions import VectorContribution
from discreet.evaluation.bins import SplitBins, shares_contribution
from discreet.plans import Setting
from discreet.plans.stages.sums import sum_terms
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import FloatArray, Number, Schema

KNOTS = (0.0, 0.25, 0.5, 1.0)
SCORES = (0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0)
PARTS = (-1, 0, 1)
SCHEMA = Schema({"s": Number(0, 1), "g": Number(-1, 1)})


def made(bins: SplitBins, code: ThirdParty | None = None) -> VectorContribution:
    model: Any = SimpleNamespace(third_party=code)
    return shares_contribution(
        ("s", "g"),
        bins,
        2,
        answers=lambda block: block["s"],
        part=lambda block: block["g"].astype(np.int64),
        model=model,
    )


def block(scores: Any, parts: Any) -> Block:
    return Block(0, ("s", "g"), np.column_stack([scores, parts]).astype(float))


def records(contribution: VectorContribution) -> FloatArray:
    rows = np.array(list(itertools.product(SCORES, PARTS)))
    return contribution.compute(block(rows[:, 0], rows[:, 1]))


def within(certificate: Certificate, vectors: FloatArray) -> bool:
    pairs = vectors[:, None, :] - vectors[None, :, :]
    for relation, moved in ((REPLACE_ONE, pairs), (ADD_REMOVE, vectors[None])):
        for norm, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
            worst = np.linalg.norm(moved, ord=order, axis=2).max()
            if worst > certificate.sensitivity(norm, relation):  # type: ignore[arg-type]
                return False
    return True


@pytest.mark.proves("score-bins")
@pytest.mark.parametrize("shared", [False, True])
def test_no_two_records_are_farther_apart_than_certified_and_some_are_as_far(shared: bool) -> None:
    contribution = made(SplitBins(KNOTS, shared))
    vectors, certificate = records(contribution), contribution.certificate
    assert within(certificate, vectors)
    pairs = np.abs(vectors[:, None, :] - vectors[None, :, :])
    assert pairs.sum(axis=2).max() == pytest.approx(certificate.sensitivity("l1", REPLACE_ONE))
    assert certificate.sensitivity("l2", REPLACE_ONE) == pytest.approx(np.sqrt(2))


@pytest.mark.refutes("score-bins")
def test_one_cell_under_replace_one_would_be_caught() -> None:
    contribution = made(SplitBins(KNOTS, False))
    bounds = dict(contribution.certificate.bounds)
    false = replace(contribution.certificate, bounds={**bounds, REPLACE_ONE: bounds[ADD_REMOVE]})
    assert not within(false, records(contribution))


def batch_moves(bins: SplitBins, error: float, seed: int) -> tuple[float, float]:
    """Return how far a batch moves all cells, and one, if every answer moves by the batch error."""
    draw = np.random.default_rng(seed)
    scores = draw.choice([*KNOTS[1:-1], 0.1, 0.4, 0.9], BLOCK_ROWS)
    moved = scores + error * draw.choice([-1.0, 1.0], BLOCK_ROWS)
    contribution, parts = made(bins), np.zeros(BLOCK_ROWS)
    first, second = (contribution.compute(block(s, parts)).sum(axis=0) for s in (scores, moved))
    return float(np.abs(first - second).sum()), float(np.abs(first - second).max())


def paid(bins: SplitBins, error: float) -> tuple[float, float]:
    """Return how far beyond one record the certificate lets all cells move, and one."""
    setting = Setting(SCHEMA, REPLACE_ONE, BLOCK_ROWS)
    own = made(bins).certificate
    code = ThirdParty.of(probed(error, 9))
    certificate, _ = sum_terms(made(bins, code), setting, statement="score-bins")
    assert certificate.grade == "probed"
    each = (
        certificate.bounds[REPLACE_ONE].l1 - own.bounds[REPLACE_ONE].l1,
        certificate.bounds[REPLACE_ONE].linf - own.bounds[REPLACE_ONE].linf,
    )
    return each


@pytest.mark.proves("score-bins")
@pytest.mark.parametrize("error", [2.0**-40, 2.0**-20])
def test_hats_move_no_farther_than_paid_whatever_the_batch_does(error: float) -> None:
    bins = SplitBins(KNOTS, True)
    together, each = paid(bins, error)
    for seed in range(5):
        moved, one = batch_moves(bins, error, seed)
        assert moved <= together * (1 + 1e-6) + 1e-9 and one <= each * (1 + 1e-6) + 1e-9
    assert together == pytest.approx(2 * each)


@pytest.mark.refutes("score-bins")
def test_cells_of_their_own_for_an_opaque_model_would_be_caught() -> None:
    """At a knot the last bit of an answer moves a whole count."""
    bins = SplitBins(KNOTS, False)
    together, _ = paid(bins, 2.0**-40)
    assert batch_moves(bins, 2.0**-40, 0)[0] > 1_000 * together
    assert batch_moves(SplitBins(KNOTS, True), 2.0**-40, 0)[0] <= together + 1e-9


@pytest.mark.parametrize("shared", [False, True])
def test_cells_keep_the_sum_of_scores_and_the_number_of_records(shared: bool) -> None:
    bins = SplitBins(KNOTS, shared)
    scores = np.random.default_rng(3).random(500)
    cells = made(bins).compute(block(scores, np.zeros(500))).sum(axis=0)[: bins.size]
    assert cells.sum() == pytest.approx(500) and cells @ bins.centres == pytest.approx(scores.sum())


def test_a_score_at_a_knot_is_in_the_bin_above_and_the_last_in_the_last() -> None:
    bins = SplitBins(KNOTS, False)
    first, second = bins.share(np.array([0.25, np.nextafter(0.25, 0), 1.0, 7.0, -3.0]))
    assert first.tolist() == [2, 0, 4, 4, 0]
    assert second.tolist() == pytest.approx([0.0, 1.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("shared", [False, True])
def test_pairs_add_up_to_the_integers_of_vectors(shared: bool) -> None:
    from discreet.data.engine import Summand, sum_block

    draw = np.random.default_rng(4)
    rows = block(draw.random(3_000), draw.integers(-1, 2, 3_000))
    fast = made(SplitBins(KNOTS, shared))
    slow = replace(fast, pairs=None)
    one, other = (sum_block(rows, [Summand(each, 2.0**-40)])[0] for each in (fast, slow))
    assert one.tolist() == other.tolist() and one.sum() > 0


def test_pairs_of_parts_add_up_to_those_of_their_vectors() -> None:
    from discreet.data.contributions import GroupedContribution
    from discreet.data.engine import Summand, sum_block

    draw = np.random.default_rng(6)
    rows = block(draw.random(2_000), draw.integers(-1, 2, 2_000))
    sums = []
    for each in (made(SplitBins(KNOTS, False)), replace(made(SplitBins(KNOTS, False)), pairs=None)):
        place = GroupedContribution(each, 3, ("s",), lambda b: (b["s"] * 4).astype(np.int64) - 1)
        sums.append(sum_block(rows, [Summand(place, 2.0**-30)])[0].tolist())
    assert sums[0] == sums[1]
