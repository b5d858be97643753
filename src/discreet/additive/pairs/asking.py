"""What two features do together: pairs are chosen by what single features leave, then asked one by one.

Single features are fitted first and are not touched again. A pair's sums are those of residuals of all
that was released before, so pairs that say the same are not counted twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.additive.coding import Coder, Feature
from discreet.additive.fit import AdditiveFit
from discreet.additive.noise import MappedNoise, Purse
from discreet.additive.pairs.cells import (
    MOST_SIDES,
    FeaturePair,
    PairSide,
    all_pairs,
    count_pairs,
    sides_of,
    widest_pair,
)
from discreet.additive.pairs.fit import PairScores, cell_deviation, fit_pair
from discreet.additive.pairs.stages import (
    COUNTED,
    Predictor,
    choice_stage,
    longest,
    pair_stage,
    with_count,
)
from discreet.additive.released.result import Term
from discreet.additive.stages import AdditiveGround
from discreet.plans import Releaser, Stage
from discreet.schema import FloatArray

CHOICE, MEASURED = 0.05, 0.2
"""What choosing pairs gets of the budget, and what asking about them does."""

_DISTANCE = 0.8
"""The mean distance of a normal variable from zero: what chance adds to a cell."""

_CUT = 3.0
"""Residuals of a number are cut at so many of its standard deviations."""


@dataclass(frozen=True)
class Interactions:
    """How many pairs are asked about, and what for.

    Attributes:
      ground: the public facts.
      purse: what is paid from.
      fine: the features with the finest cells they may have.
      wanted: how many pairs; never more than there are.
    """

    ground: AdditiveGround
    purse: Purse
    fine: tuple[Feature, ...]
    wanted: int

    @classmethod
    def of(
        cls,
        ground: AdditiveGround,
        fine: tuple[Feature, ...],
        asked: int,
        stages: int,
        size: int,
        *,
        epsilon: float,
        delta: float,
    ) -> Interactions:
        """Return as many pairs as there are of those asked for, and a purse for all stages.

        Args:
          ground: the public facts.
          fine: the features.
          asked: how many pairs.
          stages: how many others there are at most.
          size: of the largest of them, in numbers.
          epsilon: the promise.
          delta: see ``epsilon``.
        """
        there = count_pairs(fine)
        wanted = min(asked, there)
        choices = (wanted, CHOICE / wanted) if 0 < wanted < there else (0, 0.0)
        largest = (ground.margins + 1) * widest_pair(fine).size if wanted else 0
        purse = Purse.of(
            ground.setting, epsilon, delta, stages + wanted, size=max(size, largest), choices=choices
        )
        return cls(ground, purse, fine, wanted)

    @property
    def taken(self) -> float:
        """What all pairs get of the purse."""
        return math.fsum(share * times for share, times in self.shares)

    @property
    def chooses(self) -> bool:
        """Whether there are more pairs than are asked about."""
        return self.wanted < count_pairs(self.fine)

    @property
    def share(self) -> float:
        """What one pair gets."""
        return MEASURED / self.wanted if self.wanted else 0.0

    @property
    def shares(self) -> tuple[tuple[float, int], ...]:
        """What pairs get of the purse and how often; with a delta choices stand beside it."""
        if not self.wanted:
            return ()
        chosen = self.chooses and not self.purse.delta
        picks = ((CHOICE / self.wanted, self.wanted),) if chosen else ()
        return (*picks, (self.share, self.wanted))

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """What will happen; the largest pair there may be stands for all."""
        if not self.wanted:
            return ()
        widest = widest_pair(self.fine)
        margins = self.ground.margins
        flat = tuple(np.zeros((feature.size, margins)) for feature in self.fine)
        blank = Predictor(self.ground, Coder(self.fine), (), np.zeros(margins), flat, 1.0)
        asked = pair_stage(blank, self.purse, widest, self.share)
        if not self.chooses:
            return (asked,) * self.wanted
        pairs = [widest] * count_pairs(self.fine)
        return choice_stage(blank, self.purse, pairs, self.wanted), *(asked,) * self.wanted

    def ask(self, releaser: Releaser, coder: Coder, model: AdditiveFit) -> list[PairScores]:
        """Choose pairs and ask about them, one after the other."""
        if not self.wanted:
            return []
        known: list[PairScores] = []
        for pair in self._chosen(releaser, coder, model):
            stage = pair_stage(self._predictor(coder, model, known), self.purse, pair, self.share)
            (answer,) = releaser.answer(stage)
            known.append(self._read(model, pair, stage.noise, answer))
        return known

    def _chosen(self, releaser: Releaser, coder: Coder, model: AdditiveFit) -> list[FeaturePair]:
        """Return the pairs to ask about; of many features those that tell most may be in one."""
        places = sorted(sides_of(self.fine), key=model.importance, reverse=True)[:MOST_SIDES]
        schema = self.ground.setting.schema
        sides = [
            PairSide.of(schema, coder.features[p], p, model.evidence[p].weights(model.totals))
            for p in sorted(places)
        ]
        pairs = all_pairs(sides)
        if not self.chooses:
            return pairs
        stage = choice_stage(self._predictor(coder, model, []), self.purse, pairs, self.wanted)
        chance = np.array([self._chance(model, pair) for pair in pairs])
        (answer,) = releaser.answer(Stage(stage.name, stage.contribution, stage.noise.less(chance)))
        return [pairs[int(place)] for place in answer]

    def _predictor(self, coder: Coder, model: AdditiveFit, known: list[PairScores]) -> Predictor:
        return Predictor(
            self.ground,
            coder,
            tuple(one.pair for one in known),
            model.intercept.copy(),
            (*(scores.copy() for scores in model.scores), *(one.scores for one in known)),
            self._cut_at(model),
        )

    def _cut_at(self, model: AdditiveFit) -> float:
        """Return where residuals of a number are cut: by its released variance."""
        return float(min(2.0, _CUT * model.totals.dispersion**0.5))

    def _chance(self, model: AdditiveFit, pair: FeaturePair) -> float:
        """Return about what chance alone gives a pair's score, from what was released."""
        far = np.sqrt(pair.alone)[:, :, None] * cell_deviation(model, pair)
        return float(_DISTANCE * far.sum() / longest(self.ground, self._cut_at(model), "l1"))

    def _read(
        self, model: AdditiveFit, pair: FeaturePair, noise: MappedNoise, answer: FloatArray
    ) -> PairScores:
        """Return the scores of a pair from what was released of it."""
        norm = self.purse.norm
        unit = longest(self.ground, self._cut_at(model), norm)
        scale = with_count(norm) * np.append(np.full(self.ground.margins, unit), 1 / COUNTED)
        (released,) = noise.split(answer)
        return fit_pair(model, pair, noise.blocks[0].matrix, released * scale, noise.std * scale)


def pair_term(known: PairScores, scale: float, tails: float) -> Term:
    """Return the term of a pair: merged codes of a category share their cell's scores.

    Args:
      known: its scores.
      scale: of the margin.
      tails: of the noise, for bands.
    """
    first, second = known.pair.first, known.pair.second
    at = np.ix_(first.term_cells, second.term_cells)
    shape = known.counts.shape
    scores, noise = (
        [tuple((by * row.reshape(shape)[at]).ravel().tolist()) for row in rows]
        for by, rows in ((scale, known.scores.T), (scale * tails, known.noise_std))
    )
    counts = known.counts[at] * np.outer(first.term_shares, second.term_shares)
    return Term(
        (first.cells.name, second.cells.name),
        (first.bins, second.bins),
        tuple(scores),
        tuple(counts.ravel().tolist()),
        tuple(noise),
    )
