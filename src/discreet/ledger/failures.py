"""Every way a database can fail, as one sentence: which ledger, what happened, what to do.

The driver's own text is left out of the message: it may hold an address with a password, or the
values of a statement. It stays reachable as the cause of the exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import LedgerUnavailable

_BUSY = "is held by another process for too long. Try again, or end that process."
_READ_ONLY = "is read-only. Make it writable, or open it elsewhere."
_FULL = "has no space left to write to. Free space and try again; nothing was written."
_DAMAGED = "is damaged or is not a ledger. Check the path, or restore a backup."
_UNREACHABLE = "cannot be reached. Check the address, the user, the password and that the server runs."
_FORBIDDEN = "refuses access. Check the user, the password and the permissions."
_UNKNOWN = "failed ({0}). Try again; if it stays, restore a backup."

_SQLITE = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "cannot be read or written. Check the disk and its free space; nothing was"
    " written.",
    "SQLITE_CANTOPEN": "cannot be opened. Check that it is a file in a folder that exists and that"
    " you may use.",
    "SQLITE_PERM": _FORBIDDEN,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
}
"""By the first two words of SQLite's error name."""

_POSTGRESQL = {
    "55P03": _BUSY,
    "40P01": _BUSY,
    "25006": _READ_ONLY,
    "53100": _FULL,
    "53300": "has no connection left. Try again, or raise the server's limit.",
    "42501": _FORBIDDEN,
    "08": _UNREACHABLE,
    "57P": _UNREACHABLE,
}
"""By the beginning of the SQLSTATE, the longest first."""


@contextmanager
def plain_failures(ledger: str) -> Iterator[None]:
    """Turn any failure of the database inside into ``LedgerUnavailable``."""
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"The ledger {ledger} {explain(error)}") from error


def explain(error: SQLAlchemyError) -> str:
    """Return what happened and what to do."""
    original = error.orig if isinstance(error, DBAPIError) else None
    sqlite_name = getattr(original, "sqlite_errorname", None)
    if sqlite_name is not None:
        family = "_".join(sqlite_name.split("_")[:2])
        return _SQLITE.get(family, _UNKNOWN.format(sqlite_name))
    if original is not None and hasattr(original, "sqlstate"):
        return _explain_server(original.sqlstate)
    return _UNKNOWN.format(type(error).__name__)


def is_busy(error: SQLAlchemyError) -> bool:
    """Say whether waiting may help."""
    return explain(error) == _BUSY


def _explain_server(state: str | None) -> str:
    if state is None:  # the driver never spoke to a server
        return _UNREACHABLE
    for length in (5, 3, 2):
        if state[:length] in _POSTGRESQL:
            return _POSTGRESQL[state[:length]]
    return _UNKNOWN.format(f"SQLSTATE {state}")
