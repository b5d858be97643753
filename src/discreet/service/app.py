"""The application: routes, guards and the page, over one office."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers

from discreet import __version__
from discreet.service import problems
from discreet.service.guards import Guard, Room, Scope, Seen
from discreet.service.metrics import OTHER
from discreet.service.office import Office, roles_of
from discreet.service.routes import about, asking, datasets, owner, releases
from discreet.service.routes.shapes import ALWAYS

PAGE = Path(__file__).with_name("page")
WARMS_AFTER = 0.5
"""Seconds after its start at which a worker opens its tables and models ahead."""

ROUTERS: tuple[APIRouter, ...] = (
    about.router,
    datasets.router,
    asking.router,
    releases.router,
    owner.router,
)


def make_app(project: str | Path) -> FastAPI:
    """Return the service of a project file, as an ASGI application.

    What it needs is opened now, so that a fault in the project file is told before anybody asks; tables
    are opened when they are first asked about. ``app.state.office`` has the parts.

    Args:
      project: the path of ``discreet.toml``.
    """
    office = Office.open(Path(project))
    app = FastAPI(
        title="discreet",
        version=__version__,
        description="Private answers about models and data, each with a certificate.",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        responses=ALWAYS,
    )
    app.state.office = office
    for router in ROUTERS:
        app.include_router(router)
    _add_page(app)
    problems.install(app)
    app.add_middleware(
        Guard,
        largest=_room(office),
        seconds=float(office.settings.slowest_request),
        seen=_counting(office),
    )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # So that the first to ask does not wait for files to be opened; but whoever knocks at once, such as
    # a check of health, is answered before this work takes the processor.
    warming = threading.Thread(target=app.state.office.warm, daemon=True)
    begin = asyncio.get_running_loop().call_later(WARMS_AFTER, warming.start)
    yield
    begin.cancel()
    app.state.office.close()


def _room(office: Office) -> Room:
    """Return how large requests may be: those of an owner who uploads a model, larger."""
    settings = office.settings

    async def room(scope: Scope) -> int:
        if (scope["method"], scope["path"]) != ("POST", "/v1/models"):
            return settings.largest_body
        if not await run_in_threadpool(office.is_owner, Headers(scope=scope)):
            return settings.largest_body
        return settings.largest_model * 4 // 3 + 10_000  # a file travels as base64, a third longer

    return room


def _counting(office: Office) -> Seen:
    def seen(scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        path = route.path if isinstance(route, APIRoute) else OTHER
        office.metrics.count(scope["method"], path, status, seconds)

    return seen


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False, response_class=FileResponse)
    def page() -> FileResponse:
        """Return the page."""
        return FileResponse(PAGE / "index.html")

    app.mount("/static", StaticFiles(directory=PAGE), name="static")


def matrix() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return every route with its method and the roles that may use it; none means anybody."""
    found = []
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        roles = [roles_of(one.call) for one in route.dependant.dependencies]
        admitted: tuple[Any, ...] = next((one for one in roles if one is not None), ())
        found += [(method, route.path, admitted) for method in sorted(route.methods or ())]
    return found
