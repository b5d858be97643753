"""The way over a histogram, and how good every way is on public tables, before a row is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms import Noise
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.tables.consistency import onto_total
from discreet.tables.entropy_values import Measure

_SEED = 0
_DRAWS = 60
_MOST_NUMBERS = 2**18
"""Draws times cells that a simulation holds at once."""


@dataclass(frozen=True)
class Estimate:
    """A number made from noisy counts, and how far such numbers scatter."""

    value: float
    std: float
    half_width: float


def estimate_measure(
    noisy_counts: FloatArray, total: float, measure: Measure, noise: Noise, *, level: float
) -> Estimate:
    """Return the measure of noisy counts, freed of the bias that noise gives it.

    The nearest counts with the right total stand for the table; the same noise, simulated on them,
    shows how far the estimate is off on average, and how much it scatters. All of it is free.
    """
    table = onto_total(noisy_counts, total)
    plain = float(measure(table))
    again = _simulated(table, total, measure, noise)
    bias = float(again.mean()) - plain
    scatter = float(np.quantile(np.abs(again - again.mean()), level))
    # The bias is known about half: the noisy table stands for the true one.
    return Estimate(plain - bias, float(again.std()), scatter + abs(bias) / 2)


def rehearse(measure: Measure, rows: int, noise: Noise) -> tuple[float, float]:
    """Return the mean error of the way over a histogram: the worst seen, and on an even table.

    Tables of many shapes with so many rows take the place of the private one, so the first is a lower
    bound on the worst case.
    """
    errors = [_mean_error(table, measure, rows, noise) for table in public_tables(measure, rows)]
    return max(errors), errors[0]


def public_tables(measure: Measure, rows: int) -> Sequence[IntArray]:
    """Return tables of different shapes: even, falling slowly and fast, most records in one cell.

    For two axes also one in which either tells the other.
    """
    cells, places = measure.cells, np.arange(measure.cells)
    across = places // measure.shape[-1], places % measure.shape[-1]
    shapes = [
        np.ones(cells),
        1.0 / (1 + places),
        np.exp(-places * math.log(max(rows, 2)) / cells),
        np.where(places == 0, max(cells - 1, 1), 1.0),
        np.where(places == 0, 1.0, 0.0),
        np.where(across[0] % measure.shape[-1] == across[1], 1.0, 0.0),
    ]
    return [np.rint(rows * shape / shape.sum()).astype(np.int64) for shape in shapes]


def _mean_error(table: IntArray, measure: Measure, rows: int, noise: Noise) -> float:
    counts = table.astype(np.float64)
    return float(np.mean(np.abs(_simulated(counts, rows, measure, noise) - measure(counts))))


def _simulated(table: FloatArray, total: float, measure: Measure, noise: Noise) -> FloatArray:
    """Return the measure of noisy copies of a table, projected as the noisy one is."""
    draws = max(4, min(_DRAWS, _MOST_NUMBERS // table.size))
    generator = public_generator(_SEED)
    size = (draws, table.size)
    if noise.name == "gaussian":
        moved = np.rint(generator.normal(0.0, noise.scale, size))
    else:
        success = -math.expm1(-1.0 / noise.scale)
        moved = generator.geometric(success, size) - generator.geometric(success, size)
    return measure(onto_total(table + noise.step * moved, total))
