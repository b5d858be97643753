"""The data sets of a project, each opened once and shared by all who ask."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import AccessDenied, NotFound
from discreet.ledger import Ledger
from discreet.service.access.keys import Caller
from discreet.session import Session, protect
from discreet.session.desk import Watch
from discreet.session.project import Project


class Desks:
    """Sessions of the owner, one for each data set; others sit down at them.

    A data set is opened when it is first asked for. The project file is read again when it changed, so
    that every worker knows what an owner registered in one of them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._opened: dict[str, tuple[Session, Ledger]] = {}
        self._project, self._seen = Project.load(path), self._changed()

    @property
    def project(self) -> Project:
        """The project file as it is now."""
        with self._lock:
            if self._changed() != self._seen:
                self._seen = self._changed()
                before, self._project = self._project, Project.load(self._path)
                for name, entry in before.entries.items():
                    if self._project.entries.get(name) != entry:
                        self._opened.pop(name, None)
            return self._project

    def names(self, caller: Caller) -> list[str]:
        """Return the data sets that a key opens; those of an analyst are hers to ask."""
        known = [name for name in self.project.entries if caller.may_see(name)]
        return [name for name in known if caller.role != "analyst" or self._admits(name, caller)]

    def owner(self, dataset: str) -> Session:
        """Return the owner's session of a data set, opened now if it was not."""
        return self._open(dataset)[0]

    def ledger(self, dataset: str) -> Ledger:
        """Return the ledger that knows a data set."""
        return self._open(dataset)[1]

    def _open(self, dataset: str) -> tuple[Session, Ledger]:
        project = self.project
        if dataset not in project.entries:
            raise _unknown()
        with self._lock:
            if dataset not in self._opened:
                entry = project.entries[dataset]
                ledger = Ledger.open(project.resolve(entry.ledger), create=False)
                session = protect(
                    project.rows_of(entry),
                    project.resolve(entry.schema),
                    dataset=dataset,
                    ledger=ledger,
                    version=entry.version,
                    progress=False,
                )
                self._opened[dataset] = (session, ledger)
            return self._opened[dataset]

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
        if not caller.may_see(dataset):
            raise _unknown()
        session = self.owner(dataset)
        if caller.role == "analyst":
            self.ledger(dataset).check_reader(dataset, caller.analyst)
        return session

    def forget(self, dataset: str) -> None:
        """Open a data set anew when it is next asked for."""
        with self._lock:
            self._opened.pop(dataset, None)

    def renew_locks(self) -> None:
        """Show others again what is under way here, after a ledger's server was started anew."""
        # Without the lock: a worker that waits for a table to be opened would look dead.
        for _, ledger in list(self._opened.values()):
            ledger.renew_locks()

    def close(self) -> None:
        """Close every ledger."""
        with self._lock:
            for _, ledger in self._opened.values():
                ledger.close()
            self._opened.clear()

    def _admits(self, name: str, caller: Caller) -> bool:
        try:
            self.check(caller, name)
        except AccessDenied:
            return False
        return True

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
