"""Noise bands: of each number by itself, or of all numbers of a result at once.

A band of *each* holds its own exact number with the probability ``level``; of twenty such bands one
fails on average. Bands of *all* hold together with that probability, by the union bound, whatever the
noises have to do with each other.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from discreet.errors import ArgumentError
from discreet.numerics import check_choice

BandName = Literal["each", "all"]
BANDS = ("each", "all")

LEVEL = 0.95
"""Of every band, in prices and in results."""

T = TypeVar("T")


def at_once(level: float, count: int) -> float:
    """Return the level at which so many bands hold together with probability ``level``.

    >>> round(at_once(0.95, 20), 4)
    0.9975
    """
    return 1 - (1 - level) / count


def chosen_band(of: BandName, each: T | None, together: T | None) -> T:
    """Return the one of two bands that was asked for, if the result holds it."""
    check_choice("of", of, BANDS)
    found = each if of == "each" else together
    if found is None:
        raise ArgumentError(
            f"of must name a band this result has, got {of!r}: no noise was added to its numbers, or "
            "it was saved before both bands were kept."
        )
    return found
