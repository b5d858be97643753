"""Section III in reduced form: expected errors of curves, by bias and variance, on drawn columns.

The data sets are not ours to hand on, so columns are drawn that have the sizes and shapes described:
numbers of records, ranges, whole numbers, shares of zeros. Errors are exact in the noise: the mean
squared error over 1,000 places of a linear interpolation between noisy points, its squared bias plus
the variance of Laplace noise at 8/9 of the budget. Subsets are explained one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.audit.claims.claim import Evidence, decided, judged
from discreet.mechanisms.smooth.densities import FloatArray
from discreet.randomness import public_generator

BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)
_SUBSETS, _PLACES, _SHARE = 200, 1_000, 8 / 9
_CENSUS, _BIKES = 30_162, 17_379


@dataclass(frozen=True)
class DrawnColumn:
    """A feature: its values in the table, and the curve of the model over it."""

    values: FloatArray
    model: Callable[[FloatArray], FloatArray]
    output_range: float = 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value."""
        return float(self.values.min()), float(self.values.max())


@lru_cache(maxsize=8)
def column(name: str) -> DrawnColumn:
    """Return a drawn column: ``age``, ``hour``, ``education`` or ``capital``."""
    generator = public_generator(7)
    if name == "age":
        years = np.clip(generator.gamma(6, 4, _CENSUS) + 17, 17, 90).round()
        return DrawnColumn(years, _earners)
    if name == "hour":
        return DrawnColumn(generator.integers(0, 24, _BIKES).astype(float), _rides, 976.0)
    if name == "education":
        years = np.clip(generator.normal(10, 2.5, _CENSUS).round(), 1, 16)
        return DrawnColumn(years, _levels)
    income = np.minimum(99_999, generator.lognormal(8.6, 1.0, _CENSUS).round())
    income[generator.random(_CENSUS) < 0.92] = 0
    return DrawnColumn(income, _jump)


def _earners(age: FloatArray) -> FloatArray:
    """A hill over middle age."""
    return np.asarray(0.05 + 0.45 * np.exp(-(((age - 48) / 12) ** 2)))


def _levels(years: FloatArray) -> FloatArray:
    """What a forest that was trained on whole numbers says: that of the nearest one."""
    return np.asarray(0.1 + 0.75 / (1 + np.exp((12 - np.rint(years)) / 1.2)))


def _jump(income: FloatArray) -> FloatArray:
    """A jump just after the second of 20 even points."""
    return np.asarray(0.2 + 0.3 * (income > 5_500))


def _rides(hour: FloatArray) -> FloatArray:
    """A peak in the morning and a higher one in the evening."""
    morning, evening = np.exp(-(((hour - 8) / 1.2) ** 2)), np.exp(-(((hour - 17.5) / 1.7) ** 2))
    return np.asarray(60 + 300 * morning + 420 * evening)


@lru_cache(maxsize=64)
def biases(name: str, points: int) -> tuple[float, float]:
    """Return the squared bias of DP PDP and of Generic DP PDP, against the curve over all values."""
    asked = column(name)
    places, grid = np.linspace(*asked.ends, _PLACES), np.linspace(*asked.ends, points)
    known = np.unique(asked.values)
    truth = np.interp(places, known, asked.model(known))
    parts = np.array_split(public_generator(8).permutation(asked.values), _SUBSETS)
    kinds = [np.unique(part) for part in parts]
    generic = np.mean([np.interp(grid, kind, asked.model(kind)) for kind in kinds], axis=0)
    curves = asked.model(grid), generic
    first, second = (float(np.mean((np.interp(places, grid, y) - truth) ** 2)) for y in curves)
    return first, second


def variance(name: str, points: int, epsilon: float, units: int) -> float:
    """Return the mean variance of a curve with noise of m r / (units epsilon) on its points."""
    asked = column(name)
    place = np.linspace(0, points - 1, _PLACES) % 1.0
    scale = points * asked.output_range / (units * _SHARE * epsilon)
    return 2 * scale**2 * float(np.mean(place**2 + (1 - place) ** 2))


def specific(name: str, points: int, epsilon: float, noise: float = 1.0) -> float:
    """Return the expected error of DP PDP, its noise times a factor."""
    rows = len(column(name).values)
    return biases(name, points)[0] + noise**2 * variance(name, points, epsilon, rows)


def generic(name: str, points: int, epsilon: float, noise: float = 1.0) -> float:
    """Return the expected error of Generic DP PDP, its noise times a factor."""
    return biases(name, points)[1] + noise**2 * variance(name, points, epsilon, _SUBSETS)


def specific_is_better(twist: float = 1.0) -> Evidence:
    """Compare both on the curves over age and hour, 20 points, all budgets."""
    ratio = {
        f"{name} at {epsilon:g}": specific(name, 20, epsilon) / generic(name, 20, epsilon)
        for name in ("age", "hour")
        for epsilon in BUDGETS
    }
    worst = max(ratio.values())
    return Evidence(
        judged(twist, worst, loose_from=float("inf")),
        f"DP PDP has at most {worst:.2f} of the generic design's error, and {min(ratio.values()):.1e} "
        "at the least budget.",
        ratio,
    )


def budget_hardly_matters(twist: float = 1.0) -> Evidence:
    """Follow DP PDP over hours from epsilon .5 to 10, with 20 points and with 50."""
    better = specific("hour", 20, 0.5) / specific("hour", 20, 10.0)
    generic_better = generic("hour", 20, 0.5) / generic("hour", 20, 10.0)
    finer = specific("hour", 50, 10.0) / specific("hour", 20, 10.0)
    return Evidence(
        decided(better < 1.25 * twist and finer < 1),
        f"Twenty times the budget lowers its error by a factor of {better:.2f} (generic: "
        f"{generic_better:.0f}); 50 points in place of 20 leave {finer:.2f} of it.",
        {"factor": better, "generic factor": generic_better, "50 points": finer},
    )


