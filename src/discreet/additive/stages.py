"""The stages of an additive model: what records add, what was proven of it, and the noise on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.coding import Coder, Feature
from discreet.additive.contrasts import Contrasts, feature_contrasts, whole_contrasts
from discreet.additive.kernels import CLIPPED, LOGISTIC, SOFTMAX
from discreet.additive.noise import MappedNoise, Purse, certify_counts, certify_sums, check_columns
from discreet.data import TablesContribution, VectorContribution
from discreet.data.adding import spread_spots
from discreet.data.blocks import Block
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import Bins, Category, FloatArray, Number

MARGIN_DECAY = 2.0
"""How strongly slow cosines over cells of margins are weighted up: sums of smooth functions matter."""

Spots = Callable[[Block], tuple[NDArray[np.int64], FloatArray]]
"""The cell of every record in every table, and what it adds to each."""

MOMENTS = 3
"""Of a number: how many records there are, their sum and their sum of squares."""


@dataclass(frozen=True)
class AdditiveGround:
    """The public facts of a fit: columns, target and how margins become means.

    Attributes:
      setting: of the table.
      features: the columns that may tell something, by name.
      target: the column to predict.
      classes: how many there are; zero for a number.
    """

    setting: Setting
    features: tuple[str, ...]
    target: str
    classes: int

    @property
    def columns(self) -> tuple[str, ...]:
        """What every stage reads, so that rows are read and kept once."""
        return (*self.features, self.target)

    @property
    def channels(self) -> int:
        """What is counted of a bin: records of every class, or records and the sum of a number."""
        return self.classes or 2

    @property
    def margins(self) -> int:
        """How many margins a row has."""
        return self.classes if self.classes > 2 else 1

    @property
    def link(self) -> int:
        """How margins become means."""
        return CLIPPED if not self.classes else LOGISTIC if self.classes == 2 else SOFTMAX

    @property
    def complete(self) -> bool:
        """Whether every record has a target, so that a public number of rows is that of records."""
        column = self.setting.schema[self.target]
        return (
            isinstance(column, Category | Number)
            and not getattr(column, "reserved", 0)
            and not (isinstance(column, Number) and column.may_be_missing)
        )

    def known(self, target: FloatArray) -> NDArray[np.bool_]:
        """Return which records have a target; others are not counted."""
        if self.classes:
            return np.asarray(target < self.classes)
        return np.asarray(target >= self._number.low)

    def number(self, target: FloatArray) -> FloatArray:
        """Return an encoded number as a place between -1 and 1 in its public range."""
        column = self._number
        middle, half = (column.low + column.high) / 2, (column.high - column.low) / 2
        return np.clip((target - middle) / half, -1.0, 1.0)

    @property
    def _number(self) -> Number:
        column = self.setting.schema[self.target]
        assert isinstance(column, Number)
        return column


def range_stage(
    ground: AdditiveGround,
    purse: Purse,
    features: Sequence[Feature],
    blocks: Sequence[Contrasts],
    share: float,
) -> Stage[MappedNoise]:
    """Return the stage that counts nested ranges of numbers, of which bins are made."""
    names = tuple(feature.name for feature in features)

    def index(block: Block) -> list[NDArray[np.int64]]:
        return [f.bins.index(np.ascontiguousarray(block[f.name])) for f in features]

    contribution = TablesContribution(ground.columns, tuple(f.size for f in features), index)
    units = [
        Contrasts(block.whole * round(1 / purse.unit(purse.count_step)), purse.unit(purse.count_step))
        for block in blocks
    ]
    certificate = certify_counts(units, 1)
    noise = purse.noise(certificate, units, 1, purse.count_step, share=share)
    return Stage(f"ranges of {len(names)} numbers", contribution, noise)


def total_stage(
    ground: AdditiveGround, purse: Purse, *, share: float, times: int = 1
) -> Stage[MappedNoise]:
    """Return the stage that counts the records of every class, or adds up a number and its square."""
    if ground.classes:
        one = [_one(purse, purse.count_step)]

        def index(block: Block) -> list[NDArray[np.int64]]:
            target = block[ground.target]
            return [np.where(ground.known(target), target, -1.0).astype(np.int64)]

        cells = TablesContribution(ground.columns, (ground.classes,), index)
        proven = certify_counts(one, ground.classes)
        noise = purse.noise(proven, one, ground.classes, purse.count_step, share=share, times=times)
        return Stage("totals", cells, noise)
    return _sum_stage(
        "totals",
        ground,
        purse,
        lambda block: np.zeros((1, len(block)), dtype=np.int64),
        [_one(purse, purse.sum_step)],
        MOMENTS,
        share=share,
        times=times,
    )


def count_stage(
    ground: AdditiveGround,
    purse: Purse,
    coder: Coder,
    blocks: Sequence[Contrasts],
    *,
    share: float,
    times: int,
) -> Stage[MappedNoise]:
    """Return the stage of contrasts of all features' bins, by class or with the sum of a number.

    Guarantees:
      - A record is in one bin of every feature, and in one class. [additive-counts]
    """
    check_columns(blocks, purse.norm)
    sizes = [feature.size for feature in coder.features]
    if not ground.classes:
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1, None]
        return _sum_stage(
            "bins",
            ground,
            purse,
            lambda block: coder.codes(features_of(ground, block)) + starts,
            blocks,
            2,
            share=share,
            times=times,
        )
    classes = ground.classes

    def index(block: Block) -> list[NDArray[np.int64]]:
        target, codes = block[ground.target], coder.codes(features_of(ground, block))
        known = ground.known(target)
        return [np.where(known, code * classes + target, -1.0).astype(np.int64) for code in codes]

    contribution = TablesContribution(ground.columns, tuple(size * classes for size in sizes), index)
    certificate = certify_counts(blocks, classes)
    noise = purse.noise(certificate, blocks, classes, purse.count_step, share=share, times=times)
    return Stage("bins", contribution, noise)


def features_of(ground: AdditiveGround, block: Block) -> FloatArray:
    """Return a block's values; those of features are the first columns."""
    return block.values


