"""The two back ends behind one face, so that the same tests run on both."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from discreet import Number, Schema
from discreet.ledger import Account, Ledger, Terms
from discreet.privacy.accounting.filters import Amount


@dataclass(frozen=True)
class Backend:
    """Where a ledger is, and a way around it for tests that play the attacker."""

    kind: str
    where: str
    key: Path

    def open(self, **options: Any) -> Ledger:
        return Ledger.open(self.where, **{"key": self.key, **options})

    def connect(self, *, checked: bool = False) -> Any:
        """Return the driver's own connection, each statement its own transaction."""
        if self.kind == "postgresql":
            return psycopg.connect(self.where, autocommit=True)
        connection = sqlite3.connect(self.where, isolation_level=None)
        connection.execute(f"PRAGMA ignore_check_constraints={'OFF' if checked else 'ON'}")
        return connection

    def execute(self, *statements: str) -> None:
        with closing(self.connect()) as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection:
            return [tuple(row) for row in connection.execute(query).fetchall()]


PERSONS = Schema({"age": Number(18, 90)}, person="patient")


def join(ledger: Ledger, dataset: str, population: str = "patients", **changes: Any) -> Account:
    """Register a data set about persons, or let it join a population: epsilon 3, delta 1e-6."""
    known = {"dataset": dataset, "population": population, "schema_digest": PERSONS.digest}
    return ledger.register(make_terms(**{**known, **changes}), PERSONS)


def make_terms(**changes: Any) -> Terms:
    known: dict[str, Any] = {
        "dataset": "adult",
        "relation": "replace-one",
        "accountant": "basic",
        "epsilon": 3.0,
        "delta": 1e-6,
        "budget": Amount.budget(3.0, 1e-6),
        "schema_digest": "5c4e",
    }
    return Terms(**{**known, **changes})
