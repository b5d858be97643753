"""What was proven, in words: how far one record moves a query, and the statements that say so.

Statements in brief are written from ``docs/theory`` by ``docs/generate_statements.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from discreet.markup import Html, fold, table

_MOVES = {
    "replace-one": "Replacing one record",
    "add-remove": "Adding or removing one record",
}
_NORMS = (("l1", "L1"), ("l2", "L2"), ("linf", "L∞"))


@dataclass(frozen=True)
class Statement:
    """One statement: its id, what it says, whether it is proven here or cited, and the page with it."""

    id: str
    says: str
    status: str
    page: str


@cache
def statements() -> Mapping[str, Statement]:
    """Return all statements by their ids."""
    text = files("discreet.privacy").joinpath("statements.json").read_text(encoding="utf-8")
    return {name: Statement(name, **told) for name, told in json.loads(text).items()}


def known_statements(ids: tuple[str, ...]) -> list[Statement]:
    """Return those of some ids that this version knows, in their order."""
    return [statements()[name] for name in ids if name in statements()]


def statements_html(ids: tuple[str, ...]) -> Html | None:
    """Return what statements say, folded; None if there is none."""
    found = known_statements(ids)
    if not found:
        return None
    rows = [(one.id, one.says, f"{one.status}, {one.page}") for one in found]
    return fold(
        f"rests on {', '.join(one.id for one in found)}", table(["statement", "says", "proof"], rows)
    )


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
