"""A certificate in a sentence: how far one record moves what noise is added to."""

from __future__ import annotations

import math
from collections.abc import Mapping

_MOVES = {
    "replace-one": "Replacing one record",
    "add-remove": "Adding or removing one record",
}
_NORMS = (("l1", "L1"), ("l2", "L2"), ("linf", "L∞"))


def tell_sensitivity(size: int, bounds: Mapping[str, float], relation: str) -> str:
    """Return what was proven of a query of so many numbers, for one relation.

    >>> tell_sensitivity(3, {"l1": 2.0, "l2": 2**0.5, "linf": 1.0}, "replace-one")
    'Replacing one record moves these 3 numbers by at most 2 in L1, 1.415 in L2 and 1 in L∞.'
    >>> tell_sensitivity(1, {"l1": 0.5, "l2": 0.5, "linf": 0.5}, "add-remove")
    'Adding or removing one record moves this number by at most 0.5.'
    """
    who = _MOVES[relation]
    if size == 1:
        return f"{who} moves this number by at most {at_most(bounds['linf'])}."
    parts = [f"{at_most(bounds[norm])} in {name}" for norm, name in _NORMS]
    return f"{who} moves these {size:,} numbers by at most {', '.join(parts[:2])} and {parts[2]}."


def at_most(bound: float) -> str:
    """Return a bound with four digits, rounded up: what is said is never less than what was proven.

    >>> at_most(2.0), at_most(1.0000000000001), at_most(0.000545173), at_most(0.0)
    ('2', '1.001', '0.0005452', '0')
    """
    if bound == 0 or not math.isfinite(bound):
        return f"{bound:g}"
    unit = 10.0 ** (math.floor(math.log10(abs(bound))) - 3)
    near = float(f"{bound:.4g}")
    shown = near if near >= bound else near + unit
    return f"{shown:,.0f}" if shown >= 10_000 else f"{float(f'{shown:.4g}'):.12g}"
