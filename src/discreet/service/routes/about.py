"""What is known before a question: the service, who asks, which questions there are."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter, Response

from discreet import __version__
from discreet.service.asked.wire import describe_all
from discreet.service.office import AnOffice, Anyone, Overseer
from discreet.service.routes.answers import Health, Holder, sends, shows

router = APIRouter(tags=["about"])


@router.get("/v1/health", responses=shows(Health))
async def health() -> dict[str, str]:
    """Say that the service is there."""
    # On the loop itself: however busy all threads are, it is.
    return {"status": "ok", "version": __version__}


@router.get("/v1/me", responses=shows(Holder))
def me(caller: Anyone) -> dict[str, Any]:
    """Return what the key says of its holder."""
    return caller.to_json()


@cache
def _plans() -> dict[str, Any]:
    return describe_all()


@router.get("/v1/plans")
def plans(caller: Anyone) -> dict[str, Any]:
    """Return every question with its arguments, and whether it can be sent."""
    return _plans()


@router.get("/metrics", response_class=Response, responses=sends("text/plain"))
def metrics(caller: Overseer, office: AnOffice) -> Response:
    """Return counts of this worker for Prometheus; nothing in them follows from rows."""
    return Response(office.metrics.text(), media_type="text/plain; version=0.0.4")
