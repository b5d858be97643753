"""Run code that is not ours without letting it speak or spread over threads.

Standard streams, warning filters, the logging threshold and the BLAS thread count belong to the
whole process, so several releases at once share one silence: the first to come begins it, the last
to leave ends it. OpenMP counts threads per calling thread, so each thread limits its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_lock = threading.Lock()
_inside = 0
_silence = contextlib.ExitStack()


@contextlib.contextmanager
def foreign_code(active: bool = True) -> Iterator[None]:
    """Drop what models print, warn and log, and pin their numerical libraries to one thread.

    A warning or a log line can carry a row's value; threads inside a model can change the last
    bits of its answer from run to run. Threads started inside call ``pin_thread`` first.
    """
    if not active:
        yield
        return
    _enter()
    try:
        with _thread_pools().limit(limits=1, user_api="openmp"):
            yield
    finally:
        _leave()


def pin_thread() -> None:
    """Limit what the calling thread starts to one thread, until it ends; only inside foreign_code."""
    _thread_pools().limit(limits=1)


def _enter() -> None:
    global _inside
    with _lock:
        if _inside == 0:
            _begin_silence()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _silence.close()


def _begin_silence() -> None:
    with contextlib.ExitStack() as stack:  # undone at once if a step of it fails
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(sys.maxsize)
        stack.enter_context(_thread_pools().limit(limits=1, user_api="blas"))
        _silence.push(stack.pop_all())


def _thread_pools() -> Any:
    """Return the numerical libraries in use; they are looked for again only after an import."""
    return _scan_thread_pools(len(sys.modules))


@lru_cache(maxsize=1)
def _scan_thread_pools(modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
