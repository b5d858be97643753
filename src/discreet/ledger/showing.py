"""The books in notebooks and as text: what happened, how much, and whether it was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.markup import Html, card, soft, table

if TYPE_CHECKING:
    from discreet.ledger.records import Balance, Entry

Words = Callable[[Mapping[str, Any]], str]
_HAPPENED = {
    "register": "registered",
    "change": "terms changed",
    "state": "version opened",
    "allot": "share given",
    "reserve": "charged",
    "join": "joined a population",
    "admit": "data set joined",
    "draw": "charged",
}
_STORED = {None: "", True: "answered", False: "no answer stored"}


class History(list["Entry"]):
    """Every entry about a data set, oldest first; notebooks show it as a table."""

    def __repr__(self) -> str:
        lines = ["  ".join(part for part in line if part) for line in _lines(self._plain(), _kind_of)]
        return "\n".join(lines) or "no entries"

    def _repr_html_(self) -> str:
        return history_html(self._plain())

    def _plain(self) -> list[dict[str, Any]]:
        return [entry.to_json() for entry in self]


def history_html(entries: Iterable[Mapping[str, Any]], *, words: Words | None = None) -> Html:
    """Return entries, as ``Entry.to_json`` has them, for a notebook.

    Args:
      entries: what happened, oldest first.
      words: returns the question of a plan in words; its name if left out.
    """
    lines = _lines(entries, words or _kind_of)
    return card(table(["#", "time (UTC)", "entry", "loss", "delta", "about"], lines))


def balance_html(balance: Balance) -> Html:
    """Return a balance for a notebook."""
    parts = (("granted", balance.budget), ("spent", balance.spent), ("left", balance.remaining))
    rows = [(name, *amount.to_json().values()) for name, amount in parts]
    name = balance.population
    shared = None if name is None else soft(f"shared by the data sets of population {name!r}")
    return card(table(["", "loss", "delta"], rows), soft("loss is epsilon, or rho for zcdp"), shared)


def _lines(entries: Iterable[Mapping[str, Any]], words: Words) -> list[tuple[str, ...]]:
    """Return the texts of every entry; a settlement is told by the charge it belongs to."""
    return [
        (
            str(entry["sequence"]),
            str(entry["time"])[:19].replace("T", " "),
            _HAPPENED.get(entry["kind"], entry["kind"]),
            entry["loss"],
            entry["delta"],
            ", ".join(part for part in _about(entry, words) if part),
        )
        for entry in entries
        if entry["kind"] != "settle"
    ]


def _about(entry: Mapping[str, Any], words: Words) -> tuple[str, ...]:
    plan = entry["note"].get("plan")
    asked = words(plan) if isinstance(plan, Mapping) else str(plan or "")
    who = f"by {entry['analyst']}" if entry["analyst"] else ""
    return asked, entry["note"].get("reason", ""), other_account(entry), who, _STORED[entry["settled"]]


def other_account(entry: Mapping[str, Any]) -> str:
    """Return the other account that an entry speaks of: a population, or one of its data sets."""
    names = {"join": "population", "admit": "dataset", "draw": "dataset"}
    return str(entry["note"][names[entry["kind"]]]) if entry["kind"] in names else ""


def _kind_of(plan: Mapping[str, Any]) -> str:
    return str(plan.get("kind", "")).replace("_", " ")
