"""How models answer rows in which one value is another record's: question *permute*, for every form.

* ``NetworkEngine``: linear and logistic models and networks with one hidden layer; the first layer
  moves along one column of its weights.
* ``EnsembleEngine``: trees; only those that split on the feature, and only below the split.
* ``CallEngine``: any model, in calls of many rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.calls import ThirdParty
from discreet.models import BoundModel, NetworkForm, TreeEnsemble
from discreet.models.forms.compiled import LeafMasks, fits_masks, kernel_copy
from discreet.schema import FloatArray

Index = NDArray[np.uint32]
Moved = Iterator[tuple[int, FloatArray]]

_JOB = [("given", np.float64), *((name, np.uint32) for name in ("at", "row", "place", "repeat"))]
_JOBS = 2**13
"""Walks that go down side by side."""

_CALL_ROWS = 2**15


class PermuteEngine(ABC):
    """Scores of rows as they are, and with one feature's value taken from donors."""

    third_party: ThirdParty | None = None
    logistic = False
    used: tuple[int, ...]

    @abstractmethod
    def scores(self, rows: FloatArray, donors: FloatArray, index: Index) -> tuple[FloatArray, Moved]:
        """Return the rows' scores, and (feature, repeats x rows) for every feature in use.

        Row i of repeat r gets the value of ``donors[index[r, i]]``.

        Guarantees:
          - Unless third-party code is called, a score is a function of its row and its donor, to the
            last bit. [pfi-rounding]
        """


