"""The one summing engine: contributions of all rows, as whole numbers, in one pass.

Rows arrive in canonical blocks; a block's vectors are clipped, rounded to the lattice and added as
integers. Integer addition has no order, so the result is the same for any source, any number of
workers, and any machine that takes some of the blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.adding import add_pairs, add_spots, by_group, check_shape, count_cells, rounded_sum
from discreet.data.at_once import AT_ONCE, make_at_once, reads_rows
from discreet.data.blocks import Block, KeptRows, shelf
from discreet.data.contributions import (
    CellContribution,
    Contribution,
    GroupedContribution,
    SubsetsContribution,
    TablesContribution,
    VectorContribution,
)
from discreet.data.direct import Direct
from discreet.data.rows import open_numbers, open_rows, read_names
from discreet.data.sources.partitions import Part
from discreet.data.state import own_state, pin_thread, quietly, thread_state
from discreet.data.table import PrivateTable
from discreet.data.workers.cluster import Cluster, Sums
from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.lattice import LARGEST_SUM, SHARE, check_step
from discreet.randomness import IntArray
from discreet.schema import FloatArray, Schema

Progress = Callable[[int], None]

_SLICE_CELLS = 2**22
"""Long vectors are computed for fewer rows of a block at a time: 32 MB."""

_BATCH_CELLS = 2**16
"""Blocks with fewer values together are handed over as one: 512 kB."""


@dataclass(frozen=True)
class Summand:
    """A contribution and the lattice step its sum is taken on."""

    contribution: Contribution
    step: float


def check_summand(summand: Summand, rows: int) -> None:
    """Raise unless public numbers keep a sum of at most so many rows within the lattice.

    Guarantees:
      - No sum of contributions exceeds 2^61 steps, so none wraps. [lattice]
    """
    contribution = summand.contribution
    if isinstance(contribution, GroupedContribution):
        check_summand(replace(summand, contribution=contribution.each), rows)
        return
    if isinstance(contribution, CellContribution | TablesContribution):
        return
    check_step(summand.step)
    terms = 1
    if isinstance(contribution, VectorContribution):
        terms = rows
    elif isinstance(contribution, SubsetsContribution):
        terms = contribution.subsets
    if not terms * (contribution.region.magnitude / summand.step) <= LARGEST_SUM:
        raise ArgumentError(
            f"bounds must keep the sum of {terms} records within 2^61 steps of the lattice, got "
            f"{contribution.region.magnitude:g} with a step of {summand.step:g}. Use other bounds."
        )


@own_state()
def add_up(
    table: PrivateTable,
    summands: Sequence[Summand],
    *,
    workers: int = 1,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
    kept: KeptRows | None = None,
) -> list[IntArray]:
    """Return each summand's total in whole steps, reading the rows once.

    Blocks go to ``workers`` threads, or to the workers of a cluster; what was ``kept`` of an earlier
    call is not encoded again.

    Guarantees:
      - Equal to adding every row's rounded, clipped vector in exact arithmetic. [lattice]
      - Rows are read, and every block is summed, in a state of its own. [own-state]
      - A model that stopped answering on the way counts as one that never answered. [dead-model]
    """
    before = _dead(summands)
    totals = _add_up(table, summands, workers, cluster, progress, kept)
    if np.any(_dead(summands) > before):
        totals = _add_up(table, summands, workers, cluster, None, kept)
    return totals


def _dead(summands: Sequence[Summand]) -> IntArray:
    """Return which summands' models answer no more."""
    return np.array([is_dead(summand.contribution) for summand in summands], dtype=np.int64)


def is_dead(contribution: Contribution) -> bool:
    """Return whether a contribution's model answers no more, not even public rows."""
    return contribution.pulse is not None and contribution.pulse.dead


