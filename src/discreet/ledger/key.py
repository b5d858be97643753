"""The ledger's key: 32 random bytes in a file of their own.

Whoever holds the key can rewrite the chain, so it stays out of the database. A new key is written
to a scratch file first and linked into place: its name appears with its content or not at all, and
of two processes that create the same ledger at once one wins and both read the winner's key.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from discreet.errors import ArgumentError, LedgerUnavailable
from discreet.ledger.place import Place

KEY_VARIABLE = "DISCREET_LEDGER_KEY"
"""Names the key file of a ledger on a server, when the argument ``key`` does not."""

_HEX_KEY = re.compile(r"[0-9a-f]{64}")


def find_key(place: Place, key: str | Path | None, *, fresh: bool) -> bytes:
    """Return the key of a ledger, making one if the ledger is ``fresh``.

    Guarantees:
        - A key that is missing for a ledger in use is an error; no new one is made.
    """
    if key is None and place.is_memory:
        return secrets.token_bytes(32)
    path = _key_file(place, key)
    try:
        if fresh and not path.exists():
            _create_key(path)
        return _read_key(path)
    except FileNotFoundError:
        raise LedgerUnavailable(
            f"The key of the ledger {place.name} is not at {path}."
            " Put the key file back, or name it (in a folder that exists) with key."
        ) from None
    except OSError as error:
        raise LedgerUnavailable(
            f"The key file {path} cannot be used ({error.strerror})."
            " Check its folder, its permissions and the space on the disk."
        ) from error


def _key_file(place: Place, key: str | Path | None) -> Path:
    named = key if key is not None or not place.is_server else os.environ.get(KEY_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    if place.path is None:
        raise ArgumentError(
            f"key must be a key file for the ledger {place.name}, got none."
            f" Give key, or set {KEY_VARIABLE} to its path."
        )
    return place.path.with_name(place.path.name + ".key")


def _read_key(path: Path) -> bytes:
    text = path.read_bytes().decode("ascii", "replace").strip()
    if not _HEX_KEY.fullmatch(text):
        raise LedgerUnavailable(
            f"The key file {path} must hold 64 hexadecimal digits, got something else."
            " Restore it from its backup."
        )
    return bytes.fromhex(text)


def _create_key(path: Path) -> None:
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        _write_durably(scratch, secrets.token_hex(32) + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    with contextlib.suppress(PermissionError):  # Windows does not open folders
        _sync_folder(path.parent)


def _write_durably(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
