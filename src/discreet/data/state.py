"""A state of our own for everything that touches rows: what the caller has set decides nothing.

NumPy's error state and the decimal context belong to a thread, warning filters to the whole process:
``thread_state`` is entered by every thread and worker that touches rows, ``own_state`` by whoever
starts them. A value that underflows, say, must neither raise nor warn because of a setting elsewhere.
"""

from __future__ import annotations

import contextlib
import decimal
import threading
import warnings
from collections.abc import Callable, Iterator

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


class Shared:
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


calm = Shared(_ignore_warnings)


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
