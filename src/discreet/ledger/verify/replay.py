"""Following a chain from its first entry: is each one genuine, and what do they add up to?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from discreet.ledger.books import Row
from discreet.ledger.chain import GENESIS, Chain
from discreet.ledger.terms import changed_terms


class BothSides(NamedTuple):
    """What a data set and its population both have to say of one event."""

    dataset: object
    kind: str
    reference: str
    analyst: str | None
    loss: int
    delta: int
    shares: str = "{}"


@dataclass(slots=True)
class Replay:
    """What the entries of one data set say, and what is wrong with them.

    Attributes:
        sequence: The last entry's number.
        digest: The last entry's digest.
        totals: The row of the data set that the entries add up to.
        shares: The rows of its analysts.
        settled: The settlements, by the id of their reservation.
        seen: The digests of the entries that a head names.
        shared: Its joining and every charge since, or, of a population, all that its data sets drew.
    """

    dataset: str
    chain: Chain
    wanted: frozenset[int] = frozenset()
    problems: list[str] = field(default_factory=list)
    entries: int = 0
    sequence: int = 0
    digest: object = GENESIS
    totals: Row = field(default_factory=lambda: {"spent_loss": 0, "spent_delta": 0})
    shares: dict[str, Row] = field(default_factory=dict)
    settled: dict[object, Row] = field(default_factory=dict)
    seen: dict[int, object] = field(default_factory=dict)
    shared: set[BothSides] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        """Say whether every entry so far is genuine and in its place."""
        return not self.problems

    def follow(self, entry: Mapping[str, Any]) -> None:
        """Take the next entry."""
        self.entries += 1
        self._check_place(entry)
        if not self.chain.is_genuine(entry):
            self.problems.append(f"{self._name(entry)} was edited or inserted.")
        if self.is_whole:
            self._count(entry)
        if entry["kind"] == "settle":
            self.settled[entry["reference"]] = dict(entry)
        if self.sequence in self.wanted:
            self.seen[self.sequence] = entry["digest"]

    def _check_place(self, entry: Mapping[str, Any]) -> None:
        expected, number = self.sequence + 1, entry["sequence"]
        if number != expected:
            self.problems.append(
                f"Entry {expected} of dataset {self.dataset!r} is missing or was moved:"
                f" entry {number!r} stands in its place."
            )
        elif entry["previous"] != self.digest:
            self.problems.append(
                f"{self._name(entry)} does not follow the entry before it: one was edited,"
                " removed, inserted or moved."
            )
        self.sequence = number if isinstance(number, int) else expected
        self.digest = entry["digest"]

    def _count(self, entry: Mapping[str, Any]) -> None:
        # Only genuine entries get here: their fields have the types the ledger wrote.
        kind = entry["kind"]
        if kind == "register":
            self.totals = _registered(entry)
        elif kind in ("change", "join"):
            self.totals |= _changed(entry)
        elif kind == "allot":
            share = self._share(entry["analyst"])
            share.update(budget_loss=entry["loss"], budget_delta=entry["delta"])
        elif kind in ("reserve", "draw", "admit"):
            _spend(self.totals, entry)
            if entry["analyst"] is not None:
                _spend(self._share(entry["analyst"]), entry)
        if self.population is not None:
            self._share_with_population(kind, entry)

    @property
    def population(self) -> str | None:
        """The population that pays, as the entries say; of a population, its own name."""
        return self.totals.get("population")

    def _share_with_population(self, kind: str, entry: Mapping[str, Any]) -> None:
        charge = (entry["reference"], entry["analyst"], entry["loss"], entry["delta"])
        if kind == "reserve":
            self.shared.add(BothSides(self.dataset, "charge", *charge))
        elif kind == "draw":
            self.shared.add(BothSides(json.loads(entry["note"])["dataset"], "charge", *charge))
        elif kind == "join":
            spent = (entry["reference"], None, self.totals["spent_loss"], self.totals["spent_delta"])
            brought = {who: [s["spent_loss"], s["spent_delta"]] for who, s in self.shares.items()}
            told = json.dumps(brought, sort_keys=True)
            self.shared.add(BothSides(self.dataset, "joining", *spent, told))
        elif kind == "admit":
            note = json.loads(entry["note"])
            for who, (loss, delta) in note["shares"].items():
                _spend(self._share(who), {"loss": loss, "delta": delta})
            told = json.dumps(note["shares"], sort_keys=True)
            self.shared.add(BothSides(note["dataset"], "joining", *charge, told))

    def _share(self, analyst: str) -> Row:
        blank = {"budget_loss": None, "budget_delta": None, "spent_loss": 0, "spent_delta": 0}
        return self.shares.setdefault(analyst, {"analyst": analyst, **blank})

    def _name(self, entry: Mapping[str, Any]) -> str:
        return f"Entry {entry['sequence']} of dataset {self.dataset!r} ({entry['kind']})"


def _registered(entry: Mapping[str, Any]) -> Row:
    note = {"population": None, **json.loads(entry["note"])}  # earlier versions knew no populations
    note.pop("data", None)  # of the rows, not of the account
    return {**note, **_budget(entry), "spent_loss": 0, "spent_delta": 0}


def _changed(entry: Mapping[str, Any]) -> Row:
    return {**changed_terms(json.loads(entry["note"])), **_budget(entry)}


def _budget(entry: Mapping[str, Any]) -> Row:
    return {"budget_loss": entry["loss"], "budget_delta": entry["delta"]}


def _spend(totals: Row, entry: Mapping[str, Any]) -> None:
    totals["spent_loss"] += entry["loss"]
    totals["spent_delta"] += entry["delta"]


_REPEATED = ("relation", "accountant", "epsilon", "delta", "budget_loss", "budget_delta")


def check_populations(replays: Mapping[str, Replay]) -> Iterator[str]:
    """Yield where data sets and the populations that pay for them do not tell the same.

    Guarantees:
        - A member's charge that was not drawn on its population is told, and a draw, or a sum that
          was brought in, that no member's chain explains. [population]
    """
    for name, population in replays.items():
        if population.population != name:
            continue
        members = [r for r in replays.values() if r.population == name and r is not population]
        if not all(replay.is_whole for replay in (population, *members)):
            continue  # what is wrong with them was told
        told = {shared for member in members for shared in member.shared}
        for shared in sorted(told - population.shared, key=str):
            yield (
                f"The {shared.kind} {shared.reference} of dataset {shared.dataset!r} was not drawn on"
                f" population {name!r} as it was."
            )
        for shared in sorted(population.shared - told, key=str):
            yield (
                f"Population {name!r} paid for the {shared.kind} {shared.reference} of dataset"
                f" {shared.dataset!r}, whose entries do not say so."
            )
        for member in members:
            if any(member.totals[term] != population.totals[term] for term in _REPEATED):
                yield f"The terms of dataset {member.dataset!r} are not those of population {name!r}."
