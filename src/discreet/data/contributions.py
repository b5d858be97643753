"""What one record adds to an answer: a bounded vector, or one cell of one count or of several.

Nearly every answer is a sum over records of something one record contributes. Saying what that is,
and where it lies, is all a plan has to do; summing, rounding and noise are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import PROVEN, CallEvidence, ModelCalls, Pulse
from discreet.data.direct import DirectCount, DirectSum
from discreet.numerics import check_whole, up
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate, certify_cells
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, ROWS_CAP, Relation
from discreet.schema import FloatArray


def sum_rows(values: FloatArray) -> FloatArray:
    """Return the sum of every row of a matrix, added from left to right.

    The same bits whatever rows are beside it and however they lie in memory, unlike ``values.sum(1)``.

    >>> sum_rows(np.array([[1.0, 2.0], [0.5, 0.25]]))
    array([3.  , 0.75])
    """
    total = np.zeros(len(values))
    for column in values.T:
        total += column
    return total


@dataclass(frozen=True)
class VectorContribution:
    """Every record adds a vector of ``size`` numbers inside ``region``.

    The contract of ``compute``: a row of what it returns is a function of that row of the block alone,
    to the last bit, wherever it stands and whatever rows are beside it. A matrix product, ``np.sum``,
    ``np.mean`` or ``np.var`` along rows add up in an order that depends on how many rows there are or
    how they lie in memory, and break it; element-wise arithmetic, ``sum_rows`` and compiled loops over
    one row keep it. ``tests/laws/test_plan_rows.py`` tries it on public rows, never a release. What
    breaks it all the same is declared, and paid for: ``partners`` and ``calls``.

    Args:
      columns: the columns ``compute`` reads.
      size: length of the vector.
      region: the box or ball each vector is clipped to.
      fill: what NaN becomes before clipping; public.
      compute: a block's vectors, one row each.
      proven: a certificate of the exact sum that says more than the region does; clipping to the
        region moves no two vectors apart, so it stays true.
      partners: how many other records' vectors are made with values of a record; ``proven`` says how
        far they move.
      calls: of a model, with its Lipschitz constant; None if ``compute`` calls none. Third-party code
        may warn and print; it runs alone, on one thread, with its output dropped, and the certificate
        pays for what answers move with the rows of their batch.
      direct: the same vector, where it is one number that is a column's clipped value.
      pairs: the same vector, where a record shares one between a cell and the next: the first of them,
        negative for none, and what goes to the second.
      spots: the same vector, where a record adds the same few numbers to one cell of each of several
        tables: the cells, tables x rows, counted through all tables and negative for none, and the
        numbers, rows x channels, whole multiples of the lattice step.

    Guarantees:
      - With third-party code a coordinate moves by at most the Lipschitz constant times the farthest
        that answers move. [lattice]
    """

    columns: tuple[str, ...]
    size: int
    region: Box | Ball
    fill: float
    compute: Callable[[Block], FloatArray]
    proven: Certificate | None = None
    partners: int = 0
    calls: ModelCalls | None = field(kw_only=True)
    direct: DirectSum | None = field(default=None, kw_only=True)
    pairs: Callable[[Block], tuple[NDArray[np.int64], FloatArray]] | None = field(
        default=None, kw_only=True
    )
    spots: Callable[[Block], tuple[NDArray[np.int64], FloatArray]] | None = field(
        default=None, kw_only=True
    )

    @property
    def own_row(self) -> bool:
        """Whether a vector claims to depend on its own row alone, bit for bit."""
        return self.partners == 0 and self.pulse is None

    @property
    def pulse(self) -> Pulse | None:
        """Whether third-party code still answers; None if none is called."""
        return None if self.calls is None or self.calls.code is None else self.calls.code.pulse

    def evidence(self, relation: Relation) -> CallEvidence:
        """Return what is known of answers under a relation."""
        return PROVEN if self.calls is None else self.calls.evidence(relation)

    def batch_error(self, relation: Relation) -> float:
        """Return how far a coordinate of another record may move with a record of its batch."""
        return 0.0 if self.calls is None else self.calls.batch_error(relation)

    def batch_rows(self, relation: Relation, most_rows: int = ROWS_CAP) -> int:
        """Return how many other records' vectors one record can move through a shared model call.

        None where answers are known not to move. Else under replace-one those of the same block; under
        add-remove all later rows move up by one place and may fall into other blocks: as many as a
        table may have. [lattice]
        """
        if self.batch_error(relation) == 0:
            return 0
        return BLOCK_ROWS if Relation(relation).keeps_places else most_rows

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the exact sum."""
        return self.region.certify(self.size) if self.proven is None else self.proven


