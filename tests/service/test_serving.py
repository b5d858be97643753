"""How uvicorn runs the service: answers leave at once, and workers leave processors to each other."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import time
from multiprocessing import Pipe
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


class Silent:
    """A process that runs until it is told to be dead, and says nothing."""

    def __init__(self) -> None:
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> serving.PatientProcess:
    made = serving.PatientProcess.__new__(serving.PatientProcess)
    made.parent_conn, made.child_conn = Pipe()
    made.process = Silent()  # type: ignore[assignment]
    return made


def test_nobody_waits_for_a_worker_that_is_busy(worker: serving.PatientProcess) -> None:
    """So that another one's end, and a signal to end, are seen within the supervisor's half second."""
    begun = time.monotonic()
    assert worker.is_alive(120) and worker.is_alive(120)
    assert time.monotonic() - begun < 5.0
    assert worker.child_conn.recv() == b"ping" and not worker.child_conn.poll(), "asked once"
    worker.child_conn.send(True)
    assert worker.is_alive(120) and worker._asked is None
    assert worker.is_alive(120) and worker.child_conn.recv() == b"ping", "and again once it answered"


def test_a_worker_that_is_killed_or_silent_for_too_long_is_gone(
    worker: serving.PatientProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.is_alive(120)
    now, clock = time.monotonic(), SimpleNamespace(monotonic=time.monotonic)
    with monkeypatch.context() as later:
        later.setattr(serving, "time", clock)
        clock.monotonic = lambda: now + 119
        assert worker.is_alive(120), "killed, it would lose what was paid for"
        clock.monotonic = lambda: now + 121
        assert not worker.is_alive(120)
    worker.process.alive = False  # type: ignore[attr-defined]
    assert not worker.is_alive(120)


def test_a_worker_that_closed_its_end_is_gone(worker: serving.PatientProcess) -> None:
    worker.child_conn.close()
    assert not worker.is_alive(120)


def test_several_workers_are_looked_after_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from uvicorn.supervisors import multiprocess

    monkeypatch.setattr(multiprocess, "Process", multiprocess.Process)  # so that it is taken back
    for name in (*serving.ONE_THREAD, serving.PROJECT_VARIABLE):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(serving, "Office", SimpleNamespace(open=lambda project: io.StringIO()))
    seen: list[type] = []
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: seen.append(multiprocess.Process))
    (tmp_path / "discreet.toml").touch()
    serving.serve(tmp_path / "discreet.toml", host="127.0.0.1", port=8_439, workers=2)
    assert seen == [serving.PatientProcess]
