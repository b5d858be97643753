"""How far is optimal: every lower bound beside what ours attains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from discreet.arguments import as_list
from discreet.audit.limits import reached
from discreet.audit.limits.choosing import least_farthest_count, least_gap
from discreet.audit.limits.groups import least_count_error, least_mean_error
from discreet.audit.limits.vectors import (
    least_coordinate_error,
    least_fingerprint_error,
    least_packed_root,
)
from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.numerics import check_positive, check_probability, check_whole

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.9
_NO_CONSTANT = "Steinke and Ullman (2017): root k log m / epsilon, published without a constant"
_GEOMETRIC = "Ghosh, Roughgarden and Sundararajan (2012), uniform prior"
_TWO_POINTS = "two points, at all distances"
_K_NORM = "packing with the K-norm prior, or one number by itself"
_NOTHING = 1e-12


@dataclass(frozen=True)
class LowerBound:
    """One question, what no mechanism can beat, and what ours attains.

    Args:
      question: what is asked, and in which measure of error.
      n: records.
      d: numbers, cells or candidates.
      epsilon: of the promise.
      delta: of the promise.
      bound: no mechanism with this promise is below it in the worst case; NaN if no constant is known.
      ours: what our mechanism has.
      source: of the bound.
    """

    question: str
    n: int
    d: int
    epsilon: float
    delta: float
    bound: float
    ours: float
    source: str

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing at this size."""
        return not self.bound > _NOTHING

    @property
    def ratio(self) -> float:
        """How many times the bound ours is; infinity where the bound says nothing."""
        return math.inf if self.vacuous else self.ours / self.bound

    def __str__(self) -> str:
        place = f"n={self.n}, d={self.d}, epsilon={self.epsilon:g}, delta={self.delta:g}"
        if self.vacuous:
            return f"{self.question}: the bound is vacuous at {place}"
        return (
            f"{self.question}: {self.bound:.4g}, ours {self.ours:.4g} ({self.ratio:.2g}x), at {place}"
        )


def lower_bounds(
    *,
    rows: Sequence[int] = (1_000, 20_000),
    columns: Sequence[int] = (6, 100),
    epsilons: Sequence[float] = (0.1, 1.0),
    delta: float = 1e-6,
    k: int = 3,
) -> pd.DataFrame:
    """Return what no mechanism can beat, beside what ours attains: a row per question and size.

    Errors are those of the worst table. Means are of numbers between -1 and 1, gaps are whole numbers
    of records at which an answer is right with a chance of 0.9.

    Args:
      rows: numbers of records.
      columns: how many numbers a vector has, and among how many candidates or cells is chosen.
      epsilons: of the promise.
      delta: of approximate promises; the others are pure.
      k: how many of the best are wanted.
    """
    import pandas as pd

    check_probability("delta", delta)
    check_positive("delta", delta, "Pure promises are in the table anyway.")
    for name, asked in (("rows", rows), ("columns", columns), ("epsilons", epsilons)):
        if not as_list(name, asked, "Give one number as [number]."):
            raise ArgumentError(f"{name} must be at least one number, got none.")
    for n in rows:
        check_whole("rows", n, 1)
    for d in columns:
        check_whole("columns", d, 2)
    check_whole("k", k, 2, min(columns) - 1)
    found = [
        bound
        for n in rows
        for epsilon in epsilons
        for d in columns
        for bound in (
            *_of_counts(n, d, epsilon, delta),
            *_of_choices(n, d, epsilon, delta, k),
            *_of_vectors(n, d, epsilon, delta),
        )
    ]
    unique = list(dict.fromkeys(found))
    return pd.DataFrame([_row(bound) for bound in unique])


def _of_counts(n: int, d: int, epsilon: float, delta: float) -> list[LowerBound]:
    one, many = reached.count_error(epsilon), reached.histogram_noise(d, epsilon)
    question = "one count, mean absolute error"
    return [
        LowerBound(question, n, 1, epsilon, 0.0, least_count_error(n, epsilon), one, _GEOMETRIC),
        LowerBound(
            question, n, 1, epsilon, delta, least_count_error(n, epsilon, delta), one, _TWO_POINTS
        ),
        LowerBound(
            "histogram, mean of the greatest error",
            n, d, epsilon, 0.0, least_farthest_count(d, n, epsilon), many.mean_farthest(d), "packing",
        ),
    ]  # fmt: skip


def _of_choices(n: int, d: int, epsilon: float, delta: float, k: int) -> list[LowerBound]:
    def gap(needs: int, delta: float = 0.0, k: int = 1, *, ordered: bool = False) -> float:
        """Return the least gap, or NaN if n records, ``needs`` for each of it, cannot have it."""
        least = least_gap(d, epsilon, delta, k=k, ordered=ordered, level=_LEVEL)
        return float(least) if needs * least <= n else math.nan

    best, among, order = "best of d, gap", f"{k} best of d, gap", f"{k} best of d in order, gap"
    ours = {places: reached.needed_gap(d, epsilon, k=places, level=_LEVEL) for places in (1, k)}
    alike = reached.needed_gap(d, epsilon, delta, k=k, level=_LEVEL)
    spaced = reached.needed_spacing(d, epsilon, k=k, level=_LEVEL)
    staircase = gap(k * (k + 1) // 2, 0.0, k, ordered=True)
    return [
        LowerBound(best, n, d, epsilon, 0.0, gap(1), ours[1], "packing of d worlds"),
        LowerBound(best, n, d, epsilon, delta, gap(1, delta), ours[1], "packing of d worlds"),
        LowerBound(among, n, d, epsilon, 0.0, gap(k, 0.0, k), ours[k], "packing of all sets"),
        LowerBound(among, n, d, epsilon, delta, gap(k, delta, k), alike, "packing of all sets"),
        LowerBound(among, n, d, epsilon, delta, math.nan, alike, _NO_CONSTANT),
        LowerBound(order, n, d, epsilon, 0.0, staircase, spaced, "packing of all orders"),
    ]


def _of_vectors(n: int, d: int, epsilon: float, delta: float) -> list[LowerBound]:
    absolute = "mean of d numbers, mean absolute error of one"
    squared = "mean of d numbers, root mean squared error of one"
    approximate = reached.vector_noise(n, d, epsilon, delta).std / n
    packed = least_coordinate_error(n, d, epsilon)
    laws: tuple[tuple[str, NoiseName], ...] = (("", "auto"), (", mechanism='linf'", "linf"))
    noises = {told: reached.vector_noise(n, d, epsilon, 0.0, law) for told, law in laws}
    roots = {
        "packing of worlds that delta keeps apart": least_packed_root(n, d, epsilon, delta),
        "fingerprinting, uniform prior": least_fingerprint_error(n, d, epsilon, delta),
        "two points of one number": least_mean_error(n, epsilon, delta),
    }
    return [
        LowerBound(
            absolute + told, n, d, epsilon, 0.0, packed, noise.std * noise.mean_deviation / n, _K_NORM
        )
        for told, noise in noises.items()
    ] + [
        LowerBound(squared, n, d, epsilon, delta, bound, approximate, source)
        for source, bound in roots.items()
    ]


def _row(bound: LowerBound) -> dict[str, object]:
    told = asdict(bound)
    source, ours, least = (told.pop(name) for name in ("source", "ours", "bound"))
    return told | {
        "lower bound": least,
        "ours": ours,
        "ratio": bound.ratio,
        "vacuous": bound.vacuous,
        "source": source,
    }
