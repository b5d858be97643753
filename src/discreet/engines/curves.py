"""Answers over a grid and over single steps: question *curve* and question *steps*, for every form.

A curve has one answer for every point of a grid (of two grids: for every pair of points) that some
features are set to; a step needs answers at the few points around a record's own value. Linear models
and trees are evaluated without a changed row ever being made; a tree's records meet a leaf once per
range of the grid it serves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.data.calls import ThirdParty
from discreet.errors import ModelError
from discreet.models import BoundModel, LinearForm, NetworkForm, TreeEnsemble
from discreet.models.forms.compiled import LeafMasks, fits_masks, kernel_copy, starts_of
from discreet.models.forms.trees import apply_link
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

IntArray = NDArray[np.int64]
Predictions = Callable[[FloatArray, int], FloatArray]
"""Returns a number inside the bounds per row; so many successive rows are made from one record."""

_ROWS_AT_ONCE = 2**15
"""About so many rows are made at once."""

_NONE = np.zeros(1)
"""Stands for the second grid of a curve; no split looks at it."""


class CurveEngine(ABC):
    """What a model answers if features are set to all combinations of the points of their grids."""

    third_party: ThirdParty | None = None

    @abstractmethod
    def predict(self, rows: FloatArray) -> FloatArray:
        """Return every row's answers, one column per cell of the grid, the last feature fastest.

        They are not clipped, and NaN where the model fails.

        Guarantees:
          - Unless third-party code is called, answers are a function of their own row, to the last
            bit. [pdp]
        """


def cells_of(grids: Sequence[FloatArray]) -> FloatArray:
    """Return all combinations of the grids' points, one row each, the last grid fastest.

    >>> cells_of([np.array([0.0, 1.0]), np.array([5.0, 6.0])]).tolist()
    [[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 6.0]]
    """
    return np.column_stack([part.ravel() for part in np.meshgrid(*grids, indexing="ij")])


@dataclass(frozen=True)
class LinearCurves(CurveEngine):
    """A weighted sum of columns: features that are set shift it by the same for all rows."""

    form: LinearForm
    places: Sequence[int]
    grids: Sequence[FloatArray]

    @cached_property
    def _shifts(self) -> FloatArray:
        return np.asarray((cells_of(self.grids) * self.form.weights[self.places]).sum(axis=1))

    def predict(self, rows: FloatArray) -> FloatArray:
        """See ``CurveEngine``."""
        rest = self.form.scores(rows)
        for place in self.places:
            rest -= self.form.weights[place] * rows[:, place]
        return self.form.shifted(rest, self._shifts)


@dataclass(frozen=True)
class CalledCurves(CurveEngine):
    """Any model, called with every record at every cell of the grid."""

    model: BoundModel
    places: Sequence[int]
    grids: Sequence[FloatArray]

    @property
    def third_party(self) -> ThirdParty | None:  # type: ignore[override]
        """What is known of the model, unless code of ours evaluates it."""
        return self.model.third_party

    def predict(self, rows: FloatArray) -> FloatArray:
        """See ``CurveEngine``."""
        cells = cells_of(self.grids)
        answers = np.empty((len(rows), len(cells)), order="F")
        records = max(1, _ROWS_AT_ONCE // len(cells))
        for start in range(0, len(rows), records):
            part = np.repeat(rows[start : start + records], len(cells), axis=0)
            part[:, self.places] = np.tile(cells, (len(part) // len(cells), 1))
            said = self.model.answer(part, len(cells))
            answers[start : start + records] = said.reshape(-1, len(cells))
        return answers


@dataclass(frozen=True)
class NetworkCurves(CurveEngine):
    """A network with one hidden layer: features that are set move the layer by the same for all rows.

    Guarantees:
      - A record's answers are a function of its own row, to the last bit, and differ from the
        network's own by rounding alone. [network-grid]
    """

    form: NetworkForm
    places: Sequence[int]
    grids: Sequence[FloatArray]

    @cached_property
    def _given(self) -> FloatArray:
        """What every cell gives to the first layer (units x cells)."""
        cells, given = cells_of(self.grids), np.zeros((len(self.form.bias), self._size))
        for number, place in enumerate(self.places):
            given += self.form.weights[place][:, None] * cells[:, number]
        return given

    @property
    def _size(self) -> int:
        return int(np.prod([len(grid) for grid in self.grids]))

    def predict(self, rows: FloatArray) -> FloatArray:
        """See ``CurveEngine``."""
        from discreet.engines.kernels.curves import fill_network_curves

        form, out = self.form, np.empty((self._size, len(rows)))
        varied = np.zeros(len(form.weights), dtype=bool)
        varied[self.places] = True
        fill_network_curves(
            *(_network_columns(form, rows), varied, self._given),
            *(form.weights, form.bias, form.outer, form.outer_bias),
            *(form.curve, form.rate, form.logistic, out),
        )
        return out.T


def _network_columns(form: NetworkForm, rows: FloatArray) -> FloatArray:
    """Return a row per feature; the kernel would read beyond rows of another width."""
    if rows.ndim != 2 or rows.shape[1] != len(form.weights):
        raise ModelError(f"rows must have {len(form.weights)} columns, got shape {rows.shape}.")
    return np.array(rows.T, order="C")


class StepEngine(ABC):
    """What a model answers if one feature is set to a few values of every row's own."""

    third_party: ThirdParty | None = None

    @abstractmethod
    def predict(self, rows: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
        """Return the clipped predictions of all rows at each of the values (values x rows).

        Guarantees:
          - Unless third-party code is called, answers are a function of their own row and its values,
            to the last bit. [ale]
        """


@dataclass(frozen=True)
class PredictedSteps(StepEngine):
    """Any model that predicts the rows made of a record, next to each other."""

    place: int
    predictions: Predictions
    third_party: ThirdParty | None

    def predict(self, rows: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
        """See ``StepEngine``."""
        made = np.repeat(rows, len(values), axis=0)
        made[:, self.place] = np.column_stack(values).ravel()
        return self.predictions(made, len(values)).reshape(len(rows), len(values)).T


@dataclass(frozen=True)
class NetworkSteps(StepEngine):
    """A network with one hidden layer, of which only what follows the feature is computed again.

    Guarantees:
      - A record's answers are a function of its own row and values, to the last bit, and differ from
        the network's own by rounding alone. [network-grid]
    """

    form: NetworkForm
    bounds: Box
    place: int

    def predict(self, rows: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
        """See ``StepEngine``."""
        from discreet.engines.kernels.curves import fill_network_steps

        form, out = self.form, np.empty((len(values), len(rows)))
        fill_network_steps(
            *(_network_columns(form, rows), self.place, np.array(values, dtype=np.float64)),
            *(form.weights, form.bias, form.outer, form.outer_bias),
            *(form.curve, form.logistic, out),
        )
        low, high = self.bounds.limits
        return np.clip(np.where(np.isnan(out), low / 2 + high / 2, out), low, high)


def linear_predictions(model: BoundModel, form: LinearForm) -> Predictions:
    """Return the predictions of a weighted sum of columns, each a function of its own row."""
    return lambda rows, _: np.clip(form.predict(rows), model.bounds.low, model.bounds.high)


@dataclass(frozen=True)
class TreeGrid(CurveEngine):
    """What an ensemble answers if one or two features are set to the points of grids.

    Points may come in any order, and one may be NaN, for a value that is missing: cells with it are
    answered by setting the features and going down the trees.

    Guarantees:
      - A record's answers are a function of its own row, to the last bit, and differ from the
        ensemble's own by rounding alone. [pdp-tree-grid]
    """

    trees: TreeEnsemble
    over: _Over
    places: tuple[int, ...]
    grids: tuple[FloatArray, ...]

    @classmethod
    def of(cls, trees: TreeEnsemble, places: Sequence[int], grids: Sequence[FloatArray]) -> TreeGrid:
        """Prepare the columns ``places`` and their grids: leaf masks for small trees, else a walk."""
        axes = {p: np.sort(g[~np.isnan(g)]) for p, g in zip(places, grids, strict=True)}
        over: _Over = _GridMasks.of(trees, axes) if fits_masks(trees) else _GridWalk.of(trees, axes)
        return cls(trees, over, tuple(places), tuple(grids))

    def predict(self, rows: FloatArray) -> FloatArray:
        """See ``CurveEngine``."""
        if rows.ndim != 2 or rows.shape[1] != self.trees.width:  # the kernel would read beyond a row
            raise ModelError(f"rows must have {self.trees.width} columns, got shape {rows.shape}.")
        scores = np.zeros((self._there.sum(), len(rows)))
        scores[0] = self.trees.base
        self.over.add(rows, scores)
        known = apply_link(self.trees.link, scores)
        if self._in_order:
            return known.T
        answers = np.empty((len(self._there), len(rows)))
        answers[self._there] = known[self._order]
        for cell in np.flatnonzero(~self._there):
            made = np.array(rows)
            made[:, self.places] = cells_of(self.grids)[cell]
            answers[cell] = self.trees.predict(made)
        return answers.T

    @cached_property
    def _there(self) -> NDArray[np.bool_]:
        """Which cells have no missing value."""
        return np.asarray(~np.isnan(cells_of(self.grids)).any(axis=1))

    @cached_property
    def _order(self) -> IntArray:
        """Where the cells without missing values stand among those of the sorted grids."""
        ranks = [np.argsort(np.argsort(g[~np.isnan(g)], kind="stable")) for g in self.grids]
        places = np.meshgrid(*ranks, indexing="ij")
        return np.ravel_multi_index([p.ravel() for p in places], [len(rank) for rank in ranks])

    @cached_property
    def _in_order(self) -> bool:
        return bool(self._there.all() and np.array_equal(self._order, np.arange(len(self._order))))


class _Over(Protocol):
    """Something that adds the trees' values over a grid."""

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """Add every row's values to ``out``, which has a row per cell."""


@dataclass(frozen=True)
class _GridMasks:
    """Splits on other features, and the leaves that ranges of the grid leave open."""

    splits: LeafMasks
    pick: NDArray[Any]
    corner: IntArray
    first_run: IntArray
    width: int

    @classmethod
    def of(cls, trees: TreeEnsemble, axes: dict[int, FloatArray]) -> _GridMasks:
        masks = LeafMasks.of(trees)
        tree = np.repeat(np.arange(len(trees.roots)), np.diff(masks.first_split))
        other = ~np.isin(masks.feature, list(axes))
        places, grids = [*axes, -1][:2], [*axes.values(), _NONE][:2]
        compared = [kernel_copy(grid[None, :], masks.threshold.dtype)[0] for grid in grids]
        picks: list[Any] = []
        corners, counts = [], []
        for number in range(len(trees.roots)):
            start, stop = masks.first_split[number : number + 2]
            looks_at = masks.feature[start:stop]
            found = [
                _ranges(masks, start + np.flatnonzero(looks_at == place), points)
                for place, points in zip(places, compared, strict=True)
            ]
            before = len(picks)
            for (first, a), (second, b) in product(*found):
                picks.append(a & b)
                corners.append(_corners(first, second, len(grids[0]), len(grids[1])))
            counts.append(len(picks) - before)
        rest = LeafMasks(
            base=masks.base,
            feature=masks.feature[other],
            threshold=masks.threshold[other],
            missing_left=masks.missing_left[other],
            mask=masks.mask[other],
            first_split=starts_of(np.bincount(tree[other], minlength=len(trees.roots))),
            value=masks.value,
            first_leaf=masks.first_leaf,
        )
        first_run = starts_of(np.array(counts))
        pick = np.array(picks, dtype=masks.mask.dtype)
        return cls(rest, pick, np.array(corners, dtype=np.int64), first_run, len(grids[1]))

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """See ``_Over``."""
        from discreet.engines.kernels.curves import add_curves_by_masks

        s = self.splits
        add_curves_by_masks(
            kernel_copy(rows.T, s.threshold.dtype),
            *(s.feature, s.threshold, s.missing_left, s.mask, s.first_split, s.value, s.first_leaf),
            *(self.pick, self.corner, self.first_run, self.width, out),
        )


def _ranges(
    masks: LeafMasks, splits: IntArray, points: NDArray[Any]
) -> list[tuple[tuple[int, int], Any]]:
    """Return the ranges of a grid, from their first point up to the next one's, and the leaves open."""
    bits = np.full(len(points), ~masks.mask.dtype.type(0))
    if not len(splits):
        return [((0, len(points)), bits[0])]
    for split in splits:
        bits[points > masks.threshold[split]] &= masks.mask[split]
    ends = [0, *(np.flatnonzero(bits[1:] != bits[:-1]) + 1).tolist(), len(points)]
    return [((first, after), bits[first]) for first, after in pairwise(ends)]


def _corners(first: tuple[int, int], second: tuple[int, int], rows: int, width: int) -> list[int]:
    """Return where a rectangle's value is added, taken away twice and added again; -1 for never."""
    (a, a_end), (b, b_end) = first, second
    inside0, inside1 = a_end < rows, b_end < width
    return [
        a * width + b,
        a_end * width + b if inside0 else -1,
        a * width + b_end if inside1 else -1,
        a_end * width + b_end if inside0 and inside1 else -1,
    ]


@dataclass(frozen=True)
class _GridWalk:
    """Nodes of trees of any size, and how many points of a grid go left at those that look at it."""

    trees: TreeEnsemble
    axis: NDArray[np.int8]
    cut: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, trees: TreeEnsemble, axes: dict[int, FloatArray]) -> _GridWalk:
        axis = np.where(trees.is_leaf, -2, -1).astype(np.int8)
        cut = np.zeros(len(axis), dtype=np.int64)
        for number, (place, grid) in enumerate(axes.items()):
            here = trees.feature == place
            axis[here] = number
            cut[here] = np.searchsorted(grid, trees.threshold[here], side="right")
        lengths = [len(grid) for grid in [*axes.values(), _NONE][:2]]
        return cls(trees, axis, cut, np.array(lengths))

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """See ``_Over``."""
        from discreet.engines.kernels.curves import add_curves_by_walk

        t = self.trees
        add_curves_by_walk(
            kernel_copy(rows, np.dtype(np.float64)),
            *(t.feature, t.threshold, t.missing_left, t.left, t.value),
            *(self.axis, self.cut, t.roots, int(t.depth.max()), self.lengths, out),
        )
