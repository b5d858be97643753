"""Trees as flat arrays: the same leaves, the same values, row by row."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ModelError
from discreet.models.forms.compiled import PlainWalk
from discreet.models.forms.trees import LEAF, TreeEnsemble, tree_ensemble
from discreet.models.readers.thresholds import as_single, lift_single
from discreet.schema import FloatArray
from tests.models.tree_zoo import (
    MAKERS,
    answers,
    close_calls,
    fitted,
    outputs,
    splits,
    training,
    with_leaves_apart,
)
from tests.schema.strategies import hostile

OURS = [name for name in MAKERS if "xgboost" not in name and "lightgbm" not in name]
BOOSTERS = [name for name in MAKERS if name not in OURS]


def ensemble(estimator: Any, output: str, place: int) -> TreeEnsemble:
    found = tree_ensemble(estimator, output, place)
    assert found is not None
    return found


def wrong_answers(trees: TreeEnsemble, expected: FloatArray, rows: FloatArray) -> int:
    """Count rows whose answer is not the estimator's: with leaves apart, rows in a wrong leaf."""
    atol = 1e-12 if trees.tolerance < 1e-6 else 1e-5
    scale = max(1.0, float(np.abs(expected).max()))
    return int((np.abs(trees.predict(rows) - expected) > atol * scale).sum())


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("name", MAKERS)
def test_decisions_are_the_estimators_own(name: str) -> None:
    estimator = fitted(name)
    if name in OURS:
        estimator = with_leaves_apart(copy.deepcopy(estimator))
    for output, place in outputs(estimator):
        trees = ensemble(estimator, output, place)
        takes_missing = not name.startswith(("boosting", "exponential"))
        rows = close_calls(trees, missing=takes_missing)
        assert wrong_answers(trees, answers(estimator, output, place, rows), rows) == 0


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize(
    "name",
    ["tree", "shallow forest", "deep forest", "extra trees", "histogram", "deep histogram", *BOOSTERS],
)
def test_decisions_of_models_that_have_seen_missing_values(name: str) -> None:
    estimator = fitted(name, missing=True)
    if name in OURS:
        estimator = with_leaves_apart(copy.deepcopy(estimator))
    for output, place in outputs(estimator):
        trees = ensemble(estimator, output, place)
        rows = close_calls(trees, seed=1)
        assert wrong_answers(trees, answers(estimator, output, place, rows), rows) == 0


FAULTS = {
    "thresholds compared in float64": lambda trees, raw: replace(trees, threshold=raw),
    "ties go right": lambda trees, raw: replace(
        trees, threshold=np.nextafter(trees.threshold, np.where(trees.feature == LEAF, np.inf, -np.inf))
    ),
    "missing values turned around": lambda trees, raw: replace(
        trees, missing_left=(trees.feature == LEAF) | ~trees.missing_left
    ),
}


@pytest.mark.refutes("tree-decisions")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["shallow forest", "deep forest"])
def test_a_wrong_comparison_is_seen(name: str, fault: str) -> None:
    estimator = with_leaves_apart(copy.deepcopy(fitted(name)))
    output, place = outputs(estimator)[0]
    trees = ensemble(estimator, output, place)
    thresholds = np.full(len(trees.threshold), np.inf)
    places = splits(trees)
    # A lifted threshold lies within half a float32 of the estimator's own; that is the nearest one.
    own = np.concatenate([member.tree_.threshold for member in estimator.estimators_])
    order = np.argsort(own)
    at = np.searchsorted(own[order], trees.threshold[places], side="right") - 1
    thresholds[places] = own[order][at]
    rows = close_calls(trees)
    expected = answers(estimator, output, place, rows)
    assert wrong_answers(trees, expected, rows) == 0
    assert wrong_answers(FAULTS[fault](trees, thresholds), expected, rows) > 0


@pytest.mark.proves("tree-decisions")
@hostile
@given(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.floats(allow_nan=False, width=64),
    st.booleans(),
)
def test_a_lifted_threshold_decides_like_float32(value: float, threshold: float, strict: bool) -> None:
    near = threshold if np.isfinite(threshold) else 0.0
    with np.errstate(over="ignore"):
        single = np.float32(near)
        beside = [np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))]
        tests = np.array([value, near, float(single), *map(float, beside)])
        tests = np.concatenate([tests, (tests + float(single)) / 2])
        tests = np.concatenate([tests, np.nextafter(tests, np.inf), np.nextafter(tests, -np.inf)])
        tests = tests[np.isfinite(tests)]
        rounded = tests.astype(np.float32).astype(np.float64)
    lifted = lift_single(np.array([threshold]), strict=strict)[0]
    expected = rounded < threshold if strict else rounded <= threshold
    np.testing.assert_array_equal(tests <= lifted, expected)


