"""Connections to the ledger's database: durable, exclusive for writers, safe across forks.

SQLite: write-ahead log, ``synchronous=FULL``, and ``BEGIN IMMEDIATE`` for every transaction that
writes, so that a writer reads totals nobody else can change before it commits. Writers come in turn.
PostgreSQL: writers lock the data set's row (``SELECT ... FOR UPDATE``) and then see what others
committed (``READ COMMITTED``, whatever the server prefers); readers see one snapshot.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError

from discreet.errors import LedgerUnavailable
from discreet.ledger.store.failures import is_busy, plain_failures
from discreet.ledger.store.place import Place
from discreet.ledger.store.sqlite import BEGIN, PAGE, Queue, sqlite_engine
from discreet.ledger.store.witness import SameFile

PATIENCE = 30.0
"""Seconds to wait for another process before giving up."""

_CREATION_LOCK = 0x64697363
"""PostgreSQL advisory lock of those who create: tables, or a data set."""

_SIGNS_OF_LIFE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": int(PATIENCE * 1000),
}
"""So that a server that vanished without a word is noticed; an address may say otherwise."""

_STAY_WHILE_IDLE = (
    "SELECT set_config('idle_session_timeout', '0', false)"
    " WHERE current_setting('idle_session_timeout', true) IS NOT NULL"
)


class Connections:
    """A pool of connections to one ledger.

    Guarantees:
        - A transaction that fails, for whatever reason, leaves nothing behind.
        - A process forked from this one opens connections of its own.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._engine = _server_engine(place) if place.is_server else sqlite_engine(place, PATIENCE)
        self._same = None if place.path is None else SameFile(place.path)
        self._queue: Queue | None = None
        self._reader = self._engine.execution_options(**_reading_options(place))
        self._writer = self._engine.execution_options(**_writing_options(place))
        self._without_begin = self._engine.execution_options(**{BEGIN: ""})
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
        with self._in_turn(), self._transaction(self._writer) as connection:
            self._check_journal(connection)
            yield connection

    def queue_at(self, path: Path) -> None:
        """Let writers wait in turn, at a file that all of them can open."""
        if self.place.path is not None:
            self._queue = Queue(path)

    def apart(self) -> Connection:
        """Give a connection to a server that no pool counts; it keeps its locks until it is closed."""
        self._check_usable()
        with plain_failures(self.place.name):
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()
            connection.execute(text(_STAY_WHILE_IDLE))
            return connection

    def use_write_ahead_log(self) -> None:
        """Switch a new SQLite file to the log that lets readers read while a writer writes."""
        if self.place.path is None:
            return
        deadline = time.monotonic() + PATIENCE
        while not self._try_write_ahead_log(deadline):
            time.sleep(0.01)

    def copy_to_memory(self) -> Connections:
        """Return a copy of a SQLite file that can be changed without changing the file."""
        copy = Connections(Place(URL.create("sqlite", database=":memory:"), self.place.name))
        with self.reading() as source, closing(copy._engine.raw_connection()) as target:
            from_file: Any = source.connection.driver_connection
            from_file.backup(target.driver_connection)
        return copy

    def freeze(self) -> None:
        """Let nothing be written to a copy any more."""
        with self._without_begin.begin() as connection:
            connection.exec_driver_sql("PRAGMA query_only=ON")

    def put_away(self) -> None:
        """Close idle connections; the next transaction opens new ones."""
        self._engine.dispose()

    def close(self) -> None:
        """Close for good; closing twice is allowed."""
        self._end()

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        self._check_usable()
        self._check_file()
        with self._turn, plain_failures(self.place.name), engine.begin() as connection:
            self._check_file()
            self._let_go_if_frozen(connection)
            yield connection

    def _in_turn(self) -> AbstractContextManager[None]:
        return nullcontext() if self._queue is None else self._queue.turn(PATIENCE)

    def _check_file(self) -> None:
        if self._same is not None:
            self._same.check()

    def _check_journal(self, connection: Connection) -> None:
        # A log stays while somebody uses it; who goes on in one that was deleted writes for nobody.
        if self._same is not None:
            self._same.check_journal(connection.info.setdefault("journal", self._same.journal()))

    def _let_go_if_frozen(self, connection: Connection) -> None:
        # Look anew next time: by then somebody may write.
        if getattr(connection.connection.driver_connection, "frozen", False):
            connection.detach()

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
                    connection.exec_driver_sql(f"PRAGMA page_size={PAGE}")
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
    return {BEGIN: "BEGIN"}


def _writing_options(place: Place) -> dict[str, Any]:
    if place.is_server:
        return {"isolation_level": "READ COMMITTED"}
    return {BEGIN: "BEGIN IMMEDIATE"}


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


def _prepare_server(connection: Any, _record: object) -> None:
    connection.execute(f"SET lock_timeout = {int(PATIENCE * 1000)}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()
