"""What is said while something is compiled, and to whom."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import progress
from discreet.progress import COMPILING, note_compiling, tell_of_compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)


def said(
    stream: io.StringIO,
    show: bool | None,
    monkeypatch: pytest.MonkeyPatch,
    *,
    compiles: bool = True,
    waits: bool = True,
) -> str:
    """Return what was said by something that takes longer than patience if ``waits``, else no time."""
    monkeypatch.setattr(sys, "stderr", stream)
    with tell_of_compiling(show):
        if compiles:
            note_compiling()
            note_compiling()
        if waits:
            for timer in threading.enumerate():
                if isinstance(timer, threading.Timer):
                    timer.join()
    return stream.getvalue()


def test_a_terminal_shows_one_line_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = said(Terminal(), None, monkeypatch)
    assert COMPILING in text and text.endswith("\x1b[2K")  # and takes it down again


def test_elsewhere_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(io.StringIO(), None, monkeypatch) == ""


def test_a_notebook_and_whoever_asks_get_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(io.StringIO(), True, monkeypatch) == COMPILING + "\n"
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert said(io.StringIO(), None, monkeypatch) == COMPILING + "\n"
    assert said(io.StringIO(), False, monkeypatch) == ""


def test_nothing_is_said_where_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(Terminal(), None, monkeypatch, compiles=False) == ""


def test_nothing_is_said_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 3600.0)
    assert said(Terminal(), None, monkeypatch, waits=False) == ""
    assert not any(isinstance(left, threading.Timer) for left in threading.enumerate())


def test_a_short_wait_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    with progress.phase_line("histogram", True) as tell:
        tell("answering")
    assert capsys.readouterr().err == ""


def test_phases_have_a_line_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with progress.phase_line("histogram", True) as tell:
        tell("answering")
    assert "histogram: answering" in capsys.readouterr().err
    with progress.phase_line("histogram", None) as tell:
        tell("answering")
    assert capsys.readouterr().err == "", "no terminal is here"


def test_phases_have_a_line_in_a_notebook_that_goes_with_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    class Line:
        def update(self, told: dict[str, str], *, raw: bool) -> None:
            shown.append(told["text/plain"])

    def display(told: dict[str, Any], *, raw: bool, display_id: bool) -> Line:
        return Line()

    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with progress.phase_line("histogram", None) as tell:
        tell("preparing")
        tell("answering")
    assert shown == ["histogram: preparing", "histogram: answering", ""]
