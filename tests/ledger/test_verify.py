"""The attacker edits the database; ``verify`` must notice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import LedgerConflict
from discreet.ledger import Head, Ledger
from discreet.ledger.store.tables import analysts, datasets, entries, keys, releases
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms


@pytest.fixture
def heads(ledger: Ledger) -> list[Head]:
    """Write 1 register, 2 allot, 3 reserve, 4 settle, 5 reserve, 6 settle, 7 reserve."""
    ledger.allot("adult", "ann", Amount(100, 1))
    heads = []
    for analyst, charge in (("ann", Amount(10, 1)), (None, Amount(20))):
        held = ledger.reserve("adult", charge, plan_key="k", note={"a": 1}, analyst=analyst)
        heads.append(ledger.settle(held, version="1", body=f'{{"of": "{analyst}"}}'))
    ledger.reserve("adult", Amount(30), plan_key="k", note={})
    return heads


@pytest.fixture
def attacked(ledger: Ledger, heads: list[Head]) -> Iterator[Ledger]:
    assert heads
    yield ledger


def test_an_honest_ledger_verifies(ledger: Ledger, heads: list[Head]) -> None:
    found = ledger.verify(heads=heads)
    assert (found.ok, found.problems, found.entries) == (True, [], 7)
    assert ledger.verify("adult", heads=iter(heads)).ok


COPY = """
    INSERT INTO discreet_entries SELECT dataset, {0}, kind, {1}, analyst, loss, delta, plan_key,
    version, body_digest, note, time, previous, digest FROM discreet_entries WHERE sequence = 7
