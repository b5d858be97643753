"""Areas of exact tables are those of their records, whatever the bins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from discreet.evaluation.binary.areas import _likely_precision, average_precision, roc_area
from discreet.evaluation.binary.noise import CellNoise
from discreet.evaluation.binary.tallies import Tally
from discreet.evaluation.bins import SplitBins

DRAW = np.random.default_rng(2)
SCORE = DRAW.beta(1.2, 2.0, 40_000)
TRUTH = (DRAW.random(40_000) < SCORE).astype(int)


def tally(bins: SplitBins) -> Tally:
    first, second = bins.share(SCORE)
    cells = np.zeros((2, bins.size))
    np.add.at(cells, (TRUTH, first), 1 - second)
    np.add.at(cells, (TRUTH, first + 1), second)
    return Tally(bins, cells, CellNoise(1e-6, False), 1, 0.95)


@pytest.mark.parametrize(("shared", "near"), [(False, 0.001), (True, 0.004)])
def test_few_bins_tell_the_area_of_pairs(shared: bool, near: float) -> None:
    found = roc_area(tally(SplitBins(tuple(np.linspace(0, 1, 9).tolist()), shared)))
    exact = roc_auc_score(TRUTH, SCORE)
    assert found.value == pytest.approx(exact, abs=near)
    assert found.value - found.binning <= exact <= found.value + found.binning


@pytest.mark.parametrize("shared", [False, True])
def test_average_precision_is_inside_what_bins_leave_open(shared: bool) -> None:
    exact = average_precision_score(TRUTH, SCORE)
    for count, near in ((8, 0.03), (40, 0.005)):
        knots = tuple(np.linspace(0, 1, count + 1).tolist())
        found = average_precision(tally(SplitBins(knots, shared)))
        assert found.value == pytest.approx(exact, abs=near)
        assert found.value - found.binning <= exact <= found.value + found.binning


def test_slopes_of_average_precision_are_its_differences() -> None:
    others, ours = DRAW.uniform(1, 50, 12), DRAW.uniform(1, 50, 12)
    _, slopes = _likely_precision(others, ours)
    for row in (0, 1):
        for place in range(12):
            ends = []
            for sign in (-1, 1):
                moved = np.stack([others, ours])
                moved[row, place] += sign * 1e-4
                ends.append(_likely_precision(*moved)[0])
            assert (ends[1] - ends[0]) / 2e-4 == pytest.approx(slopes[row, place], rel=1e-5, abs=1e-9)


def test_a_class_that_nobody_may_have_has_any_average_precision() -> None:
    bins = SplitBins((0.0, 0.5, 1.0), False)
    cells = np.array([[40.0, 50.0, 60.0, 40.0], [1.0, 0.0, 0.0, 2.0]])
    found = average_precision(Tally(bins, cells, CellNoise(5.0, False), 1, 0.95))
    assert (found.low, found.high) == (0.0, 1.0)
