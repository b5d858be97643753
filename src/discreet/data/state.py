"""A state of our own for everything that touches rows: nothing a caller has set decides an answer.

NumPy's error state and the decimal context belong to a thread, warning filters to the whole process:
``thread_state`` is entered by every thread and worker that touches rows, ``own_state`` by whoever
starts them. A value that underflows, say, must neither raise nor warn because of a setting elsewhere.

``quietly`` runs code that is not ours without letting it speak or spread over threads. Standard
streams, the logging threshold and the BLAS thread count belong to the whole process, so
several releases at once share one silence. OpenMP counts threads per calling thread, so each thread
limits its own. What a model computes in is ``own_state``.
"""

from __future__ import annotations

import contextlib
import decimal
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

_DECIMALS = decimal.Context(
    prec=28,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-999_999,
    Emax=999_999,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
"""What Python starts with, written out: ``decimal.DefaultContext`` can be changed."""


class SharedState:
    """Something of the whole process: the first to come begins it, the last to leave ends it."""

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._undo = contextlib.ExitStack()
        self.inside = 0

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside; several threads may be at once."""
        with self._lock:
            if self.inside == 0:
                with contextlib.ExitStack() as stack:  # undone at once if a step of it fails
                    self._begin(stack)
                    self._undo = stack.pop_all()
            self.inside += 1
        try:
            yield
        finally:
            with self._lock:
                self.inside -= 1
                if self.inside == 0:
                    self._undo.close()


def _ignore_warnings(stack: contextlib.ExitStack) -> None:
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")


calm = SharedState(_ignore_warnings)


@contextlib.contextmanager
def thread_state() -> Iterator[None]:
    """Give the calling thread its own error state and decimal context, and restore what it had."""
    with np.errstate(all="ignore"), decimal.localcontext(_DECIMALS):
        yield


@contextlib.contextmanager
def own_state() -> Iterator[None]:
    """Compute in a state that no caller has set: no warnings, no floating-point errors.

    Guarantees:
      - Whether a release fails, and what it says, does not depend on the caller's NumPy error state,
        decimal context and warning filters, in this thread or another; they are as they were
        afterwards. [own-state]
    """
    with calm.entered(), thread_state():
        yield


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


silence = SharedState(_be_silent)


def _thread_pools() -> Any:
    """Return the numerical libraries in use; they are looked for again only after an import."""
    return _scan_thread_pools(len(sys.modules))


@lru_cache(maxsize=1)
def _scan_thread_pools(modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
