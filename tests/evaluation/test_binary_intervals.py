"""Intervals of figures hold the truth of the population as often as they say.

Tables are drawn from a known law, with noise; 95 % intervals fall below .91 of 300 draws with a
probability below one in a thousand, and draws are seeded.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import discreet as dc
from discreet.evaluation.binary.noise import CellNoise
from discreet.evaluation.binary.tallies import above
from discreet.evaluation.bins import SplitBins
from discreet.evaluation.figures import FAR, Figure, difference, ratio, ratio_figure

DRAWS, LEAST = 300, 0.91
KINDS = ("plain", "anchored", "overall", "hats")
CASES = {"many": (4_000, 1.0, 20), "few": (400, 0.5, 10)}
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate", "precision", "accuracy", "f1")
SCORES = ("auc", "average_precision", "brier", "log_loss", "mean_score", "calibration_error")


def draw(rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return groups, scores and outcomes: the second group has the class more often."""
    group = (generator.random(rows) < 0.4).astype(int)
    score = generator.beta(1.2, 2.0, rows)
    truth = generator.random(rows) < np.clip(score + 0.08 * group, 0, 1)
    return group, score, truth.astype(int)


def exact(group: np.ndarray, score: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    selected, clipped = score >= 0.5, score.clip(0.01, 0.99)
    rates = [selected[(group == g) & (truth == 1)].mean() for g in (0, 1)]
    found = {
        "selection_rate": selected.mean(),
        "true_positive_rate": selected[truth == 1].mean(),
        "false_positive_rate": selected[truth == 0].mean(),
        "precision": truth[selected].mean(),
        "accuracy": (selected == truth).mean(),
        "f1": 2 * (selected & (truth == 1)).sum() / (selected.sum() + truth.sum()),
        "auc": roc_auc_score(truth, score),
        "average_precision": average_precision_score(truth, score),
        "brier": ((score - truth) ** 2).mean(),
        "log_loss": -np.where(truth == 1, np.log(clipped), np.log(1 - clipped)).mean(),
        "mean_score": score.mean(),
        "equal_opportunity_difference": abs(rates[0] - rates[1]),
    }
    bins = np.minimum((score * 10).astype(int), 9)
    missed = np.bincount(bins, truth - score, 10)
    return {**found, "calibration_error": np.abs(missed).sum() / len(score)}


@cache
def population() -> dict[str, float]:
    return exact(*draw(1_000_000, np.random.default_rng(1)))


@cache
def evaluations(case: str, kind: str) -> tuple[dc.BinaryEvaluation, ...]:
    rows, epsilon, count = CASES[case]
    """Return tables with noise; anchored ones have sums, overall ones all records' cells beside."""
    shared, each = kind == "hats", epsilon * {"anchored": 0.5, "overall": 0.25}.get(kind, 1.0)
    knots = tuple(np.linspace(0, 1, count + 1).tolist())
    bins, generator = SplitBins(knots, shared), np.random.default_rng(7)
    made = []
    for _ in range(DRAWS):
        group, score, truth = draw(rows, generator)
        first, second = bins.share(score)
        cells = np.zeros((2, 2, bins.size))
        np.add.at(cells, (group, truth, first), 1 - second)
        np.add.at(cells, (group, truth, first + 1), second)
        above = np.asarray(bins.spans[0]) >= 0.5
        sums = np.stack([cells[..., ~above].sum(axis=-1), cells[..., above].sum(axis=-1)], axis=-1)
        anchors = (sums + generator.laplace(0, 4 / epsilon, sums.shape)).ravel().tolist()
        whole = cells.sum(axis=0)
        overall = (whole + generator.laplace(0, 2 / each, whole.shape)).ravel().tolist()
        cells += generator.laplace(0, 2 / each, cells.shape)
        value = evaluation(knots, shared, cells, each, rows)
        if each < epsilon:
            value = replace(value, anchors=tuple(anchors), anchor_std=4 / epsilon * 2**0.5)
        if kind == "overall":
            value = replace(value, overall=tuple(overall), overall_std=value.noise_std)
        assert value.fits_together()
        made.append(value)
    return tuple(made)


def evaluation(
    knots: tuple[float, ...], shared: bool, cells: np.ndarray, epsilon: float, rows: int | None
) -> dc.BinaryEvaluation:
    return dc.BinaryEvaluation(
        columns=("g",),
        groups=(("a",), ("b",)),
        knots=knots,
        shared=shared,
        counts=tuple(cells.ravel().tolist()),
        noise_std=2 / epsilon * 2**0.5,
        half_width=6 / epsilon,
        mechanism="laplace",
        rows=rows,
        output="probability",
        target="y",
        level=0.95,
    )


def held(figures: list[Figure], truth: float) -> float:
    assert all(np.isfinite([f.value, f.low, f.high]).all() for f in figures)
    return float(np.mean([f.low <= truth <= f.high for f in figures]))


@pytest.mark.once_per("name")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [*RATES, *SCORES])
def test_intervals_hold_the_population(name: str, case: str, kind: str) -> None:
    figures = [value.metric(name) for value in evaluations(case, kind)]
    assert held(figures, population()[name]) >= LEAST


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_differences_hold_the_population(case: str) -> None:
    name = "equal_opportunity_difference"
    figures = [value.equal_opportunity_difference() for value in evaluations(case, "plain")]
    assert held(figures, population()[name]) >= LEAST


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_groups_hold_the_population_with_sums_beside_cells(case: str) -> None:
    name = "equal_opportunity_difference"
    figures = [value.equal_opportunity_difference() for value in evaluations(case, "anchored")]
    assert held(figures, population()[name]) >= LEAST