@dataclass(frozen=True)
class NetworkEngine(PermuteEngine):
    """A network with one hidden layer; linear and logistic models have one unit."""

    form: NetworkForm

    @property
    def logistic(self) -> bool:  # type: ignore[override]
        """Whether a score is the logit of the answer."""
        return self.form.logistic

    @cached_property
    def used(self) -> tuple[int, ...]:  # type: ignore[override]
        """Features with a weight."""
        return tuple(np.flatnonzero(np.any(self.form.weights != 0, axis=1)).tolist())

    def scores(self, rows: FloatArray, donors: FloatArray, index: Index) -> tuple[FloatArray, Moved]:
        """See ``Engine``."""
        from discreet.engines.kernels.permute import fill_layer

        form, shape = self.form, (len(rows), len(self.form.bias))
        layer, curves, near = np.empty(shape), np.empty(shape), np.empty(len(rows), dtype=bool)
        row_major = np.array(rows, order="C")
        theirs = row_major if donors is rows else donors
        fill_layer(row_major, form.weights, form.bias, form.rate, layer, curves, near)
        themselves = np.arange(len(rows), dtype=np.uint32)[None, :]
        state = (layer, curves, near)
        base = self._moved(row_major, row_major, themselves, 0, state)[0]
        return base, (
            (place, self._moved(row_major, theirs, index, place, state)) for place in self.used
        )

    def _moved(
        self, rows: FloatArray, donors: FloatArray, index: Index, place: int, state: tuple[Any, ...]
    ) -> FloatArray:
        from discreet.engines.kernels.permute import fill_moved

        form = self.form
        column = rows[:, place].copy()
        own = self._exponentials(column, place)
        values = column if donors is rows else donors[:, place].copy()
        given = own if donors is rows else self._exponentials(values, place)
        scores = np.empty(index.shape)
        fill_moved(
            column,
            values,
            index,
            *state,
            *own,
            *given,
            form.weights[place],
            form.outer,
            form.outer_bias,
            form.curve,
            scores,
        )
        return scores

    def _exponentials(self, column: FloatArray, place: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        from discreet.engines.kernels.permute import fill_exponentials

        out, near = np.ones((len(column), len(self.form.bias))), np.empty(len(column), dtype=bool)
        if self.form.rate:
            fill_exponentials(column, self.form.weights[place], self.form.rate, out, near)
        return out, near


@dataclass(frozen=True)
class EnsembleEngine(PermuteEngine):
    """A sum of trees: leaf masks up to 64 leaves a tree, else a walk."""

    trees: TreeEnsemble

    @property
    def logistic(self) -> bool:  # type: ignore[override]
        """Whether a score is the logit of the answer."""
        return self.trees.link == "logistic"

    @cached_property
    def used(self) -> tuple[int, ...]:  # type: ignore[override]
        """Features that some tree splits on."""
        return tuple(np.unique(self.trees.feature[~self.trees.is_leaf]).tolist())

    @cached_property
    def _groups(self) -> _SplitGroups | None:
        return _SplitGroups.of(self.trees) if fits_masks(self.trees) else None

    def scores(self, rows: FloatArray, donors: FloatArray, index: Index) -> tuple[FloatArray, Moved]:
        """See ``Engine``."""
        totals = np.full(len(rows), self.trees.base)
        if self._groups is not None:
            moved = self._groups.move(rows, donors, index, totals)
        else:
            moved = self._walk(rows, donors, index, totals)
        return totals, ((place, totals + moved[place]) for place in self.used)

    @cached_property
    def _nodes(self) -> NDArray[Any]:
        """What a step of a walk reads, side by side."""
        kind = [("threshold", np.float64), ("feature", np.uint32), ("left", np.uint32)]
        nodes = np.empty(len(self.trees.left), dtype=kind)
        nodes["threshold"], nodes["left"] = self.trees.threshold, self.trees.left
        nodes["feature"] = np.maximum(self.trees.feature, 0)
        return nodes

    def _walk(
        self, rows: FloatArray, donors: FloatArray, index: Index, totals: FloatArray
    ) -> FloatArray:
        from discreet.engines.kernels.permute import move_by_walk

        trees, moved = self.trees, np.zeros((*rows.shape, len(index)))
        row_major, theirs = np.array(rows, order="C"), np.array(donors, order="C")
        fields = (self._nodes, trees.missing_left, trees.value, trees.roots)
        jobs = np.empty(max(_JOBS, rows.shape[1] * len(index)), dtype=_JOB)
        move_by_walk(row_major, theirs, index, *fields, jobs, totals, moved)
        return np.ascontiguousarray(moved.transpose(1, 2, 0))


@dataclass(frozen=True)
class _SplitGroups:
    """The splits of every tree in groups, one per feature, as ``move_by_masks`` takes them."""

    threshold: NDArray[Any]
    missing_left: NDArray[np.bool_]
    mask: NDArray[Any]
    looks_at: NDArray[np.uint32]
    first_split: NDArray[np.int64]
    feature: NDArray[np.int64]
    first_group: NDArray[np.int64]
    value: FloatArray
    first_leaf: NDArray[np.int64]

    @classmethod
    def of(cls, trees: TreeEnsemble) -> _SplitGroups:
        """Sort the splits of every tree by feature."""
        masks = LeafMasks.of(trees)
        tree = np.repeat(np.arange(len(trees.roots)), np.diff(masks.first_split))
        order = np.lexsort((masks.feature, tree))
        pairs = np.column_stack([tree, masks.feature])[order].astype(np.int64)
        groups, first = np.unique(pairs, axis=0, return_index=True)
        return cls(
            threshold=masks.threshold[order],
            missing_left=masks.missing_left[order],
            mask=masks.mask[order],
            looks_at=masks.feature[order],
            first_split=np.append(first, len(order)).astype(np.int64),
            feature=groups[:, 1].copy(),
            first_group=np.searchsorted(groups[:, 0], np.arange(len(trees.roots) + 1)),
            value=masks.value,
            first_leaf=masks.first_leaf,
        )

    def move(
        self, rows: FloatArray, donors: FloatArray, index: Index, totals: FloatArray
    ) -> FloatArray:
        """Add leaf values to ``totals``, return what donors change: features x repeats x rows."""
        from discreet.engines.kernels.permute import move_by_masks

        moved = np.zeros((rows.shape[1], *index.shape))
        columns, shared = self._columns(rows), donors is rows
        theirs = columns if shared else self._columns(donors)
        fields = (self.threshold, self.missing_left, self.mask, self.looks_at, self.first_split)
        leaves = (self.feature, self.first_group, self.value, self.first_leaf)
        move_by_masks(columns, theirs, shared, index, *fields, *leaves, totals, moved)
        return moved

    def _columns(self, rows: FloatArray) -> NDArray[Any]:
        """Return a row per feature, in the precision of the thresholds."""
        return kernel_copy(rows.T, self.threshold.dtype)


@dataclass(frozen=True)
class CallEngine(PermuteEngine):
    """Any model, called with many rows at once."""

    model: BoundModel

    @property
    def third_party(self) -> ThirdParty | None:  # type: ignore[override]
        """What is known of the model, unless code of ours evaluates it."""
        return self.model.third_party

    @cached_property
    def used(self) -> tuple[int, ...]:  # type: ignore[override]
        """All features: nothing is known of the model."""
        return tuple(range(len(self.model.columns)))

    def scores(self, rows: FloatArray, donors: FloatArray, index: Index) -> tuple[FloatArray, Moved]:
        """See ``Engine``."""
        return self.model.answer(rows), (
            (place, self._moved(rows, donors, index, place)) for place in self.used
        )

    def _moved(self, rows: FloatArray, donors: FloatArray, index: Index, place: int) -> FloatArray:
        scores = np.empty(index.shape)
        size = max(1, min(len(index), _CALL_ROWS // len(rows)))
        stacked = np.asfortranarray(np.tile(rows, (size, 1)))
        for start in range(0, len(index), size):
            part = index[start : start + size]
            stacked[: part.size, place] = donors[part.ravel(), place]
            scores[start : start + size] = self.model.answer(stacked[: part.size]).reshape(part.shape)
        return scores
