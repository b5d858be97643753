"""Running the service: uvicorn, with patience for requests and not for those who send none."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.service.app import make_app
from discreet.service.office import Office

PROJECT_VARIABLE = "DISCREET_PROJECT"
"""Names the project file for workers, which are processes of their own."""

HEAD_SECONDS = 20.0
"""In which the head of a request must have arrived, so that idle strangers hold no connection."""

_MOST_AT_ONCE = 512


class PatientProtocol(H11Protocol):
    """HTTP whose connections are closed when the head of a request takes too long."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Wait on if a request is not whole yet."""
        super().data_received(data)
        if self._is_answering():
            self._disarm()
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._disarm()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close_if_waiting)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_if_waiting(self) -> None:
        self._timer = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()


OPTIONS: dict[str, Any] = {
    "http": PatientProtocol,
    "server_header": False,
    "access_log": False,
    "limit_concurrency": _MOST_AT_ONCE,
    "timeout_keep_alive": 15,
    "timeout_graceful_shutdown": 60,
    "h11_max_incomplete_event_size": 32_768,
    "log_level": "warning",
}
"""How uvicorn runs the service: it names itself to nobody and writes no line for a request."""


def _check_free(host: str, port: int) -> None:
    try:
        socket.create_server((host, port), reuse_port=False).close()
    except OSError as error:
        raise ArgumentError(
            f"host and port must be an address to listen at, got {host} and {port}: {error.strerror}. "
            "Give another port."
        ) from None


def app_of_environment() -> FastAPI:
    """Return the service of the project file that the environment names, for a worker."""
    return make_app(os.environ[PROJECT_VARIABLE])


def serve(project: Path, *, host: str, port: int, workers: int = 1) -> None:
    """Serve a project until it is interrupted; what is charged for by then comes to its end."""
    check_whole("port", port, 1, 65_535)
    check_whole("workers", workers, 1, 64)
    Office.open(project).close()  # a fault in the project file is told here, once, not by every worker
    if not project.exists():
        raise ArgumentError(f"project must be a project file, got {project}, which is not there.")
    _check_free(host, port)
    os.environ[PROJECT_VARIABLE] = str(project.resolve())
    uvicorn.run(
        "discreet.service.serving:app_of_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        **OPTIONS,
    )