def _add_up(
    table: PrivateTable,
    summands: Sequence[Summand],
    workers: int,
    cluster: Cluster | None,
    progress: Progress | None,
    kept: KeptRows | None,
) -> list[IntArray]:
    totals = [_start(table, summand, cluster, progress, kept) for summand in summands]
    growing = [total for total, s in zip(totals, summands, strict=True) if by_blocks(s.contribution)]
    if not growing:
        return totals
    added = [summand for summand in summands if by_blocks(summand.contribution)]
    columns = tuple(dict.fromkeys(name for s in added for name in s.contribution.columns))
    loud = any(s.contribution.pulse is not None for s in added)
    blocks = open_rows(table, columns, kept=kept)
    pieces = None if cluster is None else table.parts(read_names(table.schema, columns), cluster)
    plain = cluster is None and not table.shares_records
    if cluster is not None and pieces is not None:
        shared = table.schema, added, None if kept is None else kept.token
        made = cluster.sum_parts(pieces, _sum_parts_of_table, shared)
    elif plain and all(direct_of(s.contribution) is not None for s in added):
        made = _directly(table, added, columns)
    elif cluster is None:
        made = _in_order(blocks, added, workers, loud)
    else:
        made = cluster.sum_blocks(blocks, _sum_sent, added)
    # Closed inside: whatever ends the loop, no thread may speak after the silence is over.
    with quietly(loud), closing(made) as sums:
        for rows, found in sums:
            if found:
                *parts, dead = found
                for total, part in zip(growing, parts, strict=True):
                    total += part
                _note_dead(added, dead)
            if progress is not None:
                progress(rows)
    return totals


def by_blocks(contribution: Contribution) -> bool:
    """Return whether a contribution is added up block by block; the others are made at once."""
    return not isinstance(contribution, AT_ONCE)


def _start(
    table: PrivateTable,
    summand: Summand,
    cluster: Cluster | None,
    progress: Progress | None,
    kept: KeptRows | None,
) -> IntArray:
    """Return what is there before blocks are added: nothing, or a vector made at once."""
    contribution, step = summand.contribution, summand.step
    if not isinstance(contribution, AT_ONCE):
        return np.zeros(contribution.size, dtype=np.int64)
    if cluster is None or not table.in_parts or not reads_rows(contribution):
        return make_at_once(table, contribution, step, progress, kept)
    names = [*contribution.columns, *_id_name(table.schema, contribution)]
    parts = table.parts(read_names(table.schema, names), cluster)
    assert parts is not None
    total, dead = cluster.make_once(parts, _make_on_worker, (table.schema, summand))
    _note_dead([summand], dead)
    return total


def _id_name(schema: Schema, contribution: Contribution) -> list[str]:
    wanted = isinstance(contribution, SubsetsContribution) and contribution.with_ids
    return list(schema.read_besides) if wanted else []


def _make_on_worker(parts: Sequence[Part], shared: tuple[Schema, Summand]) -> list[IntArray]:
    """Return a vector made at once from all rows, which one worker reads."""
    schema, summand = shared
    contribution = summand.contribution
    assert isinstance(contribution, AT_ONCE)
    total = make_at_once(PrivateTable.of_parts(parts, schema), contribution, summand.step, None, None)
    return [total, _dead([summand])]


def _sum_parts_of_table(
    parts: Sequence[Part], shared: tuple[Schema, Sequence[Summand], str | None]
) -> list[IntArray]:
    """Return the sums of some parts, which a worker reads, and which models answer no more.

    Blocks begin with every part: which rows share one follows from the lengths of parts alone.
    """
    schema, summands, token = shared
    totals = [np.zeros(summand.contribution.size, dtype=np.int64) for summand in summands]
    for part in parts:
        table = PrivateTable.of_parts([part], schema)
        sums = _add_up(table, summands, 1, None, None, shelf(token))
        for total, own in zip(totals, sums, strict=True):
            total += own
    return [*totals, _dead(summands)]


def _in_order(
    blocks: Iterator[Block], summands: Sequence[Summand], workers: int, loud: bool
) -> Generator[Sums]:
    """Yield partial sums of successive blocks; what is in memory is two batches per worker."""
    batches = _batches(blocks, 1 if loud else _BATCH_CELLS)
    if workers == 1:
        yield from (_sum_batch(batch, summands) for batch in batches)
        return
    with ThreadPoolExecutor(workers, initializer=pin_thread if loud else None) as pool:
        waiting: deque[Future[Sums]] = deque()
        for batch in batches:
            waiting.append(pool.submit(_sum_batch, batch, summands))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()


def direct_of(contribution: Contribution) -> Direct | None:
    """Return how a contribution is added up without blocks; None if it needs them."""
    if not isinstance(contribution, VectorContribution | CellContribution):
        return None
    return contribution.direct


def _directly(
    table: PrivateTable, summands: Sequence[Summand], columns: tuple[str, ...]
) -> Generator[Sums]:
    """Yield partial sums of single columns, chunk by chunk as they come from the source."""
    for numbers in open_numbers(table, columns):
        sums = [_add_directly(numbers[s.contribution.columns[0]], s) for s in summands]
        yield len(numbers[columns[0]]), [*sums, _dead(summands)]


