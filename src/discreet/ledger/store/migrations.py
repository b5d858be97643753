"""Numbered steps from an empty database to the tables this version uses.

A step and the record that it ran are committed together, so a step that fails stays pending. Steps
are never edited after a release; a change is a new step, and its statements are written out here
because ``tables`` describes the present only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from sqlalchemy import Connection, func, insert, inspect, select, text

from discreet.errors import LedgerUnavailable
from discreet.ledger.books import has_own_key
from discreet.ledger.chain import Chain
from discreet.ledger.checks import wrong_key
from discreet.ledger.store.connection import Connections, lock_creation
from discreet.ledger.store.tables import migrations, new_id

Step = Callable[[Connection, Chain], None]

_BOOKS = (
    "CREATE TABLE discreet_migrations (number INTEGER PRIMARY KEY, applied TEXT NOT NULL)",
    "CREATE TABLE discreet_keys (mark TEXT PRIMARY KEY)",
    """CREATE TABLE discreet_datasets (
        dataset TEXT PRIMARY KEY,
        relation TEXT NOT NULL,
        accountant TEXT NOT NULL,
        epsilon DOUBLE PRECISION NOT NULL,
        delta DOUBLE PRECISION NOT NULL,
        schema_digest TEXT NOT NULL,
        budget_loss BIGINT NOT NULL,
        budget_delta BIGINT NOT NULL,
        spent_loss BIGINT NOT NULL CHECK (spent_loss BETWEEN 0 AND budget_loss),
        spent_delta BIGINT NOT NULL CHECK (spent_delta BETWEEN 0 AND budget_delta),
        created TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    )""",
    """CREATE TABLE discreet_entries (
        dataset TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        kind TEXT NOT NULL,
        reference TEXT NOT NULL,
        analyst TEXT,
        loss BIGINT NOT NULL,
        delta BIGINT NOT NULL,
        plan_key TEXT NOT NULL,
        version TEXT NOT NULL,
        body_digest TEXT NOT NULL,
        note TEXT NOT NULL,
        time TEXT NOT NULL,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (dataset, sequence),
        UNIQUE (kind, reference)
    )""",
    """CREATE TABLE discreet_releases (
        reservation TEXT PRIMARY KEY,
        dataset TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        version TEXT NOT NULL,
        plan_key TEXT NOT NULL,
        body TEXT NOT NULL
    )""",
    "CREATE INDEX discreet_releases_by_plan"
    " ON discreet_releases (dataset, version, plan_key, sequence)",
)

_ANALYSTS = """CREATE TABLE discreet_analysts (
    dataset TEXT NOT NULL,
    analyst TEXT NOT NULL,
    budget_loss BIGINT,
    budget_delta BIGINT,
    spent_loss BIGINT NOT NULL CHECK (spent_loss BETWEEN 0 AND budget_loss),
    spent_delta BIGINT NOT NULL CHECK (spent_delta BETWEEN 0 AND budget_delta),
    seal TEXT NOT NULL,
    PRIMARY KEY (dataset, analyst)
)"""

_SPENT_BY_ANALYST = """
    SELECT dataset, analyst, SUM(loss) AS loss, SUM(delta) AS delta FROM discreet_entries
    WHERE kind = 'reserve' AND analyst IS NOT NULL GROUP BY dataset, analyst
"""

_ADD_ANALYST = """
    INSERT INTO discreet_analysts
        (dataset, analyst, budget_loss, budget_delta, spent_loss, spent_delta, seal)
    VALUES
        (:dataset, :analyst, :budget_loss, :budget_delta, :spent_loss, :spent_delta, :seal)
"""


def _create_books(connection: Connection, chain: Chain) -> None:
    for statement in _BOOKS:
        connection.execute(text(statement))
    connection.execute(text("INSERT INTO discreet_keys VALUES (:mark)"), {"mark": chain.mark()})


def _create_analysts(connection: Connection, chain: Chain) -> None:
    connection.execute(text(_ANALYSTS))
    for spent in connection.execute(text(_SPENT_BY_ANALYST)).all():
        row = {
            "dataset": spent.dataset,
            "analyst": spent.analyst,
            "budget_loss": None,
            "budget_delta": None,
            "spent_loss": int(spent.loss),
            "spent_delta": int(spent.delta),
        }
        connection.execute(text(_ADD_ANALYST), {**row, "seal": chain.seal("analyst", row)})


def _create_identity(connection: Connection, chain: Chain) -> None:
    connection.execute(text("CREATE TABLE discreet_identity (id TEXT PRIMARY KEY)"))
    connection.execute(text("INSERT INTO discreet_identity VALUES (:id)"), {"id": new_id()})


def _create_schemas(connection: Connection, chain: Chain) -> None:
    # From here on terms may change; whoever cannot read such entries must not open the ledger.
    connection.execute(
        text("CREATE TABLE discreet_schemas (digest TEXT PRIMARY KEY, facts TEXT NOT NULL)")
    )


def _add_most_rows(connection: Connection, chain: Chain) -> None:
    connection.execute(text("ALTER TABLE discreet_datasets ADD COLUMN most_rows BIGINT"))


def _add_populations(connection: Connection, chain: Chain) -> None:
    connection.execute(text("ALTER TABLE discreet_datasets ADD COLUMN population TEXT"))


def _note_states(connection: Connection, chain: Chain) -> None:
    """From here on first entries tell what is public of the rows; who cannot read that must not."""


STEPS: tuple[Step, ...] = (
    _create_books,
    _create_analysts,
    _create_identity,
    _create_schemas,
    _add_most_rows,
    _add_populations,
    _note_states,
)
NEWEST = len(STEPS)


def read_version(connection: Connection) -> int:
    """Return the number of the last step that ran; 0 if this is not a ledger yet."""
    if not inspect(connection).has_table(migrations.name):
        return 0
    return connection.execute(select(func.max(migrations.c.number))).scalar() or 0


def check_version(version: int, ledger: str) -> None:
    """Raise if the ledger was written by a newer version than this one."""
    if version > NEWEST:
        raise LedgerUnavailable(
            f"The ledger {ledger} must have format {NEWEST} or older, got format {version}."
            " Install a newer discreet."
        )


def create_books(
    connections: Connections, make_key: Callable[[], AbstractContextManager[bytes]]
) -> None:
    """Run the first step with a new key, unless somebody else just did.

    Guarantees:
        - Whoever sees tables finds their key; whoever finds the key while they are made waits for them.
    """
    with connections.writing() as connection:
        lock_creation(connection)
        if read_version(connection) == 0:
            with make_key() as key:
                _apply(connection, Chain(key), 1)


def migrate(
    connections: Connections, chain: Chain, *, newest: int = NEWEST, any_key: bool = False
) -> None:
    """Run the steps that are missing; others may do the same at the same time.

    With ``any_key`` the key need not be the ledger's own: for a copy that is only read.

    Guarantees:
        - Each step runs once, whoever comes first, and is recorded in its own transaction.
    """
    while _run_next(connections, chain, newest, any_key):
        pass


def _run_next(connections: Connections, chain: Chain, newest: int, any_key: bool) -> bool:
    with connections.writing() as connection:
        lock_creation(connection)
        number = read_version(connection) + 1
        if number > newest:
            return False
        if number > 1 and not (any_key or has_own_key(connection, chain)):
            raise wrong_key(connections.place.name)
        _apply(connection, chain, number)
    return True


def _apply(connection: Connection, chain: Chain, number: int) -> None:
    STEPS[number - 1](connection, chain)
    applied = datetime.now(UTC).isoformat(timespec="seconds")
    connection.execute(insert(migrations).values(number=number, applied=applied))
