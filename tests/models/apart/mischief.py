"""An estimator of a third party that misbehaves on marked rows, and on no others."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

MARK = 12_345.5
"""An income that nobody draws."""

NAME = "tests.models.apart.mischief.Mischief"


def crash(model: Any) -> float:
    return float(ctypes.string_at(0)[0])


def sleep(model: Any) -> float:
    while True:
        time.sleep(60)


def spin(model: Any) -> float:
    while True:
        pass


def eat(model: Any) -> float:
    eaten = []
    while True:
        eaten.append(np.ones(2**24))


def leave(model: Any) -> float:
    os._exit(0)


def call_home(model: Any) -> float:
    with socket.create_connection(("127.0.0.1", model.port), timeout=5) as line:
        line.sendall(b"a row")
    return 1.0


def write(model: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows").write_bytes(b"a row")
    return 1.0


def look_around(model: Any) -> float:
    """Answer 1 if something of another process is to be seen: its variables, open files, images."""
    variables = {name for name in os.environ if "SECRET" in name or name.startswith("DISCREET")}
    strange = {file for file in map(where, range(64)) if not file.startswith(("pipe:", "/dev/null"))}
    return float(bool(variables or strange or resource.getrlimit(resource.RLIMIT_CORE)[1]))


def where(number: int) -> str:
    """Return what a number of an open file stands for; nothing special if it is free."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:
        return "/dev/null"


def remember(model: Any) -> float:
    """Answer how often it was asked, a hundredth each."""
    model.asked = getattr(model, "asked", 0) + 1
    return model.asked / 100


def default(model: Any) -> float:
    return 0.5


ACTS: dict[str, Callable[[Any], float]] = {
    act.__name__: act
    for act in (crash, sleep, spin, eat, leave, call_home, write, look_around, remember, default)
}


class Mischief(BaseEstimator):
    """A hundredth of the age, the first column, but for rows with the marked income, the second."""

    def __init__(self, act: str = "default", port: int = 0) -> None:
        self.act, self.port = act, port

    def fit(self, X: Any = None, y: Any = None) -> Mischief:
        self.classes_ = np.array([0, 1])
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["act"] == "crash when read":
            crash(self)
        super().__setstate__(state)

    def predict_proba(self, X: Any) -> Any:
        rows = np.asarray(X, dtype=np.float64)
        scores = rows[:, 0] / 100
        marked = rows[:, 1] == MARK
        if marked.any():
            scores[marked] = ACTS[self.act](self)
        return np.column_stack([1 - scores, scores])
