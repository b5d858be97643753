"""What the service itself remembers, beside the ledger: keys, jobs, uploaded models.

No row, no answer and no text of a question is in here but the plans of jobs that may be asked again,
and never a sealed one: answers are in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

from discreet.ledger.store.connection import Connections, lock_creation
from discreet.ledger.store.locks import Locks, find_locks
from discreet.ledger.store.place import create_private, find_place, make_private

Row = dict[str, Any]

metadata = MetaData()

keys = Table(
    "discreet_service_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("analyst", Text),
    Column("datasets", Text),
    Column("note", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text),
    Column("revoked", Text),
)

jobs = Table(
    "discreet_service_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("asker", Text, nullable=False),
    Column("analyst", Text),
    Column("retry", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("asked", Text),
    Column("plans", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("reservations", Text, nullable=False),
    Column("releases", Text, nullable=False),
    Column("error", Text),
    Column("worker", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("finished", Text),
    Index("discreet_service_retry", "asker", "dataset", "retry", unique=True),
    Index("discreet_service_number", "number"),
)

models = Table(
    "discreet_service_models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("file", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("entry", Text, nullable=False),
    Column("created", Text, nullable=False),
)


class Store:
    """The service's own tables, in a SQLite file or on a PostgreSQL server."""

    def __init__(self, where: str) -> None:
        place = find_place(where)
        if place.path is not None:
            place.path.parent.mkdir(parents=True, exist_ok=True)
            create_private(place.path)
            make_private(place.path)
        self._connections = Connections(place)
        self._connections.use_write_ahead_log()
        with self._connections.writing() as connection:
            lock_creation(connection)
            metadata.create_all(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one moment of the tables."""
        with self._connections.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are durable when the block ends, or never happened."""
        with self._connections.writing() as connection:
            yield connection

    def locks(self) -> Locks:
        """Return locks that the system takes back when their process ends."""
        return find_locks(self._connections)

    def close(self) -> None:
        """Close for good."""
        self._connections.close()


def now() -> str:
    """Return the time, UTC, as it is written everywhere."""
    return datetime.now(UTC).isoformat(timespec="seconds")
