"""Following a chain from its first entry: is each one genuine, and what do they add up to?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.ledger.books import Row
from discreet.ledger.chain import GENESIS, Chain


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
        elif kind == "allot":
            share = self._share(entry["analyst"])
            share.update(budget_loss=entry["loss"], budget_delta=entry["delta"])
        elif kind == "reserve":
            _spend(self.totals, entry)
            if entry["analyst"] is not None:
                _spend(self._share(entry["analyst"]), entry)

    def _share(self, analyst: str) -> Row:
        blank = {"budget_loss": None, "budget_delta": None, "spent_loss": 0, "spent_delta": 0}
        return self.shares.setdefault(analyst, {"analyst": analyst, **blank})

    def _name(self, entry: Mapping[str, Any]) -> str:
        return f"Entry {entry['sequence']} of dataset {self.dataset!r} ({entry['kind']})"


def _registered(entry: Mapping[str, Any]) -> Row:
    budget = {"budget_loss": entry["loss"], "budget_delta": entry["delta"]}
    return {**json.loads(entry["note"]), **budget, "spent_loss": 0, "spent_delta": 0}


def _spend(totals: Row, entry: Mapping[str, Any]) -> None:
    totals["spent_loss"] += entry["loss"]
    totals["spent_delta"] += entry["delta"]
