"""The route over a histogram, and how good every route is on public tables, before a row is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms import Noise
from discreet.plans.stages.counts import onto_total
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.tables.entropy.values import Measure

_SEED = 0
_FEWEST_DRAWS, _DRAWS = 16, 100
_MOST_NUMBERS = 2**18
"""Draws times cells that a simulation holds at once."""

_SHARPER, _FLATTER = (4.0, 2.0, 1.0, 0.5), (1.0, 2.0, 4.0, 8.0, math.inf)
"""Deviations of the noise by which counts are lowered, or below which they are made equal."""


@dataclass(frozen=True)
class Estimate:
    """A number, how far such numbers scatter, and by which way it was found if that was chosen late."""

    value: float
    std: float
    half_width: float
    method: str = ""
    compared: tuple[tuple[str, float], ...] = ()


def estimate_measure(
    noisy_counts: FloatArray, rows: int | None, measure: Measure, noise: Noise, *, level: float
) -> Estimate:
    """Return the measure of noisy counts, freed of the bias that noise gives it.

    Tables that could have led to the noisy counts, from sharper to flatter ones, get the same noise in
    a simulation. The estimate is the measure of the table whose simulated answers are, on average, what
    was seen; the band holds the measures of all for which what was seen is not unusual. All of it is
    free. Where the number of records is private it is drawn anew as well, as the sum that it is.
    """
    tail = (1 - level) / 3  # a third less than half: none of the tables is the true one
    plain = float(measure(_projected(noisy_counts, rows)))
    tables = _alike(_projected(noisy_counts, rows), noise)
    laws = _simulated(tables, rows, measure, noise)
    values = np.maximum.accumulate([float(measure(table)) for table in tables])

    def explain(answers: FloatArray) -> float:
        return float(np.interp(plain, np.maximum.accumulate(answers), values))

    value = explain(laws.mean(axis=1))
    low, high = (explain(np.quantile(laws, at, axis=1)) for at in (1 - tail, tail))
    own = laws[len(_SHARPER)]
    scatter = float(np.quantile(np.abs(own - own.mean()), 1 - tail)) + abs(float(own.mean()) - plain)
    return Estimate(value, float(own.std()), max(scatter, high - value, value - low))


def rehearse(measure: Measure, rows: int, noise: Noise, *, public: bool) -> tuple[float, float]:
    """Return the mean error of the way over a histogram: the worst seen, and on an even table.

    Tables of many shapes with so many rows take the place of the private one, so the first is a lower
    bound on the worst case. ``public`` says whether their number is known to the estimate.
    """
    tables = [table.astype(np.float64) for table in public_tables(measure, rows)]
    simulated = _simulated(tables, rows if public else None, measure, noise)
    exact = np.array([float(measure(table)) for table in tables])
    errors = np.abs(simulated - exact[:, None]).mean(axis=1)
    return float(errors.max()), float(errors[0])


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


def _projected(noisy_counts: FloatArray, rows: int | None) -> FloatArray:
    """Return the nearest counts with the right sum: that of the noisy ones where it is private."""
    seen = np.maximum(noisy_counts.sum(axis=-1, keepdims=True), 1.0)
    return onto_total(noisy_counts, seen if rows is None else float(rows))


def _alike(table: FloatArray, noise: Noise) -> list[FloatArray]:
    """Return tables with the same sum that noise could hardly tell from this one, sharpest first."""
    total = float(table.sum())
    lowered = [np.maximum(table - times * noise.std, 0.0) for times in _SHARPER]
    alone = np.where(np.arange(table.size) == table.argmax(), 1.0, 0.0)
    sharper = [(kept if kept.any() else alone) for kept in lowered]
    low = [table <= times * noise.std for times in _FLATTER]
    flatter = [np.where(part, table[part].mean() if part.any() else 0.0, table) for part in low]
    return [kept * (total / kept.sum()) for kept in sharper] + [table, *flatter]


def _simulated(
    tables: Sequence[FloatArray], rows: int | None, measure: Measure, noise: Noise
) -> FloatArray:
    """Return the measure of noisy copies of every table, projected as the noisy one is."""
    moved = _draws_of(noise, tables[0].size)
    return np.array([measure(_projected(table + moved, rows)) for table in tables])


def _draws_of(noise: Noise, cells: int) -> FloatArray:
    """Return many draws of the noise on all cells, from a public seed."""
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _MOST_NUMBERS // cells))
    return noise.simulate(public_generator(_SEED), draws, cells)
