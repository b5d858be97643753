"""Counts for ranges: least squares over a tree in closed form, errors as stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.mechanisms import count_noise
from discreet.plans import Setting
from discreet.plans.results.range_histogram import (
    RangeHistogram,
    RangeTree,
    band_factor,
    range_half_width,
)
from discreet.plans.stages.ranges import candidate_trees
from discreet.privacy.certificate import certify_cells

SCHEMA = dc.Schema(
    {
        "mass": dc.Number(0, 1, missing=False),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
    }
)


def some_rows(rows: int = 3_000) -> pd.DataFrame:
    draw = np.random.default_rng(2)
    return pd.DataFrame({"mass": draw.beta(2, 4, rows), "kind": draw.choice(list("abc"), rows)})


def block_matrix(tree: RangeTree) -> np.ndarray:
    """Return which cells every block adds up."""
    cells = np.arange(tree.cells)
    return np.vstack(
        [
            cells // width == place
            for width, size in zip(tree.widths, tree.sizes, strict=True)
            for place in range(size)
        ]
    ).astype(float)


def dense_solution(tree: RangeTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix from noisy blocks to cells (about the total's share) and its covariance."""
    blocks = block_matrix(tree)
    if not tree.known_total:
        solution = np.linalg.pinv(blocks)
        return solution, solution @ solution.T
    # Cells that add up to zero: the known total is taken off.
    free = np.linalg.svd(np.ones((1, tree.cells)))[2][1:].T
    solution = free @ np.linalg.pinv(blocks @ free)
    return solution, solution @ solution.T


TREES = [
    RangeTree(8, (4, 2, 1), True),
    RangeTree(8, (4, 2, 1), False),
    RangeTree(9, (3, 1), True),
    RangeTree(12, (6, 2, 1), False),
    RangeTree(5, (1,), True),
]


def all_ranges(cells: int) -> np.ndarray:
    return np.array([(a, b) for a in range(cells) for b in range(a + 1, cells + 1)])


@pytest.mark.proves("range-tree")
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_closed_forms_are_least_squares(tree: RangeTree) -> None:
    solution, covariance = dense_solution(tree)
    noisy = np.random.default_rng(0).normal(10, 3, sum(tree.sizes))
    total = 77.0 if tree.known_total else None
    share = (total or 0.0) / tree.cells
    exact = share + solution @ (noisy - block_matrix(tree) @ np.full(tree.cells, share))
    assert np.allclose(tree.estimate(noisy, total), exact)
    ranges = all_ranges(tree.cells)
    inside = (np.arange(tree.cells) >= ranges[:, :1]) & (np.arange(tree.cells) < ranges[:, 1:])
    variances = np.einsum("ri,ij,rj->r", inside, covariance, inside)
    assert np.allclose(tree.variance(ranges[:, 0], ranges[:, 1]), variances)


@pytest.mark.refutes("range-tree")
def test_without_least_squares_wide_ranges_are_worse() -> None:
    tree = RangeTree(64, (16, 4, 1), True)
    ranges = all_ranges(64)
    cells_alone = (ranges[:, 1] - ranges[:, 0]).astype(float)
    stated = tree.variance(ranges[:, 0], ranges[:, 1])
    assert np.max(cells_alone / np.maximum(stated, 1e-9)) > 5
    # And the plain sum of the levels' own cells does not have the stated variance.
    noise = np.random.default_rng(0).normal(size=(4_000, sum(tree.sizes)))
    leaves = noise[:, -64:]
    assert leaves[:, 3:40].sum(axis=1).var() > 3 * tree.variance(np.array([3]), np.array([40]))[0]


@pytest.mark.parametrize("cells", [1, 2, 7, 100, 1_000])
def test_padding_keeps_estimates_unbiased_and_variances_safe(cells: int) -> None:
    for tree in candidate_trees(cells, True):
        counts = np.random.default_rng(1).integers(0, 50, cells)
        blocks = np.concatenate(
            [np.add.reduceat(counts, np.arange(0, cells, width)) for width in tree.widths]
        ).astype(float)
        assert np.allclose(tree.estimate(blocks, float(counts.sum())), counts)
        if cells <= 100:
            ranges = all_ranges(cells)[:300]
            inside = np.arange(cells) >= ranges[:, :1]
            inside &= np.arange(cells) < ranges[:, 1:]
            noise = np.eye(sum(tree.sizes))
            columns = np.stack([tree.estimate(row, 0.0) for row in noise], axis=1)
            true = ((inside @ columns) ** 2).sum(axis=1)
            assert np.all(true <= tree.variance(ranges[:, 0], ranges[:, 1]) + 1e-9)


