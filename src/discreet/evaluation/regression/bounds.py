"""How far one record moves the sums that errors of a regressor are made of, all of them at once.

A record has a scaled residual u and a scaled target v, both between -1 and 1. It adds

    (u, abs(u), u^2)  and  (v, v^2)

with public weights, each measured from a public centre. The three functions of u cannot all be at an
end of their boxes at once, nor the two of v: what matters is how far apart two points of a *curve* are.
For opposite signs, the farther one at its end, the distance is a polynomial of the other's length t,

    L1: a (1 + t) + sum of b_k (1 - t^k),        L2^2: a^2 (1 + t)^2 + sum of b_k^2 (1 - t^k)^2,

whose greatest value over [0, 1] is at an end or where its derivative vanishes.

Centres are such that no point is farther from them than half the distance of the farthest two, in L1:
then records of different groups, each in a block of its own, cost what records of one group do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial

from discreet.numerics import up
from discreet.privacy.certificate import Bounds

_ROOM = 1 + 2.0**-40
"""Covers rounding in the coordinates and in the places of greatest values."""


@dataclass(frozen=True)
class PowerCurve:
    """The points (odd x, even_1 (abs(x)^k_1 - c_1), ...) of all x between -1 and 1.

    Args:
      odd: the weight of x itself.
      even: the weights of powers of its length.
      powers: which powers these are.
      centres: what is taken from every power.
    """

    odd: float
    even: tuple[float, ...]
    powers: tuple[int, ...]
    centres: tuple[float, ...]

    def apart(self) -> Bounds:
        """Return how far apart two points are, at most.

        Guarantees:
          - In L1 and L2 the greatest of a polynomial over [0, 1]; in Linf of single coordinates.
            [residual-sums]
        """
        near = Polynomial([self.odd, self.odd])
        falls = [b * (1 - _power(k)) for b, k in zip(self.even, self.powers, strict=True)]
        l1 = _greatest(sum(falls, near))
        square = _greatest(sum((fall**2 for fall in falls), near**2))
        return _roomy(l1, math.sqrt(square), max(2 * self.odd, *self.even))

    def from_centre(self) -> Bounds:
        """Return how far a point is from the centre, at most.

        Guarantees:
          - Absolute values keep their sign between the roots of the centres, so that the distance is a
            polynomial on each piece. [residual-sums]
        """
        rises = [
            b * (_power(k) - c) for b, k, c in zip(self.even, self.powers, self.centres, strict=True)
        ]
        own = Polynomial([0.0, self.odd])
        cuts = [0.0, 1.0, *(c ** (1 / k) for c, k in zip(self.centres, self.powers, strict=True))]
        l1 = max(
            _greatest(sum((rise if rise(middle) > 0 else -rise for rise in rises), own), low, high)
            for low, middle, high in _pieces(sorted(cuts))
        )
        square = _greatest(sum((rise**2 for rise in rises), own**2))
        ends = [b * max(c, 1 - c) for b, c in zip(self.even, self.centres, strict=True)]
        return _roomy(l1, math.sqrt(square), max(self.odd, *ends))

    def points(self, x: np.ndarray) -> np.ndarray:
        """Return the points of some x, one row each, element by element."""
        length = np.abs(x)
        columns = [self.odd * x]
        for b, k, c in zip(self.even, self.powers, self.centres, strict=True):
            columns.append(b * ((length if k == 1 else length * length) - c))
        return np.column_stack(columns)


def add_bounds(parts: Sequence[Bounds]) -> Bounds:
    """Return bounds of vectors that have nothing in common but their record, laid end to end."""
    return Bounds(
        up(math.fsum(part.l1 for part in parts)),
        up(math.sqrt(math.fsum(part.l2**2 for part in parts))),
        max(part.linf for part in parts),
    )


def times(bounds: Bounds, factor: float) -> Bounds:
    """Return bounds of vectors times a public number."""
    return Bounds(*(up(factor * bound) for bound in (bounds.l1, bounds.l2, bounds.linf)))


def _power(k: int) -> Polynomial:
    return Polynomial([0.0] * k + [1.0])


def _greatest(polynomial: Polynomial, low: float = 0.0, high: float = 1.0) -> float:
    """Return the greatest value of a polynomial between two numbers."""
    flat = np.asarray(polynomial.deriv().roots(), dtype=np.complex128)
    inside = [x.real for x in flat.tolist() if abs(x.imag) < 1e-6 and low < x.real < high]
    return max(float(polynomial(x)) for x in (low, high, *inside))


def _pieces(cuts: Sequence[float]) -> list[tuple[float, float, float]]:
    return [(low, (low + high) / 2, high) for low, high in pairwise(cuts) if low < high]


def _roomy(l1: float, l2: float, linf: float) -> Bounds:
    return Bounds(up(l1 * _ROOM), up(l2 * _ROOM), up(linf * _ROOM))
