"""A progress bar for whatever takes longer than a second, and a line for a wait without one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TextIO

_PATIENCE = 1.0

COMPILING = "Compiling what this question needs; next time it is there at once."

_told: ContextVar[Callable[[], None] | None] = ContextVar("told", default=None)
"""Who wants to know that something is compiled."""


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


@contextmanager
def tell_of_compiling(show: bool | None) -> Iterator[None]:
    """Say so if something is compiled in here and that takes longer than a second.

    ``show`` None means: only on a terminal, or in a notebook, which shows a line of text.
    """
    if show is False or (show is None and not (sys.stderr.isatty() or "ipykernel" in sys.modules)):
        yield
        return
    with ExitStack() as shown:
        stream = sys.stderr  # taken now: while a model runs, sys.stderr leads nowhere
        timer = threading.Timer(_PATIENCE, lambda: _show_line(stream, shown))
        timer.daemon = True
        before = _told.set(lambda: None if timer.ident else timer.start())
        try:
            yield
        finally:
            _told.reset(before)
            timer.cancel()
            if timer.ident:
                timer.join()  # a line that is on its way is taken down again


Tell = Callable[[str], None]
"""Called with what is being done now."""


@contextmanager
def phase_line(title: str, show: bool | None) -> Iterator[Tell]:
    """Yield a function to call with every phase of a wait, shown once it takes longer than a second.

    ``show`` None means: only on a terminal, as a line with a moving sign, or in a notebook, as a line
    of text. It goes with the wait.
    """
    notebook = "ipykernel" in sys.modules
    if show is False or (show is None and not (sys.stderr.isatty() or notebook)):
        yield lambda phase: None
        return
    started = time.monotonic()
    with ExitStack() as shown:
        lines: list[Tell] = []

        def tell(phase: str) -> None:
            if not lines and time.monotonic() - started > _PATIENCE:
                lines.append(_notebook_line(shown) if notebook else _terminal_line(shown))
            for line in lines:
                line(f"{title}: {phase}")

        yield tell


def _terminal_line(shown: ExitStack) -> Tell:
    from rich.console import Console

    status = Console(file=sys.stderr, force_terminal=True).status("")
    shown.enter_context(status)
    return status.update


def _notebook_line(shown: ExitStack) -> Tell:
    """Return what changes one line below a cell, and empties it in the end."""
    from IPython.display import display

    def text(phase: str) -> dict[str, str]:
        return {"text/plain": phase}

    line = display(text(""), raw=True, display_id=True)
    shown.callback(lambda: line.update(text(""), raw=True))
    return lambda phase: line.update(text(phase), raw=True)


def note_compiling() -> None:
    """Let whoever waits know that something is being compiled."""
    if (told := _told.get()) is not None:
        told()


def _show_line(stream: TextIO, shown: ExitStack) -> None:
    """Show a line with a moving sign on a terminal, which goes with the wait; else print it."""
    if not stream.isatty():
        print(COMPILING, file=stream, flush=True)
        return
    from rich.console import Console

    shown.enter_context(Console(file=stream, force_terminal=True).status(COMPILING))