@dataclass(frozen=True)
class Correction:
    """What is asked of one term: the means that the model gives its records, bin by bin.

    All of it follows from what was released before.

    Attributes:
      place: of the term among all.
      intercept: of every margin.
      scores: of all terms' bins, bins x margins, term after term.
      centre: what means are measured from, bins x margins.
      width: in which unit, per bin.
    """

    place: int
    intercept: FloatArray
    scores: FloatArray
    centre: FloatArray
    width: FloatArray

    @classmethod
    def blank(cls, features: Sequence[Feature], margins: int) -> Correction:
        """Return a correction that stands for those to come."""
        sizes = [feature.size for feature in features]
        scores, centre = (np.zeros((size, margins)) for size in (sum(sizes), max(sizes)))
        return cls(0, np.zeros(margins), scores, centre, np.ones(max(sizes)))


def correction_stage(
    ground: AdditiveGround,
    purse: Purse,
    coder: Coder,
    block: Contrasts,
    asked: Correction,
    *,
    share: float,
    times: int,
) -> Stage[MappedNoise]:
    """Return the stage that adds up, bin by bin of a term, the model's means of its records.

    Guarantees:
      - A record adds to one bin a vector inside the unit ball, whatever it says; centres and widths
        are those of released scores. [additive-corrections]
    """
    check_columns([block], purse.norm)
    sizes = [feature.size for feature in coder.features]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    per_step, summed = 1.0 / purse.sum_step, purse.norm == "l1"

    def spots(rows: Block) -> tuple[NDArray[np.int64], FloatArray]:
        from discreet.additive.kernels import correct

        codes = coder.codes(features_of(ground, rows))
        values = np.empty((len(rows), ground.margins))
        correct(
            codes, starts, asked.scores, asked.intercept, ground.link, asked.place,
            asked.centre, asked.width, summed, per_step, values,
        )  # fmt: skip
        known = ground.known(rows[ground.target])
        return np.where(known, codes[asked.place], -1)[None, :].astype(np.int64), values

    name = f"correction of {coder.features[asked.place].name}"
    return spots_stage(
        name, ground, purse, spots, [block], sizes[asked.place], ground.margins,
        share=share, times=times,
    )  # fmt: skip


