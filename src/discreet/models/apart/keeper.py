"""The process of a model: it reads the file once, and answers every call in a copy of itself.

A copy is made when a call comes (``fork``) and is gone when it is answered. So a call begins in the
state in which the file was read, whatever calls there were before: what one did to memory, to random
numbers or to limits is not there for the next.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from discreet.data.state import own_state
from discreet.errors import ModelError
from discreet.models.apart.frames import Closed, Frame, Late, receive, send
from discreet.models.apart.limits import CallLimits, end_with, take_leave
from discreet.models.files import read_model
from discreet.models.inputs import METHODS
from discreet.models.libraries import (
    classes,
    feature_count,
    feature_names,
    library,
    own_categories,
)

_LONGEST_TEXT = 500


def main() -> None:
    """Serve the process that started this one, until it closes the pipe."""
    requests, answers = _private_pipes()
    order, _ = receive(requests)
    closed = take_leave(order["parent"])
    header, model = _load(Path(order["path"]), tuple(order["trust"]))
    send(answers, {**header, "network_closed": closed})
    _be_ready()
    while True:
        try:
            request = receive(requests)
        except Closed:
            return
        said = _in_a_copy(model, request, (requests, answers))
        send(answers, *said)


def _be_ready() -> None:
    """Import here what every call needs, and let copies share what is not written to."""
    for name in ("joblib", "pandas", "pyarrow"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _private_pipes() -> tuple[int, int]:
    """Keep the two pipes for ourselves: what code prints or reads goes nowhere."""
    requests, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    os.set_blocking(answers, False)
    return requests, answers


def _load(path: Path, trust: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    try:
        model = read_model(path, trust=trust)
        return {"facts": _facts(model)}, model
    except ModelError as error:
        return {"error": str(error)}, None
    except BaseException as error:  # code of others; the file is public
        return {"error": _told(error)}, None


def _facts(model: Any) -> dict[str, Any]:
    methods = [name for name in METHODS.values() if hasattr(model, name)]
    if not methods:
        raise ModelError(f"model must have {', '.join(METHODS.values())} or one of them, got none.")
    kind = type(model)
    facts: dict[str, Any] = {"methods": methods, "kind": f"{kind.__module__}.{kind.__qualname__}"}
    named, known = feature_names(model), classes(model)
    facts["names"] = None if named is None else np.asarray(named, dtype=object).tolist()
    facts["classes"] = None if known is None else np.asarray(known).tolist()
    facts["count"] = feature_count(model)
    facts["library"] = library(model)
    facts["categories"] = [
        [place, None if values is None else [_plain(value) for value in values]]
        for place, values in own_categories(model).items()
    ]
    try:
        json.dumps(facts)
    except TypeError:
        raise ModelError(
            "model must have names, classes and categories that are texts or numbers, got others."
        ) from None
    return facts


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _in_a_copy(model: Any, request: Frame, held: tuple[int, int]) -> Frame:
    """Return what a copy of this process answers; nothing of it is left."""
    limits = CallLimits(*request[0]["limits"])
    reading, writing = os.pipe()
    parent = os.getpid()
    copy = os.fork()
    if copy == 0:
        _be_the_copy(model, request, limits, writing, (*held, reading), parent)
    os.close(writing)
    try:
        return receive(reading, time.monotonic() + limits.clock)
    except (Closed, Late) as end:
        return {"ended": "time" if isinstance(end, Late) else "crash"}, b""
    finally:
        os.close(reading)
        _end(copy)


def _end(copy: int) -> None:
    """End a copy and what it started, unless that left its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(copy, signal.SIGKILL)
        except OSError:  # it has no group of its own yet, or it has ended
            continue
    os.waitpid(copy, 0)


def _be_the_copy(
    model: Any, request: Frame, limits: CallLimits, writing: int, held: tuple[int, ...], parent: int
) -> NoReturn:
    try:
        os.setpgid(0, 0)
        end_with(parent)
        for pipe in held:
            os.close(pipe)
        os.set_blocking(writing, False)
        limits.enter()
        send(writing, *_answer(model, request))
    finally:
        os._exit(0)


def _answer(model: Any, request: Frame) -> Frame:
    import joblib

    method = getattr(model, request[0]["method"])
    rows = pickle.loads(request[1])  # written by the process that started this one
    try:
        with own_state(), joblib.parallel_config(backend="sequential"):
            said = np.ascontiguousarray(method(rows))
    except BaseException as error:  # code of others may even exit
        return {"error": _told(error)}, b""
    if said.dtype.kind not in "biuf":
        return {"error": f"Its answer must be numbers, got {said.dtype}."}, b""
    return {"kind": said.dtype.str, "shape": list(said.shape)}, said.tobytes()


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_TEXT]
