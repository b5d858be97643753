"""What ``protect`` writes about a ledger, and what it begins only when told to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import ArgumentError, LedgerConflict
from discreet.session.project import DatasetEntry, Project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": range(10)}).to_csv("people.csv", index=False)
    dc.Schema({"age": dc.Number(0, 9, step=1, missing=False)}).save(Path("schema.toml"))
    return tmp_path


def protect(*words: str) -> Any:
    terms = ["--schema", "schema.toml", "--dataset", "people", "--epsilon", "1", "--json"]
    done = CliRunner().invoke(app, ["protect", "people.csv", *terms, *words])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hunter2@db.example/privacy",
        "postgres://ann:hunter2@db.example/privacy",
        "postgresql://ann@db.example/privacy?password=hunter2",
        "postgresql://ann@db.example/privacy?sslpassword=hunter2",
    ],
)
def test_a_password_is_not_written(folder: Path, address: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        protect("--ledger", address)
    assert "--ledger must be an address without a password" in str(caught.value)
    for way in ("~/.pgpass", "PGPASSWORD", "service file (postgresql://?service=NAME)"):
        assert way in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert not Path("discreet.toml").exists()


def test_a_password_that_is_there_is_not_written_again(folder: Path) -> None:
    old = DatasetEntry("a.csv", "a.toml", "postgresql://ann:hunter2@db.example/privacy")
    Project(Path("discreet.toml"), {"old": old}).save()
    with pytest.raises(ArgumentError, match=r"got one with a password for postgresql://db\.example"):
        protect("--ledger", "books.db")
    assert not Path("books.db").exists()


def test_addresses_without_a_password_are_kept() -> None:
    project = Project(Path("discreet.toml"), {})
    for address in ("postgresql://ann@db.example/privacy", "postgresql://?service=privacy", "a.db"):
        assert (
            project.with_entry("d", DatasetEntry("a.csv", "a.toml", address)).entries["d"].ledger
            == address
        )


def test_an_empty_ledger_beside_a_key_begins_only_if_told_to(folder: Path) -> None:
    whole = protect("--ledger", "books.db")
    Path("books.db").unlink()
    with pytest.raises(LedgerConflict, match="protect --anew"):
        protect("--ledger", "books.db")
    assert protect("--ledger", "books.db", "--anew") == whole
    assert protect("--ledger", "books.db", "--anew") == whole, "a ledger that is there is continued"


def test_a_ledger_without_its_key_is_shown(folder: Path) -> None:
    protect("--ledger", "books.db")
    Path("books.db.key").unlink()
    for words in (["budget", "show"], ["budget", "history"]):
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(app, ["budget", "verify"])
    assert "Put the key file back" in str(refused.exception)
