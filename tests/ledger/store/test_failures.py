"""Every failure of the database is one clear sentence, and nothing is half-written."""

from __future__ import annotations

import os
import resource
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import InvalidRequestError

from discreet.errors import LedgerUnavailable
from discreet.ledger import Ledger, Reservation
from discreet.ledger.store.failures import explain
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms


def reserve(ledger: Ledger) -> Reservation:
    return ledger.reserve("adult", Amount(1), plan_key="k", note={"secret": "note"})


@contextmanager
def untouched(ledger: Ledger) -> Iterator[None]:
    """Expect that the block changes nothing, and that the ledger works afterwards."""
    before = ledger.history("adult")
    yield
    assert ledger.history("adult") == before
    assert ledger.verify().problems == []
    ledger.settle(reserve(ledger), version="", body="{}")
    assert ledger.verify().problems == []


# -- both back ends


def test_a_held_ledger_is_waited_for_and_then_given_up(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.store.connection.PATIENCE", 0.05)
    lock = "BEGIN IMMEDIATE" if backend.kind == "sqlite" else "BEGIN; LOCK discreet_datasets"
    with backend.open() as ledger:
        ledger.register(make_terms())
        with untouched(ledger), closing(backend.connect()) as holder:
            holder.execute(lock)
            with pytest.raises(LedgerUnavailable, match="is held by another process for too long"):
                reserve(ledger)
            holder.execute("ROLLBACK")


def test_a_failure_in_the_middle_of_settling_leaves_nothing(ledger: Ledger, backend: Backend) -> None:
    held = reserve(ledger)
    broken = "ALTER TABLE discreet_releases RENAME TO {0}"
    with untouched(ledger):
        backend.execute(broken.format("hidden"))
        with pytest.raises(LedgerUnavailable, match=r"failed \(S"):
            ledger.settle(held, version="", body="{}")
        backend.execute("ALTER TABLE hidden RENAME TO discreet_releases")
    ledger.settle(held, version="", body="{}")


def test_messages_and_causes_hold_no_values(ledger: Ledger, backend: Backend) -> None:
    backend.execute("ALTER TABLE discreet_entries RENAME TO hidden")
    with pytest.raises(LedgerUnavailable) as caught:
        reserve(ledger)
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.__cause__)


def test_an_error_without_a_driver_behind_it_is_named() -> None:
    assert explain(InvalidRequestError("x")).what == "failed (InvalidRequestError)"


# -- SQLite


def test_a_read_only_ledger_can_be_read(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
    with Ledger.open(f"file:{sqlite_backend.where}?mode=ro") as ledger:
        assert ledger.balance("adult").spent == Amount()
        assert ledger.verify().ok
        with pytest.raises(LedgerUnavailable) as caught:
            reserve(ledger)
        assert str(caught.value) == (
            f"The ledger {sqlite_backend.where} is read-only. Make it writable, or open it elsewhere."
        )
        assert len(ledger.history("adult")) == 1


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 100, 5000, 9000])
def test_a_full_disk_spends_nothing(sqlite_backend: Backend, room: int) -> None:
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
        log = os.path.getsize(sqlite_backend.where + "-wal")
        with untouched(ledger), largest_file(log + room if room else 0):
            with pytest.raises(LedgerUnavailable, match="Check the disk and its free space"):
                while True:
                    held = reserve_large(ledger)
                    ledger.settle(held, version="", body="x" * 20000)
            assert ledger.balance("adult").spent == Amount()


def reserve_large(ledger: Ledger) -> Reservation:
    return ledger.reserve("adult", Amount(1), plan_key="k", note={"text": "x" * 20000})


