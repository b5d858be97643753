"""The data sets of a project, each opened once and shared by all who ask."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from discreet.errors import ArgumentError, DiscreetError, LedgerUnavailable, NotFound
from discreet.ledger import Ledger
from discreet.service.access.keys import Caller
from discreet.service.problems import without_place
from discreet.session import Session, protect
from discreet.session.desk import Watch
from discreet.session.project import Project

_LOG = logging.getLogger("discreet.service")

T = TypeVar("T")
_Changed = tuple[int, int, int]


class _Once(Generic[T]):
    """Something that is opened when it is first asked for, and kept.

    Guarantees:
      - Who comes while it is tried waits for one try at most, and is told of its failure.
    """

    def __init__(self, open_: Callable[[], T]) -> None:
        self._open, self._lock = open_, threading.Lock()
        self._failed: tuple[float, DiscreetError] | None = None
        self.opened: T | None = None

    def get(self) -> T:
        """Return it, opened now if it was not."""
        if self.opened is not None:
            return self.opened
        came = time.monotonic()
        with self._lock:
            if self.opened is None:
                self.opened = self._try(came)
            return self.opened

    def _try(self, came: float) -> T:
        if self._failed is not None and self._failed[0] >= came:
            raise self._failed[1].with_traceback(None)
        try:
            return self._open()
        except DiscreetError as error:
            self._failed = time.monotonic(), error
            raise


class _Desk:
    """A data set as one entry of the project file has it: its rows and its ledger go together."""

    def __init__(self, project: Project, dataset: str) -> None:
        self._project, self._dataset = project, dataset
        self._entry = project.entries[dataset]
        self.ledger: _Once[Ledger] = _Once(self._open_ledger)
        self.session: _Once[Session] = _Once(self._open_session)

    def _open_ledger(self) -> Ledger:
        with without_place(self._project.path.parent):
            return Ledger.open(self._project.resolve(self._entry.ledger), create=False)

    def _open_session(self) -> Session:
        ledger = self.ledger.get()
        with without_place(self._project.path.parent):
            return protect(
                self._project.rows_of(self._entry),
                self._project.resolve(self._entry.schema),
                dataset=self._dataset,
                ledger=ledger,
                version=self._entry.version,
                progress=False,
            )


class Desks:
    """Sessions of the owner, one for each data set; others sit down at them.

    A data set is opened when it is first asked for: its ledger alone where no row is asked, so that
    what was released stays there for all when its table is gone. The project file is read again when it
    changed, so that every worker knows what an owner registered in one of them.

    Guarantees:
      - Rows are asked under the ledger of the entry that names them, whenever the project file changes.
      - While a data set is opened, or cannot be, others are asked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._desks: dict[str, _Desk] = {}
        self._seen, self._project = self._changed(), Project.load(path)
        self._told: _Changed | None = self._seen

    @property
    def project(self) -> Project:
        """The project file as it is now.

        Raises:
          LedgerUnavailable: if it cannot be read: what it said before may be what the owner took back.
        """
        with self._lock:
            return self._as_it_is()

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
        return self._desk(dataset).session.get()

    def ledger(self, dataset: str) -> Ledger:
        """Return the ledger that knows a data set."""
        return self._desk(dataset).ledger.get()

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
        # Without the lock: a worker that waits for the project file would look dead.
        for ledger in self._ledgers():
            ledger.renew_locks()

    def close(self) -> None:
        """Close every ledger."""
        with self._lock:
            for ledger in self._ledgers():
                ledger.close()
            self._desks.clear()

    def _admits(self, name: str, caller: Caller) -> bool:
        try:
            self.admit(caller, name)
        except DiscreetError:  # without a share; or whose ledger is away, which is not hers to know
            return False
        return True

    def _ledgers(self) -> list[Ledger]:
        opened = [desk.ledger.opened for desk in list(self._desks.values())]
        return [ledger for ledger in opened if ledger is not None]

    def _desk(self, dataset: str) -> _Desk:
        with self._lock:
            project = self._as_it_is()
            if dataset not in project.entries:
                raise _unknown()
            if dataset not in self._desks:
                self._desks[dataset] = _Desk(project, dataset)
            return self._desks[dataset]

    def _as_it_is(self) -> Project:
        """Return the project, read again if its file changed, and forget what it has otherwise now."""
        changed = self._changed()
        if changed != self._seen:
            before, self._project = self._project, self._read_again(changed)
            self._seen = self._told = changed
            for name, entry in before.entries.items():
                if self._project.entries.get(name) != entry:
                    self._desks.pop(name, None)
        return self._project

    def _read_again(self, changed: _Changed | None) -> Project:
        try:
            # A file that was never there is a project without data sets; one that is written anew may
            # be empty for a moment.
            if changed is None or not changed[1]:
                raise ArgumentError(
                    f"project must be a project file, got {self._path}: it is gone, or empty."
                )
            return Project.load(self._path)
        except DiscreetError as error:
            if changed != self._told:  # once for every state of the file
                _LOG.warning("The project file cannot be read: %s", error)
                self._told = changed
            raise LedgerUnavailable(
                "The service's project file cannot be read now. The owner finds the reason in its log."
            ) from None

    def _changed(self) -> _Changed | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _unknown() -> NotFound:
    return NotFound(
        "dataset must be one that this key opens, got another. GET /v1/datasets lists them."
    )
