"""What (epsilon, delta) implies for any attack: no guess can be right more often.

All of it follows from one inequality. For neighbours D, D' and any set S of outputs
P(S) <= e^epsilon P'(S) + delta, and the same with D and D' in each other's place. An attack is such a
set: the outputs at which it says "D". Nothing is assumed of what the attacker knows or computes.

A mechanism often satisfies many pairs (epsilon, delta) at once: its curve delta(epsilon). Every one of
them is a ceiling, so their minimum is one too, and for the whole curve it is the least there is.

References: Wasserman and Zhou (2010); Kairouz, Oh, Viswanath (2015); Dong, Roth, Su (2022); Balle,
Cherubin, Hayes (2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import check_probability, check_whole

_STEPS = 1_000
"""Midpoints at which a trade-off curve is added up."""


@dataclass(frozen=True)
class Ceiling:
    """The most that any attack on a mechanism can attain.

    Args:
      epsilon: of the promise; infinity for an answer without any.
      delta: of the promise.
      curve: further pairs (epsilon, delta) that the same mechanism satisfies.

    >>> promise = Ceiling(1.0)
    >>> round(promise.accuracy, 4), round(promise.tpr(0.01), 4), round(promise.guess(10), 4)
    (0.7311, 0.0272, 0.232)
    """

    epsilon: float
    delta: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for epsilon, delta in ((self.epsilon, self.delta), *_points(self.curve)):
            if not _number(epsilon) >= 0:
                raise ArgumentError(
                    f"epsilon must be a number of at least 0, got {shown(epsilon)}. "
                    "No promise is infinity."
                )
            if not 0 <= _number(delta) <= 1:
                raise ArgumentError(f"delta must be from 0 to 1, got {shown(delta)}.")

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """All pairs (epsilon, delta) that hold."""
        return ((self.epsilon, self.delta), *self.curve)

    @property
    def accuracy(self) -> float:
        """The greatest share of right guesses between two neighbours that are equally likely.

        With TPR = P(S), FPR = P'(S) the share is (1 + TPR - FPR) / 2. From TPR <= e^epsilon FPR + delta
        and 1 - FPR <= e^epsilon (1 - TPR) + delta, added up, (1 + e^epsilon)(TPR - FPR) is at most
        e^epsilon - 1 + 2 delta, so the share is at most (e^epsilon + delta) / (1 + e^epsilon).
        """
        return min(_guess(epsilon, delta, 2) for epsilon, delta in self.pairs)

    def tpr(self, fpr: float) -> float:
        """Return the greatest true positive rate at a false positive rate.

        The two inequalities under ``accuracy``, each solved for the true positive rate:
        e^epsilon FPR + delta, and 1 - e^-epsilon (1 - delta - FPR).

        It also bounds reconstruction. If no guess that ignores the release is right with a greater
        probability than ``fpr``, a guess that sees it is right with at most ``tpr(fpr)``: say "D" where
        the guess made from the release is right; over neighbours with a fixed record in the place of
        the target that happens at most ``fpr`` of the time, and the curve is concave and rises.
        """
        if not 0 <= _number(fpr) <= 1:
            raise ArgumentError(f"fpr must be from 0 to 1, got {shown(fpr)}.")
        return min(_trade_off(epsilon, delta, fpr) for epsilon, delta in self.pairs)

    @cached_property
    def auc(self) -> float:
        """The greatest area under a curve of true over false positive rates.

        Every point of such a curve is an attack, so it lies below ``tpr``, and its area below that
        one's. For one pair the area is that of a polygon, with a corner at
        FPR = (1 - delta) / (1 + e^epsilon); for several it is added up at midpoints, which for a
        concave curve gives no less than the area.
        """
        if not self.curve:
            return _area(self.epsilon, self.delta)
        middles = [(step + 0.5) / _STEPS for step in range(_STEPS)]
        return min(1.0, sum(self.tpr(middle) for middle in middles) / _STEPS)

    def guess(self, candidates: int) -> float:
        """Return the greatest share of right guesses among so many equally likely neighbours.

        For tables D_1 to D_k, any two of them neighbours, and a guess g: P_j(g = j) is at most
        e^epsilon P_i(g = j) + delta for every i. Added up over all i != j and all j, with S the sum of
        all P_j(g = j): (k - 1) S <= e^epsilon (k - S) + k (k - 1) delta. So the share S / k is at most
        (e^epsilon + (k - 1) delta) / (e^epsilon + k - 1). Randomised response among k answers that
        tells the truth outright with probability delta attains it.
        """
        check_whole("candidates", candidates, 1)
        return min(_guess(epsilon, delta, candidates) for epsilon, delta in self.pairs)

    def group(self, size: int) -> Ceiling:
        """Return the ceiling for tables that are so many neighbours apart.

        From neighbour to neighbour epsilon adds up, and what delta was is multiplied by e^epsilon each
        time: size * epsilon and delta (1 + e^epsilon + ... + e^((size - 1) epsilon)). Two tables that
        differ in the values of one record are two apart under add-remove.
        """
        check_whole("size", size, 1)
        return self._each(lambda epsilon, delta: _of_group(epsilon, delta, size))

    def composed(self, times: int) -> Ceiling:
        """Return the ceiling for so many independent releases: epsilon and delta add up."""
        check_whole("times", times, 1)
        return self._each(lambda epsilon, delta: (times * epsilon, min(1.0, times * delta)))

    def _each(self, change: Callable[[float, float], tuple[float, float]]) -> Ceiling:
        first, *others = [change(epsilon, delta) for epsilon, delta in self.pairs]
        return Ceiling(*first, curve=tuple(others))


def ceiling_of(
    guarantee: Any, *, curve: Callable[[float], float] | None = None, at: Iterable[float] = ()
) -> Ceiling:
    """Return the ceiling that a promise implies.

    Args:
      guarantee: of a release, or a plan: whatever has ``epsilon`` and ``delta``.
      curve: delta as a function of epsilon, if the mechanism's own law is known.
      at: where the curve is read; 0 gives the least accuracy.
    """
    check_probability("delta", guarantee.delta)
    pairs = () if curve is None else tuple((float(point), float(curve(point))) for point in at)
    return Ceiling(float(guarantee.epsilon), float(guarantee.delta), pairs)


def _points(curve: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a curve, or raise in a sentence."""
    try:
        return [(epsilon, delta) for epsilon, delta in curve]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"curve must hold pairs (epsilon, delta), got {shown(curve)}. Leave it out for none."
        ) from None


