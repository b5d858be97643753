"""The stages of pairs: which are predicted worst, and what is left of the target in a pair's cells.

Both look at residuals: a record's target less what released scores say of it. So a residual is a
function of the record itself and of what was released before, and is brought into a unit ball.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.additive.coding import Coder, Codes
from discreet.additive.contrasts import pair_contrasts
from discreet.additive.noise import MappedNoise, Purse, check_columns
from discreet.additive.pairs.cells import FeaturePair
from discreet.additive.pairs.choice import ResidualChoice, residual_choice
from discreet.additive.stages import AdditiveGround, features_of, spots_contribution, spots_stage
from discreet.data.blocks import Block
from discreet.plans import Stage
from discreet.schema import FloatArray

DECAY = 2.0
"""How strongly slow products of cosines are weighted up."""

COUNTED = 0.3
"""What a record adds to the count of its cell, beside a residual of at most one."""

_HAIR = 1 - 1e-12
"""What is left for floats."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """What released scores say of records.

    Attributes:
      ground: the public facts.
      coder: of the features.
      pairs: that have scores already.
      intercept: of every margin.
      scores: of all bins of features, then of all cells of pairs, each times margins.
      cut_at: where residuals of a number are cut; a function of what was released.
    """

    ground: AdditiveGround
    coder: Coder
    pairs: tuple[FeaturePair, ...]
    intercept: FloatArray
    scores: tuple[FloatArray, ...]
    cut_at: float

    def codes(self, block: Block) -> Codes:
        """Return the bin of every row and term, terms x rows."""
        codes = self.coder.codes(features_of(self.ground, block))
        return np.vstack([codes, *(pair.cells(codes) for pair in self.pairs)]).astype(np.int32)

    def residuals(self, block: Block, codes: Codes, norm: str) -> FloatArray:
        """Return targets less means, in the unit ball of a norm, rows x margins.

        Guarantees:
          - A class less its shares has absolute values that add up to two at most, and is sqrt 2 long
            at most; of two classes one number of at most one says it. A number is cut.
            [additive-pairs]
        """
        from discreet.additive.kernels import expect

        means = np.empty((len(block), self.ground.margins))
        sizes = [len(scores) for scores in self.scores]
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        expect(codes, starts, np.concatenate(self.scores), self.intercept, self.ground.link, means)
        target = block[self.ground.target]
        if not self.ground.classes:
            found = self.ground.number(target)[:, None] - means
        elif self.ground.classes == 2:
            found = (target == 1)[:, None] - means
        else:
            found = (target[:, None] == np.arange(self.ground.classes)) - means
        return np.asarray(np.clip(found / longest(self.ground, self.cut_at, norm), -1.0, 1.0))


def longest(ground: AdditiveGround, cut_at: float, norm: str) -> float:
    """Return how long a residual is at most, by which all are divided: of a number where it is cut."""
    if ground.classes <= 2:
        return 1.0 if ground.classes else cut_at
    return 2.0 if norm == "l1" else math.sqrt(2.0)


def choice_stage(
    predictor: Predictor, purse: Purse, pairs: Sequence[FeaturePair], wanted: int
) -> Stage[ResidualChoice]:
    """Return the stage that chooses pairs whose cells have large sums of residuals.

    Guarantees:
      - A record adds absolute values of at most one together to one cell of every pair's table,
        whatever it says. [additive-pairs]
    """
    ground, step = predictor.ground, purse.sum_step
    channels, relation = ground.margins, ground.setting.relation
    starts = np.cumsum([0, *(pair.size for pair in pairs)])[:-1, None]

    def spots(rows: Block) -> tuple[NDArray[np.int64], FloatArray]:
        codes = predictor.codes(rows)
        cells = np.stack([pair.cells(codes) for pair in pairs]) + starts
        known = ground.known(rows[ground.target])
        return np.where(known, cells, -1), _cut(predictor.residuals(rows, codes, "l1"), step)

    sizes = [pair.size * channels for pair in pairs]
    rounded = 0.0 if relation.whole else relation.rounded_rows * step * channels
    choice = residual_choice(
        sizes, wanted=wanted, step=step, rounded=rounded, relation=relation, share=purse.pick
    )
    contribution = spots_contribution(ground, spots, sum(sizes), len(pairs), channels)
    return Stage("choice of pairs", contribution, choice)


def pair_stage(
    predictor: Predictor, purse: Purse, pair: FeaturePair, share: float
) -> Stage[MappedNoise]:
    """Return the stage that adds up, cell by cell of a pair, residuals and a count of records.

    Guarantees:
      - A record adds to one cell a vector inside the unit ball, and columns of contrasts are at most
        one long. [additive-pairs] [additive-corrections]
    """
    ground, step = predictor.ground, purse.sum_step
    block = pair_contrasts(
        pair.first.cells, pair.second.cells, DECAY, purse.unit(step), norm=purse.norm
    )
    check_columns([block], purse.norm)

    def spots(rows: Block) -> tuple[NDArray[np.int64], FloatArray]:
        codes = predictor.codes(rows)
        cells = np.where(ground.known(rows[ground.target]), pair.cells(codes), -1)
        found = predictor.residuals(rows, codes, purse.norm)
        counted = np.full((len(rows), 1), COUNTED)
        return cells[None, :], _cut(np.hstack([found, counted]) / with_count(purse.norm), step)

    channels = ground.margins + 1
    return spots_stage(
        f"pair {pair.name}", ground, purse, spots, [block], pair.size, channels, share=share
    )


def with_count(norm: str) -> float:
    """Return how long a residual of length one and a count are together."""
    return 1 + COUNTED if norm == "l1" else math.sqrt(1 + COUNTED**2)


def _cut(values: FloatArray, step: float) -> FloatArray:
    """Return numbers cut towards zero to whole steps, so that no vector becomes longer."""
    return np.asarray(np.trunc(values * _HAIR / step) * step)
