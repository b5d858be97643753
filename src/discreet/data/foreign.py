"""Run code that is not ours without letting it speak or spread over threads."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def foreign_code(active: bool = True) -> Iterator[None]:
    """Drop what models print, warn and log, and pin their numerical libraries to one thread.

    A warning or a log line can carry a row's value; threads inside a model can change the last
    bits of its answer from run to run.
    """
    if not active:
        yield
        return
    from threadpoolctl import threadpool_limits

    level = logging.root.manager.disable
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
        threadpool_limits(1),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(level)
