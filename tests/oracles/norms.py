"""Norms and sums in exact rational arithmetic: a float is a rational number."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.privacy.certificate import Bounds

Vector = Sequence[float]


def within(bounds: Bounds, change: Sequence[Fraction]) -> bool:
    """Say whether an exact vector is within the bounds in all three norms (L2 by its square)."""
    sizes = [abs(x) for x in change]
    return (
        sum(sizes) <= Fraction(bounds.l1)
        and sum(x * x for x in sizes) <= Fraction(bounds.l2) ** 2
        and max(sizes) <= Fraction(bounds.linf)
    )


def replacements(vectors: Iterable[Vector]) -> Iterable[list[Fraction]]:
    """Yield how a sum moves when any one of the vectors takes the place of any other."""
    exact = [[Fraction(x) for x in vector] for vector in vectors]
    for old, new in itertools.product(exact, repeat=2):
        yield [a - b for a, b in zip(new, old, strict=True)]


def additions(vectors: Iterable[Vector]) -> Iterable[list[Fraction]]:
    """Yield how a sum moves when any one of the vectors comes or goes."""
    for vector in vectors:
        yield [Fraction(x) for x in vector]
        yield [-Fraction(x) for x in vector]
