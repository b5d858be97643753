"""Means over mixed rows for ensembles of small trees, see ``kernels.interact_trees``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.engines.interact import Dependences, Means, answer_terms
from discreet.models import BoundModel, TreeEnsemble
from discreet.models.bounds import bound_trees
from discreet.models.forms.compiled import LeafMasks, fits_masks
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_NO_PAIRS = np.empty((0, 2), dtype=np.int64)
_CELLS = 2**23
"""Numbers in tables at once (64 MB)."""

_SAME = 1e-9
"""Answers this far beyond the bounds, of their range, are inside but for rounding."""


@dataclass(frozen=True)
class TreeDependences(Dependences):
    """A sum of trees with up to 64 leaves each, whatever the link and the bounds."""

    trees: TreeEnsemble
    bounds: Box

    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """See ``Dependences``."""
        given, rest = np.empty(rows.shape[::-1]), np.empty(rows.shape[::-1])
        for used in self._chunks(rows.shape[1], starts):
            found = self._replace(rows, starts, used, _NO_PAIRS)
            given[used], rest[used] = self._average(found, starts)
        return self._answers(found.own), given, rest

    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """See ``Dependences``."""
        given, both = np.zeros(rows.shape[::-1]), np.empty((len(pairs), len(rows)))
        for part in self._chunks(len(pairs), starts):
            used, places = np.unique(pairs[part], return_inverse=True)
            found = self._replace(rows, starts, used, pairs[part])
            given[used], _ = self._average(found, starts)
            if self._additive:
                parts = given[pairs[part, 0]] + given[pairs[part, 1]]
                both[part] = parts + found.crosses * answer_terms(self.bounds)[3]
            else:
                both[part] = self._average_pairs(found, starts, places.reshape(-1, 2))
        return self._answers(found.own), given, both

    @cached_property
    def _additive(self) -> bool:
        """Whether answers are the scores themselves: no link, and no bound that cuts them."""
        reached, (low, high) = bound_trees(self.trees), self.bounds.limits
        if self.trees.link != "identity" or reached is None:
            return False
        room = _SAME * (high - low)
        return low - room <= reached.low and reached.high <= high + room

    @cached_property
    def _ranges(self) -> _Ranges:
        return _Ranges.of(self.trees)

    @property
    def _link(self) -> tuple[bool, FloatArray]:
        return self.trees.link == "logistic", answer_terms(self.bounds)

    def _chunks(self, count: int, starts: IntArray) -> list[IntArray]:
        """Return features or pairs in chunks whose tables and levels fit."""
        tables = 0 if self._additive else int(np.sum(np.diff(starts) ** 2))
        cells = tables + 2 * self._ranges.most_levels * int(starts[-1])
        most = max(1, _CELLS // max(1, cells))
        return [np.arange(first, min(count, first + most)) for first in range(0, count, most)]

    def _replace(
        self, rows: FloatArray, starts: IntArray, used: IntArray, pairs: IntArray
    ) -> _Replaced:
        from discreet.engines.kernels.interact_trees import replace_in_trees

        ranges, (size, width) = self._ranges, rows.shape
        columns = np.array(rows.T, dtype=np.float64, order="C")
        code, first_level = ranges.levels(columns, used)
        cross = np.full((width, width), -1)
        cross[pairs.min(axis=1), pairs.max(axis=1)] = np.arange(len(pairs))
        cells = size if self._additive else int(np.sum(np.diff(starts) ** 2))
        found = _Replaced(
            own=np.full(size, self.trees.base),
            code=code,
            levels=np.zeros((first_level.max(), size)),
            crosses=np.zeros((len(pairs), cells)),
        )
        replace_in_trees(
            *(columns, starts, ranges.threshold, ranges.rank, ranges.first_split, ranges.pick),
            *(ranges.first_range, ranges.feature, ranges.first_group, ranges.value),
            *(ranges.first_leaf, first_level, cross, self._additive),
            *(found.own, found.levels, found.crosses),
        )
        return found

    def _average(self, found: _Replaced, starts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the means over rows and over donors of all features that were replaced."""
        from discreet.engines.kernels.interact_trees import average_singles

        given, rest = np.empty(found.code.shape), np.empty(found.code.shape)
        average_singles(found.levels, found.code, starts, found.own, *self._link, given, rest)
        return given, rest

    def _average_pairs(self, found: _Replaced, starts: IntArray, places: IntArray) -> FloatArray:
        """Return the means over rows of the pairs that were replaced."""
        from discreet.engines.kernels.interact_trees import average_pairs

        both = np.empty((len(places), len(found.own)))
        tables = (found.levels, found.code, places, found.crosses)
        average_pairs(*tables, starts, found.own, *self._link, both)
        return both

    def _answers(self, scores: FloatArray) -> FloatArray:
        from discreet.engines.kernels.interact import finish, in_units

        link, terms = self._link
        finish(scores, link, terms)
        in_units(scores, terms)
        return scores


