"""Who may read a ledger's files: their owner and nobody else.

A ledger file holds releases, among them values meant for one owner of a record; its key signs them. A
SQLite ledger is therefore for one user of the machine; several users share one on PostgreSQL.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from discreet.errors import LedgerUnavailable

OWNER_ONLY = 0o600


def create_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is a file already."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def make_private(path: Path) -> None:
    """Take the rights of others from a ledger file and its journal, or raise if we may not."""
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError):
            if others_may(file):
                _restrict(file)


def may_write(path: Path) -> bool:
    """Say whether a file and its folder can be written to."""
    own = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=own) for place in (path, path.parent))


def check_private(what: str, path: Path) -> None:
    """Raise if others than its owner may use a file."""
    if others_may(path):
        raise _too_open(what, path)


def others_may(path: Path) -> bool:
    """Say whether others than its owner may read or write a file."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _restrict(path: Path) -> None:
    try:
        path.chmod(OWNER_ONLY)
    except OSError as error:
        if error.errno != errno.EROFS:  # what is on a read-only disk can be read there
            raise _too_open("ledger", path) from error


def _too_open(what: str, path: Path) -> LedgerUnavailable:
    mode = stat.S_IMODE(path.stat().st_mode)
    return LedgerUnavailable(
        f"The {what} {path} must be readable by its owner alone, got mode {mode:04o}. As its owner run:"
        f" chmod 600 {shlex.quote(str(path))} (a SQLite ledger is for one user of a machine; PostgreSQL"
        " is for several)."
    )
