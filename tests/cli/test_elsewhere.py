"""The command line on tables that live elsewhere: what the project file remembers, and where from."""

from __future__ import annotations

import re
import sqlite3
import tomllib
from contextlib import chdir, closing
from pathlib import Path

import pytest

import discreet as dc
from tests.cli.shell import shell, told

SQL = "SELECT * FROM loans"
TERMS = ["--schema", "schema.toml", "--dataset", "loans", "--ledger", "loans.db", "--epsilon", "5"]
PLAN = ["release", "histogram", "age", "--bins", "4", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a data set of two files, the same rows in a database, and their schema."""
    loans = dc.samples.loans(300)
    (tmp_path / "loans").mkdir()
    loans[:200].to_parquet(tmp_path / "loans" / "0.parquet")
    loans[200:].to_parquet(tmp_path / "loans" / "1.parquet")
    with closing(sqlite3.connect(tmp_path / "bank.db")) as bank:
        loans.to_sql("loans", bank, index=False)
    dc.samples.loan_schema().save(tmp_path / "schema.toml")
    return tmp_path


def test_a_folder_and_a_pattern_are_protected(folder: Path) -> None:
    with chdir(folder):
        assert shell("protect", "loans", *TERMS).code == 0
        assert shell(*PLAN).code == 0
        assert "must be in the state" in shell("protect", "loans/0*.parquet", *TERMS).err
        assert shell("protect", "loans/0*.parquet", *TERMS, "--version", "2").code == 0


def test_a_query_is_remembered_and_its_file_is_found_from_elsewhere(folder: Path) -> None:
    with chdir(folder):
        assert shell("protect", "sqlite:///bank.db", "--query", SQL, *TERMS).code == 0
        plain = tomllib.loads(Path("discreet.toml").read_text())
        assert plain["loans"]["query"] == SQL and plain["loans"]["data"] == "sqlite:///bank.db"
    (folder / "below").mkdir()
    with chdir(folder / "below"):
        assert shell(*PLAN, "--project", "../discreet.toml").code == 0


@pytest.mark.parametrize("where", ["postgresql://me:SECRET@x/y", "postgresql://x/y?password=SECRET"])
def test_a_password_is_not_remembered(where: str, folder: Path) -> None:
    with chdir(folder):
        done = shell("protect", where, "--query", SQL, *TERMS)
    assert done.code == 2 and re.search("without a password|have no password", done.err)
    assert "SECRET" not in done.err and not (folder / "discreet.toml").exists()


@pytest.mark.parametrize("words", [["loans"], ["sqlite:///bank.db", "--query", SQL]])
def test_a_schema_is_drafted_from_the_first_rows(words: list[str], folder: Path) -> None:
    with chdir(folder):
        drafted = told("sketch", *words, "--out", "draft.toml", "--rows", "50")
    assert set(drafted["columns"]) <= set(dc.samples.loans(1).columns) and "age" in drafted["columns"]
