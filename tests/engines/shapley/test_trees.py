"""The tree engine against enumeration, against shap, with and without tables, row by row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

from discreet.engines.shapley import tree_tables
from discreet.engines.shapley.coalitions import all_coalitions, shapley_values
from discreet.engines.shapley.trees import (
    BackgroundTables,
    QueryTables,
    tree_record_sums,
    tree_record_values,
    tree_rounding_error,
    tree_values,
)
from discreet.errors import ArgumentError
from discreet.models.forms.compiled import PlainWalk
from discreet.models.forms.trees import RawTree, TreeEnsemble, join_trees, tree_ensemble
from discreet.schema import FloatArray
from tests.models.forms.test_compiled import grow
from tests.models.tree_zoo import MAKERS, close_calls, fitted, outputs

Patch = pytest.MonkeyPatch


def games(trees: TreeEnsemble, queries: FloatArray, records: FloatArray) -> FloatArray:
    """Return v(S) = f(x on S, z elsewhere) by walking (queries x records x coalitions)."""
    members = all_coalitions(trees.width)
    masked = np.where(members, queries[:, None, None, :], records[None, :, None, :])
    scores = PlainWalk(trees).scores(masked.reshape(-1, trees.width))
    return scores.reshape(masked.shape[:3])


def by_enumeration(trees: TreeEnsemble, queries: FloatArray, records: FloatArray) -> FloatArray:
    return shapley_values(games(trees, queries, records))


def random_trees(seed: int, leaves: int = 20, lean: float = 0.3, count: int = 4) -> TreeEnsemble:
    """Return trees on three features: most paths meet a feature more than once."""
    draw = np.random.default_rng(seed)
    raw = [grow(draw, leaves, lean, single=False) for _ in range(count)]
    found = join_trees(raw, base=0.5, link="identity", width=3)
    assert found is not None
    return found


def chain(features: int, value: Callable[[int], float] = float) -> TreeEnsemble:
    """Return one tree whose longest path meets every feature once: right, right, ..."""
    size = 2 * features + 1
    split = np.arange(size) % 2 == 0
    split[-1] = False
    here = np.arange(size)
    raw = RawTree(
        feature=np.where(split, here // 2, 0),
        threshold=np.where(split, 0.0, np.inf),
        missing_left=np.ones(size, dtype=bool),
        left=np.where(split, here + 1, -1),
        right=np.where(split, here + 2, -1),
        value=np.array([value(node) for node in range(size)]),
    )
    found = join_trees([raw], base=0.0, link="identity", width=features)
    assert found is not None
    return found


def without_tables(patch: Patch) -> None:
    patch.setattr(tree_tables, "_MOST_TESTS", 0)


TAKES_MISSING = [name for name in MAKERS if "boosting" not in name and name != "exponential loss"]
ENSEMBLES = [(name, False) for name in MAKERS] + [(name, True) for name in TAKES_MISSING]


def ensembles(name: str, missing: bool) -> list[TreeEnsemble]:
    """Return the forms of a model that have the identity link."""
    estimator = fitted(name, missing)
    found = [tree_ensemble(estimator, output, place) for output, place in outputs(estimator)]
    return [trees for trees in found if trees is not None and trees.link == "identity"]


def is_right(trees: TreeEnsemble, rows: FloatArray) -> bool:
    """Say whether all four ways to the values agree with enumeration."""
    queries, records = rows[:3], rows[3:]
    exact = by_enumeration(trees, queries, records)
    scale = 1e-12 * max(1.0, float(np.abs(trees.value).max()))
    found = [
        (tree_record_values(trees, queries, records), exact),
        (QueryTables.of(trees, queries).explain(records), exact.swapaxes(0, 1)),
        (tree_values(trees, queries, records), exact.mean(axis=1)),
        (tree_record_sums(trees, queries, records), exact.sum(axis=0)),
    ]
    return all(np.allclose(own, other, rtol=0, atol=scale) for own, other in found)


# Against enumeration


@pytest.mark.proves("tree-shapley")
@pytest.mark.parametrize(("name", "missing"), ENSEMBLES)
def test_every_kind_of_ensemble_agrees_with_enumeration(name: str, missing: bool) -> None:
    for trees in ensembles(name, missing):
        assert is_right(trees, close_calls(trees, missing=missing)[:15])


@pytest.mark.proves("tree-shapley")
@pytest.mark.parametrize("lean", [0.0, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_features_repeated_on_a_path_are_one_player(seed: int, lean: float) -> None:
    trees = random_trees(seed, lean=lean)
    rows = close_calls(trees, seed)[:30]
    rows[::7, 1], rows[::5, 0] = -np.inf, np.inf
    assert is_right(trees, rows)


@pytest.mark.proves("tree-shapley")
@pytest.mark.parametrize("seed", range(3))
def test_pairs_agree_with_enumeration(seed: int, monkeypatch: Patch) -> None:
    without_tables(monkeypatch)
    trees = random_trees(seed)
    assert tree_tables.TreeTables.of(trees, np.zeros((1, 3)), apart=False, divisor=1).entries.size == 0
    assert is_right(trees, close_calls(trees, seed)[:30])


@pytest.mark.proves("tree-shapley")
@pytest.mark.parametrize("most", range(9))
def test_tables_and_pairs_mix(most: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(tree_tables, "_MOST_TESTS", most)
    assert is_right(chain(7), np.random.default_rng(most).normal(size=(12, 7)))


@pytest.mark.proves("tree-shapley")
@pytest.mark.parametrize("limit", [-np.inf, np.inf, 0.0])
def test_one_feature_and_thresholds_without_end(limit: float) -> None:
    stump = RawTree(
        feature=np.zeros(3, dtype=np.int64),
        threshold=np.array([limit, np.inf, np.inf]),
        missing_left=np.array([False, True, True]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        value=np.array([0.0, 2.0, 5.0]),
    )
    trees = join_trees([stump], base=1.0, link="identity", width=1)
    assert trees is not None
    assert is_right(trees, np.array([[-np.inf], [np.inf], [0.0], [np.nan], [1.0], [-np.inf], [-1.0]]))


def test_single_leaves_give_zero() -> None:
    (trees,) = ensembles("trivial tree", missing=False)
    rows = np.zeros((4, trees.width))
    assert not tree_record_values(trees, rows, rows).any()
    assert not tree_values(trees, rows, rows).any()


def test_a_feature_without_a_split_is_zero() -> None:
    trees = replace(random_trees(0), width=5)
    values = tree_record_values(trees, np.zeros((2, 5)), np.ones((3, 5)))
    assert values.shape == (2, 3, 5)
    assert values[..., :3].any() and not values[..., 3:].any()


@pytest.mark.refutes("tree-shapley")
def test_wrong_weights_are_caught(monkeypatch: Patch) -> None:
    gain = np.zeros((63, 63))
    for a in range(1, 63):
        for b in range(63):
            gain[a, b] = math.factorial(a) * math.factorial(b) / math.factorial(a + b + 1)
    monkeypatch.setattr(tree_tables, "_weights", lambda: (gain, np.ascontiguousarray(gain.T)))
    assert not is_right(random_trees(0), close_calls(random_trees(0))[:30])


@pytest.mark.refutes("tree-shapley")
def test_a_feature_split_into_two_players_is_caught() -> None:
    trees = random_trees(1)
    rows = close_calls(trees)[:30]
    odd = (trees.depth % 2 == 1) & ~trees.is_leaf  # these splits look at a copy of their column
    copied = replace(trees, feature=np.where(odd, trees.feature + 3, trees.feature), width=6)
    twice = np.concatenate([rows, rows], axis=1)
    apart = tree_record_values(copied, twice[:3], twice[3:])
    exact = by_enumeration(trees, rows[:3], rows[3:])
    assert np.allclose(apart.sum(axis=-1), exact.sum(axis=-1))  # still efficient
    assert np.abs(apart[..., :3] + apart[..., 3:] - exact).max() > 1e-3


# Against shap


@pytest.mark.parametrize(
    ("estimator", "output"),
    [
        (RandomForestClassifier(20, max_depth=4, random_state=0), "probability"),
        (GradientBoostingRegressor(n_estimators=30, random_state=0), "value"),
    ],
)
def test_values_agree_with_shap(estimator: Any, output: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shap = pytest.importorskip("shap", reason="shap is an optional extra")
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(300, 8)).astype(np.float32).astype(np.float64)  # shap rounds thresholds
    target = rows[:, 0] * rows[:, 1] + rows[:, 2] + rows[:, 3]
    estimator.fit(rows, target > 0 if output == "probability" else target)
    trees = tree_ensemble(estimator, output, 1)
    assert trees is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap.TreeExplainer(estimator, data=rows[:50], feature_perturbation="interventional")
        theirs = np.asarray(explainer.shap_values(rows[50:100], check_additivity=False))
    theirs = theirs[..., 1] if theirs.ndim == 3 else theirs
    np.testing.assert_allclose(tree_values(trees, rows[50:100], rows[:50]), theirs, rtol=0, atol=1e-7)


# One row alone, and its rounding


def deep_ensemble() -> TreeEnsemble:
    """Return trees of which some leaves have tables and some have not."""
    return random_trees(5, leaves=60)


@pytest.mark.proves("tree-rounding")
@pytest.mark.parametrize("most", [0, 2, 9])
def test_a_vector_depends_on_its_own_row_alone(most: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(tree_tables, "_MOST_TESTS", most)
    trees = deep_ensemble()
    rows = close_calls(trees)[:600]  # more than two tiles
    against = QueryTables.of(trees, rows[:4])
    pooled = BackgroundTables.of(trees, rows[:50])
    together, means = against.explain(rows), pooled.explain(rows)
    sums = tree_record_sums(trees, rows[:4], rows)
    for i in (0, 255, 256, 599):
        assert np.array_equal(against.explain(rows[i : i + 1])[0], together[i])
        assert np.array_equal(pooled.explain(rows[i : i + 1])[0], means[i])
        assert np.array_equal(tree_record_sums(trees, rows[:4], rows[i : i + 1])[0], sums[i])
        pair = tree_record_values(trees, rows[1:2], rows[i : i + 1])
        assert np.array_equal(pair[0, 0], together[i, 1])
    assert np.array_equal(against.explain(rows[::-1])[::-1], together)


def exact_values(trees: TreeEnsemble, query: FloatArray, record: FloatArray) -> list[Fraction]:
    """Return phi(x; z) in whole fractions."""
    d = trees.width
    singles = [
        replace(trees, base=0.0, value=np.where(trees.tree == t, trees.value, 0.0))
        for t in range(len(trees.roots))
    ]
    parts = [games(single, query[None], record[None])[0, 0] for single in singles]
    values = [
        sum((Fraction(float(v)) for v in column), Fraction()) for column in zip(*parts, strict=True)
    ]
    found = []
    for j in range(d):
        total = Fraction()
        for s in range(2**d):
            if not s >> j & 1:
                size = s.bit_count()
                total += (values[s | 1 << j] - values[s]) / (d * math.comb(d - 1, size))
        found.append(total)
    return found


def spread_trees(seed: int) -> TreeEnsemble:
    """Return trees whose leaves differ by many orders of magnitude."""
    trees, draw = random_trees(seed, leaves=40, count=6), np.random.default_rng(seed)
    return replace(trees, value=trees.value * 10.0 ** draw.uniform(-6, 6, len(trees.value)))


def worst_error(found: FloatArray, exact: list[Fraction]) -> Fraction:
    return max(abs(Fraction(float(f)) - e) for f, e in zip(found, exact, strict=True))


@pytest.mark.proves("tree-rounding")
@pytest.mark.parametrize("most", [0, 9])
@pytest.mark.parametrize("seed", range(3))
def test_rounding_is_within_its_bound(seed: int, most: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(tree_tables, "_MOST_TESTS", most)
    trees = spread_trees(seed)
    rows = close_calls(trees, seed)[:12]
    query, records = rows[0], rows[1:]
    exact = [exact_values(trees, query, record) for record in records]
    for own, other in zip(tree_record_values(trees, rows[:1], records)[0], exact, strict=True):
        assert worst_error(own, other) <= tree_rounding_error(trees)
    means = [sum(column, Fraction()) / len(records) for column in zip(*exact, strict=True)]
    bound = tree_rounding_error(trees, len(records))
    assert worst_error(tree_values(trees, rows[:1], records)[0], means) <= bound
    sums = [-sum(column, Fraction()) for column in zip(*exact, strict=True)]  # roles swapped
    assert worst_error(tree_record_sums(trees, records, rows[:1])[0], sums) <= len(records) * bound


@pytest.mark.proves("tree-rounding")
def test_products_that_underflow_are_within_the_bound() -> None:
    trees = replace(random_trees(0), value=random_trees(0).value * 1e-323)
    rows = close_calls(trees)[:4]
    for own, record in zip(tree_record_values(trees, rows[:1], rows[1:])[0], rows[1:], strict=True):
        assert worst_error(own, exact_values(trees, rows[0], record)) <= tree_rounding_error(trees)


@pytest.mark.refutes("tree-rounding")
def test_tables_in_single_precision_are_caught() -> None:
    trees = spread_trees(0)
    rows = close_calls(trees)[:4]
    tables = QueryTables.of(trees, rows[:1])
    rounded = tables.tables.entries.astype(np.float32).astype(np.float64)
    low = replace(tables, tables=replace(tables.tables, entries=rounded))
    errors = [
        worst_error(own, exact_values(trees, rows[0], record))
        for own, record in zip(low.explain(rows[1:])[:, 0], rows[1:], strict=True)
    ]
    assert max(errors) > tree_rounding_error(trees)


def test_threads_share_tables() -> None:
    trees = deep_ensemble()
    rows = close_calls(trees)
    tables = QueryTables.of(trees, rows[:3])
    blocks = [rows[i : i + 500] for i in range(0, len(rows), 500)]
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(tables.explain, blocks)))
    assert np.array_equal(found, tables.explain(rows))


# Shapes and errors


def test_no_queries_and_no_records() -> None:
    trees, none, some = random_trees(0), np.zeros((0, 3)), np.zeros((2, 3))
    assert tree_values(trees, none, some).shape == (0, 3)
    assert tree_record_values(trees, none, some).shape == (0, 2, 3)
    assert tree_record_values(trees, some, none).shape == (2, 0, 3)
    assert tree_record_sums(trees, none, some).tolist() == [[0.0] * 3] * 2
    with pytest.raises(ArgumentError, match="background must have at least one row, got none"):
        tree_values(trees, some, none)


def test_a_logistic_link_is_refused() -> None:
    trees = replace(random_trees(0), link="logistic")
    rows = np.zeros((1, 3))
    for call in (tree_values, tree_record_values, tree_record_sums):
        with pytest.raises(ArgumentError, match=r"dc\.Model\(model, output='margin'\)"):
            call(trees, rows, rows)
    with pytest.raises(ArgumentError, match="identity link"):
        QueryTables.of(trees, rows)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 2, 3)])
def test_rows_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    trees, right = random_trees(0), np.zeros((1, 3))
    wrong = np.zeros(shape)
    for call, name in (
        (lambda: tree_values(trees, wrong, right), "rows"),
        (lambda: tree_values(trees, right, wrong), "background"),
        (lambda: tree_record_values(trees, wrong, right), "queries"),
        (lambda: tree_record_sums(trees, right, wrong), "background"),
        (lambda: QueryTables.of(trees, right).explain(wrong), "records"),
    ):
        with pytest.raises(ArgumentError, match=f"{name} must be a matrix with 3 columns"):
            call()
