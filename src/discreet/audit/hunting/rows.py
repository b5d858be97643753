"""What a record adds is a function of its own row to the last bit, or what is paid covers the rest.

Vectors of public rows are made alone, in blocks, in another order and beside other rows, and compared
after they were clipped: in every norm they may move as far as ``sum_terms`` pays for one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discreet.audit.hunting.moves import ORDERS, Move
from discreet.data import CellContribution, PrivateTable, TablesContribution, VectorContribution
from discreet.data.at_once import subset_rows
from discreet.data.blocks import Block
from discreet.data.contributions import SubsetsContribution
from discreet.data.rows import open_rows
from discreet.plans import Stage
from discreet.privacy.certificate import NORMS, Ball
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import FloatArray, Schema

ByRow = VectorContribution | CellContribution | TablesContribution
PIECES = 7
_ALONE = 12

Look = tuple[str, Block, IntArray, IntArray]
"""How rows are looked at, the block they are in, which rows of it count, and which those are."""


def block_of(frame: pd.DataFrame, schema: Schema, columns: tuple[str, ...]) -> Block:
    """Return the rows of a frame as the one block a contribution would get."""
    (block,) = open_rows(PrivateTable(frame, schema), columns)
    return block


def by_row(stages: Sequence[Stage[Any]]) -> list[ByRow]:
    """Return the contributions of stages that are made of one row each."""
    found = [stage.contribution for stage in stages if isinstance(stage.contribution, ByRow)]
    return [one for one in found if not getattr(one, "partners", 0)]


def vectors(contribution: ByRow, block: Block) -> FloatArray:
    """Return what every row of a block adds, clipped as it is when it is added up."""
    if isinstance(contribution, CellContribution):
        return np.asarray(contribution.index(block), dtype=np.float64)[:, None]
    if isinstance(contribution, TablesContribution):
        return np.stack(list(contribution.index(block)), axis=1).astype(np.float64)
    made = np.asarray(contribution.compute(block), dtype=np.float64)
    filled = np.where(np.isnan(made), contribution.fill, made)
    region = contribution.region
    return region.clip(filled) if isinstance(region, Ball) else np.clip(filled, *region.limits)


@dataclass(frozen=True)
class OwnRow:
    """The law, for the rows of one public table.

    Args:
      frame: the table.
      odd: rows that take the place of its first and its last one, one after the other.
      schema: of both.
    """

    frame: pd.DataFrame
    odd: pd.DataFrame
    schema: Schema

    def broken(self, contribution: ByRow, relation: Relation) -> list[str]:
        """Return how vectors of the same rows differ by more than is paid for."""
        return [
            f"{how}: {move.far:.6g} in {move.norm}, {move.allowed:.6g} is paid for"
            for how, move in self.moves(contribution, relation)
            if move.broken
        ]

    def moves(self, contribution: ByRow, relation: Relation) -> Iterator[tuple[str, Move]]:
        """Yield how far vectors of the same rows are apart if the rows are looked at otherwise."""
        block = block_of(self.frame, self.schema, contribution.columns)
        whole = vectors(contribution, block)
        counted = not isinstance(contribution, VectorContribution)
        paid = 0.0 if counted else contribution.batch_error(relation)  # type: ignore[union-attr]
        for how, other, rows, same in self.looks(contribution, relation, block):
            yield how, _farthest(vectors(contribution, other)[rows] - whole[same], paid)

    def looks(self, contribution: ByRow, relation: Relation, block: Block) -> Iterator[Look]:
        """Yield all manners to look at rows that must make no difference, or one that is paid for."""
        yield from self._beside(contribution.columns)
        claims = isinstance(contribution, VectorContribution) and contribution.own_row
        if claims or not relation.keeps_places:
            yield from _moved(block)
        # Cells may follow a row's place where it is public; calls hold rows in places of their own.
        if claims or not isinstance(contribution, VectorContribution) or not relation.keeps_places:
            yield from _alone(block)

    def _beside(self, columns: tuple[str, ...]) -> Iterator[Look]:
        """Yield blocks in which some rows are others, and which rows stayed in their places."""
        count = len(self.frame)
        for place, name in ((0, "beside another first row"), (count - 1, "beside another last row")):
            others = np.delete(np.arange(count), place)
            for odd in range(len(self.odd)):
                frame = self.frame.astype(object)
                frame.iloc[place] = self.odd.iloc[odd]
                yield name, block_of(frame, self.schema, columns), others, others

    def entangled(self, contribution: SubsetsContribution) -> list[str]:
        """Return which subsets say something else if another subset holds other rows, or none."""
        parts = subset_rows(PrivateTable(self.frame, self.schema), contribution, None)
        strange = self.odd.iloc[[0] * min(3, len(self.odd) * 3)]
        marked = block_of(strange, self.schema, contribution.columns).values
        alone = [
            [rows if place == kept else rows[:0] for place, rows in enumerate(parts)] for kept in (1, 2)
        ]
        whole, *others = (
            list(contribution.compute(given)) for given in (parts, [marked, *parts[1:]], *alone)
        )
        same = {"beside another": range(1, len(parts)), "alone": (1,), "alone again": (2,)}
        return [
            f"subset {place} {how}"
            for (how, places), found in zip(same.items(), others, strict=True)
            for place in places
            if place < len(parts) and not np.array_equal(found[place], whole[place], equal_nan=True)
        ]


def _part(block: Block, rows: IntArray, start: int) -> Block:
    """Return some rows of a block as a block of their own, as it would have been read."""
    values = np.asfortranarray(block.values[rows])
    values.setflags(write=False)
    return Block(start, block.names, values)


def _alone(block: Block) -> Iterator[Look]:
    """Yield single rows and pieces of a block; they know their places in the table."""
    for row in range(0, len(block), max(1, len(block) // _ALONE)):
        here = np.array([row])
        yield "alone", _part(block, here, row), np.arange(1), here
        yield "alone, cut out", block.rows(row, row + 1), np.arange(1), here
    for start in range(0, len(block) - PIECES, 4 * PIECES):
        piece = np.arange(PIECES)
        yield "in a piece", block.rows(start, start + PIECES), piece, start + piece


def _moved(block: Block) -> Iterator[Look]:
    """Yield other blocks with the same rows in other places."""
    rows, twice = np.arange(len(block)), np.repeat(np.arange(len(block)), 2)
    yield "in another order", _part(block, rows[::-1], 0), rows, rows[::-1]
    yield "twice", _part(block, twice, 0), np.arange(len(twice)), twice


def _farthest(moved: FloatArray, paid: float) -> Move:
    """Return the norm in which some row moved farthest beyond what is paid, or came nearest to it."""
    size = moved.shape[1]
    allowed = {"l1": size * paid, "l2": float(np.sqrt(size)) * paid, "linf": paid}
    found = [
        Move(norm, float(np.linalg.norm(moved, ord=ORDERS[norm], axis=1).max()), allowed[norm])
        for norm in NORMS
    ]
    return max(found, key=lambda move: (move.broken, move.share))