"""

TAMPERING = {
    "edit an amount": (
        ["UPDATE discreet_entries SET loss = 9 WHERE sequence = 3"],
        "Entry 3 of dataset 'adult' (reserve) was edited",
    ),
    "edit a note": (
        ["UPDATE discreet_entries SET note = '{}' WHERE sequence = 5"],
        "Entry 5 of dataset 'adult' (reserve) was edited",
    ),
    "name another analyst": (
        ["UPDATE discreet_entries SET analyst = 'bob' WHERE sequence = 3"],
        "Entry 3 of dataset 'adult' (reserve) was edited",
    ),
    "delete an entry": (
        ["DELETE FROM discreet_entries WHERE sequence = 3"],
        "Entry 3 of dataset 'adult' is missing or was moved: entry 4 stands in its place.",
    ),
    "delete the first entry": (
        ["DELETE FROM discreet_entries WHERE sequence = 1"],
        "Entry 1 of dataset 'adult' is missing",
    ),
    "delete the last entry": (
        ["DELETE FROM discreet_entries WHERE sequence = 7"],
        "sequence of dataset 'adult' is 7, but its entries say 6.",
    ),
    "delete all entries": (
        ["DELETE FROM discreet_entries"],
        "sequence of dataset 'adult' is 7, but its entries say 0.",
    ),
    "delete and close the gap": (
        [
            "DELETE FROM discreet_entries WHERE sequence = 6",
            "UPDATE discreet_entries SET sequence = 6 WHERE sequence = 7",
        ],
        "Entry 6 of dataset 'adult' (reserve) does not follow the entry before it",
    ),
    "swap two entries": (
        [
            "UPDATE discreet_entries SET sequence = 99 WHERE sequence = 3",
            "UPDATE discreet_entries SET sequence = 3 WHERE sequence = 5",
            "UPDATE discreet_entries SET sequence = 5 WHERE sequence = 99",
        ],
        "Entry 3 of dataset 'adult' (reserve) does not follow the entry before it",
    ),
    "insert at the end": (
        [COPY.format(8, "'new'")],
        "Entry 8 of dataset 'adult' (reserve) was edited or inserted.",
    ),
    "insert before the first": (
        [COPY.format(0, "'new'")],
        "Entry 1 of dataset 'adult' is missing or was moved: entry 0 stands in its place.",
    ),
    "edit a digest": (
        ["UPDATE discreet_entries SET digest = 'é' WHERE sequence = 3"],
        "Entry 4 of dataset 'adult' (settle) does not follow",
    ),
    "edit a release": (
        ["UPDATE discreet_releases SET body = 'forged' WHERE sequence = 4"],
        "of dataset 'adult' was edited.",
    ),
    "relabel a release": (
        ["UPDATE discreet_releases SET version = '2' WHERE sequence = 4"],
        "of dataset 'adult' was edited.",
    ),
    "delete a release": (
        ["DELETE FROM discreet_releases WHERE sequence = 6"],
        "of dataset 'adult' is missing.",
    ),
    "insert a release": (
        ["INSERT INTO discreet_releases VALUES ('r', 'adult', 7, '1', 'k', '{}')"],
        "The release of reservation r of dataset 'adult' has no settlement.",
    ),
    "edit what was spent": (
        ["UPDATE discreet_datasets SET spent_loss = 50"],
        "spent_loss of dataset 'adult' is 50, but its entries say 60.",
    ),
    "edit the budget": (
        ["UPDATE discreet_datasets SET budget_loss = budget_loss + 1"],
        "budget_loss of dataset 'adult' is 3000000000001, but its entries say 3000000000000.",
    ),
    "edit the terms": (
        ["UPDATE discreet_datasets SET epsilon = 4"],
        "epsilon of dataset 'adult' is 4.0, but its entries say 3.0.",
    ),
    "edit a seal": (
        ["UPDATE discreet_datasets SET seal = ''"],
        "The totals of dataset 'adult' were edited.",
    ),
    "edit entries and totals": (
        [
            "UPDATE discreet_entries SET loss = 10 WHERE sequence = 5",
            "UPDATE discreet_datasets SET spent_loss = 50",
        ],
        "The totals of dataset 'adult' were edited.",
    ),
    "delete the account": (
        ["DELETE FROM discreet_datasets"],
        "The account of dataset 'adult' is missing.",
    ),
    "raise an allotment": (
        ["UPDATE discreet_analysts SET budget_loss = 1000"],
        "budget_loss of analyst 'ann' of dataset 'adult' is 1000, but its entries say 100.",
    ),
    "edit what an analyst spent": (
        ["UPDATE discreet_analysts SET spent_loss = 0"],
        "spent_loss of analyst 'ann' of dataset 'adult' is 0, but its entries say 10.",
    ),
    "delete an analyst": (
        ["DELETE FROM discreet_analysts"],
        "The row of analyst 'ann' of dataset 'adult' is missing.",
    ),
    "insert an analyst": (
        ["INSERT INTO discreet_analysts VALUES ('adult', 'eve', 9, 9, 0, 0, 's')"],
        "No entry explains the row of analyst 'eve' of dataset 'adult'.",
    ),
    "insert a dataset": (
        [
            "INSERT INTO discreet_entries SELECT 'eve', sequence, kind, 'r', analyst, loss, delta,"
            " plan_key, version, body_digest, note, time, previous, digest"
            " FROM discreet_entries WHERE sequence = 1"
        ],
        "Entry 1 of dataset 'eve' (register) was edited or inserted.",
    ),
    "edit an entry and an analyst": (
        [
            "UPDATE discreet_entries SET loss = 9 WHERE sequence = 2",
            "UPDATE discreet_analysts SET budget_loss = 99",
        ],
        "The totals of analyst 'ann' of dataset 'adult' were edited.",
    ),
    "edit the mark of the key": (
        ["UPDATE discreet_keys SET mark = 'x'"],
        "The key is not the one this ledger was written with",
    ),
}


@pytest.mark.parametrize("kind", TAMPERING)
def test_tampering_is_found(attacked: Ledger, backend: Backend, kind: str) -> None:
    statements, sentence = TAMPERING[kind]
    backend.execute(*statements)
    found = attacked.verify()
    assert not found.ok
    assert any(sentence in problem for problem in found.problems), found.problems


def test_a_single_edit_is_not_reported_all_over(attacked: Ledger, backend: Backend) -> None:
    backend.execute("UPDATE discreet_entries SET loss = 9 WHERE sequence = 3")
    assert len(attacked.verify().problems) == 1


def test_another_dataset_is_not_blamed(attacked: Ledger, backend: Backend) -> None:
    attacked.register(make_terms(dataset="clean"))
    backend.execute("UPDATE discreet_entries SET note = '' WHERE dataset = 'adult'")
    assert attacked.verify("clean").ok
    assert not attacked.verify("adult").ok
    assert not attacked.verify().ok


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table.name, column.name)
        for table in (datasets, entries, releases, analysts, keys)
        for column in table.columns
    ],
)
def test_a_change_of_any_column_is_found(
    sqlite_backend: Backend, table: str, column: str, written: Path
) -> None:
    shutil.copytree(written, Path(sqlite_backend.where).parent, dirs_exist_ok=True)
    sqlite_backend.execute(
        f"UPDATE {table} SET {column} = CASE typeof({column}) WHEN 'text' THEN {column} || 'x'"
        f" WHEN 'null' THEN 'x' ELSE {column} + 100 END WHERE rowid ="
        f" (SELECT max(rowid) FROM {table})"
    )
    with sqlite_backend.open() as ledger:
        assert not ledger.verify().ok


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of each kind of entry."""
    folder = tmp_path_factory.mktemp("written")
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.register(make_terms())
        ledger.allot("adult", "ann", Amount(100))
        held = ledger.reserve("adult", Amount(1), plan_key="k", note={}, analyst="ann")
        ledger.settle(held, version="1", body="{}")
        assert ledger.verify().ok
    return folder


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE discreet_entries SET note = CAST(x'ff' AS TEXT)",
        "UPDATE discreet_entries SET note = x'ff'",
        "UPDATE discreet_entries SET sequence = 'first' WHERE sequence = 1",
        "UPDATE discreet_entries SET loss = 'much'",
        "UPDATE discreet_entries SET digest = 5",
        "UPDATE discreet_releases SET body = x'00'",
        "UPDATE discreet_datasets SET spent_loss = 'none'",
        "UPDATE discreet_datasets SET dataset = x'ff'",
    ],
)
def test_values_of_other_types_are_reported_not_raised(
    sqlite_backend: Backend, edit: str, written: Path
) -> None:
    shutil.copytree(written, Path(sqlite_backend.where).parent, dirs_exist_ok=True)
    sqlite_backend.execute(edit)
    with sqlite_backend.open() as ledger:
        assert not ledger.verify().ok


