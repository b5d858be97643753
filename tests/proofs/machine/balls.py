"""Inequalities over whole ranges, settled by ball arithmetic; a fault gives a point.

A ball holds every value a function takes on a range, rounding included. Where a ball is too wide to
tell, the range is cut in two. A ``Dual`` carries a slope beside its value, so that a function can be
shown to rise or fall over a whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from flint import arb, ctx

ctx.prec = 160

_MOST_PIECES = 60_000

Range = tuple[float, float]


def holds_everywhere(positive: Callable[..., Any], *ranges: Range) -> int:
    """Fail unless a function is above zero on the whole box of ranges; return the number of pieces."""
    waiting, pieces = [tuple((arb(low), arb(high)) for low, high in ranges)], 0
    while waiting:
        box = waiting.pop()
        pieces += 1
        assert pieces <= _MOST_PIECES, f"nothing is known near {[float(low) for low, _ in box]}"
        found = positive(*(_ball(low, high) for low, high in box))
        if found > 0:
            continue
        assert not found < 0, f"fails near {[float(low) for low, _ in box]}: {found}"
        waiting += _halves(box)
    return pieces


def fails_somewhere(
    positive: Callable[..., Any], *ranges: Range, places: int = 24
) -> tuple[float, ...]:
    """Return a point of the box at which a function is certainly below zero, or fail."""
    for point in _grid(ranges, places):
        if positive(*(arb(x) for x in point)) < 0:
            return point
    raise AssertionError("the function is below zero at none of the points")


def _grid(ranges: tuple[Range, ...], places: int) -> list[tuple[float, ...]]:
    points: list[tuple[float, ...]] = [()]
    for low, high in ranges:
        steps = [low + (high - low) * i / places for i in range(places + 1)]
        points = [(*point, step) for point in points for step in steps]
    return points


def _ball(low: Any, high: Any) -> Any:
    middle, radius = (low + high) / 2, (high - low) / 2
    return arb(middle, radius) if radius > 0 else low


def _halves(box: tuple[tuple[Any, Any], ...]) -> list[tuple[tuple[Any, Any], ...]]:
    """Cut the side that is longest, compared with how far from zero it lies."""
    lengths = [float((high - low) / (abs(low) + abs(high) + 1e-30)) for low, high in box]
    side = lengths.index(max(lengths))
    low, high = box[side]
    middle = ((low + high) / 2).mid()
    cut = ((low, middle), (middle, high))
    return [(*box[:side], part, *box[side + 1 :]) for part in cut]


@dataclass(frozen=True)
class Dual:
    """A number and its slope."""

    value: Any
    slope: Any

    def __add__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return self + -_dual(other)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other: Any) -> Dual:
        other = _dual(other)
        value = self.value / other.value
        return Dual(value, (self.slope - value * other.slope) / other.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    def __lt__(self, other: Any) -> bool:
        return bool(_sign_of(self - other) < 0)

    def __gt__(self, other: Any) -> bool:
        return bool(_sign_of(self - other) > 0)

    __radd__, __rmul__ = __add__, __mul__


def ball_max(*terms: Any) -> Any:
    """Return a ball that holds the greatest of some balls, whichever it is."""
    best = terms[0]
    for term in terms[1:]:
        if isinstance(best, Dual) or isinstance(term, Dual):
            best = _greater(_dual(best), _dual(term))
        else:
            best = _ball_of(best).max(_ball_of(term))
    return best


def ball_min(*terms: Any) -> Any:
    """Return a ball that holds the least of some balls, whichever it is."""
    return -ball_max(*(-term for term in terms))


def _greater(first: Dual, second: Dual) -> Dual:
    if first > second:
        return first
    if second > first:
        return second
    return Dual(first.value.max(second.value), first.slope.union(second.slope))


def slope(function: Callable[[Any], Any], at: Any) -> Any:
    """Return the slope of a function over a ball."""
    return function(Dual(at, arb(1))).slope


def curvature(function: Callable[[Any], Any], at: Any) -> Any:
    """Return the slope of the slope of a function over a ball."""
    return function(Dual(Dual(at, arb(1)), Dual(arb(1), arb(0)))).slope.slope


def normal_below(x: Any) -> Any:
    """Return P(N < x) of a normal variable."""
    if isinstance(x, Dual):
        density = (-x.value * x.value / 2).exp() / (2 * arb.pi()).sqrt()
        return Dual(normal_below(x.value), density * x.slope)
    return (-_ball_of(x) / arb(2).sqrt()).erfc() / 2


def _dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(_ball_of(x), arb(0))


def _sign_of(x: Any) -> Any:
    return _sign_of(x.value) if isinstance(x, Dual) else x


def _ball_of(x: Any) -> Any:
    return x if isinstance(x, arb) else arb(x)


def _lifted(plain: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function over balls, duals, and duals of duals, which carry a second slope."""

    def applied(x: Any) -> Any:
        if isinstance(x, Dual):
            return Dual(applied(x.value), derivative(x.value) * x.slope)
        return plain(_ball_of(x))

    return applied


_LOG2 = arb.const_log2()
_EXP = _lifted(arb.exp, lambda x: _EXP(x))
_SQRT = _lifted(arb.sqrt, lambda x: 1 / (2 * _SQRT(x)))
_TANH = _lifted(arb.tanh, lambda x: 1 - _TANH(x) * _TANH(x))

BALL_MATH = SimpleNamespace(
    exp=_EXP,
    expm1=_lifted(arb.expm1, _EXP),
    log=_lifted(arb.log, lambda x: 1 / x),
    log1p=_lifted(arb.log1p, lambda x: 1 / (1 + x)),
    log2=_lifted(lambda x: x.log() / _LOG2, lambda x: 1 / (x * _LOG2)),
    sqrt=_SQRT,
    hypot=lambda a, b: _SQRT(a * a + b * b),
    tanh=_TANH,
    isinf=lambda x: x == math.inf,
    inf=math.inf,
)
"""What a module calls ``math``, over balls and over duals."""