def test_a_full_disk_makes_no_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with largest_file(0), pytest.raises(LedgerUnavailable, match="Check the disk"):
        Ledger.open(place)
    assert not (tmp_path / "ledger.db.key").exists()
    with largest_file(100), pytest.raises(LedgerUnavailable, match="Check the disk"):
        Ledger.open(place)
    with Ledger.open(place) as ledger:
        ledger.register(make_terms())
        assert ledger.verify().ok
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "ledger.db.key"]


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("dear diary\n" * 500)
    with pytest.raises(LedgerUnavailable, match=r"notes\.txt is damaged or is not a ledger"):
        Ledger.open(place)
    assert place.read_text() == "dear diary\n" * 500
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_ledger(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
    with open(sqlite_backend.where, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 4)
    with pytest.raises(LedgerUnavailable, match="is damaged or is not a ledger"):
        sqlite_backend.open()


def test_damage_that_sqlite_quotes_in_its_own_message(sqlite_backend: Backend) -> None:
    """The names of tables are on the first page; the driver cannot decode the message about them."""
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
    whole = Path(sqlite_backend.where).read_bytes()
    place = whole.index(b"discreet_analystsdiscreet_analysts")
    Path(sqlite_backend.where).write_bytes(whole[:place] + b"\xff" * 9 + whole[place + 9 :])
    with pytest.raises(LedgerUnavailable, match="is damaged or is not a ledger"):
        sqlite_backend.open()


def test_the_database_of_another_program_is_left_alone(sqlite_backend: Backend) -> None:
    with closing(sqlite3.connect(sqlite_backend.where)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(LedgerUnavailable, match="is the database of another program"):
        sqlite_backend.open()
    assert sqlite_backend.rows("SELECT name FROM sqlite_master") == [("recipes",)]
    assert not sqlite_backend.key.exists()


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match=r"must be in a folder that exists, got .*/gone\."):
        Ledger.open(tmp_path / "gone" / "ledger.db")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        Ledger.open(tmp_path)


def test_nothing_is_made_when_not_asked_to(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
        Ledger.open(place, create=False)
    assert list(tmp_path.iterdir()) == []
    place.touch()
    with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
        Ledger.open(place, create=False)
    assert place.stat().st_size == 0


def test_switching_to_the_log_waits_for_others(
    sqlite_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.store.connection.PATIENCE", 0.02)
    with closing(sqlite_backend.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="is held by another process for too long"):
            sqlite_backend.open()
        monkeypatch.setattr("discreet.ledger.store.connection.PATIENCE", 10)
        monkeypatch.setattr(
            "discreet.ledger.store.connection.time.sleep", lambda _: holder.execute("ROLLBACK")
        )
        # Give up on the driver's own waiting at once, so that the switch is tried twice.
        monkeypatch.setattr("discreet.ledger.store.sqlite.prepare", _impatient)
        with sqlite_backend.open() as ledger:
            assert ledger.datasets() == []
        assert sqlite_backend.rows("PRAGMA journal_mode") == [("wal",)]


def _impatient(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA busy_timeout=0")


def test_commits_are_durable(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger, ledger._connections.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


# -- PostgreSQL


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    address = f"postgresql://ann:hunter2@/privacy?host={tmp_path}"
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger.open(address, key=tmp_path / "key")
    assert str(caught.value) == (
        f"The ledger postgresql://{tmp_path}/privacy cannot be reached. Check the address, the"
        " user, the password and that the server runs."
    )
    assert "hunter2" not in str(caught.value.__cause__)
    assert not (tmp_path / "key").exists()


def test_a_database_that_does_not_exist(server: str, tmp_path: Path) -> None:
    address = f"postgresql://postgres@/nowhere?host={server}"
    with pytest.raises(LedgerUnavailable, match="nowhere cannot be reached"):
        Ledger.open(address, key=tmp_path / "key")


def test_a_server_that_has_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerUnavailable, match=r"pip install 'discreet\[postgres\]'"):
        Ledger.open("postgresql://db.example/privacy")


def raise_on_insert(backend: Backend, action: str) -> None:
    backend.execute(
        f"CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN {action}; RETURN NULL; END $$"
        " LANGUAGE plpgsql",
        "CREATE TRIGGER fail BEFORE INSERT ON discreet_entries FOR EACH ROW EXECUTE FUNCTION fail()",
    )


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("53100", "has no space left to write to"),
        ("53300", "has no connection left"),
        ("40P01", "was overtaken by another transaction"),
        ("08006", "cannot be reached"),
        ("42501", "refuses access"),
        ("XX000", r"failed \(SQLSTATE XX000\)"),
    ],
)
def test_what_a_server_reports(server_backend: Backend, state: str, sentence: str) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
        with untouched(ledger):
            raise_on_insert(server_backend, f"RAISE EXCEPTION 'no' USING ERRCODE = '{state}'")
            with pytest.raises(LedgerUnavailable, match=sentence):
                reserve(ledger)
            server_backend.execute("DROP FUNCTION fail CASCADE")


def test_a_connection_that_breaks_in_a_transaction(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
        with untouched(ledger):
            raise_on_insert(server_backend, "PERFORM pg_terminate_backend(pg_backend_pid())")
            with pytest.raises(LedgerUnavailable, match="cannot be reached"):
                reserve(ledger)
            server_backend.execute("DROP FUNCTION fail CASCADE")


def test_connections_that_broke_while_idle_are_replaced(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
        server_backend.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        reserve(ledger)
        assert ledger.balance("adult").spent == Amount(1)


def test_a_database_that_is_read_only(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
    (name,) = server_backend.rows("SELECT current_database()")[0]
    server_backend.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with server_backend.open() as ledger, pytest.raises(LedgerUnavailable, match="is read-only"):
        reserve(ledger)


def test_a_user_without_rights(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
    server_backend.execute("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    guest = Backend("postgresql", server_backend.where.replace("postgres@", "guest@"), Path("x"))
    with pytest.raises(LedgerUnavailable, match="refuses access"):
        guest.open(key=server_backend.key)


def test_commits_are_durable_on_a_server_that_prefers_speed(server_backend: Backend) -> None:
    (name,) = server_backend.rows("SELECT current_database()")[0]
    server_backend.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    with closing(psycopg.connect(server_backend.where)) as plain:
        assert plain.execute("SHOW synchronous_commit").fetchone() == ("off",)
    with server_backend.open() as ledger, ledger._connections.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
