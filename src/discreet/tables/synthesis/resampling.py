"""From weighted rows to rows: systematic resampling, then the last correction of single columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.tables.synthesis.raking import WeightedRows


def resample_rows(model: WeightedRows, count: int, generator: np.random.Generator) -> IntArray:
    """Return the cells of ``count`` rows, each row of the model as often as its weight says.

    Rows are laid in the order of their values, so that neighbours in the line are alike, and taken at
    even distances from a random start.
    """
    order = np.lexsort(model.cells.T[::-1])
    ends = np.cumsum(model.weights[order])
    marks = (np.arange(count) + generator.random()) / count * ends[-1]
    taken = order[np.minimum(np.searchsorted(ends, marks, side="right"), len(order) - 1)]
    return model.cells[generator.permutation(taken)]


def correct_columns(
    cells: IntArray, columns: Sequence[FloatArray], generator: np.random.Generator
) -> IntArray:
    """Return rows whose single columns have the wanted shares, as few of them changed as can be."""
    corrected = cells.copy()
    for column, wanted in enumerate(columns):
        quota = _whole_counts(wanted, len(cells), generator)
        surplus = np.bincount(cells[:, column], minlength=len(wanted)) - quota
        missing = np.repeat(np.arange(len(wanted)), np.maximum(-surplus, 0))
        spare = [
            generator.choice(np.flatnonzero(cells[:, column] == cell), surplus[cell], replace=False)
            for cell in np.flatnonzero(surplus > 0)
        ]
        if spare:
            corrected[np.concatenate(spare), column] = generator.permutation(missing)
    return corrected


def _whole_counts(wanted: FloatArray, count: int, generator: np.random.Generator) -> IntArray:
    """Return whole numbers that add up to ``count`` and are as near to the shares as can be."""
    ends = np.cumsum(wanted) / wanted.sum() * count
    marks = np.floor(ends + generator.random())
    marks[-1] = count
    return np.asarray(np.diff(np.minimum(marks, count), prepend=0.0), dtype=np.int64)
