"""A service in this process, and networks on which things go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import discreet as dc
from discreet.client import RemoteSession, Server
from tests.service.conftest import World, make_world, world

__all__ = ["Network", "ask_as", "connected", "make_world", "world"]


OPENED: list[Network] = []


class Network(httpx.BaseTransport):
    """A network to an application; ``fault`` may lose or change what comes back.

    Args:
      inner: what the application is reached by.
      fault: from the number of a request, itself and its answer, what the client gets, or raises.
    """

    def __init__(
        self,
        inner: httpx.BaseTransport,
        fault: Callable[[int, httpx.Request, httpx.Response], httpx.Response] | None = None,
    ) -> None:
        self.inner, self.fault = inner, fault
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = self.inner.handle_request(request)
        response.read()
        response.close()  # also if what follows loses it
        return response if self.fault is None else self.fault(len(self.requests), request, response)

    def close(self) -> None:
        self.inner.close()

    def asked(self, method: str, ending: str = "") -> list[httpx.Request]:
        """Return the requests of a method to paths with an ending."""
        return [r for r in self.requests if r.method == method and r.url.path.endswith(ending)]


def connected(
    world: World, who: str = "ann", fault: Any = None, **options: Any
) -> tuple[Server, Network]:
    """Return a server as somebody sees it, and the network between."""
    network = Network(httpx.HTTPTransport(), fault)
    OPENED.append(network)
    return dc.connect(world.server.url, key=world.keys[who], transport=network, **options), network


def ask_as(world: World, who: str = "ann", fault: Any = None) -> tuple[RemoteSession, Network]:
    """Return the loans as somebody sees them, and the network between."""
    server, network = connected(world, who, fault)
    return server.dataset("loans"), network


@pytest.fixture(autouse=True)
def hung_up() -> Iterator[None]:
    """Close what a test left open."""
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let pauses of a client take no time; returns those it took."""
    taken: list[float] = []
    monkeypatch.setattr("discreet.client.driving.time.sleep", taken.append)
    return taken
