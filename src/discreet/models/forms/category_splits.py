"""Trees with splits on sets of categories, as trees of thresholds on codes.

A library sends a *set* of categories left. An encoded category is one of the codes 0, 1, ..., so those
that go left are runs of codes, and a split into r runs is r - 1 thresholds, with a copy of a subtree
below every run. Below it only the codes of the run are left, so that a later split on the same column
has fewer runs, or is decided. What comes out is an ordinary ensemble: every engine follows the splits
exactly and none has to know of sets. A tree may grow, at most by ``MOST_NODES``; one that would grow
more has no such form.

What a model sees for a code is up to the model: the place of the value in its own list of categories,
a number, or nothing that it knows. ``Seen`` says it for every code, and any split on such a column,
thresholds included, is asked for every code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from discreet.models.forms.trees import BoolArray, Link, RawTree, TreeEnsemble, join_trees
from discreet.schema import FloatArray

MOST_NODES = 2**16
"""A tree that would have more nodes is left to its library."""

_MOST_TOGETHER = 2**20

Code = Callable[[int, Sequence[object]], FloatArray]
"""What splits on a column compare for values that are handed over; NaN for one that is not known."""


@dataclass(frozen=True)
class HandedValues:
    """What a model is handed for the codes 0, 1, ... of a column; None for a value it does not know.

    ``missing`` says whether rows may hold NaN instead of a code.
    """

    of_codes: tuple[object, ...]
    missing: bool = False


Handed = Sequence[HandedValues | None]
"""For every column of a model what it is handed for codes; None for a column of numbers."""

Seen = Sequence[FloatArray | None]
"""What splits compare for the codes of a column, and last NaN if rows may hold it; None for numbers."""


@dataclass(frozen=True)
class CategorySet:
    """A split on categories: whether those in ``codes`` (of the model's own) go left, or all others."""

    codes: frozenset[int]
    inside_left: bool = True

    def goes_left(self, seen: FloatArray) -> BoolArray:
        """Return whether each value goes left; what NaN does is not asked here."""
        return np.asarray(np.isin(seen, list(self.codes)) == self.inside_left)


@dataclass(frozen=True)
class SetTree(RawTree):
    """A tree some of whose nodes split on sets; their thresholds mean nothing."""

    sets: Mapping[int, CategorySet] = field(default_factory=dict)


@dataclass(frozen=True)
class ListedCategories:
    """Codes of a model that knows its categories: a value's place among those of its column.

    Args:
      known: the categories of columns that have some; values of other columns are numbers.

    >>> ListedCategories({2: ["rent", "own"]})(2, ["own", "castle", None]).tolist()
    [1.0, nan, nan]
    """

    known: Mapping[int, Sequence[object]]

    def __call__(self, place: int, values: Sequence[object]) -> FloatArray:
        """Return what splits compare for each value; NaN for one that is missing or unknown."""
        if place not in self.known:
            return np.array([_number(value) for value in values])
        places = {value_key(value): float(at) for at, value in enumerate(self.known[place])}
        return np.array([places.get(value_key(value), math.nan) for value in values])


@dataclass(frozen=True)
class RawEnsemble:
    """Trees as a library has them, before they are fitted to a schema's codes.

    Args:
      trees: with nodes in the library's own order.
      base: what the score is before any tree.
      link: from the score to the prediction.
      width: the number of columns of a row.
      tolerance: as in ``TreeEnsemble``.
      code: what the splits of a column compare when some values are handed over; numbers by default.
    """

    trees: Sequence[RawTree]
    base: float
    link: Link
    width: int
    tolerance: float = 1e-9
    code: Code = field(default_factory=lambda: ListedCategories({}))

    def on(self, handed: Handed | None = None) -> TreeEnsemble | None:
        """Return the ensemble on rows as they are encoded, or None if it has no such form.

        Args:
          handed: left out, all columns are numbers.

        Guarantees:
          - A row of codes falls into the leaves it falls into in the estimator. [tree-decisions]
        """
        handed = [None] * self.width if handed is None else handed
        seen = self._seen(handed)
        missing = {p: len(v.of_codes) for p, v in enumerate(handed) if v is not None and v.missing}
        trees = grow_all(((tree, codes_left(tree, seen)) for tree in self.trees), missing, self.nodes)
        if trees is None:
            return None
        return join_trees(
            trees, base=self.base, link=self.link, width=self.width, tolerance=self.tolerance
        )

    @property
    def nodes(self) -> int:
        """How many nodes all trees have together."""
        return sum(len(tree.feature) for tree in self.trees)

    def leaves(self) -> list[FloatArray]:
        """Return the values of every tree's leaves."""
        return [tree.value[tree.left < 0] for tree in self.trees]

    def _seen(self, handed: Handed) -> Seen:
        return [
            None
            if values is None
            else np.append(self.code(place, values.of_codes), [math.nan] * values.missing)
            for place, values in enumerate(handed)
        ]


def value_key(value: object) -> object:
    """Return what is alike for values that a frame takes for the same, and for no others."""
    plain = value.item() if isinstance(value, np.generic) else value
    return ("text", plain) if isinstance(plain, str) else ("number", plain)


def _number(value: object) -> float:
    number = isinstance(value, int | float | np.number | np.bool_)
    return float(value) if number else math.nan  # type: ignore[arg-type]


def codes_left(tree: RawTree, seen: Seen) -> dict[int, BoolArray] | None:
    """Return, for every split on a column of codes, which go left.

    None if a set splits numbers, or values that are no whole ones: libraries cut them off.
    """
    sets = tree.sets if isinstance(tree, SetTree) else {}
    split = np.flatnonzero(tree.left >= 0)
    coded = {node for node in split.tolist() if seen[tree.feature[node]] is not None}
    if not sets.keys() <= coded or not all(_are_whole(seen[tree.feature[node]]) for node in sets):
        return None
    return {node: _codes_left(tree, node, sets.get(node), seen) for node in coded}


def _are_whole(values: FloatArray | None) -> bool:
    there = np.empty(0) if values is None else values[~np.isnan(values)]
    return bool(np.all(there == np.trunc(there)))


def grow_all(
    trees: Iterable[tuple[RawTree, Mapping[int, BoolArray] | None]],
    missing: Mapping[int, int],
    own_nodes: int,
) -> list[RawTree] | None:
    """Return trees of thresholds alone, or None if one is not known or they grow too large.

    Args:
      trees: each with the codes that go left, for its splits on columns of codes; last NaN, if rows may
        hold it. Other splits look at numbers.
      missing: for columns of codes that may be NaN, the code that stands for it there.
      own_nodes: how many nodes all trees have; so many are never too many.
    """
    grown: list[RawTree] = []
    nodes = 0
    for tree, left in trees:
        made = None if left is None else _Grown(tree, left, missing).grow() if left else tree
        nodes += 0 if made is None else len(made.feature)
        if made is None or nodes > max(_MOST_TOGETHER, own_nodes):
            return None
        grown.append(made)
    return grown


def _codes_left(tree: RawTree, node: int, split: CategorySet | None, seen: Seen) -> BoolArray:
    """Return which codes go left at a node."""
    values = seen[tree.feature[node]]
    assert values is not None
    with np.errstate(invalid="ignore"):
        left = values <= tree.threshold[node] if split is None else split.goes_left(values)
    return np.where(np.isnan(values), tree.missing_left[node], left)


Codes = Mapping[int, tuple[int, ...]]
"""For a column that was split on: the codes that are left, ascending; the last may stand for NaN."""


class _Grown:
    """A tree of thresholds that grows from one with sets; ``missing`` has codes that stand for NaN."""

    def __init__(
        self, tree: RawTree, left: Mapping[int, BoolArray], missing: Mapping[int, int]
    ) -> None:
        self._left = {node: flags.tolist() for node, flags in left.items()}
        self._missing = missing
        self._nodes = list(
            zip(
                tree.feature.tolist(),
                tree.threshold.tolist(),
                tree.missing_left.tolist(),
                tree.left.tolist(),
                tree.right.tolist(),
                tree.value.tolist(),
                strict=True,
            )
        )
        self._rows: list[list[float]] = []  # as nodes

    def grow(self) -> RawTree | None:
        """Return the grown tree, or None if it has too many nodes."""
        waiting: list[tuple[int, Codes, int, int]] = [(0, {}, -1, 0)]
        while waiting:
            node, codes, parent, side = waiting.pop()
            node = self._decided(node, codes)
            here = len(self._rows)
            if here >= MOST_NODES:
                return None
            if parent >= 0:
                self._rows[parent][3 + side] = here
            waiting += [
                (child, kept, here, s) for s, (child, kept) in enumerate(self._add(node, codes))
            ]
        columns = np.array(self._rows).T
        whole = columns[[0, 3, 4]].astype(np.int64)
        return RawTree(
            feature=whole[0],
            threshold=columns[1],
            missing_left=columns[2].astype(bool),
            left=whole[1],
            right=whole[2],
            value=columns[5],
        )

    def _decided(self, node: int, codes: Codes) -> int:
        """Go down while the codes that are left all go to one side."""
        while node in self._left:
            feature, _, _, left, right, _ = self._nodes[node]
            flags = self._left[node]
            sides = {flags[code] for code in codes.get(feature, range(len(flags)))}
            if len(sides) == 2:
                break
            node = left if True in sides else right
        return node

    def _add(self, node: int, codes: Codes) -> list[tuple[int, Codes]]:
        """Write a node, or the middle one of a split's thresholds; return what hangs below it."""
        feature, threshold, missing_left, left, right, value = self._nodes[node]
        if left < 0:
            self._rows.append([feature, math.inf, True, -1, -1, value])
            return []
        if node not in self._left:
            self._rows.append([feature, threshold, missing_left, 0, 0, 0.0])
            return [(left, codes), (right, codes)]
        flags = self._left[node]
        kept = codes.get(feature, tuple(range(len(flags))))
        below, above = _cut(kept, flags, self._missing.get(feature))
        nan_below = self._missing.get(feature) in below
        top = [code for code in below if code != self._missing.get(feature)][-1]
        self._rows.append([feature, between_codes(top), nan_below, 0, 0, 0.0])
        # Both sides ask the same split again: with one run left it is decided.
        return [(node, {**codes, feature: below}), (node, {**codes, feature: above})]


def _cut(
    kept: tuple[int, ...], flags: Sequence[bool], nan: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the codes up to a border between runs and those above it, NaN where it is most at home."""
    there = tuple(code for code in kept if code != nan)
    starts = [at for at in range(1, len(there)) if flags[there[at]] != flags[there[at - 1]]]
    if not starts:
        return there, (kept[-1],)  # NaN alone goes the other way
    cut = starts[(len(starts) - 1) // 2]
    below, above = there[:cut], there[cut:]
    if len(there) == len(kept):
        return below, above
    like = [{flags[code] for code in part} == {flags[kept[-1]]} for part in (below, above)]
    return (below, (*above, kept[-1])) if like[1] and not like[0] else ((*below, kept[-1]), above)


@cache
def between_codes(code: int) -> float:
    """Return a threshold between a code and the next that decides alike in float32 and float64."""
    from discreet.models.readers.thresholds import lift_single

    return float(lift_single(np.array([code + 0.5]))[0])
