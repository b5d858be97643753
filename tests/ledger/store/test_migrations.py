from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from discreet.errors import AccessDenied, LedgerConflict, LedgerTampered, LedgerUnavailable
from discreet.ledger import Head, Ledger
from discreet.ledger.chain import Chain
from discreet.ledger.store import migrations as steps
from discreet.ledger.store.connection import Connections
from discreet.ledger.store.migrations import NEWEST
from discreet.ledger.store.place import find_place
from discreet.ledger.store.tables import metadata
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend
from tests.ledger.test_concurrency import run_swarm

VERSION_1 = Path(__file__).with_name("version_1.sql")
"""A ledger as version 1 of the format wrote it; its key is in the first line."""


def write_version_1(backend: Backend) -> None:
    text = VERSION_1.read_text()
    backend.key.touch(0o600)
    backend.key.write_text(text.splitlines()[0].removeprefix("-- key "))
    backend.execute(*re.findall(r"^(?:CREATE|INSERT)[^;]+", text, flags=re.MULTILINE))


def check_upgraded(ledger: Ledger) -> None:
    assert ledger.verify("adult").problems == []
    assert ledger.balance("adult").spent == Amount(60, 1)
    assert ledger.balance("adult", "ann").spent == Amount(10, 1)
    stored = ledger.find_release("adult", version="2024", plan_key="plan")
    assert stored is not None and stored.body == '{"value": 1}'


def test_a_ledger_of_version_1_is_upgraded(backend: Backend) -> None:
    write_version_1(backend)
    with backend.open(create=False) as ledger:
        check_upgraded(ledger)
        with pytest.raises(LedgerConflict, match="already spent"):
            ledger.allot("adult", "ann", Amount(9, 1))
        ledger.allot("adult", "ann", Amount(11, 1))
        ledger.reserve("adult", Amount(1), plan_key="plan", note={}, analyst="ann")
        with pytest.raises(AccessDenied):
            ledger.reserve("adult", Amount(1), plan_key="plan", note={}, analyst="bob")
        assert ledger.verify().problems == []


def test_an_upgrade_does_not_seal_what_was_edited(backend: Backend) -> None:
    write_version_1(backend)
    backend.execute("UPDATE discreet_datasets SET spent_loss = 0")
    with backend.open() as ledger:
        with pytest.raises(LedgerTampered, match="The account of dataset 'adult' was changed"):
            ledger.reserve("adult", Amount(1), plan_key="plan", note={})
        assert "spent_loss of dataset 'adult' is 0, but its entries say 60." in ledger.verify().problems


def test_eight_processes_upgrade_one_ledger(backend: Backend) -> None:
    write_version_1(backend)
    answers = run_swarm("open", backend)
    assert [answer["problems"] for answer in answers] == [[]] * 8
    applied = backend.rows("SELECT number FROM discreet_migrations ORDER BY number")
    assert applied == [(number,) for number in range(1, NEWEST + 1)]
    with backend.open() as ledger:
        check_upgraded(ledger)


def test_a_release_of_version_1_still_verifies(backend: Backend) -> None:
    # The digest is written out: a change of the canonical form would orphan old releases.
    write_version_1(backend)
    digest = "d1bf3229b36472067e0e226c330d1c359c00f2ec2d4eeb7f14d806b52c50ae6b"
    with backend.open() as ledger:
        assert ledger.verify(heads=[Head("adult", 3, digest)]).ok


def test_an_upgrade_with_the_wrong_key_changes_nothing(backend: Backend) -> None:
    write_version_1(backend)
    right = backend.key.read_text()
    backend.key.write_text("0" * 64)
    with pytest.raises(LedgerConflict, match="key must be the one the ledger"):
        backend.open()
    assert backend.rows("SELECT number FROM discreet_migrations") == [(1,)]
    backend.key.write_text(right)
    with backend.open() as ledger:
        check_upgraded(ledger)


def test_a_newer_ledger_is_refused(backend: Backend) -> None:
    backend.open().close()
    backend.execute(f"INSERT INTO discreet_migrations VALUES ({NEWEST + 1}, 'later')")
    expected = f"must have format {NEWEST} or older, got format {NEWEST + 1}"
    with pytest.raises(LedgerUnavailable, match=expected) as no:
        backend.open()
    assert "Install a newer discreet." in str(no.value)


def test_a_step_that_fails_stays_pending(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: Connection, chain: Chain) -> None:
        steps._create_analysts(connection, chain)
        raise RuntimeError("power cut")

    write_version_1(backend)
    monkeypatch.setattr(steps, "STEPS", (steps._create_books, fail))
    with pytest.raises(RuntimeError, match="power cut"):
        backend.open()
    assert backend.rows("SELECT number FROM discreet_migrations") == [(1,)]
    monkeypatch.undo()
    with backend.open() as ledger:
        check_upgraded(ledger)


def test_the_steps_make_the_tables_that_are_used(backend: Backend) -> None:
    backend.open().close()
    connections = Connections(find_place(backend.where))
    with contextlib.closing(connections), connections.reading() as connection:
        found = inspect(connection)
        assert set(found.get_table_names()) == set(metadata.tables)
        for name, table in metadata.tables.items():
            columns = {column["name"]: column for column in found.get_columns(name)}
            assert list(columns) == [column.name for column in table.columns]
            assert [columns[c.name]["type"].python_type for c in table.columns] == [
                c.type.python_type for c in table.columns
            ]
            nullable = [column.name for column in table.columns if column.nullable]
            assert [
                key
                for key, column in columns.items()
                if column["nullable"] and not table.c[key].primary_key
            ] == nullable