# -- heads


def test_a_ledger_put_back_is_found_by_a_later_head(sqlite_backend: Backend) -> None:
    copy = Path(sqlite_backend.where + ".copy")
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
    shutil.copy(sqlite_backend.where, copy)
    with sqlite_backend.open() as ledger:
        held = ledger.reserve("adult", Amount(1), plan_key="k", note={})
        head = ledger.settle(held, version="1", body="{}")
    shutil.copy(copy, sqlite_backend.where)
    with sqlite_backend.open() as ledger:
        assert ledger.verify().ok
        assert ledger.verify(heads=[head]).problems == [
            "A release carries entry 3 of dataset 'adult', but the ledger ends at entry 1: its end"
            " was cut off."
        ]
        for _ in range(2):
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
        assert ledger.verify().ok
        (problem,) = ledger.verify(heads=[head]).problems
    assert problem.startswith("A release carries another entry 3 of dataset 'adult'")


def test_cutting_off_the_end_is_found(ledger: Ledger, backend: Backend, heads: list[Head]) -> None:
    backend.execute("DELETE FROM discreet_entries WHERE sequence > 3")
    problems = ledger.verify("adult", heads).problems
    assert sum("its end was cut off" in problem for problem in problems) == len(heads)


def test_a_head_of_a_dataset_that_is_gone_is_found(ledger: Ledger, heads: list[Head]) -> None:
    gone = Head("gone", 4, "ab")
    assert ledger.verify("adult", heads).ok
    problems = ledger.verify("adult", [*heads, gone]).problems
    assert problems[0] == "The account of dataset 'gone' is missing."
    assert "its end was cut off" in problems[1]


def test_a_dataset_that_is_not_there_does_not_verify(ledger: Ledger) -> None:
    assert ledger.verify("other").problems == ["The account of dataset 'other' is missing."]


# -- the wrong key


def test_with_another_key_verify_says_so_and_nothing_is_written(
    ledger: Ledger, backend: Backend, tmp_path: Path
) -> None:
    held = ledger.reserve("adult", Amount(1), plan_key="k", note={})
    other = tmp_path / "other.key"
    other.touch(0o600)
    other.write_text("0" * 64)
    with backend.open(key=other) as wrong:
        found = wrong.verify()
        assert (found.ok, found.entries) == (False, 0)
        assert found.problems[0].startswith("The key is not the one this ledger was written with")
        assert wrong.balance("adult").spent == Amount(1)
        for write in (
            lambda: wrong.register(make_terms(dataset="new")),
            lambda: wrong.allot("adult", "ann", Amount(1)),
            lambda: wrong.reserve("adult", Amount(1), plan_key="k", note={}),
            lambda: wrong.settle(held, version="", body="{}"),
            lambda: wrong.find_release("adult", version="", plan_key="k"),
        ):
            with pytest.raises(LedgerConflict, match="key must be the one the ledger"):
                write()
    assert len(ledger.history("adult")) == 2
    assert ledger.verify().ok