def margin_stage(
    ground: AdditiveGround,
    purse: Purse,
    coder: Coder,
    scores: FloatArray,
    ends: FloatArray,
    *,
    share: float,
    times: int,
) -> Stage[MappedNoise]:
    """Return the stage that counts records by their margin, without the intercept.

    Args:
      ground: the public facts.
      purse: what is paid from.
      coder: of the features.
      scores: that were released, of all bins of all terms.
      ends: of the cells of margins, all but the outermost; a function of what was released.
      share: of a part.
      times: how many parts.

    Guarantees:
      - A record is in one cell of margins: its margin is a function of its own values and of released
        scores. [additive-counts]
    """
    sizes = [feature.size for feature in coder.features]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)

    def index(rows: Block) -> list[NDArray[np.int64]]:
        from discreet.additive.kernels import add_scores

        margins = np.empty(len(rows))
        add_scores(coder.codes(features_of(ground, rows)), starts, scores, margins)
        places = np.searchsorted(ends, margins)
        return [np.where(ground.known(rows[ground.target]), places, -1).astype(np.int64)]

    cells = len(ends) + 1
    feature = Feature("margins", Bins(tuple(map(str, range(cells)))), cells)
    unit = purse.unit(purse.count_step)
    blocks = [feature_contrasts(feature, MARGIN_DECAY, unit, norm=purse.norm)]
    check_columns(blocks, purse.norm)
    certificate = certify_counts(blocks, 1)
    noise = purse.noise(certificate, blocks, 1, purse.count_step, share=share, times=times)
    return Stage("margins", TablesContribution(ground.columns, (cells,), index), noise)


def _sum_stage(
    name: str,
    ground: AdditiveGround,
    purse: Purse,
    cells: Callable[[Block], NDArray[np.int64]],
    blocks: Sequence[Contrasts],
    channels: int,
    **paid: Any,
) -> Stage[MappedNoise]:
    """Return the stage of records, the sum of a number and maybe of its square, by cells."""
    scale = channels if purse.norm == "l1" else np.sqrt(channels)
    step = purse.sum_step

    def spots(block: Block) -> tuple[NDArray[np.int64], FloatArray]:
        target = block[ground.target]
        number = ground.number(target)
        values = np.column_stack([np.ones(len(block)), number, number**2][:channels]) / scale
        values = np.trunc(values * (1 - 1e-12) / step) * step
        return np.where(ground.known(target), cells(block), -1), values

    size = sum(block.whole.shape[1] for block in blocks)
    return spots_stage(name, ground, purse, spots, blocks, size, channels, **paid)


def spots_stage(
    name: str,
    ground: AdditiveGround,
    purse: Purse,
    spots: Spots,
    blocks: Sequence[Contrasts],
    cells: int,
    channels: int,
    **paid: Any,
) -> Stage[MappedNoise]:
    """Return the stage of contrasts of sums to one cell of every table of which a record adds."""
    contribution = spots_contribution(ground, spots, cells * channels, len(blocks), channels)
    certificate = certify_sums(blocks, channels, purse, step=purse.sum_step)
    noise = purse.noise(certificate, blocks, channels, purse.sum_step, **paid)
    return Stage(name, contribution, noise)


def spots_contribution(
    ground: AdditiveGround, spots: Spots, size: int, tables: int, channels: int
) -> VectorContribution:
    """Return what records add: a vector of the unit ball to one cell of each of some tables."""
    return VectorContribution(
        ground.columns,
        size,
        Box(-1.0, 1.0),
        0.0,
        lambda block: spread_spots(*spots(block), size),
        proven=_certify_raw(size, tables, channels),
        calls=None,
        spots=spots,
    )


def _certify_raw(size: int, tables: int, channels: int) -> Certificate:
    """Certify sums by cells before contrasts are taken of them."""
    one = Bounds(float(tables * channels), float(tables), 1.0)
    two = Bounds(2 * one.l1, 2 * one.l2, 2.0)
    return Certificate(("additive-corrections",), size, {ADD_REMOVE: one, REPLACE_ONE: two})


def _one(purse: Purse, step: float) -> Contrasts:
    """Return the contrasts of a single cell: itself."""
    return whole_contrasts(np.ones((1, 1)), purse.unit(step), "l2")


def unscaled(channels: int, norm: str) -> float:
    """Return what moments were divided by."""
    return float(channels if norm == "l1" else np.sqrt(channels))
