"""Where a ledger lives: a file, a server, or memory.

Its files are read by their owner and nobody else: a ledger file holds releases, among them values
meant for one owner of a record; its key signs them. A
SQLite ledger is therefore for one user of the machine; several users share one on PostgreSQL.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError as UnreadableURL

from discreet.errors import ArgumentError, LedgerUnavailable

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


_ALLOWED = "where must be a file path, ':memory:' or a postgresql:// address"


@dataclass(frozen=True, slots=True)
class Place:
    """An address for SQLAlchemy, and a name for messages that never holds a password.

    Attributes:
        path: The ledger's file; ``None`` for a server and for memory.
    """

    url: URL
    name: str
    path: Path | None = None

    @property
    def options(self) -> dict[str, str]:
        """What an address adds for SQLite, such as mode=ro."""
        return {name: str(value) for name, value in self.url.query.items() if name != "uri"}

    @property
    def is_read_only(self) -> bool:
        """Say whether the address asks for a ledger that is read and never written."""
        return self.path is not None and self.options.get("mode") == "ro"

    @property
    def has_password(self) -> bool:
        """Say whether the address holds a secret of its user."""
        return bool(self.url.password) or any("password" in name for name in self.url.query)

    @property
    def is_server(self) -> bool:
        """Say whether the ledger is on a PostgreSQL server."""
        return self.url.get_backend_name() == "postgresql"

    @property
    def is_memory(self) -> bool:
        """Say whether the ledger ends with this process."""
        return not self.is_server and self.path is None


def find_place(where: str | Path) -> Place:
    """Return where a ledger lives.

    >>> find_place("postgresql://ann:secret@db.example:5432/privacy").name
    'postgresql://db.example:5432/privacy'
    """
    if not isinstance(where, str | Path) or str(where) == "":
        raise ArgumentError(f"{_ALLOWED}, got {where!r}. Give the ledger's file.")
    text = str(where)
    if text == ":memory:":
        return Place(URL.create("sqlite", database=text), text)
    if isinstance(where, str) and text.startswith("file:"):
        return _file_address(text)
    if isinstance(where, str) and "://" in text:
        return _from_url(text)
    path = Path(where).expanduser().resolve()
    return Place(URL.create("sqlite", database=str(path)), str(path), path)


def _file_address(text: str) -> Place:
    # SQLite's own form, the way to ask for a read-only ledger: file:/data/census.db?mode=ro
    address, _, options = text.removeprefix("file:").partition("?")
    query = dict(parse_qsl(options))
    if ":memory:" in address or query.get("mode") == "memory":
        raise ArgumentError(f"{_ALLOWED}, got {text!r}. Use ':memory:'.")
    path = Path(unquote(address)).resolve()
    url = URL.create("sqlite", database=f"file:{quote(str(path))}", query={**query, "uri": "true"})
    return Place(url, str(path), path)


def _from_url(text: str) -> Place:
    try:
        url = make_url(text.replace("postgres://", "postgresql://", 1))
    except (UnreadableURL, ValueError):
        # The text may hold a password, so it is not repeated.
        raise ArgumentError(f"{_ALLOWED}, got an unreadable address. Check it.") from None
    if url.get_backend_name() == "postgresql":
        return Place(url.set(drivername="postgresql+psycopg"), _server_name(url))
    if url.get_backend_name() == "sqlite" and not url.query:
        return find_place(url.database or ":memory:")
    raise ArgumentError(
        f"{_ALLOWED}, got a {url.get_backend_name()} address."
        " For options of SQLite use file:<path>?<options>."
    )


def _server_name(url: URL) -> str:
    host = url.host or url.query.get("host", "")
    port = "" if url.port is None else f":{url.port}"
    return f"postgresql://{host}{port}/{url.database or ''}"
