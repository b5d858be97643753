"""Trees over a whole grid: the ensemble's own answers, ties and gaps included, row by row."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeRegressor

import discreet as dc
from discreet.engines.curves import TreeGrid, _GridMasks, _GridWalk, cells_of
from discreet.errors import ModelError
from discreet.explain.pdp.knots import missed_by_lines, shortest_path
from discreet.models import TreeEnsemble, tree_ensemble
from discreet.plans import Setting

ESTIMATORS: dict[str, Any] = {
    "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=30, max_depth=3, random_state=0),
    "deep forest": RandomForestClassifier(5, random_state=0),
    "float64 thresholds": HistGradientBoostingRegressor(max_iter=20, max_depth=4),
}


@cache
def table() -> np.ndarray:
    rows = np.random.default_rng(0).normal(size=(700, 5))
    rows[::2] = rows[::2].round(1)  # ties
    return np.asfortranarray(rows)


@cache
def trees_of(name: str) -> TreeEnsemble:
    rows = table()
    score = rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) + 0.3 * rows[:, 3]
    if name == "float64 thresholds":
        fitted, output = ESTIMATORS[name].fit(rows, score), "value"
    else:
        fitted, output = ESTIMATORS[name].fit(rows, (score > 0.2).astype(int)), "probability"
    found = tree_ensemble(fitted, output, 1)
    assert found is not None
    return found


def grid_of(trees: TreeEnsemble, place: int, few: int | None = None) -> np.ndarray:
    """Return thresholds of the feature, floats beside them, and points between and beyond."""
    own = np.unique(trees.threshold[trees.feature == place])[:few]
    beside = [np.nextafter(own, -np.inf), np.nextafter(own, np.inf)]
    return np.unique(np.concatenate([own, *beside, np.linspace(-4, 4, 9)]))


def by_prediction(
    trees: TreeEnsemble, rows: np.ndarray, places: list[int], cells: np.ndarray
) -> np.ndarray:
    answers = []
    for cell in cells:
        changed = rows.copy()
        changed[:, places] = cell
        answers.append(trees.predict(changed))
    return np.column_stack(answers)


@pytest.mark.proves("pdp-tree-grid")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("places", [[1], [4], [0, 1], [2, 0]])
def test_equals_the_ensemble_at_every_point(name: str, places: list[int]) -> None:
    trees, rows = trees_of(name), table()[:120].copy(order="F")
    rows[:20, 3] = np.nan
    grids = [grid_of(trees, place, 3 if len(places) == 2 else 40) for place in places]
    grid = TreeGrid.of(trees, places, grids)
    assert isinstance(grid.over, _GridWalk if name == "deep forest" else _GridMasks)
    expected = by_prediction(trees, rows, places, cells_of(grids))
    np.testing.assert_allclose(grid.predict(rows), expected, rtol=0, atol=1e-12)


@pytest.mark.proves("pdp-tree-grid")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_curve_depends_on_its_own_row_alone(name: str) -> None:
    trees, rows = trees_of(name), table()
    for places in ([1], [0, 2]):
        grid = TreeGrid.of(trees, places, [np.linspace(-2, 2, 7)] * len(places))
        together = grid.predict(rows)
        turned = grid.predict(np.asfortranarray(rows[::-1]))[::-1]
        assert np.array_equal(together, turned)
        for row in (0, 511, 512, 699):
            assert np.array_equal(grid.predict(rows[row : row + 1])[0], together[row])


@pytest.mark.refutes("pdp-tree-grid")
def test_a_range_that_ends_late_is_caught() -> None:
    trees, rows = trees_of("forest"), table()[:50]
    points = np.linspace(-2, 2, 9)
    grid = TreeGrid.of(trees, [1], [points])
    corner = grid.over.corner.copy()
    begins, ends = corner[:, 0], corner[:, 1]
    late = int(np.flatnonzero((ends > begins) & (ends < 8))[0])
    corner[late, 1] += 1
    planted = replace(grid, over=replace(grid.over, corner=corner))
    expected = by_prediction(trees, rows, [1], points[:, None])
    assert np.abs(grid.predict(rows) - expected).max() < 1e-12
    assert np.abs(planted.predict(rows) - expected).max() > 1e-6


def test_features_no_tree_looks_at_give_flat_curves() -> None:
    trees = trees_of("forest")
    unused = replace(trees, width=6)
    rows = np.asfortranarray(np.column_stack([table()[:30], np.zeros(30)]))
    curves = TreeGrid.of(unused, [5], [np.linspace(0, 1, 4)]).predict(rows)
    assert np.array_equal(curves, np.repeat(curves[:, :1], 4, axis=1))
    np.testing.assert_allclose(curves[:, 0], trees.predict(table()[:30]), atol=1e-12)


def test_rows_of_another_width_are_refused() -> None:
    grid = TreeGrid.of(trees_of("forest"), [1], [np.linspace(-2, 2, 5)])
    with pytest.raises(ModelError, match="rows must have 5 columns, got shape"):
        grid.predict(table()[:, :4])


@pytest.mark.proves("pdp")
def test_points_lie_where_trees_jump() -> None:
    """The path is the best of all; jumps in a corner of the range get nearly all points."""
    generator = np.random.default_rng(5)
    x, curves = np.sort(generator.uniform(0, 10, 11)), generator.normal(size=(4, 11))
    missed = missed_by_lines(x, curves)
    for i, j in itertools.combinations(range(11), 2):
        lines = [np.interp(x[i : j + 1], x[[i, j]], curve[[i, j]]) for curve in curves]
        assert missed[i, j] == pytest.approx(np.sum((lines - curves[:, i : j + 1]) ** 2), abs=1e-9)

    def length(path: tuple[int, ...]) -> float:
        return sum(missed[a, b] for a, b in itertools.pairwise((0, *path, 10)))

    best = min(itertools.combinations(range(1, 10), 3), key=length)
    assert shortest_path(missed, 5) == [0, *best, 10]
    assert shortest_path(missed, 2) == [0, 10]


def test_trees_have_a_grid_of_their_own() -> None:
    rows = np.random.default_rng(0).uniform(0, 1000, (400, 1))
    model = DecisionTreeRegressor(max_depth=3).fit(rows, (rows[:, 0] > 20) + (rows[:, 0] > 40.0))
    schema = dc.Schema({"x": dc.Number(0, 1000, missing=False)})
    setting = Setting(schema, "replace-one", 1_000)
    explained = dc.Model(model, bounds=(0, 2))

    def points(grid: str) -> np.ndarray:
        plan = dc.partial_dependence(explained, "x", resolution=8, grid=grid, epsilon=1.0)
        return plan._release(setting, explained.bind(schema)).question.grids[0]

    chosen = points("auto")
    assert np.sum(chosen < 50) >= 4 and (chosen[0], chosen[-1], len(chosen)) == (0, 1000, 8)
    assert np.array_equal(points("uniform"), np.linspace(0, 1000, 8))
