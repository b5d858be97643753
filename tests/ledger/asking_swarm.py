"""Processes that ask the same question; run as ``python -m tests.ledger.asking_swarm JOB WHERE KEY``.

They are forked from this small process. The last line printed is the result as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import discreet as dc
from discreet.errors import UnderWay
from discreet.ledger import Ledger
from tests.ledger.swarm import PROCESSES, run_together

SCHEMA = dc.Schema({"age": dc.Number(0, 9, step=1, missing=False)})
FRAME = pd.DataFrame({"age": [number % 10 for number in range(200)]})
PLAN = dc.histogram("age", epsilon=0.5)


def open_session(where: str, key: str) -> dc.Session:
    return dc.protect(
        FRAME, SCHEMA, dataset="people", epsilon=9.0, ledger=Ledger.open(where, key=key), workers=1
    )


def before_computing(act: Callable[[], Any]) -> None:
    """Let every release of this process do something between its reservation and its answer."""
    run = dc.Session._run

    def act_then_run(self: Any, *args: Any) -> Any:
        act()
        return run(self, *args)

    dc.Session._run = act_then_run  # type: ignore[method-assign]


def ask(session: dc.Session, **options: Any) -> str:
    try:
        return session.release(PLAN, **options).id
    except UnderWay as told:
        return f"under way since {told.since}"


def together(where: str, key: str) -> dict[str, Any]:
    """Ask the same question in several processes; the first answers when all others were told."""
    session = open_session(where, key)
    marks = Path(tempfile.mkdtemp())
    before_computing(lambda: _until(lambda: len(list(marks.iterdir())) == PROCESSES - 1))

    def ask_once() -> str:
        answer = ask(open_session(where, key))
        if answer.startswith("under way"):
            (marks / str(os.getpid())).touch()
        return answer

    answers = run_together(ask_once)
    return {"answers": answers, "spent": session.balance.spent.loss, "later": ask(session)}


def killed(where: str, key: str) -> dict[str, Any]:
    """Ask while another process is at work, while it is stopped, and after it was killed.

    A process that it forked lives on with all its open files.
    """
    session = open_session(where, key)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        before_computing(lambda: _hang(writer))
        ask(open_session(where, key))
    grandchild = int(os.read(reader, 20))
    told = [ask(session)]
    os.kill(child, signal.SIGSTOP)
    told.append(ask(session))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told.append(_patiently(session))
    os.kill(grandchild, signal.SIGKILL)
    problems = session.verify().problems
    return {"told": told, "spent": session.balance.spent.loss, "problems": problems}


def _until(happened: Callable[[], bool]) -> None:
    for _ in range(12_000):  # ten minutes: whoever waits for longer waits for ever
        if happened():
            return
        time.sleep(0.05)
    raise TimeoutError


def _patiently(session: dc.Session) -> str:
    # A server notices a little later than the system that a connection is gone.
    told = ""

    def answered() -> bool:
        nonlocal told
        told = ask(session)
        return not told.startswith("under way")

    _until(answered)
    return told


def _hang(writer: int) -> None:
    grandchild = os.fork()
    if grandchild == 0:
        time.sleep(600)
        os._exit(0)
    os.write(writer, str(grandchild).encode())
    time.sleep(600)


if __name__ == "__main__":
    jobs = {"together": together, "killed": killed}
    print(json.dumps(jobs[sys.argv[1]](*sys.argv[2:])))
