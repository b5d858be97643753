"""Splits on sets of categories, grown into thresholds on codes: the same leaf for every code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from discreet.models.forms import category_splits
from discreet.models.forms.category_splits import (
    CategorySet,
    HandedValues,
    ListedCategories,
    RawEnsemble,
    SetTree,
    between_codes,
)
from discreet.models.forms.trees import RawTree, TreeEnsemble
from discreet.models.readers.thresholds import as_single
from discreet.schema import FloatArray

SIZES = (5, 7)
"""Columns 0 and 1 are categories of so many values, column 2 is a number."""

HANDED = [HandedValues(tuple("abcde"), True), HandedValues((4, 8, 15, 16, 23, 42, 108), True), None]
KNOWN = {0: list("edcbz")}
"""The model knows the letters in another order, one of them not at all."""


def grow(seed: int, depth: int = 5) -> SetTree:
    """Return a full tree of random splits: on sets, on the numbers behind codes, on a number."""
    draw = np.random.default_rng(seed)
    nodes, splits = 2 ** (depth + 1) - 1, 2**depth - 1
    feature = draw.integers(0, 3, nodes)
    sets = {
        node: CategorySet(
            frozenset(draw.choice(5, draw.integers(1, 5), replace=False).tolist()),
            inside_left=bool(draw.random() < 0.5),
        )
        for node in range(splits)
        if feature[node] == 0
    }
    inner = np.arange(nodes) < splits
    return SetTree(
        sets=sets,
        feature=feature,
        threshold=np.where(feature == 1, draw.uniform(0, 110, nodes), draw.normal(size=nodes)),
        missing_left=draw.random(nodes) < 0.5,
        left=np.where(inner, 2 * np.arange(nodes) + 1, -1),
        right=np.where(inner, 2 * np.arange(nodes) + 2, -1),
        value=draw.normal(size=nodes),
    )


def by_hand(tree: SetTree, row: FloatArray) -> float:
    """Go down a tree as its library would, with the values that the codes stand for."""
    letter = "abcde"[int(row[0])] if row[0] == row[0] else ""
    number = [4.0, 8, 15, 16, 23, 42, 108][int(row[1])] if row[1] == row[1] else np.nan
    code = KNOWN[0].index(letter) if letter in KNOWN[0] else np.nan
    seen, node = [code, number, row[2]], 0
    while tree.left[node] >= 0:
        value, split = seen[tree.feature[node]], tree.sets.get(node)
        if np.isnan(value):
            left = tree.missing_left[node]
        elif split is not None:
            left = (value in split.codes) == split.inside_left
        else:
            left = value <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return float(tree.value[node])


def all_rows() -> FloatArray:
    numbers = [-2.0, -0.3, 0.1, 2.0, np.nan]
    return np.array(
        list(itertools.product([*range(SIZES[0]), np.nan], [*range(SIZES[1]), np.nan], numbers))
    )


def ensemble(tree: RawTree) -> RawEnsemble:
    return RawEnsemble([tree], base=0.0, link="identity", width=3, code=ListedCategories(KNOWN))


def wrong(trees: TreeEnsemble | None, tree: SetTree) -> int:
    assert trees is not None
    rows = all_rows()
    return int((trees.predict(rows) != [by_hand(tree, row) for row in rows]).sum())


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("seed", range(8))
def test_every_code_falls_into_its_leaf(seed: int) -> None:
    tree = grow(seed)
    assert wrong(ensemble(tree).on(HANDED), tree) == 0


def _other_side(tree: SetTree) -> SetTree:
    node, split = next(iter(tree.sets.items()))
    return replace(tree, sets={**tree.sets, node: replace(split, inside_left=not split.inside_left)})


def _one_code_less(tree: SetTree) -> SetTree:
    return replace(
        tree,
        sets={n: replace(s, codes=frozenset(sorted(s.codes)[1:])) for n, s in tree.sets.items()},
    )


FAULTS: dict[str, Callable[[SetTree], SetTree]] = {
    "the set goes to the other side": _other_side,
    "a code is lost": _one_code_less,
    "missing goes to the other side": lambda t: replace(t, missing_left=~t.missing_left),
}


@pytest.mark.refutes("tree-decisions")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_set_is_seen(fault: str) -> None:
    found = [wrong(ensemble(FAULTS[fault](grow(seed))).on(HANDED), grow(seed)) for seed in range(4)]
    assert max(found) > 0


def test_categories_in_the_schemas_order_instead_of_the_models_are_seen() -> None:
    tree = grow(1)
    mistaken = replace(ensemble(tree), code=ListedCategories({0: list("abcde")}))
    assert wrong(mistaken.on(HANDED), tree) > 0


def test_what_is_decided_by_the_codes_above_is_not_asked_again() -> None:
    """Two equal splits, one below the other, are one threshold."""
    twice = SetTree(
        sets={0: CategorySet(frozenset({0, 1})), 1: CategorySet(frozenset({0, 1}))},
        feature=np.zeros(5, dtype=np.int64),
        threshold=np.zeros(5),
        missing_left=np.zeros(5, dtype=bool),
        left=np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        value=np.arange(5.0),
    )
    found = RawEnsemble([twice], base=0.0, link="identity", width=1).on([HandedValues((0, 1, 2))])
    assert found is not None and len(found.feature) == 3
    assert found.predict(np.array([[0.0], [1.0], [2.0]])).tolist() == [3.0, 3.0, 2.0]


def test_a_set_of_a_column_of_numbers_has_no_such_form() -> None:
    assert ensemble(grow(0)).on() is None
    assert ensemble(grow(0)).on([None, HANDED[1], None]) is None


def test_a_tree_that_would_grow_too_large_has_no_such_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_splits, "MOST_NODES", 40)
    assert ensemble(grow(0)).on(HANDED) is None


def test_thresholds_between_codes_are_the_same_in_both_precisions() -> None:
    limits = np.array([between_codes(code) for code in range(300)])
    assert as_single(limits) is not None
    assert np.all((limits > np.arange(300)) & (limits < np.arange(300) + 1))
