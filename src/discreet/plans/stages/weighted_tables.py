"""Noisy tables of counts that share one noise but not one precision: large ones are counted heavier.

A record is in one cell of every table. Counts of a table are multiplied by its weight before noise is
added and divided by it afterwards, so that a table of weight w has 1/w of the noise. Which tables are
measured, and how heavy each is, may follow from earlier releases, as long as all weights together keep
a public limit; so a later stage is paid for before anybody knows how many tables it will measure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms import Noise, NoiseName, count_noise, rho_noise, sum_noise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.mechanisms.lattice import LARGEST_SUM, SHARE
from discreet.numerics import check_whole, up
from discreet.plans import Setting
from discreet.plans.stages.sums import assume_rows
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

UNIT = 64
"""The weight of a table that is as heavy as the others."""

HEAVIEST = 1024
"""The greatest weight."""

LimitNorm = Literal["l1", "l2", "linf"]
"""How weights keep the limit: by their sum, by the sum of their squares, or each by itself."""


def certify_weighted(tables: int, size: int, norm: LimitNorm) -> Certificate:
    """Certify weighted counts of any tables whose weights are within the limit of ``tables`` units.

    Args:
      tables: how many tables of weight ``UNIT`` the limit is worth.
      size: cells of all measured tables together, at most.
      norm: how weights keep the limit.

    Guarantees:
      - Replacing a record moves two cells of a table by its weight, adding or removing one moves one;
        so sums and squares over all tables are at most twice, or once, the limit. [weighted-tables]
    """
    check_whole("tables", tables, 1)
    total, root = float(UNIT * tables), up(UNIT * math.sqrt(tables), 1)
    l1, l2, linf = {
        "l1": (total, total, total),
        # Of k whole weights whose squares add up to L^2 the sum is at most L sqrt(k) and L^2.
        "l2": (up(root * min(root, math.sqrt(size)), 1), root, root),
        "linf": (total, root, float(UNIT)),
    }[norm]
    most = min(linf, float(HEAVIEST))
    return Certificate(
        ("weighted-tables",),
        size,
        {
            REPLACE_ONE: Bounds(2 * l1, up(math.sqrt(2.0) * l2, 1), most),
            ADD_REMOVE: Bounds(l1, l2, most),
        },
    )


@dataclass(frozen=True)
class Weighted:
    """One table that is measured: where its cells are in the sum, and its weight."""

    cells: range
    weight: int


@dataclass(frozen=True)
class WeightedNoise(WrappedNoise):
    """Noise on the cells of weighted tables of a sum of counts; tables and weights are public by now.

    Args:
      noise: calibrated for ``certify_weighted``.
      tables: how many units the limit is worth.
      norm: how weights keep the limit.
      measured: the tables.
      step: what is counted: records, or parts of them.

    Guarantees:
      - As private as ``noise``, whatever earlier release chose tables and weights: those beyond the
        limit are refused before a row is looked at. [weighted-tables]
    """

    noise: Noise
    tables: int
    norm: LimitNorm
    measured: tuple[Weighted, ...] = ()
    step: float = 1.0

    def __post_init__(self) -> None:
        weights = [table.weight for table in self.measured]
        size = sum(len(table.cells) for table in self.measured)
        whole = all(1 <= weight <= HEAVIEST for weight in weights)
        if not (whole and size <= self.certificate.size and _keeps(weights, self.tables, self.norm)):
            raise CertificateError(f"Weights must keep the limit of {self.tables} tables.")

    @property
    def std(self) -> float:
        """The standard deviation of a count in a table of weight ``UNIT``."""
        return self.noise.std / UNIT

    def std_of(self, table: int) -> float:
        """Return the standard deviation of a count of a measured table."""
        return self.noise.std / self.measured[table].weight

    def half_width(self, level: float) -> float:
        """Return the distance from an exact count of weight ``UNIT`` that is kept so probably."""
        return self.noise.half_width(level) / UNIT

    @property
    def places(self) -> tuple[int, ...]:
        """Where the measured cells are in the sum."""
        return tuple(place for table in self.measured for place in table.cells)

    @property
    def weights(self) -> IntArray:
        """The weight of every measured cell."""
        sizes = [len(table.cells) for table in self.measured]
        return np.repeat(np.array([t.weight for t in self.measured], dtype=np.int64), sizes)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the counts of the measured tables with noise, one after the other."""
        weights = self.weights
        factors = weights * round(self.step / self.noise.step)
        # No product may wrap: a count that is cut moves no further than one that is not.
        raw_counts = np.minimum(np.asarray(raw_steps)[list(self.places)], int(LARGEST_SUM) // factors)
        return self.noise.release(raw_counts * factors, source) / weights


def _keeps(weights: Sequence[int], tables: int, norm: LimitNorm) -> bool:
    match norm:
        case "l1":
            return sum(weights) <= UNIT * tables
        case "l2":
            return sum(weight * weight for weight in weights) <= UNIT * UNIT * tables
    return len(weights) <= tables and max(weights, default=0) <= UNIT


def weights_for(sizes: Sequence[int], tables: int, norm: LimitNorm) -> list[int]:
    """Return the weights of tables with so many cells, so that all cells together have least noise.

    Args:
      sizes: cells of every table.
      tables: how many units the limit is worth.
      norm: how weights keep it.

    >>> weights_for([4, 4], 2, "l2"), weights_for([4, 32], 2, "l2")
    ([64, 64], [40, 80])
    """
    if norm == "linf":
        return [UNIT] * len(sizes)
    # Least sum of cells / weight: the root of cells under a limit of sums, the cube root of squares.
    ideal = np.asarray(sizes, dtype=np.float64) ** (1 / 2 if norm == "l1" else 1 / 3)
    total = ideal.sum() / tables if norm == "l1" else math.sqrt(float(np.sum(ideal**2)) / tables)
    return [int(weight) for weight in np.clip(np.floor(UNIT * ideal / total), 1, HEAVIEST)]


def weighted_noise(
    tables: int, size: int, setting: Setting, *, epsilon: float, mechanism: NoiseName = "auto"
) -> WeightedNoise:
    """Return pure noise for tables whose weights are worth so many units, with ``size`` cells together.

    Guarantees:
      - One record is in one cell of every table. [weighted-tables]
    """
    norm: LimitNorm = "linf" if mechanism == "linf" else "l1"
    certificate = certify_weighted(tables, size, norm)
    promise: Any = {"relation": setting.relation, "epsilon": epsilon, "mechanism": mechanism}
    if not setting.relation.whole:
        return WeightedNoise(count_noise(certificate, **promise), tables, norm, step=SHARE)
    noise = sum_noise(assume_rows(certificate, setting), largest_sum=_largest(setting), **promise)
    return WeightedNoise(_fine(noise, epsilon), tables, norm)


def weighted_rho_noise(
    tables: int, size: int, setting: Setting, *, rho: float, delta: float
) -> WeightedNoise:
    """Return the same as Gaussian noise of so much rho, for a stage that is promised with others.

    Guarantees:
      - One record is in one cell of every table. [weighted-tables]
    """
    certificate = certify_weighted(tables, size, "l2")
    promise: Any = {"relation": setting.relation, "rho": rho, "delta": delta}
    if not setting.relation.whole:
        return WeightedNoise(rho_noise(certificate, **promise), tables, "l2", step=SHARE)
    noise = rho_noise(assume_rows(certificate, setting), largest_sum=_largest(setting), **promise)
    return WeightedNoise(_fine(noise, noise.epsilon), tables, "l2")


def _largest(setting: Setting) -> float:
    return float(setting.most_rows) * HEAVIEST


def _fine(noise: Noise, epsilon: float) -> Noise:
    """Return noise on a lattice of which counts are multiples, or raise."""
    if noise.step > 1:
        raise ArgumentError(f"epsilon must give noise below 2^38 records, got {epsilon!r} for tables.")
    return noise
