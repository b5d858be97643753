"""Public bins of every feature, and which bin a record is in.

A number is divided into fine cells of its public range, which are merged into fewer bins once noisy
counts of them are known; a category has one bin per code. Missing and unlisted values have bins of
their own, the last ones.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Bins, Category, FloatArray, Number, Schema
from discreet.schema.bins import MISSING_LABEL

FINE = 256
"""Into so many cells the range of a number is cut before bins are made of them."""

_DATA, _EVEN, _POWER = 0.7, 0.3, 0.7
"""Of a bin's weight: what follows the records, what the range, and how strongly both are levelled."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Feature:
    """One column as the model sees it.

    Attributes:
      name: of the column.
      bins: its cells: fine ones of a number until bins are known.
      ordered: how many of them have an order; the others, the last ones, stand for themselves.
    """

    name: str
    bins: Bins
    ordered: int

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.bins)

    @property
    def own(self) -> int:
        """How many cells stand for themselves."""
        return self.size - self.ordered


def fine_features(schema: Schema, names: Sequence[str]) -> tuple[Feature, ...]:
    """Return the features with the finest cells they may have, from public facts."""
    return tuple(_fine(name, schema[name]) for name in names)


def _fine(name: str, column: Any) -> Feature:
    if isinstance(column, Number):
        bins = column.bins(FINE)
        return Feature(name, bins, len(bins) - bins.reserved)
    assert isinstance(column, Category)
    bins = column.bins(len(column))
    return Feature(name, bins, len(column.values) if column.ordered else 0)


def merged(feature: Feature, column: Number, counts: FloatArray, bins: int) -> Feature:
    """Return a number with fewer bins, from noisy shares of its fine cells: post-processing.

    Many records make narrow bins, and so does an even part of the range; empty bins vanish.
    """
    shares = counts / max(float(counts.sum()), 1e-9)
    weights = (_DATA * shares + _EVEN / len(counts)) ** _POWER
    starts = np.flatnonzero(np.diff(parts_of(weights, bins), prepend=-1)).tolist()
    return joined(feature, column, [*starts, len(counts)])


def parts_of(weights: FloatArray, parts: int) -> NDArray[np.int64]:
    """Return into which of some successive parts, about alike in weight, every cell falls."""
    middles = np.cumsum(weights) - weights / 2
    places = (middles / (weights.sum() / parts)).astype(np.int64)
    return np.asarray(np.minimum(places, parts - 1))


def joined(feature: Feature, column: Number, starts: list[int]) -> Feature:
    """Return a number with successive cells joined: from each start to the next."""
    assert feature.bins.edges is not None
    edges = tuple(feature.bins.edges[start] for start in starts)
    labels = [_label(column, feature.bins.labels, *ends) for ends in pairwise(starts)]
    reserved = feature.bins.reserved
    told = (*labels, *([MISSING_LABEL] * reserved))
    return Feature(feature.name, Bins(told, edges, reserved, unit=feature.bins.unit), len(labels))


def even(feature: Feature, bins: int) -> Feature:
    """Return a number with as many bins as it may have, for a price."""
    if not feature.bins.edges or feature.ordered <= bins:
        return feature
    edges = tuple(feature.bins.edges[round(n * feature.ordered / bins)] for n in range(bins + 1))
    labels = (*map(str, range(bins)), *feature.bins.labels[feature.ordered :])
    made = replace(feature.bins, labels=labels, edges=edges)
    return Feature(feature.name, made, bins)


def _label(column: Number, fine: tuple[str, ...], start: int, stop: int) -> str:
    """Return what a bin of successive fine cells is called, by the names of the first and last one."""
    first, last = fine[start], fine[stop - 1]
    if start == stop - 1:
        return first
    if column.step is None:
        return f"{first.split(', ')[0]}, {last.split(', ')[1]}"
    low, high = first.split(" to ")[0], last.split(" to ")[-1]
    return f"{low} to {high}"


@dataclass
class Coder:
    """Finds the bins of encoded rows, and remembers those of blocks that are kept.

    Every code is a function of its row and of public bins alone; what is remembered is never wrong,
    because values of a block never change, and is dropped with them.
    """

    features: tuple[Feature, ...]
    kept: dict[int, tuple[weakref.ref[Any], Codes]] = field(default_factory=dict, repr=False)

    def codes(self, values: FloatArray) -> Codes:
        """Return the bin of every row and feature, features x rows."""
        known = self.kept.get(id(values))
        if known is not None and known[0]() is values:
            return known[1]
        found = np.empty((len(self.features), len(values)), dtype=np.int32)
        for place, feature in enumerate(self.features):
            found[place] = feature.bins.index(np.ascontiguousarray(values[:, place]))
        key = id(values)
        self.kept[key] = (weakref.ref(values, lambda _: self.kept.pop(key, None)), found)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Coder, (self.features,)
