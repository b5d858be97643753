"""Whether a path still leads to the file that was opened: by device and inode."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import LedgerTampered, LedgerUnavailable
from discreet.ledger.store.sqlite import journal_of

FileId = tuple[int, int]


class SameFile:
    """Remembers which file a ledger is, since a deleted one can be written to until it is closed.

    Guarantees:
        - A path that leads to no file, or to another one than at first, is an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first = _file_id(path)

    def check(self) -> None:
        """Raise unless the path leads to the file it led to at first."""
        now = _file_id(self._path)
        if now is None:
            raise LedgerUnavailable(
                f"The ledger {self._path} was deleted or moved while it was open. Put it back, with its"
                f" journal {journal_of(self._path).name} if there is one; nothing is spent without it."
            )
        if now != self._first:
            raise LedgerTampered(
                f"The ledger {self._path} was replaced by another file while it was open."
                " Put back the file that was there, or begin a new session with this one."
            )

    def journal(self) -> FileId | None:
        """Return which file the journal is, if there is one."""
        return _file_id(journal_of(self._path))

    def check_journal(self, first: FileId | None) -> None:
        """Raise unless the journal is still the one that a connection writes to."""
        if first is not None and self.journal() != first:
            raise LedgerTampered(
                f"The journal {journal_of(self._path)} was deleted or replaced while it was in use: its"
                " newest entries may be lost. Close every session, then verify with your releases."
            )


def _file_id(path: Path) -> FileId | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