@dataclass(frozen=True)
class CellContribution:
    """Every record adds one to exactly one of ``size`` cells, or, where ``index`` is negative, to none.

    A record in no cell is not in the part that is counted: one that has no value, for instance. How
    many are in the part is then private under both relations.

    ``calls`` names the model that ``index`` asks, if any. At the edge of a cell a last bit makes a
    whole count, so its answers must be exact; records of other models are spread by hat functions.
    ``direct`` are the same counts, where they are those of one column's numbers.

    Guarantees:
      - Whole numbers throughout: no rounding, whatever the order of rows. [pattern-counts]
    """

    columns: tuple[str, ...]
    size: int
    index: Callable[[Block], NDArray[np.int64]]
    calls: ModelCalls | None = field(default=None, kw_only=True)
    direct: DirectCount | None = field(default=None, kw_only=True)

    @property
    def pulse(self) -> Pulse | None:
        """Whether third-party code still answers; None if none is called."""
        return None if self.calls is None or self.calls.code is None else self.calls.code.pulse

    @property
    def certificate(self) -> Certificate:
        """The certificate of the counts."""
        return certify_cells(self.size)


@dataclass(frozen=True)
class TablesContribution:
    """Every record adds one to one cell of each of several tables, laid end to end, or to none.

    Args:
      columns: the columns ``index`` reads.
      sizes: the number of cells of every table.
      index: the cells of a block's records, one array per table; counted from the table's own start
        and brought inside it, a negative one is none.

    Guarantees:
      - Whole numbers throughout, and no record in two cells of a table. [pattern-counts] [marginals]
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    index: Callable[[Block], Iterable[NDArray[np.int64]]]

    pulse = None

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
    pulse = None

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
      proven: what is known of how far one record moves the vector, whatever third-party code says.
      pulse: of third-party code that ``compute`` calls; None if it calls none.
      owners: per number the place of the record to whose owner alone it is shown, for which ``proven``
        promises nothing; None where anybody may see all of them.
      of_rows: whether the vector is the records themselves, of which a choice is made.
    """

    columns: tuple[str, ...]
    size: int
    region: Box
    fill: float
    compute: Callable[[FloatArray], FloatArray]
    proven: Certificate
    pulse: Pulse | None = field(kw_only=True)
    owners: tuple[int, ...] | None = field(default=None, kw_only=True)
    of_rows: bool = field(default=False, kw_only=True)

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
      with_ids: whether ``assign`` reads the ids of the rows.
      pulse: of third-party code that ``compute`` calls; None if it calls none.
    """

    columns: tuple[str, ...]
    size: int
    region: Box
    fill: float
    subsets: int
    assign: Callable[[Block], NDArray[np.int64]]
    compute: Callable[[list[FloatArray]], Iterable[FloatArray]]
    proven: Certificate
    with_ids: bool = False
    pulse: Pulse | None = field(kw_only=True)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the sum."""
        return self.proven


@dataclass(frozen=True)
class GroupedContribution:
    """What the records of each of some disjoint groups add up to, laid end to end.

    Args:
      each: what one record adds to the sum of its group.
      groups: how many groups there are; one is a part of the table.
      membership: the columns that ``place`` reads.
      place: the group of every record of a block; negative for records in none.

    Guarantees:
      - A record of no group adds nothing, also where zero is outside of its region. [where]
      - Code that is not ours is asked about all records, so that which of them are in a part decides
        nothing about the rows that share a call. [lattice]
    """

    each: VectorContribution | CellContribution | TablesContribution
    groups: int
    membership: tuple[str, ...]
    place: Callable[[Block], NDArray[np.int64]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, for both."""
        return tuple(dict.fromkeys((*self.each.columns, *self.membership)))

    @property
    def size(self) -> int:
        """The number of coordinates of all groups."""
        return self.groups * self.each.size

    @property
    def pulse(self) -> Pulse | None:
        """Whether third-party code still answers; None if none is called."""
        return self.each.pulse

    @property
    def certificate(self) -> Certificate:
        """The certificate of all groups together."""
        exact = self.each.certificate
        return exact.in_part() if self.groups == 1 else exact.in_groups(self.groups)


Contribution = (
    VectorContribution
    | CellContribution
    | TablesContribution
    | SealedContribution
    | WholeContribution
    | SubsetsContribution
    | GroupedContribution
)
