"""Values of coalitions of a sum of trees with a link: probabilities of boosted trees, clipped answers.

Such a model is not a sum of leaves, so its Shapley values have no formula over leaves; but its scores
are one. They are computed for all coalitions of a query and a record at once (``game_kernels``), then
linked and clipped as its answers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.shapley.coalitions import MaskSet
from discreet.models.forms.compiled import LeafMasks, fits_masks, leaf_ranges
from discreet.models.forms.trees import TreeEnsemble
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

_TILE_CELLS = 2**18
"""Values of coalitions, and leaves that rows allow, are held for a tile of pairs at a time (2 MB)."""

_BITS = 64
"""Features, as bits of a number."""

_MANY = 16
"""All coalitions are valued at once unless the wanted ones are so many times fewer."""


def fits_games(trees: TreeEnsemble) -> bool:
    """Say whether leaves and features fit into the bits of a number."""
    return trees.width <= _BITS and fits_masks(trees)


@dataclass(frozen=True)
class TreeGames:
    """An ensemble of trees of at most 64 leaves, ready for one set of masks.

    Args:
      trees: the ensemble.
      see: shows it encoded rows.
      masks: the public coalitions.
      bounds: answers are clipped to them.

    Guarantees:
      - The answers of the ensemble to mixed rows, to rounding; those of a pair depend on its own query
        and record alone, bit for bit. [shap-rounding]
    """

    trees: TreeEnsemble
    see: Callable[[FloatArray], FloatArray]
    masks: MaskSet
    bounds: Box

    def mean_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return every coalition's mean value over the background (queries x coalitions)."""
        from discreet.engines.shapley.kernels import add_pairs

        totals = np.zeros((len(queries), len(self.masks.coalitions)))
        for mine, _, values in self._tiles(queries, background):
            count = values.shape[1]
            add_pairs(values.reshape(-1, values.shape[2]), 0, count, totals[mine])
        return totals / len(background)

    def record_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return the attributions of every query against every record."""
        from discreet.engines.shapley.kernels import attribute_pairs

        out = np.zeros((len(queries), len(background), self.masks.features))
        operator = np.ascontiguousarray(self.masks.operator.T)
        for mine, its, values in self._tiles(queries, background):
            found = np.zeros((values.shape[0] * values.shape[1], self.masks.features))
            attribute_pairs(values.reshape(len(found), -1), operator, found)
            out[mine, its] = found.reshape(*values.shape[:2], -1)
        return out

    def _tiles(
        self, queries: FloatArray, background: FloatArray
    ) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield queries, records and the values of their coalitions, records in their order."""
        rows = max(1, _TILE_CELLS // (len(self._leaves) * self.trees.width))
        pairs = max(1, _TILE_CELLS // len(self.masks.coalitions))
        width = min(rows, pairs, max(1, len(background)))
        height = min(rows, pairs // width)
        for start in range(0, len(background), width):
            its = slice(start, start + width)
            given = self._allowed(background[its])
            for first in range(0, len(queries), height):
                mine = slice(first, first + height)
                yield mine, its, self._answers(self._allowed(queries[mine]), given)

    def _allowed(self, rows: FloatArray) -> NDArray[np.uint64]:
        from discreet.engines.shapley.game_kernels import fill_allowed

        out = np.empty((len(rows), len(self._leaves), self.trees.width), dtype=np.uint64)
        fill_allowed(self.see(rows), self._splits, self._masks.first_split, out)
        return out

    def _answers(self, asked: NDArray[np.uint64], given: NDArray[np.uint64]) -> FloatArray:
        from discreet.engines.shapley.game_kernels import answer_pairs

        out = np.empty((len(asked), len(given), len(self._codes)))
        answer_pairs(
            *(asked, given, self._leaves, self._masks.value, self._masks.first_leaf, self.trees.base),
            *(self._codes, self._signs, self.trees.link == "logistic", self._terms, out),
        )
        return out

    @cached_property
    def _masks(self) -> LeafMasks:
        return LeafMasks.of(self.trees)

    @cached_property
    def _leaves(self) -> NDArray[np.uint64]:
        """All leaves of every tree."""
        return _first_bits(np.diff(self._masks.first_leaf).astype(np.uint64))

    @cached_property
    def _splits(self) -> tuple[NDArray[Any], ...]:
        """Splits in one precision, so that the kernel is compiled once."""
        first, count = leaf_ranges(self.trees)
        splits = np.flatnonzero(~self.trees.is_leaf)
        left, right = self.trees.left[splits], self.trees.left[splits] + 1
        below_left, below_right = (_first_bits(count[at]) << first[at] for at in (left, right))
        feature, threshold = self.trees.feature[splits], self.trees.threshold[splits]
        return feature, threshold, self.trees.missing_left[splits], ~below_right, ~below_left

    @cached_property
    def _codes(self) -> NDArray[np.uint64]:
        bits = np.uint64(1) << np.arange(self.masks.features, dtype=np.uint64)
        return np.asarray((self.masks.coalitions * bits).sum(axis=1, dtype=np.uint64))

    @cached_property
    def _signs(self) -> FloatArray:
        """The sign of every set of features if all coalitions are valued at once, else nothing."""
        if self.masks.features >= _BITS or 2**self.masks.features > _MANY * len(self._codes):
            return np.empty(0)
        signs = np.ones(1)
        for _ in range(self.masks.features):
            signs = np.concatenate([signs, -signs])
        return signs

    @property
    def _terms(self) -> FloatArray:
        low, high = self.bounds.limits
        return np.array([low, high, low / 2 + high / 2, 1.0])


def _first_bits(count: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers whose first bits are set, 64 of them included."""
    every = ~np.uint64(0)
    return np.where(count == 0, np.uint64(0), every >> (np.uint64(64) - np.maximum(count, 1)))
