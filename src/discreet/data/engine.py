"""The one summing engine: contributions of all rows, as whole numbers, in one pass.

Rows arrive in canonical blocks; a block's vectors are clipped, rounded to the lattice and added as
integers. Integer addition has no order, so the result is the same for any source, any number of
workers, and any machine that takes some of the blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from discreet.certificates import Ball, Box, Relation
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.contributions import CellContribution, Contribution, VectorContribution
from discreet.data.foreign import foreign_code
from discreet.data.rows import open_rows
from discreet.data.table import ROWS_CAP, PrivateTable
from discreet.randomness import IntArray
from discreet.schema import FloatArray

Progress = Callable[[int], None]
_HUGE = 1e300


@dataclass(frozen=True)
class Summand:
    """A contribution and the lattice step its sum is taken on."""

    contribution: Contribution
    step: float


def companion_rows(contribution: Contribution, relation: Relation) -> int:
    """Return how many other rows' rounding one record can flip through a shared model call.

    Under replace-one only rows of the same block; under add-remove all later rows move up by one
    place and may fall into other blocks. [lattice]
    """
    if not contribution.foreign:
        return 0
    return BLOCK_ROWS if relation == "replace-one" else ROWS_CAP


def add_up(
    table: PrivateTable,
    summands: Sequence[Summand],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[IntArray]:
    """Return each summand's total in whole steps, reading the rows once.

    Guarantees:
      - Equal to adding every row's rounded, clipped vector in exact arithmetic. [lattice]
    """
    columns = tuple(dict.fromkeys(name for s in summands for name in s.contribution.columns))
    blocks = open_rows(table, columns)
    totals = [np.zeros(s.contribution.size, dtype=np.int64) for s in summands]
    with foreign_code(any(s.contribution.foreign for s in summands)):
        for rows, parts in _in_order(blocks, summands, workers):
            for total, part in zip(totals, parts, strict=True):
                total += part
            if progress is not None:
                progress(rows)
    return totals


def _in_order(
    blocks: Iterator[Block], summands: Sequence[Summand], workers: int
) -> Iterator[tuple[int, list[IntArray]]]:
    """Yield every block's partial sums; at most two blocks per worker are in memory."""
    if workers == 1:
        for block in blocks:
            yield len(block), sum_block(block, summands)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[int, Future[list[IntArray]]]] = deque()
        for block in blocks:
            waiting.append((len(block), pool.submit(sum_block, block, summands)))
            if len(waiting) >= 2 * workers:
                rows, future = waiting.popleft()
                yield rows, future.result()
        for rows, future in waiting:
            yield rows, future.result()


def sum_block(block: Block, summands: Sequence[Summand]) -> list[IntArray]:
    """Return the partial sums of one block; needs nothing but the block."""
    return [_sum_one(block, summand.contribution, summand.step) for summand in summands]


def _sum_one(block: Block, contribution: Contribution, step: float) -> IntArray:
    match contribution:
        case CellContribution(size=size, index=index):
            return np.bincount(index(block), minlength=size)
        case VectorContribution(size=size, region=region, fill=fill, compute=compute):
            return _rounded_sum(compute(block), size, region, fill, step)


def _rounded_sum(
    values: FloatArray, size: int, region: Box | Ball, fill: float, step: float
) -> IntArray:
    from discreet.data.kernels import round_and_add

    vectors = np.ascontiguousarray(values, dtype=np.float64)
    if isinstance(region, Ball):
        finite = np.nan_to_num(vectors, nan=fill, posinf=_HUGE, neginf=-_HUGE)
        vectors = region.clip(finite)
    total = np.zeros(size, dtype=np.int64)
    low, high = region.limits
    round_and_add(vectors, low, high, fill, 1.0 / step, total)
    return total