def answers(plan: Any, relation: str = "replace-one", draws: int = 300) -> list[RangeHistogram]:
    frame = some_rows()
    rows = len(frame) if relation == "replace-one" else None
    program = plan.prepare(Setting(SCHEMA, relation, rows))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)
    return [program.finish(releaser) for _ in range(draws)]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_ranges_are_within_their_bands(relation: str, delta: float) -> None:
    mechanism = "gaussian" if delta else "auto"
    plan = dc.histogram("mass", bins=256, ranges=True, epsilon=0.5, delta=delta, mechanism=mechanism)
    values = answers(plan, relation)
    exact = np.histogram(some_rows()["mass"], 256, (0, 1))[0]
    for low, high in [(0, 255), (10, 90), (77, 77), (0, 200)]:
        ranges = [v.range(low / 256 + 1e-3, high / 256 + 1e-3) for v in values]
        errors = np.array([r.value for r in ranges]) - exact[low : high + 1].sum()
        assert np.mean(np.abs(errors) <= ranges[0].half_width + 1e-6) > 0.915
        assert np.sqrt(np.mean(errors**2)) <= 1.15 * ranges[0].noise_std + 1e-6
    if relation == "replace-one":
        assert values[0].range(0, 1).value == pytest.approx(3_000)


def test_many_cells_get_a_tree_and_few_do_not() -> None:
    few, many = (dc.histogram("mass", bins=bins, ranges=True, epsilon=0.5) for bins in (8, 4_096))
    setting = Setting(SCHEMA, "replace-one", 3_000)
    assert few.prepare(setting).stages[0].name == "counts"
    assert many.prepare(setting).stages[0].name == "blocks"
    plain = dc.histogram("mass", bins=4_096, epsilon=0.5).prepare(setting)
    # An average range has a third of the cells; a tree beats the sum of so many noisy counts.
    summed = plain.expected_error["count"].error * np.sqrt(4_096 / 6)
    assert many.prepare(setting).expected_error["count of a range"].error < summed / 2


def test_ranges_of_categories_and_refusals() -> None:
    session = dc.protect(some_rows(), SCHEMA, dataset="d", epsilon=99, ledger=":memory:", seed=0)
    value = session.release(dc.histogram("kind", ranges=True, epsilon=50.0)).value
    assert value.range("a", "c").value == pytest.approx(3_000)
    assert value.range("b", "b").name == "records with kind in b"
    for low, high, sentence in [("c", "a", "high must not be below"), ("z", "c", "low must lie in")]:
        with pytest.raises(ArgumentError, match=sentence):
            value.range(low, high)
    with pytest.raises(ArgumentError, match="ranges must be of one column"):
        dc.histogram(["kind", "mass"], ranges=True, epsilon=1.0)
    with pytest.raises(ArgumentError, match="bins must be at most 65536"):
        session.price(dc.histogram("mass", bins=70_000, ranges=True, epsilon=1.0))
    with pytest.raises(ArgumentError, match="low must lie in the cells"):
        session.release(dc.histogram("mass", ranges=True, epsilon=1.0)).value.range(-1, 1)


def test_a_range_histogram_can_be_read_back() -> None:
    session = dc.protect(some_rows(), SCHEMA, dataset="d", epsilon=9, ledger=":memory:", seed=0)
    release = session.release(dc.histogram("mass", bins=512, ranges=True, epsilon=1.0))
    back = dc.Release.loads(release.dumps()).value
    assert back == release.value and back.range(0.2, 0.4) == release.value.range(0.2, 0.4)


@pytest.mark.proves("range-tree")
@pytest.mark.parametrize(
    ("relation", "epsilon", "delta"),
    [("add-remove", 2.4, 0.0), ("replace-one", 4.76, 0.0), ("add-remove", 8.0, 1e-3)],
)
def test_bands_of_whole_noise_are_exact_quantiles(relation: str, epsilon: float, delta: float) -> None:
    mechanism = "gaussian" if delta else "laplace"
    plan = dc.histogram("mass", bins=8, ranges=True, epsilon=epsilon, delta=delta, mechanism=mechanism)
    values = answers(plan, relation, 400)
    assert values[0].widths == (1,)
    exact = np.histogram(some_rows()["mass"], 8, (0, 1))[0]
    cells = np.abs(np.array([v.counts for v in values]) - exact) <= values[0].half_width
    assert cells.mean(axis=0).min() > 0.92
    for low, high in [(0, 2), (1, 6), (0, 7)]:
        ranges = [v.range(low / 8 + 1e-3, high / 8 + 1e-3) for v in values]
        errors = np.array([r.value for r in ranges]) - exact[low : high + 1].sum()
        assert np.mean(np.abs(errors) <= ranges[0].half_width) > 0.92


@pytest.mark.refutes("range-tree")
def test_a_density_in_the_place_of_whole_noise_misses() -> None:
    tree = RangeTree(8, (1,), False)
    noise = count_noise(certify_cells(8), relation="add-remove", epsilon=2.4)
    smooth = noise.std * band_factor(0.95, normal=False)
    exact = range_half_width(tree, 0, 1, block_std=noise.std, normal=False, level=0.95)
    offsets = np.arange(-50, 51)
    law = noise.probabilities(offsets)
    assert law[np.abs(offsets) <= smooth].sum() < 0.92 < 0.95 <= law[np.abs(offsets) <= exact].sum()
    assert exact == pytest.approx(noise.half_width(0.95))
