"""Verifying: compare the chain with itself, with the totals, the releases and the heads.

All reads see one moment of the ledger. What cannot be found: a chain rewritten by someone who holds
the key, a ledger put back to an earlier state and a data set removed with all its rows, unless a
release of it is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Table, select, union

from discreet.ledger.books import Row, has_own_key
from discreet.ledger.chain import Chain, is_release_of
from discreet.ledger.copies import Copy, check_copies
from discreet.ledger.records import Head, Verification
from discreet.ledger.replay import Replay
from discreet.ledger.store.tables import analysts, datasets, entries, releases

_WRONG_KEY = (
    "The key is not the one this ledger was written with, or the ledger's mark of it was edited."
    " Nothing else was checked; open the ledger with the key file that was made with it."
)


def verify_books(
    connection: Connection, chain: Chain, dataset: str | None, heads: list[Head], copies: list[Copy]
) -> Verification:
    """Check one data set, or all, and those that heads and copies name."""
    if not has_own_key(connection, chain):
        return Verification(0, [_WRONG_KEY])
    names = _all_names(connection) if dataset is None else {dataset}
    checked, problems = 0, []
    heads = heads + [copy.head for copy in copies if copy.head is not None]
    for name in sorted(
        names | {head.dataset for head in heads} | {copy.dataset for copy in copies}, key=str
    ):
        own_heads = [head for head in heads if head.dataset == name]
        replay = _verify_dataset(connection, chain, name, own_heads)
        replay.problems += check_copies(connection, replay, [c for c in copies if c.dataset == name])
        checked += replay.entries
        problems += replay.problems
    return Verification(checked, problems)


def _verify_dataset(connection: Connection, chain: Chain, dataset: str, heads: list[Head]) -> Replay:
    replay = Replay(dataset, chain, frozenset(head.sequence for head in heads))
    for entry in _rows(connection, entries, dataset):
        replay.follow(entry)
    # What the chain adds up to is only known if all of it is genuine.
    whole = replay.is_whole
    replay.problems += [
        *_check_account(connection, replay, whole),
        *_check_shares(connection, replay, whole),
        *_check_releases(connection, replay),
        *_check_heads(replay, heads),
    ]
    return replay


def _check_account(connection: Connection, replay: Replay, whole: bool) -> Iterator[str]:
    rows = list(_rows(connection, datasets, replay.dataset))
    if not rows:
        yield f"The account of dataset {replay.dataset!r} is missing."
    end = {"sequence": replay.sequence, "digest": replay.digest}
    expected = {**replay.totals, **end} if whole else {}
    for row in rows:
        yield from _compare("dataset", f"dataset {replay.dataset!r}", row, expected, replay.chain)


def _check_shares(connection: Connection, replay: Replay, whole: bool) -> Iterator[str]:
    expected = dict(replay.shares)
    for row in _rows(connection, analysts, replay.dataset):
        name = f"analyst {row['analyst']!r} of dataset {replay.dataset!r}"
        share = expected.pop(row["analyst"], None)
        if whole and share is None:
            yield f"No entry explains the row of {name}."
        yield from _compare("analyst", name, row, share if whole and share else {}, replay.chain)
    for analyst in expected if whole else ():
        yield f"The row of analyst {analyst!r} of dataset {replay.dataset!r} is missing."


def _compare(table: str, name: str, row: Row, expected: Row, chain: Chain) -> Iterator[str]:
    wrong = [column for column, value in expected.items() if row[column] != value]
    for column in wrong:
        yield f"{column} of {name} is {row[column]!r}, but its entries say {expected[column]!r}."
    if not wrong and not chain.is_sealed(table, row):
        yield f"The totals of {name} were edited."


def _check_releases(connection: Connection, replay: Replay) -> Iterator[str]:
    expected = dict(replay.settled)
    for row in _rows(connection, releases, replay.dataset):
        name = f"The release of reservation {row['reservation']} of dataset {replay.dataset!r}"
        entry = expected.pop(row["reservation"], None)
        if entry is None:
            yield f"{name} has no settlement."
        elif not is_release_of(row, entry):
            yield f"{name} was edited."
    for reference in expected:
        yield f"The release of reservation {reference} of dataset {replay.dataset!r} is missing."


def _check_heads(replay: Replay, heads: list[Head]) -> Iterator[str]:
    for head in heads:
        if head.sequence not in replay.seen:
            yield (
                f"A release carries entry {head.sequence} of dataset {replay.dataset!r}, but the"
                f" ledger ends at entry {replay.sequence}: its end was cut off."
            )
        elif replay.seen[head.sequence] != head.digest:
            yield (
                f"A release carries another entry {head.sequence} of dataset {replay.dataset!r}"
                " than the ledger has: the ledger was rewritten, or the release is another's."
            )


def _all_names(connection: Connection) -> set[str]:
    columns = [select(table.c.dataset) for table in (datasets, entries, releases, analysts)]
    return set(connection.execute(union(*columns)).scalars())


def _rows(connection: Connection, table: Table, dataset: str) -> Iterator[Row]:
    # Streamed: the texts of all releases may be larger than memory.
    order = table.c.sequence if table is entries else table.c.dataset
    query = select(table).where(table.c.dataset == dataset).order_by(order)
    result = connection.execute(query, execution_options={"yield_per": 100})
    for row in result:
        yield row._asdict()