def _number(value: object) -> float:
    """Return a number as a float; NaN, which no comparison lets pass, if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    return float(value)


def _guess(epsilon: float, delta: float, candidates: int) -> float:
    """Divided by e^epsilon, so that any epsilon can be asked about."""
    others = (candidates - 1) * math.exp(-epsilon)
    return (1.0 + others * delta) / (1.0 + others)


def _trade_off(epsilon: float, delta: float, fpr: float) -> float:
    if math.isinf(epsilon):
        return 1.0
    above = _times_exp(epsilon, fpr) + delta
    below = 1.0 - math.exp(-epsilon) * (1.0 - delta - fpr)
    return max(0.0, min(1.0, above, below))


def _area(epsilon: float, delta: float) -> float:
    """Return the area of the polygon through (0, delta), the corner and (1 - delta, 1)."""
    height = _guess(epsilon, delta, 2)
    corner = 1.0 - height
    return corner * (delta + height) / 2 + (1.0 - delta - corner) * (height + 1.0) / 2 + delta


def _of_group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    total = sum(_times_exp(i * epsilon, delta) for i in range(size))
    return size * epsilon, min(1.0, total)


def _times_exp(epsilon: float, amount: float) -> float:
    """Return e^epsilon times an amount: nothing stays nothing, however great the factor."""
    if amount <= 0:
        return 0.0
    logarithm = epsilon + math.log(amount)
    return math.exp(logarithm) if logarithm < 700 else math.inf


def check_ceiling(ceiling: object) -> None:
    """Raise unless it is a ceiling, before anything is run for it."""
    if not isinstance(ceiling, Ceiling):
        raise ArgumentError(
            f"ceiling must be a Ceiling, got {shown(ceiling)}. Use Ceiling(epsilon, delta), and "
            "Ceiling(math.inf) where nothing is promised."
        )


NOTHING_PROMISED = Ceiling(math.inf)
"""Of exact answers."""
