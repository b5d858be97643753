"""Opening: find the database, its key, and bring its tables up to date."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import inspect

from discreet.errors import LedgerConflict, LedgerError, LedgerUnavailable
from discreet.ledger.books import has_own_key
from discreet.ledger.chain import Chain
from discreet.ledger.checks import wrong_key
from discreet.ledger.store.connection import Connections
from discreet.ledger.store.key import KeyMissing, find_key, key_file, new_key, orphaned
from discreet.ledger.store.migrations import NEWEST, check_version, create_books, migrate, read_version
from discreet.ledger.store.place import Place, create_private, find_place, make_private, may_write
from discreet.ledger.store.sqlite import has_journal, journal_of
from discreet.ledger.store.witness import Witness, read_identity


@dataclass(frozen=True, slots=True)
class Books:
    """An open ledger.

    Attributes:
        connections: The way to its database.
        chain: What signs and checks, if nothing is refused.
        witness: What notices that the ledger is no longer the one that was opened.
        refusal: Why it can be read and no more: the key is lost, or is another ledger's.
    """

    connections: Connections
    chain: Chain
    witness: Witness
    refusal: LedgerError | None


def open_books(where: str | Path, *, key: str | Path | None, create: bool, anew: bool) -> Books:
    """Open or make a ledger.

    Guarantees:
        - Of several processes that make the same ledger at once, all get the same one.
        - Nothing is changed in a database that belongs to another program.
        - No empty ledger is begun beside a key or a journal, unless ``anew`` says so.
    """
    place = find_place(where)
    if place.path is not None:
        _check_file(place, place.path, create)
        if create and not anew:
            _check_remains(place, place.path, key_file(place, key))
        _make_file(place, place.path, create)
    connections = Connections(place)
    try:
        return _open_with(connections, key, create, anew)
    except BaseException:
        connections.close()
        raise


def open_to_read(where: str | Path) -> Books:
    """Open a ledger without its key: what needs no key can be read, nothing else can be done."""
    place = find_place(where)
    if place.path is not None and not place.is_read_only:
        place = find_place(f"file:{quote(str(place.path))}?mode=ro")
    if place.path is not None:
        _check_file(place, place.path, create=False)
    connections = Connections(place)
    try:
        version = _look(connections, create=False)
        chain, refusal = Chain(secrets.token_bytes(32)), _opened_to_read(place)
        if version < NEWEST:
            connections = _bring_up_to_date(connections, chain, refusal)
        with connections.reading() as connection:
            witness = Witness(place.name, read_identity(connection))
        return Books(connections, chain, witness, refusal)
    except BaseException:
        connections.close()
        raise


def _opened_to_read(place: Place) -> KeyMissing:
    return KeyMissing(
        f"The ledger {place.name} was opened to be read, without its key: balances and history are"
        " shown, stored releases are not, and nothing is written or verified. Open it with its key."
    )


def _open_with(connections: Connections, key: str | Path | None, create: bool, anew: bool) -> Books:
    place = connections.place
    version = _look(connections, create)
    if place.is_memory and key is None:
        chain, refusal = Chain(secrets.token_bytes(32)), None
    else:
        if version == 0:
            connections.use_write_ahead_log()
            create_books(connections, lambda: new_key(place, key, anew=anew or place.is_memory))
        chain, refusal = _find_chain(place, key)
        connections.queue_at(key_file(place, key))
    if version < NEWEST:
        connections = _bring_up_to_date(connections, chain, refusal)
    with connections.reading() as connection:
        if refusal is None and not has_own_key(connection, chain):
            refusal = wrong_key(place.name)
        witness = Witness(place.name, read_identity(connection))
    return Books(connections, chain, witness, refusal)


def _find_chain(place: Place, key: str | Path | None) -> tuple[Chain, LedgerError | None]:
    try:
        return Chain(find_key(place, key)), None
    except KeyMissing as missing:
        return Chain(secrets.token_bytes(32)), missing


def _bring_up_to_date(
    connections: Connections, chain: Chain, refusal: LedgerError | None
) -> Connections:
    """Upgrade the tables, or a copy of them where only reading is possible."""
    path = connections.place.path
    if path is not None and (refusal is not None or not _is_writable(connections.place, path)):
        copy = connections.copy_to_memory()
        migrate(copy, chain, any_key=True)
        copy.freeze()
        connections.close()
        return copy
    if refusal is not None:
        raise refusal
    connections.use_write_ahead_log()
    migrate(connections, chain)
    return connections


def _look(connections: Connections, create: bool) -> int:
    place = connections.place
    with connections.reading() as connection:
        version = read_version(connection)
        others = version == 0 and not place.is_server and inspect(connection).get_table_names()
    check_version(version, place.name)
    if others:
        raise LedgerUnavailable(
            f"The ledger {place.name} is the database of another program. Choose another file."
        )
    if version == 0 and (not create or place.is_read_only):
        raise _no_ledger(place)
    return version


def _check_file(place: Place, path: Path, create: bool) -> None:
    if not path.parent.is_dir():
        raise LedgerUnavailable(
            f"The ledger {path} must be in a folder that exists, got {path.parent}."
            " Make the folder first."
        )
    if (place.is_read_only or not create) and not path.exists():
        raise _no_ledger(place)


def _check_remains(place: Place, path: Path, key: Path) -> None:
    """Raise if a key or a journal is there without the ledger."""
    # What remains is looked at first: another process that makes this ledger makes the file, then them.
    has_key, has_charges = key.is_file(), has_journal(path)
    if has_key and not path.exists():
        raise orphaned(place, key)
    if has_charges and not (path.exists() and path.stat().st_size > 0):
        raise _only_journal(path)


def _make_file(place: Place, path: Path, create: bool) -> None:
    if create and not place.is_read_only:
        create_private(path)
    if _is_writable(place, path):
        make_private(path)


def _is_writable(place: Place, path: Path) -> bool:
    return not place.is_read_only and may_write(path)


def _no_ledger(place: Place) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"There is no ledger at {place.name}. Check the path, or make one with protect."
    )


def _only_journal(path: Path) -> LedgerConflict:
    return LedgerConflict(
        f"The ledger {path} is gone, but its journal {journal_of(path)} exists and holds charges."
        " Put the ledger back beside it. If the budget shall begin anew, say so:"
        " Ledger.open(..., anew=True), on the command line protect --anew."
    )
