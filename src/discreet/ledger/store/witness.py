"""What an open ledger remembers of itself, to notice that it was deleted, replaced or put back.

A session that goes on with a file nobody else sees would spend a budget twice. In every transaction
three things are compared with what was there before: which file it is (``same_file``), the ledger's
random id (inodes are used again, and ``cp`` over a file keeps them), and the newest entry of the data
set (an older copy of the ledger has the id, but not the entry).

A file is the one that was opened by its device and inode.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import Connection, bindparam, select

from discreet.errors import LedgerTampered, LedgerUnavailable
from discreet.ledger.records import Head
from discreet.ledger.store.sqlite import journal_of
from discreet.ledger.store.tables import datasets, entries, identity

FileId = tuple[int, int]


class SameFile:
    """Remembers which file a ledger is, since a deleted one can be written to until it is closed.

    Guarantees:
        - A path that leads to no file, or to another one than at first, is an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first = _file_id(path)

    def check(self) -> None:
        """Raise unless the path leads to the file it led to at first."""
        now = _file_id(self._path)
        if now is None:
            raise LedgerUnavailable(
                f"The ledger {self._path} was deleted or moved while it was open. Put it back, with its"
                f" journal {journal_of(self._path).name} if there is one; nothing is spent without it."
            )
        if now != self._first:
            raise LedgerTampered(
                f"The ledger {self._path} was replaced by another file while it was open."
                " Put back the file that was there, or begin a new session with this one."
            )

    def journal(self) -> FileId | None:
        """Return which file the journal is, if there is one."""
        return _file_id(journal_of(self._path))

    def check_journal(self, first: FileId | None) -> None:
        """Raise unless the journal is still the one that a connection writes to."""
        if first is not None and self.journal() != first:
            raise LedgerTampered(
                f"The journal {journal_of(self._path)} was deleted or replaced while it was in use: its"
                " newest entries may be lost. Close every session, then verify with your releases."
            )


def _file_id(path: Path) -> FileId | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_member = datasets.alias("member")
_payer = select(_member.c.population).where(_member.c.dataset == bindparam("own")).scalar_subquery()
_READ_IDENTITY = select(identity.c.id)
_READ_NEWEST = (
    select(entries.c.dataset, entries.c.sequence, entries.c.digest)
    .join_from(
        datasets,
        entries,
        (entries.c.dataset == datasets.c.dataset) & (entries.c.sequence == datasets.c.sequence),
    )
    .where((datasets.c.dataset == bindparam("own")) | (datasets.c.dataset == _payer))
)
_READ_DIGEST = select(entries.c.digest).where(
    entries.c.dataset == bindparam("dataset"), entries.c.sequence == bindparam("sequence")
)


class Witness:
    """The id of a ledger and the newest entries that were seen in it.

    Guarantees:
        - A ledger with another id, or without an entry that was seen before, is an error.
    """

    def __init__(self, ledger: str, identity: list[str]) -> None:
        self._ledger = ledger
        self._identity = identity
        self._heads: dict[str, Head] = {}
        self._payers: dict[str, str] = {}
        self._turn = threading.Lock()

    def heads(self, dataset: str | None = None) -> list[Head]:
        """Return the newest entry seen so far of a data set and of its population, or of all."""
        if dataset is None:
            return list(self._heads.values())
        names = {dataset, self._payers.get(dataset, dataset)}
        return [head for name in names if (head := self._heads.get(name)) is not None]

    def check(self, connection: Connection, known: Iterable[Head]) -> None:
        """Raise unless this is the ledger that was opened, with the entries that were seen."""
        for problem in self.problems(connection, known):
            raise LedgerTampered(problem)

    def problems(self, connection: Connection, known: Iterable[Head]) -> Iterator[str]:
        """Tell what is not as it was."""
        if read_identity(connection) != self._identity:
            yield (
                f"The ledger {self._ledger} was replaced by another ledger while it was open."
                " Put back the one that was there, or begin a new session with this one."
            )
        for head in known:
            if not _has(connection, head):
                yield (
                    f"The ledger {self._ledger} no longer has entry {head.sequence} of dataset"
                    f" {head.dataset!r} as it was: an older copy was put in its place, or it was"
                    " rewritten. Put the newest copy back."
                )

    def look(self, connection: Connection, datasets: Iterable[str]) -> list[Head]:
        """Return the newest entries of data sets, and of the populations that pay for them."""
        heads = []
        for dataset in datasets:
            found = [Head(*row) for row in connection.execute(_READ_NEWEST, {"own": dataset})]
            self._payers.update((dataset, h.dataset) for h in found if h.dataset != dataset)
            heads += found
        return heads

    def remember(self, heads: Iterable[Head]) -> None:
        """Keep entries that are committed, unless later ones are known."""
        with self._turn:
            for head in heads:
                known = self._heads.get(head.dataset)
                if known is None or known.sequence < head.sequence:
                    self._heads[head.dataset] = head


def read_identity(connection: Connection) -> list[str]:
    """Return the ledger's random id: one, unless somebody wrote there."""
    return sorted(map(str, connection.execute(_READ_IDENTITY).scalars()))


def _has(connection: Connection, head: Head) -> bool:
    place = {"dataset": head.dataset, "sequence": head.sequence}
    return connection.execute(_READ_DIGEST, place).scalar() == head.digest
