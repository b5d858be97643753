"""The data sets of a project, each opened once and shared by all who ask."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, LedgerUnavailable, NotFound
from discreet.ledger import Ledger
from discreet.service.access.keys import Caller
from discreet.service.problems import without_place
from discreet.session import Session, protect
from discreet.session.desk import Watch
from discreet.session.project import Project

_LOG = logging.getLogger("discreet.service")


class Desks:
    """Sessions of the owner, one for each data set; others sit down at them.

    A data set is opened when it is first asked for: its ledger alone where no row is asked, so that
    what was released stays there for all when its table is gone. The project file is read again when it
    changed, so that every worker knows what an owner registered in one of them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._ledgers: dict[str, Ledger] = {}
        self._project, self._seen = Project.load(path), self._changed()
        self._unread: tuple[int, int] | None = None

    @property
    def project(self) -> Project:
        """The project file as it is now.

        Raises:
          LedgerUnavailable: if it cannot be read: what it said before may be what the owner took back.
        """
        with self._lock:
            changed = self._changed()
            if changed != self._seen:
                before, self._project = self._project, self._read_again(changed)
                self._seen = changed
                for name, entry in before.entries.items():
                    if self._project.entries.get(name) != entry:
                        self._forget(name)
            return self._project

    @property
    def folder(self) -> Path:
        """Where the project is."""
        return self._path.parent

    def names(self, caller: Caller) -> list[str]:
        """Return the data sets that a key opens; those of an analyst are hers to ask."""
        known = [name for name in self.project.entries if caller.may_see(name)]
        return [name for name in known if caller.role != "analyst" or self._admits(name, caller)]

    def owner(self, dataset: str) -> Session:
        """Return the owner's session of a data set, opened now if it was not."""
        ledger, project = self.ledger(dataset), self.project
        with self._lock:
            if dataset not in self._sessions:
                entry = project.entries[dataset]
                with without_place(self.folder):
                    self._sessions[dataset] = protect(
                        project.rows_of(entry),
                        project.resolve(entry.schema),
                        dataset=dataset,
                        ledger=ledger,
                        version=entry.version,
                        progress=False,
                    )
            return self._sessions[dataset]

    def ledger(self, dataset: str) -> Ledger:
        """Return the ledger that knows a data set."""
        project = self.project
        if dataset not in project.entries:
            raise _unknown()
        with self._lock:
            if dataset not in self._ledgers:
                entry = project.entries[dataset]
                with without_place(self.folder):
                    self._ledgers[dataset] = Ledger.open(project.resolve(entry.ledger), create=False)
            return self._ledgers[dataset]

    def seat(
        self,
        caller: Caller,
        dataset: str,
        *,
        watch: Watch | None = None,
        noted: Mapping[str, Any] | None = None,
    ) -> Session:
        """Return the session of a caller.

        Raises:
          NotFound: if there is no such data set, or the key does not open it: which is not told.
          AccessDenied: if an analyst has no share where others have one.
        """
        session = self.check(caller, dataset)
        return session.seat(caller.analyst, watch=watch, noted=noted)

    def check(self, caller: Caller, dataset: str) -> Session:
        """Return the owner's session of a data set that a key opens, for what is public about it."""
        self.admit(caller, dataset)
        return self.owner(dataset)

    def admit(self, caller: Caller, dataset: str) -> Ledger:
        """Return the ledger of a data set that a key opens; its table need not be there.

        Raises:
          NotFound, AccessDenied: as ``seat`` does.
        """
        if not caller.may_see(dataset):
            raise _unknown()
        ledger = self.ledger(dataset)
        if caller.role == "analyst":
            ledger.check_reader(dataset, caller.analyst)
        return ledger

    def renew_locks(self) -> None:
        """Show others again what is under way here, after a ledger's server was started anew."""
        # Without the lock: a worker that waits for a table to be opened would look dead.
        for ledger in list(self._ledgers.values()):
            ledger.renew_locks()

    def close(self) -> None:
        """Close every ledger."""
        with self._lock:
            for ledger in self._ledgers.values():
                ledger.close()
            self._ledgers.clear()
            self._sessions.clear()

    def _admits(self, name: str, caller: Caller) -> bool:
        try:
            self.admit(caller, name)
        except DiscreetError:  # without a share; or whose ledger is away, which is not hers to know
            return False
        return True

    def _forget(self, dataset: str) -> None:
        self._sessions.pop(dataset, None)
        self._ledgers.pop(dataset, None)

    def _read_again(self, changed: tuple[int, int] | None) -> Project:
        try:
            return Project.load(self._path)
        except DiscreetError as error:
            if changed != self._unread:  # once for every state of the file
                _LOG.warning("The project file cannot be read: %s", error)
                self._unread = changed
            raise LedgerUnavailable(
                "The service's project file cannot be read now. The owner finds the reason in its log."
            ) from None

    def _changed(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size


def _unknown() -> NotFound:
    return NotFound(
        "dataset must be one that this key opens, got another. GET /v1/datasets lists them."
    )