def _add_directly(numbers: FloatArray, summand: Summand) -> IntArray:
    direct = direct_of(summand.contribution)
    assert direct is not None
    return direct.add(numbers, summand.step)


def _batches(blocks: Iterator[Block], cells: int) -> Iterator[list[Block]]:
    """Yield successive blocks together until they have so many cells: to hand over one costs time."""
    batch: list[Block] = []
    for block in blocks:
        batch.append(block)
        if len(batch) * block.values.size >= cells:
            yield batch
            batch = []
    if batch:
        yield batch


def _sum_batch(batch: list[Block], summands: Sequence[Summand]) -> Sums:
    """Return the sums of some blocks, and last which models answer no more, seen from here."""
    with thread_state():
        totals = _sum_parts(batch[0], summands)
        for block in batch[1:]:
            for total, part in zip(totals, _sum_parts(block, summands), strict=True):
                total += part
    return sum(map(len, batch)), [*totals, _dead(summands)]


def _sum_sent(block: Block, summands: Sequence[Summand]) -> list[IntArray]:
    """Sum a block that came over a wire, laid out in memory as if it had been read here."""
    values = np.array(block.values, order="F")
    values.setflags(write=False)
    return _sum_batch([replace(block, values=values)], summands)[1]


def _note_dead(summands: Sequence[Summand], dead: IntArray) -> None:
    """Bring home what a worker elsewhere found out."""
    for place in np.flatnonzero(dead).tolist():
        if (pulse := summands[place].contribution.pulse) is not None:
            pulse.dead = True


def sum_block(block: Block, summands: Sequence[Summand]) -> list[IntArray]:
    """Return the partial sums of one block; needs nothing but the block.

    Every contribution sees its own columns in its own order, whatever else is summed beside it.
    """
    with thread_state():
        return _sum_parts(block, summands)


def _sum_parts(block: Block, summands: Sequence[Summand]) -> list[IntArray]:
    return [_sum_one(block.narrow(s.contribution.columns), s.contribution, s.step) for s in summands]


def _sum_one(block: Block, contribution: Contribution, step: float) -> IntArray:
    assert not isinstance(contribution, AT_ONCE)
    if isinstance(contribution, GroupedContribution):
        places = contribution.place(block.narrow(contribution.membership))
        each = contribution.each
        return _sum_groups(block.narrow(each.columns), each, step, places, contribution.groups)
    return _sum_groups(block, contribution, step, None, 1)


def _sum_groups(
    block: Block,
    contribution: VectorContribution | CellContribution | TablesContribution,
    step: float,
    places: NDArray[np.int64] | None,
    groups: int,
) -> IntArray:
    """Return the sums of all groups, laid end to end; without places all records are in one."""
    weights = None if block.units is None else block.units.astype(np.float64) * SHARE
    if isinstance(contribution, CellContribution | TablesContribution):
        _check_lattice(step, block)
    if isinstance(contribution, CellContribution):
        return count_cells(contribution.index(block), contribution.size, block, places, groups).ravel()
    if isinstance(contribution, TablesContribution):
        tables = zip(contribution.index(block), contribution.sizes, strict=True)
        counts = [count_cells(cells, size, block, places, groups) for cells, size in tables]
        return np.concatenate(counts, axis=1).ravel()
    if contribution.direct is not None and places is None and weights is None:
        return contribution.direct.add(block.values[:, 0], step)
    if contribution.pairs is not None:
        return add_pairs(*contribution.pairs(block), contribution.size, step, places, groups, weights)
    if contribution.spots is not None:
        return add_spots(*contribution.spots(block), contribution.size, step, places, groups, weights)
    totals = np.zeros((groups, contribution.size), dtype=np.int64)
    rows = max(1, _SLICE_CELLS // contribution.size)
    for start in range(0, len(block), rows):
        part = block.rows(start, start + rows)
        vectors = np.asfortranarray(contribution.compute(part), dtype=np.float64)
        check_shape(vectors.shape, (len(part), contribution.size))
        own = None if places is None else places[start : start + rows]
        weigh = None if weights is None else weights[start : start + rows]
        for group, chosen, by in by_group(vectors, weigh, own, groups):
            totals[group] += rounded_sum(chosen, contribution.region, contribution.fill, step, by)
    return totals.ravel()


def _check_lattice(step: float, block: Block) -> None:
    """Raise if cells are counted by a law for whole records where rows share one."""
    if step != SHARE and block.units is not None:
        raise CertificateError("Noise for whole records must be asked of whole records, got parts.")
