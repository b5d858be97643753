"""Vectors that are made at once: of all rows, of subsets of them, or of a sealed query and no row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.data.adding import check_shape, rounded_sum
from discreet.data.blocks import KeptRows
from discreet.data.contributions import (
    Contribution,
    SealedContribution,
    SubsetsContribution,
    WholeContribution,
)
from discreet.data.rows import open_rows
from discreet.data.state import quietly
from discreet.data.table import PrivateTable
from discreet.randomness import IntArray
from discreet.schema import FloatArray

AT_ONCE = (SealedContribution, WholeContribution, SubsetsContribution)

Progress = Callable[[int], None]


def reads_rows(contribution: Contribution) -> bool:
    """Say whether a contribution is about rows of the table at all."""
    return not isinstance(contribution, SealedContribution)


def make_at_once(
    table: PrivateTable,
    contribution: SealedContribution | WholeContribution | SubsetsContribution,
    step: float,
    progress: Progress | None,
    kept: KeptRows | None,
) -> IntArray:
    """Return the vector in whole steps."""
    if isinstance(contribution, SubsetsContribution):
        return _sum_subsets(table, contribution, step, progress, kept)
    with quietly(contribution.pulse is not None):
        made = (
            contribution.compute()
            if isinstance(contribution, SealedContribution)
            else contribution.compute(_all_rows(table, contribution.columns, kept))
        )
    return _rounded_vector(made, contribution, step)


def _sum_subsets(
    table: PrivateTable,
    contribution: SubsetsContribution,
    step: float,
    progress: Progress | None,
    kept: KeptRows | None,
) -> IntArray:
    """Return the sum of the rounded vectors of all subsets."""
    parts = subset_rows(table, contribution, kept)
    total = np.zeros(contribution.size, dtype=np.int64)
    with quietly(contribution.pulse is not None):
        for rows, vector in zip(parts, contribution.compute(parts), strict=True):
            total += _rounded_vector(vector, contribution, step)
            if progress is not None:
                progress(len(rows))
    return total


def _rounded_vector(
    made: FloatArray,
    contribution: SealedContribution | WholeContribution | SubsetsContribution,
    step: float,
) -> IntArray:
    vector = np.asfortranarray(np.asarray(made, dtype=np.float64)[None, :])
    check_shape(vector.shape, (1, contribution.size))
    return rounded_sum(vector, contribution.region, contribution.fill, step)


def _all_rows(table: PrivateTable, columns: tuple[str, ...], kept: KeptRows | None) -> FloatArray:
    blocks = [block.values for block in open_rows(table, columns, kept=kept)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(columns)))


def subset_rows(
    table: PrivateTable, contribution: SubsetsContribution, kept: KeptRows | None
) -> list[FloatArray]:
    """Return the rows of every subset, in their order.

    Their layout in memory depends on them alone: the same numbers, laid out otherwise, could make
    a model answer with other last bits.
    """
    columns, starts = contribution.columns, np.arange(1, contribution.subsets)
    pieces = [[np.empty((0, len(columns)))] for _ in range(contribution.subsets)]
    for block in open_rows(table, columns, with_ids=contribution.with_ids, kept=kept):
        places = np.clip(contribution.assign(block), 0, contribution.subsets - 1)
        order = np.argsort(places, kind="stable")
        found = np.split(order, np.searchsorted(places[order], starts))
        for piece, rows in zip(pieces, found, strict=True):
            piece.append(block.values[rows])
    return [np.ascontiguousarray(np.concatenate(piece)) for piece in pieces]
