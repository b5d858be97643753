"""Verifying: compare the chain with itself, with the totals, the releases and the heads.

All reads see one moment of the ledger. What cannot be found: a chain rewritten by someone who holds
the key, a ledger put back to an earlier state and a data set removed with all its rows, unless a
release of it is at hand.

A release as somebody holds it is compared with the one that was stored with its settlement. A
copy's head is its place in the chain; whoever edits a copy leaves the head as it is. Only the text
that was settled, whose digest is in the chain, tells whether the rest of the copy is genuine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select, union

from discreet.ledger.books import Row, has_own_key
from discreet.ledger.chain import Chain, is_release_of
from discreet.ledger.records import Head, Verification
from discreet.ledger.store.tables import analysts, datasets, entries, releases
from discreet.ledger.terms import edited_schemas
from discreet.ledger.verify.replay import Replay, check_populations

Rewrite = Callable[[str], str]
"""Makes of a stored text the one that this version would write."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A release that ``verify`` shall compare with the ledger.

    Attributes:
        dataset: The data set it says it is of.
        reservation: The reservation it says it was paid with.
        head: The place in the chain it carries, if any.
        content: The rest of it, as one text that is equal for equal releases.
        rewrite: For texts stored by an earlier version, which may lack fields that a copy read and
            saved since has.
    """

    dataset: str
    reservation: str
    head: Head | None
    content: str
    rewrite: Rewrite = str

    @classmethod
    def of(cls, plain: Mapping[str, Any], rewrite: Rewrite = str) -> Copy:
        """Return the copy that a release's JSON object is."""
        head = None if plain["head"] is None else Head.from_json(plain["head"])
        return cls(str(plain["dataset"]), str(plain["id"]), head, _content(plain), rewrite)


def check_copies(connection: Connection, replay: Replay, copies: list[Copy]) -> Iterator[str]:
    """Yield what is wrong with copies of releases of the replayed data set."""
    for copy in copies:
        fault = _find_fault(connection, replay, copy)
        if fault is not None:
            yield f"The release {copy.reservation!r} of dataset {copy.dataset!r} {fault}."


def _find_fault(connection: Connection, replay: Replay, copy: Copy) -> str | None:
    settlement = replay.settled.get(copy.reservation)
    if settlement is None or not replay.chain.is_genuine(settlement):
        return "was never settled in this ledger: its id was edited, or it is another's"
    if copy.head is None:
        return (
            "carries no place in the ledger: it was removed, or this copy was saved before it had one"
        )
    if copy.head != Head(copy.dataset, settlement["sequence"], settlement["digest"]):
        return "carries the place of another entry: its head or its id was edited"
    stored = _stored_text(connection, settlement)
    if stored is None:
        return "cannot be compared, because the ledger's own text of it is missing or was edited"
    if not _is_same(stored, copy):
        return "was edited: it is not the one that was settled"
    return None


def _stored_text(connection: Connection, settlement: Row) -> str | None:
    own = releases.c.reservation == settlement["reference"]
    row = connection.execute(select(releases).where(own)).first()
    if row is None or not is_release_of(row._asdict(), settlement):
        return None
    return str(row.body)


def _is_same(stored: str, copy: Copy) -> bool:
    # The later reading is asked only if it is needed: most copies are what was stored.
    return any(_content(json.loads(text)) == copy.content for text in _readings(stored, copy))


def _readings(stored: str, copy: Copy) -> Iterator[str]:
    yield stored
    yield copy.rewrite(stored)


def _content(plain: Mapping[str, Any]) -> str:
    # Through JSON once: keys are texts and sequences lists, as in a text that was read.
    read = json.loads(json.dumps(dict(plain)))
    return json.dumps({k: v for k, v in read.items() if k != "head"}, sort_keys=True)


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
    heads = heads + [copy.head for copy in copies if copy.head is not None]
    named = {head.dataset for head in heads} | {copy.dataset for copy in copies}
    named |= set() if dataset is None else {dataset}
    everyone = _all_names(connection) if dataset is None else _who_share(connection, named)
    checked, problems = 0, []
    sharing: dict[str, Replay] = {}
    for name in sorted(named | everyone, key=str):
        own_heads = [head for head in heads if head.dataset == name]
        replay = _verify_dataset(connection, chain, name, own_heads)
        replay.problems += check_copies(connection, replay, [c for c in copies if c.dataset == name])
        checked += replay.entries
        problems += replay.problems
        if replay.population is not None:
            sharing[name] = replay
    problems += check_populations(sharing)
    problems += [f"The facts of schema {digest} were edited." for digest in edited_schemas(connection)]
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


def _who_share(connection: Connection, names: set[str]) -> set[str]:
    """Return those who share a budget with one of these: a population and all its data sets."""
    own = datasets.c.dataset.in_(names) & datasets.c.population.is_not(None)
    paying = set(connection.execute(select(datasets.c.population).where(own)).scalars())
    theirs = select(datasets.c.dataset).where(datasets.c.population.in_(paying))
    return paying | set(connection.execute(theirs).scalars())


def _rows(connection: Connection, table: Table, dataset: str) -> Iterator[Row]:
    # Streamed: the texts of all releases may be larger than memory.
    order = table.c.sequence if table is entries else table.c.dataset
    query = select(table).where(table.c.dataset == dataset).order_by(order)
    result = connection.execute(query, execution_options={"yield_per": 100})
    for row in result:
        yield row._asdict()
