"""Opening: find the database, its key, and bring its tables up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import inspect

from discreet.errors import LedgerUnavailable
from discreet.ledger.books import has_own_key
from discreet.ledger.chain import Chain
from discreet.ledger.connection import Connections
from discreet.ledger.key import find_key
from discreet.ledger.migrations import NEWEST, check_version, migrate, read_version
from discreet.ledger.place import Place, find_place


@dataclass(frozen=True, slots=True)
class Books:
    """An open ledger: its connections, its chain, and whether the key is the ledger's own."""

    connections: Connections
    chain: Chain
    own_key: bool


def open_books(where: str | Path, *, key: str | Path | None, create: bool) -> Books:
    """Open or make a ledger.

    Guarantees:
        - Of several processes that make the same ledger at once, all get the same one.
        - Nothing is changed in a database that belongs to another program.
    """
    place = find_place(where)
    _check_file(place, create)
    connections = Connections(place)
    try:
        return _open_with(connections, key, create)
    except BaseException:
        connections.close()
        raise


def _open_with(connections: Connections, key: str | Path | None, create: bool) -> Books:
    version = _look(connections, create)
    # The key comes before the tables: whoever sees tables finds their key.
    chain = Chain(find_key(connections.place, key, fresh=version == 0))
    if version < NEWEST:
        connections.use_write_ahead_log()
        migrate(connections, chain)
    with connections.reading() as connection:
        return Books(connections, chain, has_own_key(connection, chain))


def _look(connections: Connections, create: bool) -> int:
    place = connections.place
    with connections.reading() as connection:
        version = read_version(connection)
        foreign = version == 0 and not place.is_server and inspect(connection).get_table_names()
    check_version(version, place.name)
    if foreign:
        raise LedgerUnavailable(
            f"The ledger {place.name} is the database of another program. Choose another file."
        )
    if version == 0 and not create:
        raise _no_ledger(place)
    return version


def _check_file(place: Place, create: bool) -> None:
    if place.path is None:
        return
    if not place.path.parent.is_dir():
        raise LedgerUnavailable(
            f"The ledger {place.path} must be in a folder that exists, got {place.path.parent}."
            " Make the folder first."
        )
    if not create and not place.path.exists():
        raise _no_ledger(place)


def _no_ledger(place: Place) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"There is no ledger at {place.name}. Check the path, or make one with protect."
    )
