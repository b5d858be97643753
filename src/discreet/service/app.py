"""The application: routes, guards and the page, over one office."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from discreet import __version__
from discreet.service import problems
from discreet.service.guards import Guard
from discreet.service.office import Office, roles_of
from discreet.service.routes import about, asking, datasets, owner, releases
from discreet.service.routes.shapes import ALWAYS

PAGE = Path(__file__).with_name("page")
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
    app.middleware("http")(_counting(office))
    app.add_middleware(
        Guard,
        largest=lambda path: _largest(office, path),
        seconds=float(office.settings.slowest_request),
    )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    warming = threading.Thread(target=app.state.office.warm, daemon=True)
    warming.start()  # so that the first to ask does not wait for files to be opened
    yield
    app.state.office.close()


def _largest(office: Office, path: str) -> int:
    settings = office.settings
    # A file travels as base64, which is a third longer.
    uploads = path == "/v1/models"
    return settings.largest_model * 4 // 3 + 10_000 if uploads else settings.largest_body


def _counting(
    office: Office,
) -> Callable[[Request, Callable[[Request], Awaitable[Response]]], Awaitable[Response]]:
    async def count(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        start = time.perf_counter()
        response = await go_on(request)
        route = request.scope.get("route")
        path = route.path if isinstance(route, APIRoute) else "other"
        office.metrics.count(request.method, path, response.status_code, time.perf_counter() - start)
        return response

    return count


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
