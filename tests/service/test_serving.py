"""How uvicorn runs the service: answers leave at once, and workers leave processors to each other."""

from __future__ import annotations

import asyncio
import io
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from threadpoolctl import threadpool_info

from discreet.service import serving


def answers_at_once() -> bool:
    """Connect once to a server on a shared socket; return whether its side waits for nothing."""
    told: list[bool] = []

    class Watched(serving.PatientProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connected = transport.get_extra_info("socket")
            told.append(bool(connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))

    async def nothing(scope: object, receive: object, send: object) -> None:
        """Answer nobody: only the connection is looked at."""

    async def visit(shared: socket.socket) -> None:
        server = uvicorn.Server(uvicorn.Config(nothing, **{**serving.OPTIONS, "http": Watched}))
        running = asyncio.create_task(server.serve(sockets=[shared]))
        _, writer = await asyncio.open_connection(*shared.getsockname())
        while not told:
            await asyncio.sleep(0.01)
        writer.close()
        await writer.wait_closed()
        server.should_exit = True
        await running

    # As uvicorn makes it for several workers: asyncio does nothing for a socket without its protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as shared:
        shared.bind(("127.0.0.1", 0))
        shared.listen()
        assert shared.proto == 0
        asyncio.run(asyncio.wait_for(visit(shared), 60))
    return told[0]


def test_answers_leave_at_once_from_a_socket_that_workers_share() -> None:
    assert answers_at_once()


def test_without_being_told_they_would_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "send_at_once", lambda transport: None)
    assert not answers_at_once()


def test_numerical_libraries_have_one_thread_where_questions_run_side_by_side(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (*serving.ONE_THREAD, serving.PROJECT_VARIABLE):
        monkeypatch.setenv(name, "")  # so that it is taken back
    monkeypatch.setattr(serving, "Office", SimpleNamespace(open=lambda project: io.StringIO()))
    threads: list[tuple[str | None, set[int]]] = []

    def run(*given: object, **options: object) -> None:
        loaded = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
        threads.append((os.environ["OMP_NUM_THREADS"], loaded))

    monkeypatch.setattr(uvicorn, "run", run)
    (tmp_path / "discreet.toml").touch()
    said: list[int] = []
    where = tmp_path / "discreet.toml"
    serving.serve(where, host="127.0.0.1", port=8_439, announce=lambda: said.append(len(threads)))
    assert threads == [("1", {1})] and said == [0]
