"""All that routes need, opened once for a process; and who may use which route."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from discreet.errors import AccessDenied, DiscreetError, NotAuthenticated
from discreet.service.access.keys import Caller, KeyRing, Role
from discreet.service.asked.desks import Desks
from discreet.service.asked.jobs import Jobs
from discreet.service.asked.models import Models
from discreet.service.guards import Frequency
from discreet.service.metrics import Metrics
from discreet.service.pools import Pool, Turns, too_large_to_draw, too_slow
from discreet.service.settings import Settings, path_of
from discreet.service.store import Store

_LOG = logging.getLogger("discreet.service")

OWNER: Role = "owner"
ANALYST: Role = "analyst"
AUDITOR: Role = "auditor"

_BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="A key: dk_<id>_<secret>.")
"""Tells readers of the OpenAPI description how to come in; who comes in is ``Office.admit``'s."""


@dataclass(frozen=True)
class Office:
    """The parts of a service."""

    settings: Settings
    store: Store
    keys: KeyRing
    desks: Desks
    models: Models
    jobs: Jobs
    prices: Pool
    pictures: Pool
    metrics: Metrics
    rate: Frequency
    strangers: Frequency
    closing: threading.Event = field(default_factory=threading.Event)
    listed: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """What lists tell of stored answers, which never change."""

    @classmethod
    def open(cls, project: Path) -> Office:
        """Open what a project file describes."""
        desks = Desks(project)
        settings = Settings.of(desks.project)
        store, slowest = Store(desks.project.resolve(settings.store)), float(settings.slowest_price)
        keys = KeyRing(store, path_of(desks.project, settings.secret))
        return cls(
            settings=settings,
            store=store,
            keys=keys,
            desks=desks,
            models=Models(store, settings, desks),
            jobs=Jobs(store, desks, settings, keys),
            prices=Pool("prices", Turns("prices", settings.prices), slowest, too_slow),
            # One at a time: Matplotlib's settings are everybody's.
            pictures=Pool("pictures", Turns("pictures", 1, spare=0), slowest, too_large_to_draw),
            metrics=Metrics(),
            rate=Frequency(settings.requests_per_minute),
            strangers=Frequency(settings.strangers_per_minute),
        )

    def warm(self) -> None:
        """Open data sets and models ahead; the owner reads which models cannot be asked, and why."""
        for dataset in self.desks.project.entries:
            try:
                told = self.models.told(dataset, self.desks.owner(dataset).schema)
            except DiscreetError as fault:
                self._warn("Data set %s cannot be asked: %s", dataset, fault)
                continue
            for name, found in told.items():
                if isinstance(found, DiscreetError):
                    self._warn("Model %s cannot be asked about %s: %s", name, dataset, found)

    def _warn(self, line: str, *given: Any) -> None:
        # While the service closes, its store is gone: that is no fault of a data set or a model.
        if not self.closing.is_set():
            _LOG.warning(line, *given)

    def close(self) -> None:
        """Let what is charged for come to its end, then close everything."""
        self.closing.set()
        self.jobs.close()
        self.prices.close()
        self.pictures.close()
        self.models.close()
        self.desks.close()
        self.store.close()

    def admit(self, request: Request) -> Caller:
        """Return who asks, by the key of the request."""
        address = request.client.host if request.client else ""
        try:
            caller = self.keys.open(key_of(request.headers))
        except NotAuthenticated:
            self.strangers.check(address)
            raise
        self.rate.check(caller.key)
        return caller

    def is_owner(self, headers: Mapping[str, str]) -> bool:
        """Say whether a request has an owner's key, before anything of it is read."""
        try:
            return self.keys.open(key_of(headers)).role == OWNER
        except DiscreetError:
            return False


def key_of(headers: Mapping[str, str]) -> str:
    """Return the key of a request; empty if it has none."""
    kind, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""


def office_of(request: Request) -> Office:
    """Return the office of the application."""
    found: Office = request.app.state.office
    return found


AnOffice = Annotated[Office, Depends(office_of)]


def needs(*roles: Role) -> Any:
    """Return what a route depends on that these roles may use; its caller is handed to it."""

    def admitted(
        request: Request, office: AnOffice, _: Annotated[Any, Security(_BEARER)] = None
    ) -> Caller:
        caller = office.admit(request)
        if caller.role not in roles:
            raise AccessDenied(
                f"This must be asked with a key of the role {' or '.join(roles)}, got one of the role "
                f"{caller.role}."
            )
        return caller

    admitted.roles = roles  # type: ignore[attr-defined]
    return Depends(admitted)


def roles_of(dependency: Callable[..., Any] | None) -> tuple[Role, ...] | None:
    """Return the roles that a dependency admits; None if it is another one."""
    return getattr(dependency, "roles", None)


Anyone = Annotated[Caller, needs(OWNER, ANALYST, AUDITOR)]
Asker = Annotated[Caller, needs(OWNER, ANALYST)]
Owner = Annotated[Caller, needs(OWNER)]
Overseer = Annotated[Caller, needs(OWNER, AUDITOR)]