def test_float32_is_used_only_where_it_decides_alike() -> None:
    lifted = lift_single(np.array([0.1, -3.5, 1e-42, np.inf]))
    single = as_single(lifted)
    assert single is not None and (single <= np.array([0.1, -3.5, 1e-42, np.inf])).all()
    assert as_single(np.array([0.1])) is None


@pytest.mark.parametrize("name", MAKERS)
def test_the_flat_arrays_are_in_order(name: str) -> None:
    estimator = fitted(name)
    trees = ensemble(estimator, *outputs(estimator)[0])
    leaf, nodes = trees.is_leaf, np.arange(len(trees.feature))
    assert (trees.left[leaf] == nodes[leaf]).all() and np.isinf(trees.threshold[leaf]).all()
    assert (trees.left[~leaf] > nodes[~leaf]).all() and (trees.value[~leaf] == 0).all()
    for child in (trees.left[~leaf], trees.left[~leaf] + 1):
        assert (trees.depth[child] == trees.depth[~leaf] + 1).all()
        assert (trees.tree[child] == trees.tree[~leaf]).all()
    children = np.concatenate([trees.left[~leaf], trees.left[~leaf] + 1, trees.roots])
    np.testing.assert_array_equal(np.sort(children), nodes)
    assert [set(trees.depth[level]) for level in trees.levels()] == [
        {depth} for depth in range(trees.depth.max() + 1)
    ]
    with pytest.raises(ValueError, match="read-only"):
        trees.value[0] = 1.0


def test_a_path_to_a_leaf_is_easily_read() -> None:
    """What exact attributions need: the interval of every feature for each leaf."""
    trees = ensemble(fitted("shallow forest"), "probability", 1)
    low = np.full((len(trees.feature), trees.width), -np.inf)
    high = np.full((len(trees.feature), trees.width), np.inf)
    for level in trees.levels():
        at = level[~trees.is_leaf[level]]
        for side in (0, 1):
            child = trees.left[at] + side
            low[child], high[child] = low[at], high[at]
        feature, limit = trees.feature[at], trees.threshold[at]
        high[trees.left[at], feature] = np.minimum(high[trees.left[at], feature], limit)
        low[trees.left[at] + 1, feature] = np.maximum(low[trees.left[at] + 1, feature], limit)
    rows = training()[0]
    leaves = np.flatnonzero(trees.is_leaf)
    inside = ((rows[:, None] > low[leaves]) & (rows[:, None] <= high[leaves])).all(axis=2)
    assert (inside.sum(axis=1) == len(trees.roots)).all()
    np.testing.assert_allclose(inside @ trees.value[leaves], trees.predict(rows), atol=1e-12)


def test_rows_of_another_width_are_refused() -> None:
    trees = ensemble(fitted("shallow forest"), "probability", 1)
    for shape in ((3, trees.width + 1), (3, trees.width - 1), (trees.width,)):
        with pytest.raises(ModelError, match="rows must have 5 columns, got shape"):
            trees.predict(np.zeros(shape))
    with pytest.raises(ModelError, match="must split on columns below 2, got 4"):
        replace(trees, width=2)
    assert trees.predict(np.zeros((0, trees.width))).shape == (0,)


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("name", ["shallow forest", "middle forest", "deep forest", "histogram"])
def test_a_rows_answer_is_its_own_to_the_last_bit(name: str) -> None:
    estimator = fitted(name)
    trees = ensemble(estimator, *outputs(estimator)[-1])
    rows = close_calls(trees)
    together = trees.predict(rows)
    draw = np.random.default_rng(2)
    for size in (1, 7, 2_049, len(rows)):
        chosen = draw.permutation(len(rows))[:size]
        assert trees.predict(rows[chosen]).tobytes() == together[chosen].tobytes()
    assert trees.predict(np.ascontiguousarray(rows)).tobytes() == together.tobytes()
    sealed = rows.view()
    sealed.setflags(write=False)
    assert trees.predict(sealed).tobytes() == together.tobytes()
    assert (PlainWalk(trees).scores(rows) == trees.scores(rows)).all()
