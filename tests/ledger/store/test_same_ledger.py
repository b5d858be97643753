"""A ledger that was deleted, replaced or put back under an open session is not spent on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import LedgerConflict, LedgerTampered, LedgerUnavailable
from discreet.ledger import Ledger, Reservation
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms


def reserve(ledger: Ledger) -> Reservation:
    return ledger.reserve("adult", Amount(1), plan_key="k", note={})


def opened(path: Path) -> Ledger:
    ledger = Ledger.open(path)
    ledger.register(make_terms())
    reserve(ledger)
    return ledger


def copy_over(source: Path, target: Path) -> None:
    """Write one ledger's bytes into another's file, which keeps its inode, as ``cp`` does."""
    before = target.stat().st_ino
    target.write_bytes(source.read_bytes())
    for end in ("-wal", "-shm"):
        Path(f"{target}{end}").unlink(missing_ok=True)
    assert target.stat().st_ino == before


def backup(path: Path, name: str) -> Path:
    """Copy a ledger that nobody uses."""
    return Path(shutil.copy(path, path.with_name(name)))


def nothing_works(ledger: Ledger, error: type[Exception], sentence: str) -> None:
    held = Reservation("r", "adult", Amount(1), "k", None, None)  # type: ignore[arg-type]
    for act in (
        lambda: reserve(ledger),
        lambda: ledger.settle(held, version="", body="{}"),
        lambda: ledger.allot("adult", "ann", Amount(1)),
        lambda: ledger.balance("adult"),
        lambda: ledger.history("adult"),
        lambda: ledger.find_release("adult", version="", plan_key="k"),
        lambda: ledger.register(make_terms()),
        ledger.datasets,
    ):
        with pytest.raises(error, match=sentence):
            act()


@pytest.mark.parametrize("idle", [True, False])
def test_a_deleted_file_is_not_spent_on(tmp_path: Path, idle: bool) -> None:
    path = tmp_path / "a.db"
    ledger = opened(path)
    path.unlink()
    if idle:
        ledger._connections.put_away()
    nothing_works(ledger, LedgerUnavailable, "was deleted or moved while it was open. Put it back")
    with pytest.raises(LedgerUnavailable, match="was deleted or moved"):
        ledger.verify()
    assert not path.exists(), "an empty file was made in its place"


def test_a_file_that_comes_back_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    ledger = opened(path)
    path.rename(tmp_path / "b.db")
    with pytest.raises(LedgerUnavailable):
        reserve(ledger)
    (tmp_path / "b.db").rename(path)
    reserve(ledger)
    assert ledger.balance("adult").spent == Amount(2)
    assert ledger.verify().ok


def test_a_replaced_file_is_not_spent_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opened(path).close()
    older = backup(path, "older.db")
    ledger = Ledger.open(path)
    reserve(ledger)
    os.replace(older, path)
    nothing_works(ledger, LedgerTampered, "was replaced by another file while it was open")


def test_another_ledger_in_the_same_inode_is_not_spent_on(tmp_path: Path) -> None:
    path, key = tmp_path / "a.db", tmp_path / "key"
    opened(path).close()
    with Ledger.open(path) as ledger:  # the same key: only the id tells them apart
        shutil.copy(f"{path}.key", key)
        with Ledger.open(tmp_path / "b.db", key=key, anew=True) as other:
            other.register(make_terms())
            reserve(other)
        ledger._connections.put_away()
        copy_over(tmp_path / "b.db", path)
        nothing_works(ledger, LedgerTampered, "was replaced by another ledger while it was open")
        assert any("by another ledger" in problem for problem in ledger.verify().problems)


def test_an_older_copy_in_the_same_inode_is_not_spent_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opened(path).close()
    older = backup(path, "older.db")
    with Ledger.open(path) as ledger:
        reserve(ledger)
        ledger._connections.put_away()
        copy_over(older, path)
        sentence = r"no longer has entry 3 of dataset 'adult'.* an older copy was put in its place"
        for act in (lambda: reserve(ledger), lambda: ledger.balance("adult")):
            with pytest.raises(LedgerTampered, match=sentence):
                act()
        (problem,) = ledger.verify().problems
        assert re.search(sentence, problem)
    with Ledger.open(path) as fresh:
        assert fresh.verify().ok  # only who saw the entry can miss it


def test_what_was_only_read_is_remembered_too(backend: Backend) -> None:
    with backend.open() as ledger, backend.open() as reader:
        ledger.register(make_terms())
        reserve(ledger)
        assert reader.balance("adult").spent == Amount(1)
        before = backend.rows("SELECT spent_loss, sequence, digest, seal FROM discreet_datasets")
        reserve(ledger)
        assert reader.balance("adult").spent == Amount(2)
        spent, sequence, digest, seal = before[0]
        backend.execute(
            f"DELETE FROM discreet_entries WHERE sequence > {sequence}",
            f"UPDATE discreet_datasets SET spent_loss = {spent}, sequence = {sequence},"
            f" digest = '{digest}', seal = '{seal}'",
        )
        for one in (ledger, reader):
            with pytest.raises(LedgerTampered, match="no longer has entry 3"):
                reserve(one)
    with backend.open() as fresh:
        assert fresh.verify().ok


def test_a_deleted_journal_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink()
        with pytest.raises(
            LedgerTampered, match=r"journal .* was deleted or replaced while it was in use"
        ):
            reserve(ledger)


def test_other_sessions_may_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        for _ in range(3):
            with Ledger.open(path) as other:
                reserve(other)
            ledger._connections.put_away()
            reserve(ledger)
        assert ledger.balance("adult").spent == Amount(7)
        assert ledger.verify().ok


def test_a_refused_transaction_is_not_remembered(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
        held = reserve(ledger)
        backend.execute("ALTER TABLE discreet_releases RENAME TO hidden")
        with pytest.raises(LedgerUnavailable):
            ledger.settle(held, version="", body="{}")
        backend.execute("ALTER TABLE hidden RENAME TO discreet_releases")
        ledger.settle(held, version="", body="{}")
        assert ledger.verify().ok


# -- an empty ledger beside what is left of another


def test_no_empty_ledger_begins_beside_a_key(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
    if backend.kind == "sqlite":
        Path(backend.where).unlink()
    else:
        backend.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    with pytest.raises(LedgerConflict) as caught:
        backend.open()
    assert f"its key {backend.key} exists: what was spent is not known" in str(caught.value)
    if backend.kind == "sqlite":
        assert not Path(backend.where).exists(), "a refusal leaves nothing behind"
    for help_ in ("Put the ledger back", "interrupted", "anew=True", "protect --anew"):
        assert help_ in str(caught.value)
    with backend.open(anew=True) as ledger:
        assert ledger.datasets() == []
    with backend.open() as ledger:
        assert ledger.register(make_terms()).terms == make_terms()
        assert ledger.verify().ok


@pytest.mark.parametrize("left", [None, b""])
def test_no_empty_ledger_begins_beside_a_journal(tmp_path: Path, left: bytes | None) -> None:
    path, journal = tmp_path / "a.db", tmp_path / "a.db-wal"
    ledger = opened(path)
    charges = journal.read_bytes()
    ledger.close()
    path.unlink()
    Path(f"{path}.key").unlink()
    journal.write_bytes(charges)
    if left is not None:
        path.write_bytes(left)
    with pytest.raises(LedgerConflict, match=r"a\.db-wal exists and holds charges.* protect --anew"):
        Ledger.open(path)
    assert journal.read_bytes() == charges
    with Ledger.open(path, anew=True) as ledger:
        assert ledger.datasets() == []


def crash(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_failure_while_a_ledger_is_made_leaves_no_key(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.store.migrations._apply", crash)
        with pytest.raises(KeyboardInterrupt):
            backend.open()
    assert not backend.key.exists()
    with backend.open() as ledger:
        assert ledger.datasets() == []


def test_after_a_crash_while_a_ledger_is_made_the_text_helps(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.store.migrations._apply", crash)
        patch.setattr(Path, "unlink", lambda *_, **__: None)  # a process that died removes nothing
        with pytest.raises(KeyboardInterrupt):
            backend.open()
    for scratch in backend.key.parent.glob(f"{backend.key.name}.*"):
        scratch.unlink()
    with pytest.raises(
        LedgerConflict, match="If making it was interrupted before anything was released"
    ):
        backend.open()
    with backend.open(anew=True) as ledger:
        ledger.register(make_terms())
        assert ledger.verify().ok


# -- through a session

SCHEMA = dc.Schema({"age": dc.Number(0, 9, step=1, missing=False)})


def people(ledger: Path) -> dc.Session:
    frame = pd.DataFrame({"age": [number % 10 for number in range(300)]})
    return dc.protect(
        frame, SCHEMA, dataset="people", epsilon=1.0, ledger=ledger, workers=1, progress=False
    )


def ask(session: dc.Session, epsilon: float) -> Callable[[], dc.Release]:
    return lambda: session.release(dc.histogram("age", epsilon=epsilon), fresh=True)


@pytest.mark.parametrize("end", ["", "-wal"])
def test_no_more_than_the_budget_is_released_around_a_deletion(tmp_path: Path, end: str) -> None:
    path = tmp_path / "books.db"
    session = people(path)
    ask(session, 0.5)()
    Path(f"{path}{end}").unlink()
    with pytest.raises((LedgerUnavailable, LedgerTampered)):
        ask(session, 0.4)()
    with pytest.raises((LedgerConflict, LedgerUnavailable)):
        ask(people(path), 0.9)()
