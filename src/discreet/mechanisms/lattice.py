"""The lattice sums are taken on: fine for the noise, coarse enough for 64 bits."""

from __future__ import annotations

import math
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.privacy.certificate import Box, Certificate
from discreet.privacy.relation import Relation

_FINEST = 2.0**-46
"""A step is no finer than this share of the noise, so that noise scales stay below 2^50 steps."""

LARGEST_SUM = 2.0**61
"""A sum of contributions stays below this many steps."""

SHARE = 2.0**-20
"""The step of counts where the rows of a person share one record: what it is divided into."""

MOST_SHARED = LARGEST_SUM * SHARE
"""Records of which parts can be counted."""

WEIGHED_RECORDS = 2**9
"""Sums of rows that share records leave room for so many: a record is then at most 2^52 steps, and
weights of its rows, whose products are rounded to 53 bits, move it by half a step at the most."""

_LEAST, _GREATEST = -450, 400
"""Exponents of steps: 2^63 of them, their squares and the reciprocals of both are normal numbers."""

NARROWEST, WIDEST = 1e-100, 1e100
"""Widths of bounds: what is made of them can be squared, summed and divided."""


def lattice_step(noise: float, largest_sum: float) -> float:
    """Return a power of two that is fine for the noise and keeps sums inside 64 bits.

    Guarantees:
      - Step and reciprocal are normal numbers, so that no sum wraps; what has no such step is refused.
        [lattice]
    """
    least = max(noise * _FINEST, largest_sum / LARGEST_SUM)
    step = math.ldexp(1.0, math.frexp(least)[1]) if 0 < least < math.inf else least
    check_step(step)
    return step


def count_step(relation: Relation) -> float:
    """Return the step of counts: a record, or a part of one where the rows of a person share one."""
    return 1.0 if Relation(relation).whole else SHARE


def certify_rounded(certificate: Certificate, step: float, batch_rows: int = 0) -> Certificate:
    """Certify a sum of contributions that are rounded to a lattice one by one.

    Guarantees:
      - One step per coordinate for the record's own rounding and one for every row of its batch, whose
        rounding may flip with it. [lattice]
    """
    return certificate.widen(step * (1 + batch_rows), "lattice")


def check_step(step: float) -> None:
    """Raise unless whole multiples of a step can be counted and are numbers."""
    if not 2.0**_LEAST <= step <= 2.0**_GREATEST:
        raise ArgumentError(
            "bounds must leave room for a lattice on which sums can be rounded, with a step from "
            f"2^{_LEAST} to 2^{_GREATEST}, got a step of {step:g}. Use a larger or a smaller unit."
        )


def given_box(bounds: Any, hint: str = "") -> Box:
    """Return the bounds somebody gave, or raise with one sentence."""
    try:
        low, high = bounds
        box = Box(float(low), float(high))
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"bounds must be a finite low below a finite high, got {shown(bounds)}.{hint and ' '}{hint}"
        ) from None
    if not (NARROWEST <= box.width <= WIDEST and box.magnitude <= WIDEST):
        raise ArgumentError(
            f"bounds must be at least {NARROWEST:g} apart and at most {WIDEST:g}, got {box.low!r} and "
            f"{box.high!r}: sums of such numbers cannot be kept. Use another unit."
        )
    return box
