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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ArgumentError, LedgerConflict, LedgerUnavailable
from discreet.ledger.store.place import OWNER_ONLY, Place, check_private

KEY_VARIABLE = "DISCREET_LEDGER_KEY"
"""Names the key file of a ledger on a server, when the argument ``key`` does not."""

_HEX_KEY = re.compile(r"[0-9a-f]{64}")


class KeyMissing(LedgerUnavailable):
    """There is no key file; what needs no key can still be done."""


def find_key(place: Place, key: str | Path | None) -> bytes:
    """Return the key of a ledger in use.

    Guarantees:
        - A key that is missing is an error; no new one is made.
        - So is a key that others than its owner may read.
    """
    path = key_file(place, key)
    with _plain_failures(place, path):
        return _read_key(path)


@contextmanager
def new_key(place: Place, key: str | Path | None, *, anew: bool) -> Iterator[bytes]:
    """Give the key of a ledger that is made inside the block; a failure there takes it away again.

    Guarantees:
        - A key that is there already belongs to a ledger that is not: it is used if ``anew``
          says so and refused otherwise.
    """
    path = key_file(place, key)
    with _plain_failures(place, path):
        made = _create_key(path)
        found = _read_key(path)
    if not (made or anew):
        raise orphaned(place, path)
    try:
        yield found
    except BaseException:
        if made:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _plain_failures(place: Place, path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise KeyMissing(
            f"The key of the ledger {place.name} is not at {path}."
            " Put the key file back, or name it (in a folder that exists) with key."
            " Without it the ledger can be read, not continued or verified."
        ) from None
    except OSError as error:
        raise LedgerUnavailable(
            f"The key file {path} cannot be used ({error.strerror})."
            " Check its folder, its permissions and the space on the disk."
        ) from error


def orphaned(place: Place, path: Path) -> LedgerConflict:
    """Return the error for a key without its ledger."""
    return LedgerConflict(
        f"The ledger {place.name} is missing or empty, but its key {path} exists: what was spent is not"
        " known. Put the ledger back, with its journal. If making it was interrupted before anything"
        " was released, or if the budget shall begin anew, say so: Ledger.open(..., anew=True), on the"
        " command line protect --anew."
    )


def key_file(place: Place, key: str | Path | None) -> Path:
    """Return where the key of a ledger is."""
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
    check_private("key", path)
    if not _HEX_KEY.fullmatch(text):
        raise LedgerUnavailable(
            f"The key file {path} must hold 64 hexadecimal digits, got something else."
            " Restore it from its backup."
        )
    return bytes.fromhex(text)


def _create_key(path: Path) -> bool:
    """Make a key unless there is one; say whether it was made."""
    if path.exists():
        return False
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        _write_durably(scratch, secrets.token_hex(32) + "\n")
        os.link(scratch, path)
    except FileExistsError:
        return False
    finally:
        scratch.unlink(missing_ok=True)
    with contextlib.suppress(PermissionError):  # Windows does not open folders
        _sync_folder(path.parent)
    return True


def _write_durably(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
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
