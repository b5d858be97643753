"""Trees that see prepared columns, as trees on the columns of a row.

A pipeline scales numbers, fills gaps and codes categories before its trees are asked. A split on a
prepared number is a split on the number itself: preparation keeps the order, so the numbers that go
left are those up to a greatest one, which a search over floating-point numbers finds. A split on
something made of a category is asked for every category. What comes out is an ordinary ensemble: the
pipeline is not called again, and all engines for trees answer for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.models.forms.category_splits import RawEnsemble, codes_left, grow_all
from discreet.models.forms.trees import IntArray, RawTree, TreeEnsemble, join_trees, raw_ensemble
from discreet.models.libraries import library, own_categories
from discreet.models.readers.boosters import BELOW_ZERO
from discreet.models.readers.pipelines import Preparation, preparation
from discreet.models.readers.thresholds import greatest_where
from discreet.models.sight import Sight, has_reserved
from discreet.schema import MISSING, Category, FloatArray, Number

_MOST_CODES = 2**16
_MOST_WHOLE = 2**24
"""Up to here single precision holds all whole numbers."""

_ROWS = 4_096
"""Rows that are prepared at once."""


@dataclass(frozen=True)
class Shown:
    """What a model is shown of encoded rows.

    Args:
      sight: what it sees of them.
      frame: makes its input of encoded rows.
      row: an encoded row without missing values.
    """

    sight: Sight
    frame: Callable[[FloatArray], Any]
    row: FloatArray

    def shows_nan(self, place: int) -> bool:
        """Say whether the model is shown NaN in rows of a column."""
        return has_reserved(self.sight.columns[place]) and self.sight.shows_nan(place)


def prepared_trees(estimator: Any, output: str, class_index: int, shown: Shown) -> TreeEnsemble | None:
    """Return the ensemble behind a pipeline, on rows as its first step sees them, or None.

    Guarantees:
      - A row falls into the leaves it falls into in the pipeline. [tree-decisions]
    """
    found = preparation(estimator)
    trees = None if found is None else raw_ensemble(found.last, output, class_index)
    if found is None or trees is None or trees.width != len(found.made):
        return None
    try:
        return _Prepared(found, trees, shown).ensemble()
    except Exception:  # public values: what a step does not take is asked of the pipeline instead
        return None


@dataclass(frozen=True)
class _Prepared:
    """Trees, what their columns are made of, and what rows look like."""

    found: Preparation
    trees: RawEnsemble
    shown: Shown

    def ensemble(self) -> TreeEnsemble | None:
        """Return the ensemble on a row's own columns; None if that cannot be told."""
        moved = self._moved() if self._is_known() else None
        if moved is None:
            return None
        missing = {
            place: len(self._values(place)) for place in self._coded if self.shown.shows_nan(place)
        }
        left = (codes_left(tree, self._seen) for tree in self.trees.trees)
        trees = grow_all(zip(moved, left, strict=True), missing, self.trees.nodes)
        if trees is None:
            return None
        ours, width = self.trees, len(self.shown.sight.columns)
        return join_trees(trees, base=ours.base, link=ours.link, width=width, tolerance=ours.tolerance)

    def _is_known(self) -> bool:
        """Say whether all splits are on what a category becomes, or on numbers that keep order."""
        columns = self.shown.sight.columns
        if own_categories(self.found.last) and library(self.found.last) == "catboost":
            return False  # it knows them by hashes of their texts, which depend on their type
        for column in (self.found.made[out] for out in self._used):
            source = columns[column.place]
            if isinstance(source, Category):
                if len(source.values) > _MOST_CODES:
                    return False
            elif not isinstance(source, Number) or column.steps is None or self._zeros_differ:
                return False
        return True

    def _moved(self) -> list[RawTree] | None:
        """Return the trees with splits on a row's columns, those on numbers at their own thresholds.

        Splits on codes keep thresholds that mean nothing. None if the preparation itself decides
        otherwise anywhere.
        """
        split, out, limit = self._splits
        number = split & np.array([one is None for one in self._seen])[out]
        pairs, which = np.unique(
            np.column_stack([out[number], limit[number]]), axis=0, return_inverse=True
        )
        outputs, limits = pairs[:, 0].astype(np.int64), pairs[:, 1]
        greatest = self._greatest(outputs, limits)
        if not self._agrees(outputs, limits, greatest):
            return None
        threshold = limit.copy()
        threshold[number] = greatest[np.ravel(which)]
        fill = self._of_gaps[out]
        learnt = np.concatenate([tree.missing_left for tree in self.trees.trees]).astype(bool)
        missing_left = np.where(number & ~np.isnan(fill), fill <= limit, learnt)
        ends = np.cumsum([len(tree.feature) for tree in self.trees.trees])[:-1]
        places, thresholds, gaps = (
            np.split(nodes, ends) for nodes in (self._place[out], threshold, missing_left)
        )
        return [
            RawTree(places[i], thresholds[i], gaps[i], tree.left, tree.right, tree.value)
            for i, tree in enumerate(self.trees.trees)
        ]

    @cached_property
    def _splits(self) -> tuple[Any, IntArray, FloatArray]:
        """Which nodes of all trees split, on which column the last step sees, and at what."""
        split = np.concatenate([tree.left >= 0 for tree in self.trees.trees])
        feature = np.concatenate([tree.feature for tree in self.trees.trees])
        limit = np.concatenate([tree.threshold for tree in self.trees.trees])
        return split, np.where(split, feature, 0).astype(np.int64), limit

    @cached_property
    def _used(self) -> list[int]:
        split, out, _ = self._splits
        return [int(one) for one in np.unique(out[split])]

    @cached_property
    def _place(self) -> IntArray:
        return np.array([column.place for column in self.found.made], dtype=np.int64)

    @property
    def _coded(self) -> list[int]:
        columns = self.shown.sight.columns
        return [place for place, column in enumerate(columns) if isinstance(column, Category)]

    def _values(self, place: int) -> tuple[Any, ...]:
        column = self.shown.sight.columns[place]
        assert isinstance(column, Category)
        return column.values

    @cached_property
    def _seen(self) -> list[FloatArray | None]:
        """What splits compare for every code of the column they look at; None for numbers."""
        seen: list[FloatArray | None] = [None] * len(self.found.made)
        for place in self._coded:
            listed = len(self._values(place))
            codes = [*range(listed), *[listed] * self.shown.shows_nan(place)]
            outputs = [out for out in self._used if self._place[out] == place]
            made = self._varied(place, codes) if outputs else None
            for out in outputs:
                assert made is not None
                seen[out] = self.trees.code(out, made[:, out].tolist())
        return seen

    @cached_property
    def _of_gaps(self) -> FloatArray:
        """What becomes of a number that is missing; NaN if that stays missing, or never happens."""
        found = np.full(len(self.found.made), np.nan)
        for place in sorted({self.found.made[out].place for out in self._used} - {*self._coded}):
            if self.shown.shows_nan(place):
                outputs = self._place == place
                found[outputs] = self._varied(place, [MISSING])[0, outputs]
        return found

    def _varied(self, place: int, values: Sequence[float]) -> FloatArray:
        rows = np.repeat(self.shown.row[None], len(values), axis=0)
        rows[:, place] = values
        return self._prepare(rows)

    def _prepare(self, rows: FloatArray) -> FloatArray:
        """Return what the last step sees of encoded rows; it must be numbers, or this raises."""
        made = self.found.before.transform(self.shown.frame(np.asfortranarray(rows)))
        if not hasattr(made, "tocoo"):
            return _numbers(made)
        stored = made.tocoo()
        dense = np.full(made.shape, np.nan if self._drops_zeros else 0.0)
        dense[stored.row, stored.col] = stored.data  # a zero that is stored is a number
        return dense

    @property
    def _drops_zeros(self) -> bool:
        """Whether the last step takes what a sparse matrix leaves out for missing."""
        return type(self.found.last).__module__.partition(".")[0] == "xgboost"

    @cached_property
    def _zeros_differ(self) -> bool:
        """Whether numbers at zero are others than in a dense matrix.

        XGBoost takes those that a sparse matrix leaves out for missing. LightGBM takes the smallest for
        zero in what becomes a dense matrix, nowhere else.
        """
        made = self.found.before.transform(self.shown.frame(np.asfortranarray(self.shown.row[None])))
        if hasattr(made, "tocoo") and self._drops_zeros:
            return True
        split, _, limit = self._splits
        edge = type(self.found.last).__module__.startswith("lightgbm.") and BELOW_ZERO in limit[split]
        dense = isinstance(made, np.ndarray) or type(made).__module__.startswith("pandas")
        return edge and not dense

    def _greatest(self, outputs: IntArray, limits: FloatArray) -> FloatArray:
        """Return the greatest number whose prepared value is at most each limit."""
        found = np.empty(len(limits))
        for out in np.unique(outputs).tolist():
            here = outputs == out
            found[here] = _greatest_below(self.found.made[out].steps or (), limits[here])
        return found

    def _agrees(self, outputs: IntArray, limits: FloatArray, greatest: FloatArray) -> bool:
        """Say whether the preparation itself decides at all thresholds as was found.

        A number at the threshold and the next one decide all others, because their order is kept; of
        those beyond the bounds of a column, which no row holds, the bound itself. Both bounds are tried
        besides: an order that is not kept, or a number that becomes NaN, shows there.
        """
        columns, place = self.shown.sight.columns, self._place[outputs]
        ends = np.array([[getattr(column, end, 0.0) for column in columns] for end in ("low", "high")])
        low, high = ends[:, place]
        each, which = np.unique(outputs, return_inverse=True)
        numbers = [np.clip(n, low, high) for n in (greatest, np.nextafter(greatest, np.inf))]
        made = [self._prepared(outputs, tried) for tried in numbers]
        made += [self._prepared(each, end[self._place[each]])[np.ravel(which)] for end in ends]
        return not any(np.isnan(one).any() for one in made) and all(
            np.array_equal(one <= limits, tried <= greatest)
            for one, tried in zip(made, (*numbers, low, high), strict=True)
        )

    def _prepared(self, outputs: IntArray, numbers: FloatArray) -> FloatArray:
        """Return what each output becomes where its own column holds a number."""
        place = self._place[outputs]
        row = _places_in_groups(place)
        found = np.empty(len(outputs))
        for start in range(0, row.max(initial=-1) + 1, _ROWS):
            at = np.flatnonzero((row >= start) & (row < start + _ROWS))
            rows = np.repeat(self.shown.row[None], row[at].max() - start + 1, axis=0)
            rows[row[at] - start, place[at]] = numbers[at]
            found[at] = self._prepare(rows)[row[at] - start, outputs[at]]
        return found


def _numbers(made: Any) -> FloatArray:
    """Return what is made as the numbers it is, or raise.

    A text that reads like a number is another category to a library than the number, and LightGBM
    rounds matrices of whole numbers to single precision.
    """
    plain = np.asarray(made)
    if plain.dtype.kind not in "fiubO" or any(isinstance(v, str | bytes) for v in _objects(plain)):
        raise ValueError("a column is text.")
    if plain.dtype.kind in "iu" and np.abs(plain.astype(np.float64)).max(initial=0) > _MOST_WHOLE:
        raise ValueError("whole numbers are not exact in single precision.")
    return np.asarray(plain, dtype=np.float64)


def _objects(values: Any) -> list[Any]:
    return values.ravel().tolist() if values.dtype == object else []


def _greatest_below(steps: Sequence[Callable[[Any], Any]], limits: FloatArray) -> FloatArray:
    def at_most(numbers: FloatArray) -> Any:
        for step in steps:
            numbers = step(numbers)
        return numbers <= limits

    return greatest_where(at_most, len(limits))


def _places_in_groups(groups: IntArray) -> IntArray:
    """Return, for every entry, how many before it are of its group.

    >>> _places_in_groups(np.array([3, 5, 3, 3])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return places
