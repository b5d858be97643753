"""Run code that is not ours without letting it speak or spread over threads.

Standard streams, the logging threshold and the BLAS thread count belong to the whole process, so
several releases at once share one silence. OpenMP counts threads per calling thread, so each thread
limits its own. What a model computes in is ``own_state``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from discreet.data.state import Shared, own_state


@contextlib.contextmanager
def quietly(active: bool = True) -> Iterator[None]:
    """Drop what models print, warn and log, and pin their numerical libraries to one thread.

    A warning or a log line can carry a row's value; threads inside a model can change the last
    bits of its answer from run to run. Threads started inside call ``pin_thread`` first.
    """
    if not active:
        yield
        return
    with own_state(), silence.entered(), _thread_pools().limit(limits=1, user_api="openmp"):
        yield


def pin_thread() -> None:
    """Limit what the calling thread starts to one thread, until it ends; only inside quietly."""
    _thread_pools().limit(limits=1)


def _be_silent(stack: contextlib.ExitStack) -> None:
    nowhere = stack.enter_context(open(os.devnull, "w"))  # noqa: SIM115 - the stack closes it
    stack.enter_context(contextlib.redirect_stdout(nowhere))
    stack.enter_context(contextlib.redirect_stderr(nowhere))
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)
    stack.enter_context(_thread_pools().limit(limits=1, user_api="blas"))


silence = Shared(_be_silent)


def _thread_pools() -> Any:
    """Return the numerical libraries in use; they are looked for again only after an import."""
    return _scan_thread_pools(len(sys.modules))


@lru_cache(maxsize=1)
def _scan_thread_pools(modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
