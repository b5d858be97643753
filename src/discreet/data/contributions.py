"""What one record adds to an answer: a bounded vector, or one cell of one count or of several.

Nearly every answer is a sum over records of something one record contributes. Saying what that is,
and where it lies, is all a plan has to do; summing, rounding and noise are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.data.calls import Pulse
from discreet.data.company import PROVEN, Company, Standing
from discreet.numerics import check_whole, up
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate, certify_cells
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import FloatArray


@dataclass(frozen=True)
class VectorContribution:
    """Every record adds a vector of ``size`` numbers inside ``region``.

    Args:
      columns: the columns ``compute`` reads.
      size: length of the vector.
      region: the box or ball each vector is clipped to.
      fill: what NaN becomes before clipping; public.
      compute: a block's vectors, one row each.
      company: what is known of the code that ``compute`` calls and that is not ours (a model); None
        if it calls none. Such code may warn and print; it runs alone, on one thread, with its output
        dropped, and the certificate pays for what answers move with the rows beside them.
      gain: how many times over a change of a model's answer shows in a coordinate, at most.
      proven: a certificate of the exact sum that says more than the region does; clipping to the
        region moves no two vectors apart, so it stays true.
    """

    columns: tuple[str, ...]
    size: int
    region: Box | Ball
    fill: float
    compute: Callable[[Block], FloatArray]
    company: Company | None = None
    gain: float = 1.0
    proven: Certificate | None = None

    @property
    def foreign(self) -> bool:
        """Whether code that is not ours is called."""
        return self.company is not None

    def standing(self, relation: Relation) -> Standing:
        """Return what is known of answers under a relation."""
        return PROVEN if self.company is None else self.company.under(relation)

    @property
    def pulse(self) -> Pulse | None:
        """Whether the code that is not ours still answers; None if there is none."""
        return None if self.company is None else self.company.pulse

    def drift(self, relation: Relation) -> float:
        """Return how far a coordinate of another record may move with a record beside it."""
        drift = self.standing(relation).drift
        return up(drift * self.gain) if drift else 0.0

    @property
    def certificate(self) -> Certificate:
        """The certificate of the exact sum."""
        return self.region.certify(self.size) if self.proven is None else self.proven


@dataclass(frozen=True)
class CellContribution:
    """Every record adds one to exactly one of ``size`` cells.

    Guarantees:
      - Whole numbers throughout: no rounding, whatever the order of rows. [pattern-counts]
    """

    columns: tuple[str, ...]
    size: int
    index: Callable[[Block], NDArray[np.int64]]

    foreign = False

    @property
    def certificate(self) -> Certificate:
        """The certificate of the counts."""
        return certify_cells(self.size)


@dataclass(frozen=True)
class TablesContribution:
    """Every record adds one to exactly one cell of each of several tables, laid end to end.

    Args:
      columns: the columns ``index`` reads.
      sizes: the number of cells of every table.
      index: the cells of a block's records, one array per table; counted from the table's own start
        and brought inside it.

    Guarantees:
      - Whole numbers throughout, and no record in two cells of a table. [pattern-counts] [marginals]
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    index: Callable[[Block], Iterable[NDArray[np.int64]]]

    foreign = False

    @property
    def size(self) -> int:
        """The number of cells of all tables."""
        return sum(self.sizes)

    @property
    def certificate(self) -> Certificate:
        """The certificate of all counts."""
        return certify_tables(len(self.sizes), self.size)


def certify_tables(tables: int, size: int) -> Certificate:
    """Certify the counts of some tables of which every record is in one cell each.

    Guarantees:
      - Replacing a record moves two cells of a table by one: L1 2 T, L2 sqrt(2 T), Linf 1 over T
        tables; adding or removing one moves one cell of each: T, sqrt T, 1. [marginals]
    """
    check_whole("tables", tables, 1)
    return Certificate(
        ("marginals",),
        size,
        {
            REPLACE_ONE: Bounds(2.0 * tables, up(math.sqrt(2.0 * tables), 1), 1.0),
            ADD_REMOVE: Bounds(float(tables), up(math.sqrt(tables), 1), 1.0),
        },
    )


@dataclass(frozen=True)
class SealedContribution:
    """One vector made from a sealed query; no row of the table is read.

    ``proven`` is for neighbouring *queries*, under the relation's name "replace-one".
    """

    size: int
    region: Box
    fill: float
    compute: Callable[[], FloatArray]
    proven: Certificate

    columns = ()
    foreign = False

    @property
    def certificate(self) -> Certificate:
        """The certificate of the vector."""
        return self.proven


@dataclass(frozen=True)
class WholeContribution:
    """One vector made from all rows at once, for what is no sum over records.

    Args:
      columns: the columns ``compute`` reads.
      size: length of the vector.
      region: the box the vector is clipped to.
      fill: what NaN becomes before clipping; public.
      compute: the vector of all encoded rows, in their order.
      proven: what is known of how far one record moves the vector.
      foreign: whether ``compute`` calls code that is not ours.
    """

    columns: tuple[str, ...]
    size: int
    region: Box
    fill: float
    compute: Callable[[FloatArray], FloatArray]
    proven: Certificate
    foreign: bool = False

    @property
    def certificate(self) -> Certificate:
        """The certificate of the vector."""
        return self.proven


@dataclass(frozen=True)
class SubsetsContribution:
    """Every one of ``subsets`` disjoint sets of rows adds one vector, made from its rows alone.

    Args:
      columns: the columns ``compute`` reads.
      size: length of a vector.
      region: the box every vector is clipped to.
      fill: what NaN becomes before clipping; public.
      subsets: how many there are; some may be empty.
      assign: the subset of every row of a block.
      compute: the vectors of all subsets, in order, from their encoded rows.
      proven: how far one record moves the sum of the vectors: as far as its own subset's.
      foreign: whether ``compute`` calls code that is not ours.
      with_ids: whether ``assign`` reads the ids of the rows.
      pulse: whether a model that is called still answers, if that is known.
    """

    columns: tuple[str, ...]
    size: int
    region: Box
    fill: float
    subsets: int
    assign: Callable[[Block], NDArray[np.int64]]
    compute: Callable[[list[FloatArray]], Iterable[FloatArray]]
    proven: Certificate
    foreign: bool = False
    with_ids: bool = False
    pulse: Pulse | None = None

    @property
    def certificate(self) -> Certificate:
        """The certificate of the sum."""
        return self.proven


Contribution = (
    VectorContribution
    | CellContribution
    | TablesContribution
    | SealedContribution
    | WholeContribution
    | SubsetsContribution
)