def test_sums_beside_cells_make_rates_better() -> None:
    truth, errors = population()["true_positive_rate"], {}
    for kind in ("plain", "anchored"):
        told = [value.metric("true_positive_rate") for value in evaluations("few", kind)]
        errors[kind] = np.mean([abs(figure.value - truth) for figure in told])
        assert np.mean([figure.noise for figure in told]) > errors[kind]
    assert errors["anchored"] < 0.8 * errors["plain"]


def test_sums_beside_cells_that_promise_too_much_are_caught() -> None:
    sure = [replace(value, anchor_std=1e-3) for value in evaluations("few", "anchored")]
    told = [value.metric("selection_rate") for value in sure]
    assert held(told, population()["selection_rate"]) < LEAST


def test_cells_of_all_records_that_promise_too_much_are_caught() -> None:
    sure = [replace(value, overall_std=1e-3) for value in evaluations("few", "overall")]
    assert held([value.auc for value in sure], population()["auc"]) < LEAST


def test_cells_of_all_records_are_weighed_by_their_noise() -> None:
    """Of equal noise, the cells of four groups together count a fifth of those told by themselves."""
    noise = CellNoise(2.0, False, (False, True), math.inf)
    added, overall = np.array([[10.0, 0.0]] * 2), np.array([[0.0, 5.0]] * 2)
    cells, all_ = noise.over(4, added, np.zeros((2, 2)), overall, 2.0)
    assert cells == pytest.approx(np.array([[2.0, 4.0]] * 2))
    assert all_.std == pytest.approx(math.sqrt(0.8) * 2.0) and all_.anchor_std == math.inf


@pytest.mark.parametrize(("case", "part"), [("many", "noise"), ("few", "sampling")])
def test_intervals_of_one_part_alone_would_be_too_narrow(case: str, part: str) -> None:
    figures = [value.metric("true_positive_rate") for value in evaluations(case, "plain")]
    alone = [
        replace(f, low=f.value - getattr(f, part), high=f.value + getattr(f, part)) for f in figures
    ]
    assert held(alone, population()["true_positive_rate"]) < 0.85


def test_what_is_between_two_knots_is_inside_its_bounds() -> None:
    generator = np.random.default_rng(3)
    for shared in (False, True):
        bins = SplitBins((0.0, 0.2, 0.6, 1.0), shared)
        score = generator.random(2_000)
        first, second = bins.share(score)
        cells = np.bincount(first, 1 - second, bins.size) + np.bincount(first + 1, second, bins.size)
        for threshold in (0.0, 0.1, 0.2, 0.45, 0.6, 0.99, 1.0):
            part, count = above(bins, threshold), (score >= threshold).sum()
            assert part.least @ cells - 1e-9 <= count <= part.most @ cells + 1e-9
            assert part.likely @ cells == pytest.approx(count, abs=0.05 * len(score))


def test_quantiles_of_noise_are_those_of_its_law() -> None:
    assert CellNoise(1.0, True).quantile(0.95) == pytest.approx(1.96, abs=1e-3)
    draws = np.abs(np.random.default_rng(0).laplace(0, 2**-0.5, 200_000))
    found = CellNoise(1.0, False).quantile(0.95)
    assert found == pytest.approx(np.quantile(draws, 0.95), rel=0.02)


def test_a_ratio_of_what_may_be_nothing_leaves_the_whole_range() -> None:
    figure = ratio_figure(1.0, 2.0, noise=(4.0, 4.0, 8.0), sampling=lambda r: 0.0, z=2.0)
    assert (figure.low, figure.high) == (0.0, 1.0)
    sure = ratio_figure(30.0, 100.0, noise=(0.0, 0.0, 0.0), sampling=lambda r: 100 * r * (1 - r), z=2.0)
    wilson = (0.2189, 0.3958)
    assert (sure.low, sure.high) == pytest.approx(wilson, abs=2e-4)


def test_differences_and_ratios_add_up_distances_as_squares() -> None:
    first = Figure(0.6, 0.5, 0.7, 0.1, 0.0, 0.0)
    second = Figure(0.3, 0.3, 0.3, 0.0, 0.0, 0.0)
    apart, over = difference(first, second), ratio(first, second)
    assert (apart.low, apart.high) == pytest.approx((0.2, 0.4))
    assert (over.low, over.value, over.high) == pytest.approx((5 / 3, 2.0, 7 / 3))
    none = Figure(0.0, 0.0, 0.2, 0.2, 0.0, 0.0)
    assert ratio(first, none).high == FAR and ratio(none, first).low == 0.0
    binned = replace(first, binning=0.1)
    assert difference(binned, second).high == pytest.approx(0.4)


def test_shown_counts_are_not_negative_and_their_sums_are_no_farther() -> None:
    value = evaluations("few", False)[0]
    tally = value.tally("a")
    assert (tally.counts >= 0).all()
    assert tally.counts.sum() == pytest.approx(tally.cells.sum(), rel=0.2)
