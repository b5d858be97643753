from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError, LedgerConflict, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.store.key import KEY_VARIABLE
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms


def test_a_new_ledger_has_a_key_of_its_own_beside_it(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        Ledger.open(tmp_path / name).close()
    keys = [tmp_path / "a.db.key", tmp_path / "b.db.key"]
    assert [stat.S_IMODE(key.stat().st_mode) for key in keys] == [0o600, 0o600]
    assert [len(bytes.fromhex(key.read_text())) for key in keys] == [32, 32]
    assert keys[0].read_text() != keys[1].read_text()


def test_the_key_may_be_elsewhere(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with Ledger.open(tmp_path / "a.db", key=vault / "key") as ledger:
        ledger.register(make_terms())
    assert (vault / "key").exists()
    assert not (tmp_path / "a.db.key").exists()
    with Ledger.open(tmp_path / "a.db", key=str(vault / "key")) as ledger:
        assert ledger.verify().ok


def test_a_link_to_a_ledger_finds_the_same_key(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "a.db") as ledger:
        ledger.register(make_terms())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.db").symlink_to(tmp_path / "a.db")
    with Ledger.open(tmp_path / "elsewhere" / "b.db") as ledger:
        assert ledger.verify().ok


def test_a_lost_key_is_never_replaced_and_the_ledger_is_read_without_it(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
        held = ledger.reserve("adult", Amount(5), plan_key="k", note={})
    backend.key.unlink()
    with backend.open() as ledger:
        assert ledger.datasets() == ["adult"]
        assert ledger.balance("adult").spent == Amount(5)
        assert [entry.kind for entry in ledger.history("adult")] == ["register", "reserve"]
        for act in (
            lambda: ledger.reserve("adult", Amount(1), plan_key="k", note={}),
            lambda: ledger.settle(held, version="", body="{}"),
            lambda: ledger.find_release("adult", version="", plan_key="k"),
            ledger.verify,
        ):
            with pytest.raises(LedgerUnavailable, match=f"is not at {backend.key}. Put the key file"):
                act()
    assert not backend.key.exists()


def test_a_session_of_a_ledger_whose_key_is_lost_answers_nothing(tmp_path: Path) -> None:
    """What is told names the key: of stored answers, new ones, a new version, another data set."""
    table, schema = pd.DataFrame({"age": [30.0, 70.0]}), dc.Schema({"age": dc.Number(0, 90)})
    terms: dict[str, Any] = {"ledger": tmp_path / "a.db", "epsilon": 1.0}
    known = dc.protect(table, schema, dataset="d", **terms)
    asked = dc.mean("age", epsilon=0.25)
    known.release(asked)
    key = tmp_path / "a.db.key"
    key.rename(tmp_path / "elsewhere")
    late = dc.protect(table, schema, dataset="d", **terms)
    assert late.remaining.loss == 0.75, "what is left can be read"
    for act in (
        lambda: late.release(asked),
        lambda: late.release(dc.mean("age", epsilon=0.5)),
        lambda: dc.protect(table, schema, dataset="d", version="2", **terms).release(asked),
        lambda: dc.protect(table, schema, dataset="other", **terms),
    ):
        with pytest.raises(LedgerUnavailable, match=f"is not at {key}. Put the key file back"):
            act()
    assert not key.exists() and late.remaining.loss == 0.75


def test_a_damaged_key_is_refused(sqlite_backend: Backend) -> None:
    sqlite_backend.open().close()
    for text in ("", "12", "x" * 64, "é" * 64):
        sqlite_backend.key.write_text(text)
        with pytest.raises(LedgerUnavailable, match="must hold 64 hexadecimal digits"):
            sqlite_backend.open()


def test_a_key_that_cannot_be_read_is_explained(sqlite_backend: Backend) -> None:
    sqlite_backend.key.mkdir()
    with pytest.raises(LedgerUnavailable, match=r"cannot be used \(Is a directory\)"):
        sqlite_backend.open()


def test_a_key_made_by_another_process_meanwhile_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_source: Path, target: Path) -> None:
        target.touch(0o600)
        target.write_text("ab" * 32)
        raise FileExistsError

    monkeypatch.setattr("discreet.ledger.store.key.os.link", lose)
    with pytest.raises(LedgerConflict, match="what was spent is not known"):
        Ledger.open(tmp_path / "a.db")
    assert (tmp_path / "a.db.key").read_text() == "ab" * 32


def test_a_server_needs_to_be_told_the_key(
    server_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(ArgumentError, match=f"Give key, or set {KEY_VARIABLE} to its path"):
        server_backend.open(key=None)
    monkeypatch.setenv(KEY_VARIABLE, str(server_backend.key))
    with server_backend.open(key=None) as ledger:
        ledger.register(make_terms())
    assert server_backend.key.exists()
    with server_backend.open() as ledger:
        assert ledger.verify().ok


def test_an_in_memory_ledger_may_be_given_a_key(tmp_path: Path) -> None:
    with Ledger.open(":memory:", key=tmp_path / "key") as ledger:
        ledger.register(make_terms())
        assert ledger.verify().ok
    assert (tmp_path / "key").exists()


def test_in_memory_ledgers_have_different_keys() -> None:
    first, second = (Ledger.open(":memory:")._chain.key for _ in range(2))
    assert len(first) == 32
    assert first != second
