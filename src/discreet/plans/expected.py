"""How far from the exact answer a release will be, and whether that is usable: known beforehand.

An error says little alone: noise of 0.05 drowns one curve and is nothing to another. So every plan puts
it beside a public size of its answer (the output's range, the greatest loss, the curve of rows drawn
from the schema), and the price tells from which epsilon and from how many records on it is a twentieth
of that. Errors are half the width of the band a result has; where a result has none, because it is
a choice, they are what is lost on average. Both are named wherever they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.plans.results.bands import LEVEL

USABLE = 0.05
"""Of its size: an error with which an answer can be used."""

OUTPUT = "the output's range"
EVEN = "a cell's even share of the records"
RECORDS = "all records"
GREATEST = "the greatest it can be"
"""What errors are compared with, where several plans have it in common."""

Band = Callable[[float], float]
"""Half the width of a noise band, by its level."""

Unknown = Literal["noise", "size"] | None

_PRIVATE_ROWS: dict[Unknown, str | None] = {
    None: None,
    "noise": "divide error",
    "size": "multiply size",
}

_ROUNDS = 10
_NEAR, _AIM = 0.9, 0.98
_FLAT, _TINY = 0.02, 1e-12
_FARTHEST = 1e9


@dataclass(frozen=True)
class Expected:
    """How far a released value is from the exact one, beside the size of the answer; public facts.

    Attributes:
      noise: half the width of the noise band, or what a choice loses on average.
      size: what the error is compared with, in the same unit.
      of: what ``size`` is, in words.
      bias: what clipping changes on rows drawn from the schema; part of the error.
      level: of the band; None for a choice, which has none.
      joint: whether the band holds all values at once, or each by itself.
      unknown: where the number of records n is private: whether ``noise`` is still to be divided by it
        (a mean) or ``size`` to be multiplied with it (a count). Nothing else is known there.
    """

    noise: float
    size: float
    of: str
    bias: float = 0.0
    level: float | None = LEVEL
    joint: bool = False
    unknown: Unknown = None

    @property
    def error(self) -> float:
        """Noise and bias together; if noise is still to be divided by n, noise alone."""
        return self.noise if self.unknown == "noise" else self.noise + self.bias

    @property
    def measure(self) -> str:
        """What kind of number the error is, in words."""
        if self.level is None:
            return "on average"
        return f"{self.level:.0%} band, {'all values at once' if self.joint else 'each value'}"

    def relative(self, rows: float | None = None) -> float:
        """Return the error as a share of the size; where n is private, for so many records."""
        known = self.unknown is None or rows is None
        return self._beside_size(self.noise / (1.0 if known else rows or 1.0) + self.bias)

    def _beside_size(self, error: float) -> float:
        """Return a share of the size; of nothing but zero an error is none, or infinite."""
        if self.size:
            return error / self.size
        return math.inf if error else 0.0

    def enough_rows(self, share: float = USABLE) -> float:
        """Return from which private n on the error is this share of the size; infinite if never."""
        left = share - self._beside_size(self.bias)
        if self.unknown is None:
            return 0.0 if self.relative() <= share else math.inf
        return self._beside_size(self.noise) / left if left > 0 else math.inf

    def tell(self, name: str) -> str:
        """Return the error as one would say it."""
        over = " / n" if self.unknown == "noise" else ""
        sign = "" if self.level is None else "± "
        clipped = f"{', and' if over else ';'} {self.bias:.2g}{'' if over else ' of it'} by clipping"
        clipped = clipped if self.bias else ""
        share = (
            f"{_said(self._beside_size(self.noise))} / n" if self.unknown else f"{self.relative():.2%}"
        )
        return f"{name} {sign}{_said(self.error)}{over} ({self.measure}{clipped}), {share} of {self.of}"

    def to_json(self) -> dict[str, Any]:
        """Return the error as plain data."""
        return {
            "error": self.error,
            "noise": self.noise,
            "measure": self.measure,
            "level": self.level,
            "joint": self.joint,
            "bias": self.bias,
            "size": self.size,
            "size_of": self.of,
            "relative": self.relative(),
            "private_rows": _PRIVATE_ROWS[self.unknown],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Expected:
        """Read what ``to_json`` wrote."""
        unknown = {told: kind for kind, told in _PRIVATE_ROWS.items()}[plain["private_rows"]]
        numbers = {name: plain[name] for name in ("noise", "size", "bias", "level", "joint")}
        return cls(of=plain["size_of"], unknown=unknown, **numbers)


def of_mean(
    band: Band, rows: int | None, size: float, of: str, *, bias: float = 0.0, together: int = 1
) -> Expected:
    """Return the error of a mean from the band of the sum, as results state it.

    A private number of records takes half of what a band may miss; its own noise comes on top, in
    proportion to the value.

    Args:
      band: half the width of the sum's band, by its level.
      rows: how many records there are, None if that is private.
      size: what the error is compared with.
      of: what that is.
      bias: what clipping changes on rows drawn from the schema.
      together: how many values the band holds at once.

    >>> of_mean(lambda level: 20.0, 1_000, 1.0, OUTPUT).relative()
    0.02
    """
    level = 1 - (1 - LEVEL) / together
    if rows is None:
        return Expected(band(0.5 + level / 2), size, of, bias, LEVEL, together > 1, "noise")
    return Expected(band(level) / rows, size, of, bias, LEVEL, together > 1)


def of_count(band: Band, rows: int | None, of: str, *, cells: float = 1.0) -> Expected:
    """Return the error of a count beside an even share of the records among so many cells.

    >>> of_count(lambda level: 12.0, 1_000, EVEN, cells=10).relative()
    0.12
    """
    return Expected(band(LEVEL), (rows or 1) / cells, of, unknown=None if rows else "size")


def of_choice(lost: float, size: float, of: str) -> Expected:
    """Return what a choice loses on average, beside the most that it could lose."""
    return Expected(lost, size, of, level=None)


def of_summed_choice(lost: float, rows: int | None, each: float, of: str) -> Expected:
    """Return what a choice by sums loses, beside what all records add, ``each`` at the most.

    >>> of_summed_choice(5.0, 1_000, 1.0, RECORDS).relative()
    0.005
    """
    unknown: Unknown = None if rows else "size"
    return Expected(lost, each * (rows or 1), of, level=None, unknown=unknown)


def of_mean_choice(lost: float, rows: int | None, size: float, of: str) -> Expected:
    """Return what a choice by means loses, from what it loses of a sum."""
    unknown: Unknown = None if rows else "noise"
    return Expected(lost / (rows or 1), size, of, level=None, unknown=unknown)


@dataclass(frozen=True)
class Usable:
    """From where on every error of a plan is a twentieth of its size; None where it never is.

    ``epsilon`` is what it takes for the records there are, or, if their number is private, what it
    takes times that number (in ``unit``, if a rho was asked); ``rows`` is how many records it takes at
    the plan's own epsilon.
    """

    epsilon: float | None
    rows: float | None
    over_rows: bool = False
    unit: str = "epsilon"

    def __str__(self) -> str:
        over = " / n" if self.over_rows else ""
        starts = [] if self.epsilon is None else [f"{self.unit} = {_said(self.epsilon)}{over}"]
        starts += [] if self.rows is None else [f"n = {self.rows:,.0f}"]
        return f"{USABLE:.0%} from {' or '.join(starts)} on" if starts else f"{USABLE:.0%} out of reach"

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {
            "share": USABLE,
            self.unit: self.epsilon,
            "epsilon_over_private_rows": self.over_rows,
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Usable:
        """Read what ``to_json`` wrote."""
        unit = "rho" if "rho" in plain else "epsilon"
        return cls(plain[unit], plain["rows"], plain["epsilon_over_private_rows"], unit)


def usable_without_rows(errors: Mapping[str, Expected], epsilon: float) -> Usable:
    """Return what is usable where n is private: noise falls as one over epsilon and over n."""
    rows = max(error.enough_rows() for error in errors.values())
    if not math.isfinite(rows):
        return Usable(None, None)
    return Usable(epsilon * rows, math.ceil(rows), over_rows=True)


def least_usable(share: Callable[[float], float], start: float, now: float) -> float | None:
    """Return about the least argument at which a falling share is usable; None if none was found.

    Steps follow the slope of the last two in logarithms, which is that of one over the argument at
    first; between an argument that is not usable and one that is, they are halved.

    Args:
      share: the error as a share of its size; not finite where the plan would be refused.
      start: where to begin.
      now: the share there.
    """
    at, value, slope, low, high = start, now, -1.0, 0.0, math.inf
    for _ in range(_ROUNDS):
        low, high = (low, min(high, at)) if value <= USABLE else (max(low, at), high)
        if _NEAR * USABLE <= value <= USABLE:
            break
        aim = math.sqrt(low * high)
        if low == 0 or high == math.inf:
            if slope > -_FLAT:
                break
            aim = at * math.exp(
                min(max(math.log(_AIM * USABLE / max(value, _TINY)) / slope, -7.0), 7.0)
            )
        nearer = share(aim) if start / _FARTHEST < aim < start * _FARTHEST else math.inf
        if nearer == math.inf:
            break
        slope = math.log(max(nearer, _TINY) / max(value, _TINY)) / math.log(aim / at)
        at, value = aim, nearer
    return high if high < math.inf else None


def _said(number: float) -> str:
    """Return a number as one would say it.

    >>> _said(0.01234), _said(12345.6)
    ('0.0123', '12,346')
    """
    return f"{number:,.0f}" if number >= 1_000 else f"{number:.3g}"


@dataclass(frozen=True)
class Strategy:
    """One strategy to answer many questions within the same budget, and how good its answers are.

    ``error`` is a mean in the unit ``measure`` names, ``spread`` the standard deviation between the
    public queries it was tried on (zero if it is the same for all); both follow from public facts.
    """

    name: str
    error: float
    measure: str
    recommended: bool = False
    spread: float = 0.0

    def __str__(self) -> str:
        mark = "  <- recommended" if self.recommended else ""
        spread = f" (spread {self.spread:.2g})" if self.spread else ""
        return f"{self.name}: {self.measure} {self.error:.3g}{spread}{mark}"
