"""A progress bar for whatever takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 1.0


@contextmanager
def progress_bar(title: str, total: int | None, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with every batch of finished rows, or whatever is counted.

    ``show`` None means: only on a terminal. ``total`` None means that the number of rows is private;
    the bar then pulses and shows no number.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    # The stream is taken now: while a model runs, sys.stderr leads nowhere.
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr, force_terminal=True),
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
    )
    task = bar.add_task(title, total=total)
    started = time.monotonic()

    def advance(done: int) -> None:
        if not bar.live.is_started and time.monotonic() - started > _PATIENCE:
            bar.start()
        bar.advance(task, done)

    try:
        yield advance
    finally:
        bar.stop()