def overtaken_at_ten(name: str, twist: float) -> Evidence:
    """Compare both designs at 20 points, the generic one's noise times the twist."""
    pairs = {e: (specific(name, 20, e), generic(name, 20, e, twist)) for e in BUDGETS}
    ahead = [epsilon for epsilon, (own, rival) in pairs.items() if rival < own]
    own, rival = biases(name, 20)
    return Evidence(
        decided(ahead == [10.0]),
        f"The generic design has the lower error at epsilon {ahead}: its bias is {rival:.1e}, that of "
        f"DP PDP {own:.1e} at every budget.",
        {"bias": own, "generic bias": rival, "budgets at which generic wins": float(len(ahead))},
    )


def capital_overtakes(twist: float = 1.0) -> Evidence:
    """Do so for capital gain: a curve that rises just after a point of the grid."""
    return overtaken_at_ten("capital", twist)


def education_overtakes(twist: float = 1.0) -> Evidence:
    """Do so for years of education, whole numbers, and a forest that cannot tell 1 from 1.25."""
    return overtaken_at_ten("education", twist)


def budget_sets_resolution(twist: float = 1.0) -> Evidence:
    """Find the best number of points at the least and at the greatest budget, over age."""
    sizes = (10, 20, 50, 100)
    own = {e: min(sizes, key=lambda m: specific("age", m, e, twist)) for e in (0.5, 10.0)}
    rival = [max(sizes, key=lambda m: generic("age", m, e, twist)) for e in BUDGETS]
    return Evidence(
        decided(own[0.5] < own[10.0] and set(rival) == {100}),
        f"DP PDP is best with {own[0.5]} points at epsilon .5 and with {own[10.0]} at 10; the generic "
        f"design is worst with {sorted(set(rival))} at every budget.",
        {"best at .5": float(own[0.5]), "best at 10": float(own[10.0])},
    )


def resolution_repairs(twist: float = 1.0) -> Evidence:
    """Compare both designs over capital gain at epsilon 10, for 20, 50 and 100 points."""
    ratio = {
        m: twist * specific("capital", m, 10.0) / generic("capital", m, 10.0) for m in (20, 50, 100)
    }
    return Evidence(
        decided(ratio[20] > 1 > max(ratio[50], ratio[100])),
        f"DP PDP has {ratio[20]:.2f} times the generic error with 20 points, {ratio[50]:.2f} times "
        f"with 50 and {ratio[100]:.2f} times with 100.",
        {f"ratio at {m}": value for m, value in ratio.items()},
    )


def quantiles_repeat(twist: float = 1.0) -> Evidence:
    """Count quantiles at zero if 92 % of the values are zero."""
    asked = column("capital")
    zeros = twist * float(np.mean(asked.values == 0))
    edges = np.arange(20) / 19
    at_zero = int((edges <= zeros).sum())
    return Evidence(
        decided(at_zero >= 16),
        f"With {zeros:.0%} zeros {at_zero} of 20 quantiles are zero; {20 - at_zero} cover the rest.",
        {"at zero": float(at_zero), "share of zeros": zeros},
    )


def finer_edges_help_ale_more(twist: float = 1.0) -> Evidence:
    """Compare the biases of 20 and 100 edges: even ones as in DP PDP, quantiles as in DP ALE."""
    asked = column("capital")
    places, bias = np.linspace(*asked.ends, _PLACES), {}
    for m in (20, 100):
        even = np.linspace(*asked.ends, m)
        uneven = np.unique(np.quantile(asked.values, np.linspace(0, 1, m)))
        for kind, edges in (("even", even), ("quantiles", uneven)):
            curve = np.interp(places, edges, asked.model(edges))
            bias[kind, m] = float(np.mean((curve - asked.model(places)) ** 2))
    helped = {kind: bias[kind, 20] / bias[kind, 100] for kind in ("even", "quantiles")}
    return Evidence(
        decided(1 < helped["even"] < twist * helped["quantiles"]),
        f"100 edges in place of 20 lower the bias {helped['even']:.1f} times if they are even and "
        f"{helped['quantiles']:.0f} times if they are quantiles.",
        helped,
    )


def rare_categories_drown(twist: float = 1.0) -> Evidence:
    """Compare noise on categories of which some are rare: DP ALE, DP PDP, and DP ALE on quantiles."""
    sizes = np.maximum(1, np.rint(_CENSUS * 0.09 * np.arange(1, 41) ** -2.5))
    sizes[0] = _CENSUS - sizes[1:].sum()
    epsilon = 0.5
    effects = twist * np.sqrt(2) * 2 / (_SHARE * epsilon) / sizes
    curve = twist * np.sqrt(2) * len(sizes) / (_CENSUS * _SHARE * epsilon)
    intervals = twist * np.sqrt(2) * 2 / (_SHARE / 2 * epsilon) / (_CENSUS / 20)
    drowned = int((effects > 1).sum())
    return Evidence(
        decided(bool(drowned and curve < 0.1 and intervals < 0.1)),
        f"At epsilon .5 the noise on {drowned} of {len(sizes)} categories exceeds the model's range in "
        f"DP ALE; it is {curve:.3f} of it in DP PDP and {intervals:.3f} on intervals of equal size.",
        {"drowned": float(drowned), "curve": float(curve), "intervals": float(intervals)},
    )
