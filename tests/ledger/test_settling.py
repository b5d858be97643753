"""Answers that are paid for and cannot be stored: tried again, handed over, stored later for free."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.cli import main
from discreet.errors import LedgerUnavailable, ReleaseError, SettlementFailed
from discreet.ledger import Ledger
from discreet.privacy.accounting.filters import Amount
from discreet.session.settling import _tick
from tests.ledger.backends import Backend
from tests.ledger.store.test_failures import largest_file

SCHEMA = dc.Schema({"age": dc.Number(0, 9, step=1, missing=False)})
FRAME = pd.DataFrame({"age": [number % 10 for number in range(200)]})
PLAN = dc.histogram("age", epsilon=0.5)


def open_session(ledger: Ledger, **options: Any) -> dc.Session:
    return dc.protect(
        FRAME,
        SCHEMA,
        dataset="people",
        ledger=ledger,
        epsilon=2.0,
        workers=1,
        **{"progress": False, **options},
    )


@pytest.fixture
def session(backend: Backend) -> Iterator[dc.Session]:
    with backend.open() as ledger:
        yield open_session(ledger)


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.session.settling.PATIENCE", 0.3)


def refuse_settlements(backend: Backend, state: str = "XX000") -> None:
    if backend.kind == "sqlite":
        backend.execute(
            "CREATE TRIGGER no BEFORE INSERT ON discreet_entries WHEN NEW.kind = 'settle'"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        return
    backend.execute(
        "CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN"
        f" RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER no BEFORE INSERT ON discreet_entries FOR EACH ROW WHEN (NEW.kind = 'settle')"
        " EXECUTE FUNCTION no()",
    )


def allow_settlements(backend: Backend) -> None:
    on = "" if backend.kind == "sqlite" else " ON discreet_entries"
    backend.execute(f"DROP TRIGGER no{on}")


@pytest.fixture
def failed(session: dc.Session, backend: Backend) -> SettlementFailed:
    """A settlement that failed; the ledger works again."""
    refuse_settlements(backend)
    with pytest.raises(SettlementFailed) as caught:
        session.release(PLAN)
    allow_settlements(backend)
    return caught.value


def settled_ids(session: dc.Session) -> list[str]:
    return [entry.id for entry in session._ledger.history("people") if entry.kind == "settle"]


def test_the_answer_is_handed_over_and_the_text_is_true(
    failed: SettlementFailed, session: dc.Session
) -> None:
    assert session.remaining.loss == 1.5 and settled_ids(session) == []
    assert len(failed.release.value.counts) == 10 and failed.release.head is None
    assert failed.release.id == failed.reservation.id
    text = str(failed)
    assert f"The charge stays (reservation {failed.reservation.id})" in text
    for untrue in ("nothing was written", "ry again", "backup"):
        assert untrue not in text
    plain = failed.to_json()["error"]
    assert plain["releases"] == [failed.release.to_json()] and json.dumps(plain)


def test_it_is_stored_later_without_a_new_charge(failed: SettlementFailed, session: dc.Session) -> None:
    release = session.settle(failed)
    assert isinstance(release, dc.Release) and release.head is not None
    assert release.to_json() == failed.release.with_head(release.head).to_json()
    assert session.remaining.loss == 1.5
    assert session.verify([release]).problems == []
    assert session.release(PLAN).to_json() == release.to_json(), "asked again it is free"
    assert session.settle(failed) == release and len(settled_ids(session)) == 1


def test_it_is_stored_from_a_file_by_another_process(
    failed: SettlementFailed, backend: Backend, tmp_path: Path
) -> None:
    kept = failed.save(tmp_path / "answer.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with backend.open() as ledger:
        other = open_session(ledger)
        release = other.settle(kept)
        assert isinstance(release, dc.Release) and other.verify([release]).ok
        assert other.remaining.loss == 1.5


def test_an_answer_edited_meanwhile_is_not_stored(
    failed: SettlementFailed, session: dc.Session, tmp_path: Path
) -> None:
    kept = failed.save(tmp_path / "answer.json")
    plain = json.loads(kept.read_text())
    for name, value in {
        "body": plain["unsettled"][0]["body"].replace('"epsilon": 0.5', '"epsilon": 0.1'),
        "version": "2",
        "dataset": "others",
        "reservation": "0" * 32,
        "seal": "0" * 64,
    }.items():
        edited = {"unsettled": [{**plain["unsettled"][0], name: value}]}
        assert edited != plain
        kept.write_text(json.dumps(edited))
        with pytest.raises(ReleaseError, match="must be as it was set aside"):
            session.settle(kept)
    assert settled_ids(session) == []


@pytest.mark.parametrize("text", ["", "[]", '{"unsettled": []}', '{"unsettled": [{}]}', "{", "\x00"])
def test_a_file_of_something_else(session: dc.Session, tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(ReleaseError, match="must"):
        session.settle(tmp_path / "other.json")
    with pytest.raises(ReleaseError, match="cannot be read"):
        session.settle(tmp_path / "nowhere.json")


def test_several_answers_are_kept_together(session: dc.Session, backend: Backend) -> None:
    refuse_settlements(backend)
    with pytest.raises(SettlementFailed) as caught:
        session.release([PLAN, dc.histogram("age", epsilon=0.25)])
    allow_settlements(backend)
    assert [release.guarantee.epsilon for release in caught.value.releases] == [0.5, 0.25]
    stored = session.settle(caught.value)
    assert isinstance(stored, list) and session.verify(stored).problems == []
    assert session.remaining.loss == 1.25


def test_a_short_trouble_is_waited_for(
    session: dc.Session, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.session.settling.PATIENCE", 600.0)
    refuse_settlements(backend)
    helper = threading.Timer(0.3, allow_settlements, [backend])
    helper.start()
    assert session.verify([session.release(PLAN)]).problems == []
    helper.join()
    assert session.remaining.loss == 1.5


def test_waiting_is_shown(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trouble is over when the first second was shown, however long a second takes."""
    monkeypatch.setattr("discreet.session.settling.PATIENCE", 600.0)
    monkeypatch.setattr("discreet.progress._PATIENCE", 0.5)
    ticked = threading.Event()

    def tick(done: threading.Event, advance: Callable[[int], None]) -> None:
        def advance_and_tell(seconds: int) -> None:
            advance(seconds)
            ticked.set()

        _tick(done, advance_and_tell)

    def sleep(_: float) -> None:
        assert ticked.wait(600)
        allow_settlements(backend)

    with backend.open() as ledger:
        session = open_session(ledger, progress=True)
        refuse_settlements(backend)
        monkeypatch.setattr("discreet.session.settling._tick", tick)
        timing = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
        monkeypatch.setattr("discreet.session.settling.time", timing)
        session.release(PLAN)
    assert "storing the answer" in capsys.readouterr().err


