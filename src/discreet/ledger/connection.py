"""Connections to the ledger's database: durable, exclusive for writers, safe across forks.

SQLite: write-ahead log, ``synchronous=FULL``, and ``BEGIN IMMEDIATE`` for every transaction that
writes, so that a writer reads totals nobody else can change before it commits. Python's driver
opens transactions of its own accord; that is switched off and SQLAlchemy's ``begin`` event does it.
PostgreSQL: writers lock the data set's row (``SELECT ... FOR UPDATE``) and then see what others
committed (``READ COMMITTED``, whatever the server prefers); readers see one snapshot.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import QueuePool, StaticPool

from discreet.errors import LedgerUnavailable
from discreet.ledger.failures import is_busy, plain_failures
from discreet.ledger.place import Place

PATIENCE = 30.0
"""Seconds to wait for another process before giving up."""

_CREATION_LOCK = 0x64697363
"""PostgreSQL advisory lock of those who create: tables, or a data set."""

_BEGIN = "discreet_begin"

_SIGNS_OF_LIFE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": int(PATIENCE * 1000),
}
"""So that a server that vanished without a word is noticed; an address may say otherwise."""


class Connections:
    """A pool of connections to one ledger.

    Guarantees:
        - A transaction that fails, for whatever reason, leaves nothing behind.
        - A process forked from this one opens connections of its own.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._engine = _make_engine(place)
        self._reader = self._engine.execution_options(**_reading_options(place))
        self._writer = self._engine.execution_options(**_writing_options(place))
        self._without_begin = self._engine.execution_options(**{_BEGIN: ""})
        self._pid = os.getpid()
        # One connection serves all threads of an in-memory ledger, one transaction at a time.
        self._turn: AbstractContextManager[Any] = threading.Lock() if place.is_memory else nullcontext()
        self._end = weakref.finalize(self, self._engine.dispose)
        if not place.is_memory:
            _live.add(self)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one moment of the ledger and changes nothing."""
        with self._transaction(self._reader) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are durable when the block ends, or never happened."""
        with self._transaction(self._writer) as connection:
            yield connection

    def use_write_ahead_log(self) -> None:
        """Switch a new SQLite file to the log that lets readers read while a writer writes."""
        if self.place.path is None:
            return
        deadline = time.monotonic() + PATIENCE
        while not self._try_write_ahead_log(deadline):
            time.sleep(0.01)

    def put_away(self) -> None:
        """Close idle connections; the next transaction opens new ones."""
        self._engine.dispose()

    def close(self) -> None:
        """Close for good; closing twice is allowed."""
        self._end()

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        self._check_usable()
        with self._turn, plain_failures(self.place.name), engine.begin() as connection:
            yield connection

    def _check_usable(self) -> None:
        if not self._end.alive:
            raise LedgerUnavailable(f"The ledger {self.place.name} is closed. Open it again.")
        if os.getpid() != self._pid:
            self._start_over_after_fork()

    def _start_over_after_fork(self) -> None:
        if self.place.is_memory:
            raise LedgerUnavailable(
                "The ledger :memory: belongs to the process that opened it. Use a ledger file to"
                " share a budget between processes."
            )
        self._engine.dispose(close=False)
        self._pid = os.getpid()

    def _try_write_ahead_log(self, deadline: float) -> bool:
        # SQLite does not wait for its busy timeout here when several processes switch at once.
        with plain_failures(self.place.name):
            try:
                with self._without_begin.begin() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            except OperationalError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise
                return False
        return True


_live: weakref.WeakSet[Connections] = weakref.WeakSet()


def put_away_all() -> None:
    """Close the idle connections of every ledger, so that a fork does not inherit them."""
    for connections in list(_live):
        connections.put_away()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows does not fork
    os.register_at_fork(before=put_away_all)


def lock_creation(connection: Connection) -> None:
    """Let only one process at a time create tables or data sets, until the transaction ends."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION_LOCK})


def _reading_options(place: Place) -> dict[str, Any]:
    if place.is_server:
        return {"isolation_level": "REPEATABLE READ"}
    return {_BEGIN: "BEGIN"}


def _writing_options(place: Place) -> dict[str, Any]:
    if place.is_server:
        return {"isolation_level": "READ COMMITTED"}
    return {_BEGIN: "BEGIN IMMEDIATE"}


def _make_engine(place: Place) -> Engine:
    if place.is_server:
        return _server_engine(place)
    arguments: dict[str, Any] = {"check_same_thread": False, "timeout": PATIENCE}
    pool: dict[str, Any] = {"poolclass": StaticPool}
    if not place.is_memory:
        pool = {"poolclass": QueuePool, "max_overflow": -1}
    engine = create_engine(place.url, connect_args=arguments, hide_parameters=True, **pool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _server_engine(place: Place) -> Engine:
    try:
        engine = create_engine(
            place.url,
            connect_args={k: v for k, v in _SIGNS_OF_LIFE.items() if k not in place.url.query},
            hide_parameters=True,
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise LedgerUnavailable(
            f"The ledger {place.name} needs the PostgreSQL driver."
            " Install it with pip install 'discreet[postgres]'."
        ) from error
    event.listen(engine, "connect", _prepare_server)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    # Text that is not UTF-8 was put there by others: verify must see it to report it.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA synchronous=FULL")


def _begin_sqlite(connection: Connection) -> None:
    statement = connection.get_execution_options()[_BEGIN]
    if statement:
        connection.exec_driver_sql(statement)


def _prepare_server(connection: Any, _record: object) -> None:
    connection.execute(f"SET lock_timeout = {int(PATIENCE * 1000)}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()
