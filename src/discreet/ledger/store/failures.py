"""Every way a database can fail, as one sentence: which ledger, what happened, what to do.

The driver's own text is left out of the message: it may hold an address with a password, or the
values of a statement. It stays reachable as the cause of the exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import LedgerUnavailable


class Failure(NamedTuple):
    """What happened, and what to do if nothing was paid for yet."""

    what: str
    advice: str


_BUSY = Failure("is held by another process for too long", "Try again, or end that process.")
_READ_ONLY = Failure("is read-only", "Make it writable, or open it elsewhere.")
_FULL = Failure("has no space left to write to", "Free space and try again.")
_DAMAGED = Failure("is damaged or is not a ledger", "Check the path, or restore a backup.")
_UNREACHABLE = Failure(
    "cannot be reached", "Check the address, the user, the password and that the server runs."
)
_FORBIDDEN = Failure(
    "refuses access", "Check the user, the password and the rights on all tables discreet_..."
)
_OVERTAKEN = Failure("was overtaken by another transaction", "Try again.")
_TIMED_OUT = Failure(
    "stopped a statement that took longer than the server allows",
    "Try again, or raise the server's statement_timeout for this user.",
)
# No backup is advised for what is not understood: a backup forgets charges.
_UNKNOWN = Failure("failed ({0})", "Try again; if it stays, show this to who looks after the database.")

_SQLITE = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": Failure("cannot be read or written", "Check the disk and its free space."),
    "SQLITE_CANTOPEN": Failure(
        "cannot be opened", "Check that it is a file in a folder that exists and that you may use."
    ),
    "SQLITE_PERM": _FORBIDDEN,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
}
"""By the first two words of SQLite's error name."""

_POSTGRESQL = {
    "55P03": _BUSY,
    "40001": _OVERTAKEN,
    "40P01": _OVERTAKEN,
    "57014": _TIMED_OUT,
    "25P03": _TIMED_OUT,
    "25P04": _TIMED_OUT,
    "25006": _READ_ONLY,
    "53100": _FULL,
    "53300": Failure("has no connection left", "Try again, or raise the server's limit."),
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
        raise _unavailable(ledger, explain(error)) from error
    except UnicodeDecodeError as error:  # SQLite quotes the damaged page in its own message
        raise _unavailable(ledger, _DAMAGED) from error


def explain(error: SQLAlchemyError) -> Failure:
    """Return what happened and what to do."""
    original = error.orig if isinstance(error, DBAPIError) else None
    sqlite_name = getattr(original, "sqlite_errorname", None)
    if sqlite_name is not None:
        family = "_".join(sqlite_name.split("_")[:2])
        return _SQLITE.get(family) or _unknown(sqlite_name)
    if original is not None and hasattr(original, "sqlstate"):
        return _explain_server(original.sqlstate)
    return _unknown(type(error).__name__)


def _unavailable(ledger: str, failure: Failure) -> LedgerUnavailable:
    what = f"The ledger {ledger} {failure.what}."
    return LedgerUnavailable(f"{what} {failure.advice}", what=what)


def _unknown(name: str) -> Failure:
    return Failure(_UNKNOWN.what.format(name), _UNKNOWN.advice)


def is_busy(error: SQLAlchemyError) -> bool:
    """Say whether waiting may help."""
    return explain(error) == _BUSY


def _explain_server(state: str | None) -> Failure:
    if state is None:  # the driver never spoke to a server
        return _UNREACHABLE
    for length in (5, 3, 2):
        if state[:length] in _POSTGRESQL:
            return _POSTGRESQL[state[:length]]
    return _unknown(f"SQLSTATE {state}")
