"""What statements say, in brief, for people who read a guarantee: written from ``docs/theory``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from discreet.markup import Html, fold, table


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
