"""Bins of answers in which a record shares itself between two cells, so that means are kept.

A bin lies between two knots and has a cell for either. A record whose answer is a quarter of the way
from one knot to the next adds three quarters to the cell of the first and a quarter to that of the
second. Its parts are not negative and add up to one, so it moves no more than a whole count would; and
the cells, weighted by their knots, add up to the answers exactly. So the mean answer of every bin is
known, without another release.

Answers that are not known to the last bit must not decide on whole counts: at the edge of a bin one
bit moves a record from one cell to another. For such models neighbouring bins share the cell of the
knot between them. What a record adds is then a hat function of its answer, steady everywhere, and the
certificate pays for how far answers move with the rows of their batch, times how steep hats are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.engines.table import engine_for
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans import Setting, Stage
from discreet.plans.stages import sum_stage
from discreet.privacy.certificate import Bounds, Box, Certificate, certify_cells
from discreet.privacy.relation import Relation
from discreet.schema import FloatArray

Answers = Callable[[Block], FloatArray]
Places = Callable[[Block], NDArray[np.int64]]


def answers_exactly(model: BoundModel, relation: Relation) -> bool:
    """Return whether a record's answer is its own to the last bit, whatever rows share its call.

    So it is for models that code of ours evaluates, for known parts that were left as they are, and
    for models that are asked for one record at a time and never moved.
    """
    return model.batch_error(relation) == 0


@dataclass(frozen=True)
class SplitBins:
    """Knots between which answers lie, and whether neighbouring bins share the cell of a knot.

    Args:
      knots: in order, all different; answers beyond the ends count as the ends.
      shared: whether cells are hat functions.
    """

    knots: tuple[float, ...]
    shared: bool

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.knots) - 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.knots) if self.shared else 2 * self.bins

    @cached_property
    def centres(self) -> FloatArray:
        """The knot of every cell: weighted by these, cells add up to answers."""
        knots = np.asarray(self.knots)
        return knots if self.shared else np.column_stack([knots[:-1], knots[1:]]).ravel()

    @cached_property
    def spans(self) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest answer that records in a cell may have."""
        knots = np.asarray(self.knots)
        if self.shared:
            return np.append(knots[:1], knots[:-1]), np.append(knots[1:], knots[-1:])
        return np.repeat(knots[:-1], 2), np.repeat(knots[1:], 2)

    def by_cell(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return a value of every cell from those of bins' first and second ones.

        A shared cell holds as much of either bin as evenly spread scores would bring it.
        """
        if not self.shared:
            return np.column_stack([first, second]).ravel()
        widths = np.diff(self.knots)
        upper, lower = np.append(widths, 0.0), np.append(0.0, widths)
        mixed = np.append(first, 0.0) * upper + np.append(0.0, second) * lower
        return np.asarray(mixed / (upper + lower))

    @property
    def steepness(self) -> float:
        """How far a cell moves with an answer, at most; two cells move at once."""
        return up(1.0 / float(np.diff(self.knots).min()))

    def share(self, answers: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Return the first of the two cells of every answer, and what goes to the second."""
        knots = np.asarray(self.knots)
        inside = np.clip(answers, knots[0], knots[-1])
        bins = np.minimum(np.searchsorted(knots, inside, side="right") - 1, self.bins - 1)
        second = (inside - knots[bins]) / (knots[bins + 1] - knots[bins])
        return (bins if self.shared else 2 * bins), np.clip(second, 0.0, 1.0)


def certify_shares(size: int) -> Certificate:
    """Certify sums of records that share themselves between cells, or are in none.

    Guarantees:
      - Parts of a record are not negative and add up to one, or to none: replaced, it moves sums by L1
        2, L2 sqrt 2 and Linf 1; added or removed by 1 in every norm. [score-bins]
    """
    # Two floats that should add up to one may miss it by their last bit.
    bounds = {
        relation: Bounds(up(moved.l1), up(moved.l2), moved.linf)
        for relation, moved in certify_cells(size).bounds.items()
    }
    return Certificate(("score-bins",), size, bounds)


def shares_contribution(
    columns: tuple[str, ...],
    bins: SplitBins,
    parts: int,
    *,
    answers: Answers,
    part: Places,
    model: BoundModel,
) -> VectorContribution:
    """Return what a record adds to a table of so many parts, each with all cells of the bins.

    Args:
      columns: that ``answers`` and ``part`` read.
      bins: that answers are counted in.
      parts: how many there are.
      answers: what is binned, of every record of a block; it moves no farther than the model's answer.
      part: where a record belongs; nowhere if negative.
      model: that is asked for answers.

    Guarantees:
      - Exact answers alone meet edges; others are spread by hats, and what they move by is paid, two
        cells at once. [score-bins]
    """

    def pairs(block: Block) -> tuple[NDArray[np.int64], FloatArray]:
        first, second = bins.share(answers(block))
        place = np.asarray(part(block), dtype=np.int64)
        return np.where(place < 0, -1, place * bins.size + first), second

    def compute(block: Block) -> FloatArray:
        cells, second = pairs(block)
        out = np.zeros((len(block), parts * bins.size))
        rows = np.flatnonzero(cells >= 0)
        out[rows, cells[rows]] = 1.0 - second[rows]
        out[rows, cells[rows] + 1] = second[rows]
        return out

    steep = bins.steepness
    return VectorContribution(
        columns=columns,
        size=parts * bins.size,
        region=Box(0.0, 1.0),
        fill=0.0,
        compute=compute,
        proven=certify_shares(parts * bins.size),
        calls=ModelCalls(model.third_party, lipschitz=steep, together=2 * steep),
        pairs=pairs,
    )


def shares_stage(
    name: str,
    contribution: VectorContribution,
    setting: Setting,
    *,
    epsilon: float,
    delta: float,
    mechanism: NoiseName,
) -> Stage[Noise]:
    """Return the stage that adds up what records share between cells."""
    return sum_stage(
        name,
        contribution,
        setting,
        statement="score-bins",
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )


def model_answers(model: BoundModel) -> Answers:
    """Return a function of blocks: the model's answers, inside its bounds."""
    predict = engine_for("predict", model)

    def answers(block: Block) -> FloatArray:
        rows = block.narrow(model.columns).values
        said = predict(rows, 1)
        return np.clip(np.where(np.isnan(said), model.fill, said), *model.bounds.limits)

    return answers


def turn_of(output: str, low: float, high: float) -> float:
    """Return the score at which an answer turns, inside the range of scores."""
    turn = {"probability": 0.5, "margin": 0.0}.get(output, low / 2 + high / 2)
    return min(max(turn, low), high)
