"""Losses of records with one feature's value taken from others, and whose values these are.

* *Partners*: another row of the same block, by a public order. The values of a feature are those of the
  table, each as often as it is there.
* *Draws*: a list of public or released values. A record's draws follow from the record itself, so that
  it adds the same whoever is in the table with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS
from discreet.engines.permute import Engine, Index
from discreet.engines.table import engine_for
from discreet.explain.permutation.scores import Scorer
from discreet.models import BoundModel
from discreet.randomness import public_generator
from discreet.schema import FloatArray

_MOVED_CELLS = 2**21
"""Scores held at once: 16 MB."""

_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd multipliers of splitmix64 (Steele, Lea, Flood 2014)."""


def mean_losses(
    engine: Engine,
    scorer: Scorer,
    rows: FloatArray,
    truth: FloatArray,
    donors: FloatArray,
    index: Index,
) -> FloatArray:
    """Return every row's losses: one column per feature, exchanged, and the loss as it is.

    A feature's loss is the mean over the repeats, between zero and the scorer's greatest.
    """
    losses = np.zeros((len(rows), rows.shape[1] + 1), order="F")
    size = max(1, _MOVED_CELLS // max(rows.size, 1))
    for start in range(0, len(index), size):
        base, moved = engine.scores(rows, donors, index[start : start + size])
        for place, scores in moved:
            scorer.add(scores, truth, engine.logistic, losses[:, place])
    losses /= len(index)
    scorer.add(base[None, :], truth, engine.logistic, losses[:, -1])
    for place in set(range(rows.shape[1])) - set(engine.used):
        losses[:, place] = losses[:, -1]
    return np.clip(losses, 0.0, scorer.most)


def partners(seed: int, start: int, rows: int, repeats: int) -> Index:
    """Return who gives its value to whom, for every repeat: nobody to itself, everybody once.

    Rows are put in a random order, and each gets the value of the one ``r`` places behind it. The order
    follows from the seed and the place of the block in the table, which are public.

    Guarantees:
      - Without a fixed point and one to one in every repeat, unless there is one row alone. [pfi]

    >>> index = partners(0, 0, 4, 2)
    >>> np.sort(index).tolist(), bool((index == np.arange(4)).any())
    ([[0, 1, 2, 3], [0, 1, 2, 3]], False)
    """
    order = public_generator((seed << 40) + start).permutation(rows)
    index = np.empty((repeats, rows), dtype=np.uint32)
    for repeat in range(repeats):
        index[repeat, order] = np.roll(order, -1 - repeat % max(1, rows - 1))
    return index


@dataclass(frozen=True)
class Draws:
    """Values to draw replacements from: every column sorted by itself, so that draws can be spread."""

    donors: FloatArray
    seed: int

    @classmethod
    def of(cls, rows: FloatArray, seed: int) -> Draws:
        """Sort the columns of public or released rows; what belonged together does not matter."""
        return cls(np.sort(rows, axis=0), seed)

    def index(self, records: FloatArray, repeats: int) -> Index:
        """Return each record's draws: evenly spread ranks that start where the record's hash says.

        Guarantees:
          - A function of the record and public numbers alone. [pfi-marginal]
        """
        size = len(self.donors)
        repeats = min(repeats, size)
        spread = (np.arange(repeats, dtype=np.uint64) * np.uint64(size)) // np.uint64(repeats)
        return ((_hash(records, self.seed)[None, :] + spread[:, None]) % np.uint64(size)).astype(
            np.uint32
        )


def _hash(records: FloatArray, seed: int) -> NDArray[np.uint64]:
    """Return a mixed whole number below 2^32 of every record, the same for equal records."""
    bits = np.ascontiguousarray(records + 0.0).view(np.uint64)  # one zero, whatever its sign
    state = np.full(len(bits), (seed * _MIX[0]) % 2**64, dtype=np.uint64)
    for column in bits.T:
        state = (state ^ column) + np.uint64(_MIX[0])
        for multiplier, shift in zip(_MIX[1:], (30, 27), strict=True):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(multiplier)
    return state >> np.uint64(32)


def permutation_losses(
    model: BoundModel,
    rows: FloatArray,
    target: FloatArray,
    *,
    scorer: Scorer,
    repeats: int = 5,
    seed: int = 0,
) -> FloatArray:
    """Return the exact losses of rows, not private: one per feature, exchanged, and the loss itself.

    The importance of feature j is the mean of column j less the mean of the last. Rows are permuted
    inside canonical blocks, as in a release.

    Args:
      model: bound to the schema.
      rows: encoded, with the model's columns.
      target: encoded.
      scorer: from ``choose_scorer``.
      repeats: how many partners every row has.
      seed: of the order they are taken in.
    """
    engine = engine_for("permute", model)
    parts = []
    for start in range(0, len(rows), BLOCK_ROWS):
        part = np.asarray(rows[start : start + BLOCK_ROWS], dtype=np.float64)
        truth = scorer.truth(np.asarray(target[start : start + BLOCK_ROWS], dtype=np.float64))
        index = partners(seed, start, len(part), repeats)
        parts.append(mean_losses(engine, scorer, part, truth, part, index))
    return np.concatenate(parts)
