"""A small project with a service: 400 loans, a model, keys of all roles."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

import discreet as dc
from discreet.samples import loan_schema, loans


class Server:
    """An application behind a real socket, in a thread of this process."""

    def __init__(self, app: Any) -> None:
        import uvicorn

        from discreet.service.serving import OPTIONS

        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(app, lifespan="off", **OPTIONS)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


@dataclass
class World:
    """A service that runs in this process, and a client for every role."""

    folder: Path
    app: Any
    keys: dict[str, str]
    server: Server
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    @property
    def office(self) -> Any:
        return self.app.state.office

    def client(self, who: str) -> httpx.Client:
        """Return a client with the key of somebody; of a name without one, without a key."""
        if who not in self.clients:
            headers = {"Authorization": f"Bearer {self.keys[who]}"} if who in self.keys else {}
            self.clients[who] = httpx.Client(base_url=self.server.url, headers=headers, timeout=60.0)
        return self.clients[who]

    def begin(self, who: str, *plans: dict[str, Any], **options: Any) -> httpx.Response:
        """Ask for releases of the loans, and wait for nothing."""
        return self._send(who, plans, {"Prefer": "wait=0"}, options)

    def ask(self, who: str, *plans: dict[str, Any], **options: Any) -> httpx.Response:
        """Ask for releases of the loans, and wait for them however busy the machine is."""
        told = self._send(who, plans, options.pop("headers", {}), options)
        while told.status_code == 202:
            told = self.client(who).get(f"{told.headers['location']}?wait=30")
        return told

    def _send(self, who: str, plans: Any, headers: Any, options: dict[str, Any]) -> httpx.Response:
        body = {"plans": list(plans), **options}
        return self.client(who).post("/v1/datasets/loans/releases", json=body, headers=headers)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.server.close()
        self.office.close()


def plan(name: str, **arguments: Any) -> dict[str, Any]:
    return {"plan": name, "arguments": arguments}


def write_project(
    folder: Path,
    *,
    epsilon: float = 10.0,
    store: str = "service.db",
    ledger: str = "ledger.db",
    **terms: Any,
) -> Path:
    """Protect loans, write the project file and a model beside it."""
    from sklearn.linear_model import LogisticRegression
    from skops.io import dump

    frame = loans(400, seed=3)
    frame.to_csv(folder / "loans.csv", index=False)
    schema = loan_schema()
    schema.save(folder / "loans.toml")
    dc.protect(
        folder / "loans.csv",
        schema,
        dataset="loans",
        ledger=ledger if "://" in ledger else folder / ledger,
        epsilon=epsilon,
        delta=1e-4,
        **terms,
    )
    numbers = frame[["income", "age"]]
    dump(LogisticRegression().fit(numbers / [1e5, 1e2], frame["defaulted"]), folder / "risk.skops")
    dump(LogisticRegression(), folder / "plain.skops")
    project = folder / "discreet.toml"
    project.write_text(
        f'[loans]\ndata = "loans.csv"\nschema = "loans.toml"\nledger = "{ledger}"\n\n'
        f'[service]\nstore = "{store}"\nrequests_per_minute = 100000\nstrangers_per_minute = 100000\n\n'
        '[service.models.risk]\nfile = "risk.skops"\n\n[service.models.plain]\nfile = "plain.skops"\n',
        encoding="utf-8",
    )
    return project


def open_world(folder: Path, **terms: Any) -> World:
    """Return a service over a new project in a folder."""
    from discreet.service import make_app

    app = make_app(write_project(folder, **terms))
    ring = app.state.office.keys
    keys = {
        "owner": ring.new("owner")[0],
        "ann": ring.new("analyst", analyst="ann")[0],
        "bob": ring.new("analyst", analyst="bob")[0],
        "auditor": ring.new("auditor")[0],
    }
    return World(folder, app, keys, Server(app))


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**terms: Any) -> World:
        made.append(open_world(tmp_path, **terms))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
