"""Running the service: uvicorn, with patience for requests and not for those who send none."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import multiprocess

from discreet.errors import ArgumentError, TooManyRequests
from discreet.numerics import check_whole
from discreet.service.guards import HEADERS, Receive, Scope, Send, SentReply, refuse
from discreet.service.office import Office

PROJECT_VARIABLE = "DISCREET_PROJECT"
"""Names the project file for workers, which are processes of their own."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Questions are answered side by side: threads inside of each would spin while they wait for others."""

HEAD_SECONDS = 20.0
"""In which the head of a request must have arrived, so that idle strangers hold no connection."""

MOST_AT_ONCE = 512
"""Connections of a worker; whoever comes then is told to come again."""

_NO_HTTP = "A request must be HTTP/1.1 that can be read, got another."


class PatientProtocol(H11Protocol):
    """HTTP whose connections are closed when the head of a request takes too long.

    What no application sees, because it is no HTTP or comes when too many are here, is refused in the
    one shape of errors as well.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        send_at_once(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Wait on if a request is not whole yet."""
        crowded = max(len(self.connections), len(self.tasks)) > MOST_AT_ONCE
        self.app = _refuse_the_crowd if crowded else self.config.loaded_app
        super().data_received(data)
        if self._is_answering():
            self._disarm()
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._disarm()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say that this was no HTTP, if nothing was said yet."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": {"code": "request", "message": _NO_HTTP}}).encode()
            told = {"content-type": "application/json", "connection": "close", **HEADERS}
            headers = [*told.items(), ("content-length", str(len(body)))]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

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


class PatientProcess(multiprocess.Process):
    """A worker that is asked whether it lives, by a supervisor that does not wait for what it says.

    One that waits sees nothing else: not that another worker was killed, nor that it shall end.
    """

    _asked: float | None = None

    def is_alive(self, timeout: float = 5) -> bool:
        """Say whether it runs, and has not been silent for so many seconds."""
        if not self.process.is_alive():
            return False
        try:
            if self._asked is None:
                self.parent_conn.send(b"ping")
                self._asked = time.monotonic()
            if self.parent_conn.poll():
                self.parent_conn.recv()
                self._asked = None
        except (OSError, EOFError):
            return False
        return self._asked is None or time.monotonic() - self._asked < timeout


def send_at_once(transport: Any) -> None:
    """Let nothing that is sent wait for an acknowledgement of what was sent before.

    Asyncio sees to it only where a socket names its protocol. The one that workers share does not, and
    every answer (a head, then a body) took 40 ms longer, which a client's acknowledgement may wait.
    """
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)


async def _refuse_the_crowd(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        text = "Too many come to the service at once. Nothing was charged; ask again in 1 s."
        await refuse(SentReply(send, scope["path"]), TooManyRequests(text, seconds=1.0))


OPTIONS: dict[str, Any] = {
    "http": PatientProtocol,
    "server_header": False,
    "access_log": False,
    "timeout_keep_alive": 15,
    "timeout_graceful_shutdown": 60,
    # A worker that is busy must not be taken for dead and killed: what it was charged for is lost then.
    "timeout_worker_healthcheck": 120,
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
    from discreet.service.app import make_app

    return make_app(os.environ[PROJECT_VARIABLE])


def serve(
    project: Path,
    *,
    host: str,
    port: int,
    workers: int = 1,
    announce: Callable[[], object] | None = None,
) -> None:
    """Serve a project until it is interrupted; what is charged for by then comes to its end.

    Args:
      project: the project file.
      host: the address to listen at.
      port: the port to listen at.
      workers: how many processes answer.
      announce: called when nothing speaks against it any more, just before it begins.
    """
    check_whole("port", port, 1, 65_535)
    check_whole("workers", workers, 1, 64)
    Office.open(project).close()  # a fault in the project file is told here, once, not by every worker
    if not project.exists():
        raise ArgumentError(f"project must be a project file, got {project}, which is not there.")
    _check_free(host, port)
    # Uvicorn's supervisor makes its workers of this name, and takes no other.
    multiprocess.Process = PatientProcess  # type: ignore[misc]
    if announce is not None:
        announce()
    os.environ |= {PROJECT_VARIABLE: str(project.resolve()), **ONE_THREAD}
    with threadpool_limits(1):  # of libraries that were loaded before the environment said so
        uvicorn.run(
            "discreet.service.serving:app_of_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            **OPTIONS,
        )
