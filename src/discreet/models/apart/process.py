"""Our side of a model's process: it is started, asked, and started again when it has ended."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.models.apart.frames import Closed, Frame, Late, receive, send
from discreet.models.apart.limits import LOADING_SECONDS, CallLimits

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from discreet.models.apart.keeper import main; main()"
)
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What of our environment a model's process sees: where libraries are, and how to write numbers."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_SET = {
    **dict.fromkeys(_THREADS, "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others set a gigabyte aside, which counts as taken
}
_SPARE_SECONDS = 60.0
"""How long the process may take to tell that a call was ended, on a busy machine."""


class Ended(Exception):
    """A call was ended: the code crashed, or took more than its limits."""


class Failed(Exception):
    """The code raised an error of its own."""


class ModelProcess:
    """One process for one file; several threads may ask it, one after another.

    Args:
      name: of the file; its ending says how it is read.
      content: of the file.
      trust: the types of third parties that may be made from it.
    """

    def __init__(self, name: str, content: bytes, trust: tuple[str, ...]) -> None:
        self._name, self._content, self._trust = name, content, trust
        self._lock = threading.Lock()
        self._started: subprocess.Popen[bytes] | None = None
        self._by = 0

    def facts(self) -> dict[str, Any]:
        """Return what the model says of itself, from a process that is started now.

        Raises:
          ModelError: if the file is refused, or its reader crashes or does not come to an end.
        """
        with self._lock:
            return self._start()

    def ask(self, method: str, rows: Any, limits: CallLimits) -> NDArray[Any]:
        """Return what a method of the model answers to rows.

        Raises:
          Failed: if it raises.
          Ended: if it crashes, or takes more than its limits.
        """
        header = {"method": method, "limits": [limits.processor, limits.clock, limits.memory]}
        payload = pickle.dumps(rows, protocol=5)
        with self._lock:
            said, numbers = self._told_by(header, payload, limits.clock + _SPARE_SECONDS)
        if "error" in said:
            raise Failed(said["error"])
        return _array(said, numbers)

    def close(self) -> None:
        """End the process; it is started again when it is asked."""
        with self._lock:
            self._stop()

    def _told_by(self, header: dict[str, Any], payload: bytes, seconds: float) -> Frame:
        if self._started is None or self._by != os.getpid() or self._started.poll() is not None:
            self._start()
        assert self._started is not None
        assert self._started.stdin is not None and self._started.stdout is not None
        deadline = time.monotonic() + seconds
        try:
            send(self._started.stdin.fileno(), header, payload, deadline)
            said = receive(self._started.stdout.fileno(), deadline)
        except (Closed, Late):
            self._stop()
            raise Ended("The process of the model ended.") from None
        if "ended" in said[0]:
            raise Ended("The model crashed, or took more time or memory than its limits allow.")
        return said

    def _start(self) -> dict[str, Any]:
        self._stop()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self._name
            path.write_bytes(self._content)
            return self._read(path)

    def _read(self, path: Path) -> dict[str, Any]:
        process = _starter(os.getpid()).submit(_launch).result()
        self._started, self._by = process, os.getpid()
        self._last = weakref.finalize(self, _end, process, os.getpid())
        assert process.stdin is not None and process.stdout is not None
        deadline = time.monotonic() + LOADING_SECONDS
        order = {"parent": os.getpid(), "path": str(path), "trust": list(self._trust)}
        try:
            send(process.stdin.fileno(), order, deadline=deadline)
            said, _ = receive(process.stdout.fileno(), deadline)
        except (Closed, Late) as end:
            self._stop()
            how = "took too long" if isinstance(end, Late) else "crashed"
            raise ModelError(
                f"model must be a file that its library can read, got {self._name}: the reader {how}."
            ) from None
        if "error" in said:
            self._stop()
            raise ModelError(said["error"].replace(str(path), self._name))
        return {**said["facts"], "network_closed": said["network_closed"]}

    def _stop(self) -> None:
        if self._started is not None and self._by == os.getpid():
            self._last()
        self._started = None


def _launch() -> subprocess.Popen[bytes]:
    found = [str(Path(part).resolve()) for part in sys.path]
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM, json.dumps(found)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | _SET,
        start_new_session=True,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


@lru_cache(maxsize=1)
def _starter(process: int) -> ThreadPoolExecutor:
    """Return the thread that starts processes: they end with the thread that started them."""
    return ThreadPoolExecutor(1, thread_name_prefix="discreet-models")


def _end(process: subprocess.Popen[bytes], by: int) -> None:
    if by != os.getpid():  # a copy of the process that started it
        return
    if process.poll() is None:  # until it is waited for nobody else has its number
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def _array(said: dict[str, Any], numbers: bytes) -> NDArray[Any]:
    """Return the numbers that a header describes; what does not fit is a failure of the code."""
    try:
        kind = np.dtype(str(said["kind"]))
        if kind.kind not in "biuf":
            raise ValueError("no numbers")
        return np.frombuffer(numbers, dtype=kind).reshape([int(size) for size in said["shape"]])
    except (KeyError, TypeError, ValueError):
        raise Failed("The answer of the model must be numbers.") from None
