"""Fork releasing children from a preloaded parent and kill them at random points. Run as a script.

The first ones are killed at chosen points, so that no machine is too slow or too fast to see them.

usage: kill_swarm.py LEDGER RELEASES KILLS SEED
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pandas as pd

import discreet as dc

SCHEMA = dc.Schema({"age": dc.Number(0, 9, step=1, missing=False)})
FRAME = pd.DataFrame({"age": [number % 10 for number in range(500)]})
EPSILON = 1e-3
CHOSEN = 5


def open_session(ledger: Path) -> dc.Session:
    return dc.protect(FRAME, SCHEMA, dataset="people", epsilon=100.0, ledger=ledger, workers=1)


def release_for_ever(ledger: Path, folder: Path) -> None:
    session = open_session(ledger)
    while True:
        release = session.release(dc.histogram("age", epsilon=EPSILON), fresh=True)
        path = folder / f"{release.id}.json"
        path.with_suffix(".part").write_text(release.dumps())
        path.with_suffix(".part").rename(path)


def tell_of_reservations(tells: int) -> None:
    """Let a release of this process tell that it has reserved, and never go on."""

    def wait(*_: object) -> None:
        os.write(tells, b".")
        signal.pause()

    dc.Session._run = wait  # type: ignore[assignment, method-assign]


def count(folder: Path) -> int:
    return len(list(folder.glob("*.json")))


def main() -> None:
    ledger, folder = Path(sys.argv[1]), Path(sys.argv[2])
    kills, draw = int(sys.argv[3]), random.Random(int(sys.argv[4]))
    open_session(ledger).release(dc.histogram("age", epsilon=EPSILON), fresh=True)  # loads libraries
    started = time.monotonic()
    open_session(ledger).release(dc.histogram("age", epsilon=EPSILON), fresh=True)
    typical = time.monotonic() - started
    for kill in range(kills):
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            if kill < CHOSEN:
                tell_of_reservations(tells)
            release_for_ever(ledger, folder)
        if kill < CHOSEN:
            os.read(told, 1)  # it has reserved, and waits
        elif kill < 2 * CHOSEN:
            before = count(folder)
            while count(folder) < before + 3:
                time.sleep(typical / 10)
        else:
            time.sleep(draw.uniform(0, 3 * typical))
        os.close(told)
        os.close(tells)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