@dataclass(frozen=True)
class _Replaced:
    """Scores of rows, and what donors change: by features, and by pairs beyond these.

    Args:
      own: the scores of the rows.
      code: the level of every donor (features x rows).
      levels: what every level changes (levels x rows).
      crosses: a table, or the means over rows, of every pair.
    """

    own: FloatArray
    code: IntArray
    levels: FloatArray
    crosses: FloatArray


@dataclass(frozen=True)
class _Ranges:
    """The splits of every tree in groups, one per feature, and the leaves open between thresholds."""

    threshold: FloatArray
    rank: IntArray
    first_split: IntArray
    pick: NDArray[np.uint64]
    first_range: IntArray
    feature: IntArray
    first_group: IntArray
    value: FloatArray
    first_leaf: IntArray
    limits: list[FloatArray]

    @classmethod
    def of(cls, trees: TreeEnsemble) -> _Ranges:
        """Sort the splits of every tree by feature and threshold."""
        masks = LeafMasks.of(trees)
        tree = np.repeat(np.arange(len(trees.roots)), np.diff(masks.first_split))
        lifted = trees.threshold[~trees.is_leaf]  # one kind of numbers: kernels are compiled once
        order = np.lexsort((lifted, masks.feature, tree))
        looks_at, threshold = masks.feature[order].astype(np.int64), lifted[order]
        groups, first = np.unique(np.stack([tree[order], looks_at]), axis=1, return_index=True)
        ends = np.append(first, len(order)).astype(np.int64)
        full, picks = ~np.uint64(0), [np.empty(0, np.uint64)]
        # The bits above the last leaf may be anything: the lowest one is looked for.
        mask, missing = masks.mask[order].astype(np.uint64), ~masks.missing_left[order]
        for split, after in pairwise(ends.tolist()):
            closed = mask[split:after]
            picks.append(np.append(full, np.bitwise_and.accumulate(closed)))
            gone = closed[missing[split:after]]
            picks.append(np.bitwise_and.reduce(gone, initial=full, keepdims=True))
        limits = [np.unique(threshold[looks_at == place]) for place in range(trees.width)]
        rank = np.zeros(len(order), dtype=np.int64)
        for place, points in enumerate(limits):
            rank[looks_at == place] = np.searchsorted(points, threshold[looks_at == place])
        return cls(
            threshold=threshold,
            rank=rank,
            first_split=ends,
            pick=np.concatenate(picks),
            first_range=ends + 2 * np.arange(len(ends)),
            feature=groups[1].copy(),
            first_group=np.searchsorted(groups[0], np.arange(len(trees.roots) + 1)),
            value=masks.value,
            first_leaf=masks.first_leaf,
            limits=limits,
        )

    @property
    def most_levels(self) -> int:
        """The greatest number of levels of a feature."""
        return max(len(points) for points in self.limits) + 2

    def levels(self, columns: FloatArray, used: IntArray) -> tuple[IntArray, IntArray]:
        """Return the level of every value of some features, and where every feature's begin and end.

        A level lies between two thresholds of any tree; the last one is that of NaN.
        """
        ends = np.cumsum([0, *(len(self.limits[place]) + 2 for place in used)])
        code = np.empty((len(used), columns.shape[1]), dtype=np.int64)
        begin_end = np.zeros((len(columns), 2), dtype=np.int64)
        begin_end[used] = np.column_stack([ends[:-1], ends[1:]])
        for number, place in enumerate(used):
            column = columns[place]
            code[number] = ends[number] + np.searchsorted(self.limits[place], column)
            code[number] += np.isnan(column)
        return code, begin_end


def tree_dependences(model: BoundModel, trees: TreeEnsemble) -> Dependences | None:
    """Return dependences of trees; None if a tree has too many leaves for a mask."""
    return TreeDependences(trees, model.bounds) if fits_masks(trees) else None