def test_a_commit_whose_answer_got_lost_is_found(
    session: dc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.session.settling.PATIENCE", 600.0)
    settle_all, calls = session._ledger.settle_all, []

    def lose_the_answer(*args: Any, **options: Any) -> Any:
        calls.append(settle_all(*args, **options))
        if len(calls) == 1:
            raise LedgerUnavailable("The ledger cannot be reached.")
        return calls[-1]

    monkeypatch.setattr(session._ledger, "settle_all", lose_the_answer)
    release = session.release(PLAN)
    assert calls[0] == calls[1] == [release.head]
    assert len(settled_ids(session)) == 1 and session.verify([release]).ok


def test_an_interrupt_while_waiting_keeps_the_answer(
    session: dc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session._ledger, "settle_all", interrupt)
        with pytest.raises(SettlementFailed, match="interrupted") as caught:
            session.release(PLAN)
    assert isinstance(session.settle(caught.value), dc.Release)


# -- real trouble


def after_computing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    run = dc.Session._run

    def run_then_act(self: Any, *args: Any) -> Any:
        release = run(self, *args)
        act()
        return release

    monkeypatch.setattr(dc.Session, "_run", run_then_act)


def test_a_file_that_others_hold(sqlite_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.store.connection.PATIENCE", 0.05)
    with sqlite_backend.open() as ledger, closing(sqlite_backend.connect()) as holder:
        session = open_session(ledger)
        after_computing(monkeypatch, lambda: holder.execute("BEGIN IMMEDIATE"))
        with pytest.raises(SettlementFailed, match="is held by another process") as caught:
            session.release(PLAN)
        holder.execute("ROLLBACK")
        assert isinstance(session.settle(caught.value), dc.Release)
        assert session.remaining.loss == 1.5


def test_a_disk_that_is_full(sqlite_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite_backend.open() as ledger:
        session = open_session(ledger)
        full = largest_file(4096)
        after_computing(monkeypatch, full.__enter__)
        try:
            with pytest.raises(SettlementFailed, match="cannot be read or written") as caught:
                session.release(PLAN)
        finally:
            full.__exit__(None, None, None)
        assert isinstance(session.settle(caught.value), dc.Release)
        assert session.balance.spent == Amount.charge(0.5)


def test_a_server_that_drops_the_connection(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        session = open_session(ledger)
        refuse_settlements(server_backend, "57P01")
        with pytest.raises(SettlementFailed, match="cannot be reached") as caught:
            session.release(PLAN)
        allow_settlements(server_backend)
        assert isinstance(session.settle(caught.value), dc.Release)


@pytest.mark.parametrize("state", ["40001", "40P01", "57014"])
def test_what_passes_by_itself_is_tried_again(server_backend: Backend, state: str) -> None:
    with server_backend.open() as ledger:
        session = open_session(ledger)
        server_backend.execute(
            "CREATE SEQUENCE tries",
            "CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN IF nextval('tries') < 3 THEN"
            f" RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
            " LANGUAGE plpgsql",
            "CREATE TRIGGER no BEFORE INSERT ON discreet_entries FOR EACH ROW"
            " WHEN (NEW.kind = 'settle') EXECUTE FUNCTION no()",
        )
        assert session.verify([session.release(PLAN)]).problems == []
        assert server_backend.rows("SELECT last_value FROM tries") == [(3,)]


# -- the command line


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["discreet", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_the_command_line_keeps_and_stores_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("people.csv", index=False)
    SCHEMA.save("schema.toml")
    terms = ["--dataset", "people", "--ledger", "books.db", "--epsilon", "2"]
    assert run(monkeypatch, "protect", "people.csv", "--schema", "schema.toml", *terms) == 0
    backend = Backend("sqlite", str(tmp_path / "books.db"), tmp_path / "books.db.key")
    refuse_settlements(backend)
    ask = ["release", "histogram", "age", "--epsilon", "0.5"]
    capsys.readouterr()
    assert run(monkeypatch, *ask) == SettlementFailed.exit_code
    said = capsys.readouterr()
    assert "epsilon=0.5" in said.out and "The charge stays" in said.err
    found = re.search(r"discreet budget settle (\S+)", said.err)
    assert found is not None
    assert run(monkeypatch, *ask, "--json") == SettlementFailed.exit_code
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["code"] == "settlement-failed" and told["releases"][0]["value"]["counts"]
    allow_settlements(backend)
    assert run(monkeypatch, "budget", "settle", found[1], "--out", "age.json") == 0
    assert "nothing charged" in capsys.readouterr().out
    assert run(monkeypatch, "budget", "verify", "age.json") == 0
    with closing(sqlite3.connect("books.db")) as books:
        assert books.execute("SELECT spent_loss FROM discreet_datasets").fetchone() == (10**12,)
    assert run(monkeypatch, "budget", "settle", "schema.toml") == ReleaseError.exit_code
