"""Noise on the cells of tables of counts, some of which were chosen after a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.data import ROWS_CAP
from discreet.data.contributions import certify_tables
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise, NoiseName, sum_noise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.plans import Setting
from discreet.plans.stages.sums import ROWS_ASSUMED
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray


@dataclass(frozen=True)
class TableNoise(WrappedNoise):
    """Noise on the cells at ``places`` of a sum of counts; the places are public by now.

    Counts are whole, so they are multiples of the noise's finer lattice, and nothing is rounded.

    Guarantees:
      - As private as ``noise``, whatever earlier release chose the tables. [marginals] [laplace]
    """

    noise: Noise
    places: tuple[int, ...] = ()

    step = 1.0

    @property
    def std(self) -> float:
        """The standard deviation of a released count."""
        return self.noise.std

    def half_width(self, level: float) -> float:
        """Return h such that a released count is within h of the exact one with probability level."""
        return self.noise.half_width(level)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the counts at the places with noise."""
        raw_counts = np.asarray(raw_steps)[list(self.places)]
        return self.noise.release(raw_counts * round(1 / self.noise.step), source)


def table_noise(
    tables: int,
    size: int,
    setting: Setting,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> TableNoise:
    """Return noise for any so many tables with at most ``size`` cells together.

    Guarantees:
      - One record is in one cell of every table. [marginals]
      - Gaussian noise lives on a lattice far finer than a record. [gauss-lattice]
    """
    certificate = certify_tables(tables, size)
    noise = sum_noise(
        certificate if setting.rows is not None else certificate.assume(ROWS_ASSUMED),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=float(setting.rows or ROWS_CAP),
    )
    if noise.step > 1:
        raise ArgumentError(f"epsilon must give noise below 2^45 records, got {epsilon!r} for tables.")
    return TableNoise(noise)
