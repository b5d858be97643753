"""Every kernel against a tree walked by hand, and the choice between them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from discreet.models.forms.compiled import LeafMasks, PlainWalk, Walk, compile_trees
from discreet.models.forms.trees import RawTree, TreeEnsemble, join_trees
from discreet.models.readers.thresholds import lift_single
from discreet.schema import FloatArray
from tests.models.tree_zoo import close_calls


def grow(draw: np.random.Generator, leaves: int, lean: float, single: bool) -> RawTree:
    """Return a random tree; ``lean`` near 1 makes it a chain."""
    left, right, feature, threshold = [-1], [-1], [0], [np.inf]
    ends = [0]
    while len(ends) < leaves:
        at = ends.pop(-1 if draw.random() < lean else draw.integers(len(ends)))
        left[at], right[at] = len(left), len(left) + 1
        feature[at], threshold[at] = int(draw.integers(3)), float(draw.normal())
        ends += [left[at], right[at]]
        for column, filler in ((left, -1), (right, -1), (feature, 0), (threshold, np.inf)):
            column += [filler, filler]  # type: ignore[list-item]
    limits = np.array(threshold)
    return RawTree(
        feature=np.array(feature),
        threshold=lift_single(limits) if single else limits,
        missing_left=draw.random(len(left)) < 0.5,
        left=np.array(left),
        right=np.array(right),
        value=draw.normal(size=len(left)),
    )


def walk_by_hand(trees: list[RawTree], base: float, rows: FloatArray) -> FloatArray:
    totals = []
    for row in rows:
        total = base
        for tree in trees:
            node = 0
            while tree.left[node] >= 0:
                value = row[tree.feature[node]]
                goes = tree.missing_left[node] if np.isnan(value) else value <= tree.threshold[node]
                node = tree.left[node] if goes else tree.right[node]
            total += tree.value[node]
        totals.append(total)
    return np.array(totals)


def joined(trees: list[RawTree]) -> TreeEnsemble:
    found = join_trees(trees, base=0.25, link="identity", width=3)
    assert found is not None
    return found


SHAPES = [
    (1, 0.0),
    (2, 0.5),
    (8, 0.2),
    (16, 0.9),
    (17, 0.5),
    (32, 1.0),
    (33, 0.3),
    (64, 0.5),
    (64, 1.0),
]


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("leaves", "lean"), [*SHAPES, (65, 0.1), (300, 0.2), (200, 1.0)])
def test_every_kernel_walks_like_a_hand(leaves: int, lean: float, single: bool) -> None:
    draw = np.random.default_rng(leaves)
    raw = [grow(draw, leaves, lean, single), grow(draw, max(1, leaves // 2), lean, single)]
    raw.append(grow(draw, leaves, lean, single))
    trees = joined(raw)
    rows = close_calls(trees)
    rows[:4, 0] = [np.inf, -np.inf, 1e300, -1e300]
    rows = rows[:400] if leaves > 64 else rows
    expected = walk_by_hand(raw, 0.25, rows)
    assert (PlainWalk(trees).scores(rows) == expected).all()
    assert (Walk.of(trees).scores(rows) == expected).all()
    assert (trees.scores(rows) == expected).all()
    if leaves <= 64:
        assert (LeafMasks.of(trees).scores(rows) == expected).all()


def test_the_narrowest_masks_are_chosen() -> None:
    draw = np.random.default_rng(0)
    kinds = {}
    for leaves in (16, 17, 32, 33, 64):
        for single in (True, False):
            compiled = compile_trees(joined([grow(draw, leaves, 0.3, single)]))
            assert isinstance(compiled, LeafMasks)
            kinds[leaves, single] = (compiled.mask.dtype.name, compiled.threshold.dtype.name)
    assert {kind for (_, single), kind in kinds.items() if not single} == {("uint64", "float64")}
    assert [kinds[leaves, True] for leaves in (16, 17, 32, 33, 64)] == [
        ("uint16", "float32"),
        ("uint32", "float32"),
        ("uint32", "float32"),
        ("uint64", "float32"),
        ("uint64", "float32"),
    ]
    assert isinstance(compile_trees(joined([grow(draw, 65, 0.3, True)])), Walk)


def test_many_blocks_are_one_table() -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(40_000, 3))
    for leaves in (10, 100):
        trees = joined([grow(draw, leaves, 0.2, True) for _ in range(3)])
        assert (trees.scores(rows) == PlainWalk(trees).scores(rows)).all()


def test_without_numba_numpy_answers_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = [grow(np.random.default_rng(4), 20, 0.3, True) for _ in range(4)]
    rows = close_calls(joined(raw))
    expected = joined(raw).scores(rows)
    monkeypatch.setitem(sys.modules, "numba", None)
    trees = joined(raw)
    assert isinstance(compile_trees(trees), PlainWalk)
    assert trees.scores(rows).tobytes() == expected.tobytes()


def test_a_mask_of_the_wrong_side_is_seen() -> None:
    raw = [grow(np.random.default_rng(5), 12, 0.3, True)]
    trees = joined(raw)
    rows = close_calls(trees)
    masks = LeafMasks.of(trees)
    broken: Any = masks.mask.copy()
    broken[0] = ~broken[0]
    object.__setattr__(masks, "mask", broken)
    assert (masks.scores(rows) != walk_by_hand(raw, 0.25, rows)).any()


def test_nothing_is_joined_from_nothing_or_from_infinite_leaves() -> None:
    tree = grow(np.random.default_rng(6), 4, 0.3, True)
    assert join_trees([], base=0.0, link="identity", width=3) is None
    assert join_trees([tree], base=np.inf, link="identity", width=3) is None
    spoilt = RawTree(**{**vars(tree), "value": np.full(len(tree.value), np.nan)})
    assert join_trees([spoilt], base=0.0, link="identity", width=3) is None


def test_nodes_no_root_leads_to_are_dropped() -> None:
    tree = RawTree(
        feature=np.array([0, 0, 0, 0, 0]),
        threshold=np.array([0.0, 9.0, 9.0, 9.0, 9.0]),
        missing_left=np.zeros(5, dtype=bool),
        left=np.array([4, -1, -1, -1, -1]),
        right=np.array([2, -1, -1, -1, -1]),
        value=np.array([0.0, 1e9, 2.0, 1e9, 4.0]),
    )
    trees = joined([tree, tree])
    assert trees.value.tolist() == [0.0, 4.0, 2.0] * 2 and trees.roots.tolist() == [0, 3]
    assert trees.scores(np.array([[-1.0, 0, 0], [1.0, 0, 0]])).tolist() == [8.25, 4.25]
