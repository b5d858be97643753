"""The stages of an additive model in order: ranges, totals, contrasts of bins, corrections."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.additive.coding import Coder, Feature, even, fine_features, merged
from discreet.additive.contrasts import Contrasts, feature_contrasts, top_down, tree_contrasts
from discreet.additive.evidence import BinEvidence, Totals, learn_priors, read_evidence
from discreet.additive.fit import DAMPING, AdditiveFit, width_of
from discreet.additive.noise import MappedNoise, Purse
from discreet.additive.pairs.asking import Interactions, pair_term
from discreet.additive.pairs.fit import PairScores
from discreet.additive.released.result import AdditiveModel, Term
from discreet.additive.scaling import CELLS, margin_ends, rescale
from discreet.additive.stages import (
    MOMENTS,
    AdditiveGround,
    Correction,
    correction_stage,
    count_stage,
    margin_stage,
    range_stage,
    total_stage,
    unscaled,
)
from discreet.models.released import model_facts
from discreet.plans import Releaser, Stage
from discreet.plans.expected import Expected, of_mean
from discreet.schema import Category, FloatArray, Number

PARTS = 24
"""Into so many parts what is left for a feature is divided; counts and corrections share them."""

_RANGES = 0.03
_LEAST_TOTALS, _TOTALS = 0.1, 0.75
_LEAST_CORRECTED, _CORRECTED = 0.05, 1.2
_REPEATED = 0.7
_SPREAD = 0.02
_DECAY = 2.0
_EASY, _HARD = 1000.0, 50.0
"""Signals above which three sweeps pay, and below which one does."""

_PURE_DECAY = 3.0
_TAILS = 1.4
"""Wider bands for Laplace noise, of which first order leaves more out; found by simulation."""


@dataclass(frozen=True)
class AdditiveProgram:
    """What is asked for, and how answers become a model."""

    ground: AdditiveGround
    purse: Purse
    bins: int
    fine: tuple[Feature, ...]
    features: tuple[str, ...]
    pairs: Interactions

    @classmethod
    def of(
        cls, ground: AdditiveGround, *, bins: int, epsilon: float, delta: float, interactions: int = 0
    ) -> AdditiveProgram:
        """Share a promise out among features that have two values, and pairs of them."""
        fine = fine_features(ground.setting.schema, ground.features)
        useful = tuple(feature for feature in fine if feature.size > 1)
        kept = replace(ground, features=tuple(feature.name for feature in useful))
        stages, size = 2 + PARTS * len(useful), ground.channels * sum(2 * one.size for one in useful)
        promise = {"epsilon": epsilon, "delta": delta}
        pairs = Interactions.of(kept, useful, interactions, stages, max(size, MOMENTS), **promise)
        return cls(kept, pairs.purse, bins, useful, ground.features, pairs)

    @property
    def wide(self) -> list[Feature]:
        """The numbers that have more fine cells than bins."""
        return [feature for feature in self.fine if feature.bins.edges and feature.ordered > self.bins]

    @property
    def range_share(self) -> float:
        """What the ranges get, if there are any."""
        return _RANGES if self.wide else 0.0

    @property
    def part(self) -> float:
        """What one part of what is left gets, of one feature."""
        features = len(self.fine)
        totals = max(_LEAST_TOTALS, _TOTALS / (features + _TOTALS))
        return (1 - self.range_share - totals) * (1 - self.pairs.taken) / (PARTS * features)

    @property
    def total_share(self) -> float:
        """What the totals get: all that is left."""
        if not self.fine:
            return 1.0
        parts = (self.part, PARTS * len(self.fine))
        return self.purse.rest((self.range_share, 1), parts, *self.pairs.shares)

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """What may happen; even bins stand for those to come, and one correction for all of them."""
        if not self.fine:
            return (self._totals,)
        coarse = tuple(even(feature, self.bins) for feature in self.fine)
        coder, spent = Coder(coarse), self._most_corrected(0.25)
        counts = self.counts(coder, self.blocks(coarse, _DECAY), PARTS - spent)
        if not spent:
            return (*self._ranges, self._totals, counts, *self.pairs.stages)
        blank = Correction.blank(coarse, self.ground.margins)
        corrections = self._correction(coder, blank, spent * len(coarse), _DECAY)
        margins = self._margins(coder, blank.scores[:, 0], np.arange(1.0, CELLS))
        last = (*margins, *self.pairs.stages)
        return (*self._ranges, self._totals, counts, corrections, *last)

    @property
    def expected_error(self) -> dict[str, Expected]:
        """How far noise moves the share of a class, or the mean of a number."""
        noise = self._totals.noise.noise
        size = 1.0 if self.ground.classes else 2.0
        of = "a share of one" if self.ground.classes else "the width of its range"
        name = "share of a class" if self.ground.classes else "mean, in halves of its range"
        scale = 1.0 if self.ground.classes else unscaled(MOMENTS, self.purse.norm)
        return {
            name: of_mean(
                lambda level: scale * noise.half_width(level), self.ground.setting.rows, size, of
            )
        }

    @cached_property
    def _trees(self) -> list[tuple[Contrasts, list[int]]]:
        return [tree_contrasts(feature) for feature in self.wide]

    @cached_property
    def _ranges(self) -> tuple[Stage[MappedNoise], ...]:
        if not self.wide:
            return ()
        blocks = [block for block, _ in self._trees]
        return (range_stage(self.ground, self.purse, self.wide, blocks, self.range_share),)

    @cached_property
    def _totals(self) -> Stage[MappedNoise]:
        return total_stage(self.ground, self.purse, share=self.total_share)

    def blocks(self, features: tuple[Feature, ...], decay: float) -> list[Contrasts]:
        """Return the contrasts of every feature's counts."""
        purse = self.purse
        unit = purse.unit(purse.count_step if self.ground.classes else purse.sum_step)
        return [feature_contrasts(feature, decay, unit, norm=purse.norm) for feature in features]

    def counts(self, coder: Coder, blocks: list[Contrasts], parts: int) -> Stage[MappedNoise]:
        """Return the stage of contrasts of all features, for so many parts of each."""
        times = parts * len(coder.features) - self._counted
        return count_stage(self.ground, self.purse, coder, blocks, share=self.part, times=times)

    @property
    def _counted(self) -> int:
        """How many parts counts of margins get, for one factor of all scores; there is one margin."""
        if len(self.fine) == 1 or self.ground.margins > 1:
            return 0
        return max(1, round(_SPREAD * PARTS * len(self.fine)))

    def _margins(
        self, coder: Coder, scores: FloatArray, ends: FloatArray
    ) -> tuple[Stage[MappedNoise], ...]:
        """Return the stage that counts records by their margin, if there is one."""
        if not self._counted:
            return ()
        return (
            margin_stage(
                self.ground, self.purse, coder, scores, ends, share=self.part, times=self._counted
            ),
        )

    def _correction(
        self, coder: Coder, asked: Correction, parts: int, decay: float
    ) -> Stage[MappedNoise]:
        purse, place = self.purse, asked.place
        unit = purse.unit(purse.sum_step)
        block = feature_contrasts(coder.features[place], decay, unit, norm=purse.norm, total=True)
        return correction_stage(self.ground, purse, coder, block, asked, share=self.part, times=parts)

    def finish(self, releaser: Releaser) -> AdditiveModel:
        """Ask for bins, totals and contrasts, then sweep over the features."""
        features = self._binned(releaser)
        (answer,) = releaser.answer(self._totals)
        totals, channels = self._read_totals(answer, self._totals.noise.std)
        if not features:
            return self._result(features, AdditiveFit.start(totals, [], []), [])
        spent = self._most_corrected(float(totals.spread.max()) if totals.classes else 0.25)
        again = self._repeated(totals, spent)
        if again:
            totals, channels = self._ask_again(releaser, answer, again)
        coder = Coder(features)
        left = PARTS - spent - again
        decay = self._decay(totals, left)
        blocks = self.blocks(features, decay)
        counts = self.counts(coder, blocks, left)
        (answer,) = releaser.answer(counts)
        evidence = self._read_counts(counts, blocks, answer, totals, channels, features)
        model = AdditiveFit.start(totals, evidence, learn_priors(evidence, totals))
        self._sweep(releaser, coder, model, spent, decay, self._signal(totals, counts))
        scores = np.concatenate(model.scores)[:, 0].copy()
        for stage in self._margins(coder, scores, margin_ends(model)):
            (answer,) = releaser.answer(stage)
            rescale(model, stage.noise.blocks[0], answer, stage.noise.std)
        return self._result(features, model, self.pairs.ask(releaser, coder, model))

    def _binned(self, releaser: Releaser) -> tuple[Feature, ...]:
        """Return the features with bins made of noisy counts of ranges."""
        if not self.wide:
            return self.fine
        (stage,) = self._ranges
        (answer,) = releaser.answer(stage)
        found = {}
        parts = zip(self.wide, self._trees, stage.noise.split(answer), strict=True)
        for feature, (_, sizes), noisy in parts:
            column = self.ground.setting.schema[feature.name]
            assert isinstance(column, Number)
            counts = top_down(noisy[:, 0], sizes, stage.noise.std)
            found[feature.name] = merged(feature, column, counts, self.bins)
        return tuple(found.get(feature.name, feature) for feature in self.fine)

    def _repeated(self, totals: Totals, spent: int) -> int:
        """Return how many parts totals get besides: many where features can hardly tell anything.

        A constant that is well known is better than curves that are noise.
        """
        signal = self._seen(totals, PARTS - spent)
        return min(PARTS - spent - 1, round(PARTS * _REPEATED / (1 + signal**2)))

    def _ask_again(
        self, releaser: Releaser, answer: FloatArray, parts: int
    ) -> tuple[Totals, FloatArray]:
        """Return what is known of all records if totals are asked for once more."""
        times = parts * len(self.fine)
        stage = total_stage(self.ground, self.purse, share=self.part, times=times)
        (other,) = releaser.answer(stage)
        precision = np.array([self._totals.noise.std, stage.noise.std]) ** -2
        mean = (precision[0] * answer + precision[1] * other) / precision.sum()
        return self._read_totals(mean, float(precision.sum() ** -0.5))

    def _read_totals(self, answer: FloatArray, std: float) -> tuple[Totals, FloatArray]:
        """Return what is known of all records, and the totals of every channel of a bin."""
        if self.ground.classes:
            return self._class_totals(answer, std)
        scale = unscaled(MOMENTS, self.purse.norm)
        records, number, square = answer * scale
        std = std * scale
        rows = self.ground.setting.rows if self.ground.complete else None
        records = max(float(records), 10.0) if rows is None else float(rows)
        mean = float(np.clip(number / records, -0.99, 0.99)) * _kept(records, std)
        variance = float(np.clip(square / records - mean**2, 0.01, 1.0))
        one = np.ones(1)
        totals = Totals(records, mean * one, one, variance, variance, 0, std)
        return totals, np.array([records, mean * records])

    def _class_totals(self, answer: FloatArray, std: float) -> tuple[Totals, FloatArray]:
        classes = self.ground.classes
        rows = self.ground.setting.rows if self.ground.complete else None
        if rows is not None:
            answer = answer + (rows - answer.sum()) / classes
        records = max(float(answer.sum()), 10.0)
        least = min(0.5 / classes, max(5.0, 0.5 * std) / records)
        shares = np.maximum(answer / records, least)
        shares = np.clip(shares / shares.sum(), least, 1 - least)
        keep = _kept(records, std)
        shares = keep * shares / shares.sum() + (1 - keep) / classes
        mean = shares[1:] if classes == 2 else shares
        totals = Totals(records, mean, mean * (1 - mean), 1.0, 1.0, classes, std)
        return totals, shares * records

    def _most_corrected(self, spread: float) -> int:
        """Return how many parts corrections get: few if means hardly differ, none of one feature."""
        if len(self.fine) == 1:
            return 0
        return max(1, round(PARTS * max(_LEAST_CORRECTED, _CORRECTED * spread)))

    def _decay(self, totals: Totals, parts: int) -> float:
        """Return how strongly slow cosines are weighted up: the more, the less is seen."""
        if self.purse.norm == "l1":
            return _PURE_DECAY
        signal = max(self._seen(totals, parts), 1e-3)
        return float(np.clip(_DECAY - 0.25 * math.log10(signal / 1000), 1.25, 3.0))

    def _seen(self, totals: Totals, parts: int) -> float:
        """Return the signal that so many parts of every feature will give, about."""
        share = self.purse.amount * self.part * parts
        noise = math.sqrt(0.5 / share) if self.purse.delta else math.sqrt(2.0) / share
        spread = float(totals.spread.max()) if totals.classes else math.sqrt(totals.scale)
        edits = self.ground.setting.relation.edits
        return (totals.records * spread / (noise * edits)) ** 2

    def _signal(self, totals: Totals, counts: Stage[MappedNoise]) -> float:
        spread = float(totals.spread.max()) if totals.classes else math.sqrt(totals.scale)
        return float((totals.records * spread / counts.noise.std) ** 2)

    def _read_counts(
        self,
        counts: Stage[MappedNoise],
        blocks: list[Contrasts],
        answer: FloatArray,
        totals: Totals,
        channels: FloatArray,
        features: tuple[Feature, ...],
    ) -> list[BinEvidence]:
        scale = 1.0 if totals.classes else unscaled(2, self.purse.norm)
        parts = zip(features, blocks, counts.noise.split(answer), strict=True)
        std = counts.noise.std * scale
        return [
            read_evidence(f, block, part * scale, std, totals, channels) for f, block, part in parts
        ]

    def _sweep(
        self,
        releaser: Releaser,
        coder: Coder,
        model: AdditiveFit,
        spent: int,
        decay: float,
        signal: float,
    ) -> None:
        """Go over the features, the most telling first, as often as it pays."""
        sweeps = 1 if signal < _HARD or not self.purse.delta else 2 if signal < _EASY else 3
        sweeps = max(1, min(sweeps, spent))
        widest = float(np.clip(0.4 + 0.2 * math.log10(max(signal, 1e-3) / 100), 0.3, 1.0))
        order = sorted(range(len(self.fine)), key=model.importance, reverse=True)
        first, *others = order  # before it nothing is explained, so there is nothing to correct
        model.update(first, *model.uncorrected(first), DAMPING[0])
        saved = spent // sweeps
        for sweep, damping in enumerate(DAMPING[:sweeps]):
            parts = spent * (sweep + 1) // sweeps - spent * sweep // sweeps
            for place in order if sweep else others:
                asked = self._asked(model, place, widest)
                stage = self._correction(coder, asked, parts + saved, decay)
                saved = 0
                (answer,) = releaser.answer(stage)
                seen = _read_correction(stage.noise, answer, asked.width)
                model.update(place, asked.centre, *seen, damping)

    def _asked(self, model: AdditiveFit, place: int, widest: float) -> Correction:
        """Return what is asked of a feature, from released scores alone."""
        centre, half = model.ranges(place, widest)
        width = width_of(half, self.purse.norm)
        return Correction(place, model.intercept.copy(), np.concatenate(model.scores), centre, width)

    def _result(
        self, features: tuple[Feature, ...], model: AdditiveFit, pairs: list[PairScores]
    ) -> AdditiveModel:
        ground = self.ground
        column = ground.setting.schema[ground.target]
        scale = 1.0 if ground.classes else (column.high - column.low) / 2  # type: ignore[union-attr]
        middle = 0.0 if ground.classes else (column.high + column.low) / 2  # type: ignore[union-attr]
        tails = 1.0 if self.purse.delta else _TAILS
        terms = tuple(
            Term(
                (feature.name,),
                (feature.bins,),
                _rows(scale * model.scores[place].T),
                tuple(model.evidence[place].weights(model.totals).tolist()),
                _rows(scale * tails * model.noise_std[place]),
            )
            for place, feature in enumerate(features)
        )
        classes = tuple(column.values) if isinstance(column, Category) else None
        return AdditiveModel(
            ground.target,
            classes,
            self.features,
            tuple((scale * model.intercept + middle).tolist()),
            (*terms, *(pair_term(pair, scale, tails) for pair in pairs)),
            model.totals.records,
            model_facts(ground.setting.schema, self.features, ground.target),
        )


def _read_correction(
    noise: MappedNoise, answer: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return sums of bins by least squares from noisy contrasts, and the covariance of their noise."""
    matrix = noise.blocks[0].matrix
    inverse = np.linalg.inv(matrix.T @ matrix)
    seen = width[:, None] * (inverse @ (matrix.T @ noise.split(answer)[0]))
    return seen, noise.std**2 * width[:, None] * inverse * width


def _rows(values: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())


def _kept(records: float, noise_std: float) -> float:
    """Return how much of a total is kept, and not taken for noise."""
    return 1 / (1 + (3 * noise_std / records) ** 2)
