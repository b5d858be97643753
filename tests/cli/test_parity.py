"""What exists in Python exists on the command line, or there is a reason why not."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.commands import COMMANDS, GROUPS, as_typed
from tests.cli.shell import protect_loans, shell

CALLS = {
    "allot": "budget allot",
    "balance": "budget show",
    "change_terms": "budget change",
    "check": "check",
    "diagnose": "diagnose",
    "history": "budget history",
    "price": "price",
    "release": "release",
    "remaining": "budget show",
    "settle": "budget settle",
    "verify": "verify",
}
"""Every call of a session, and its command."""

NO_COMMAND = {
    "analyst": "it is typed",
    "dataset": "it is typed",
    "facts": "a card has them",
    "schema": "it is a file",
    "sign": "a card is signed when it is written",
    "simulation": "seeds are for experiments in one process",
    "version": "it stands in the project file",
    "seat": "the service lets analysts in by their keys",
    "stored": "release finds what is stored",
    "check_not_lost": "the service asks it before it answers",
}
"""What a session knows that needs no command, and why."""

OPTIONS = {"protect": "protect", "report": "report"}
"""Functions whose arguments are options of a command."""

NO_OPTION = {
    "protect": {
        "cluster": "a client of workers lives in a process",
        "progress": "shown on a terminal",
        "seed": "simulations have no ledger file",
        "analyst": "said when asking",
        "workers": "said when asking",
        "heuristics": "said when asking",
    },
    "report": {"session": "the project and --budget", "annotate": "a function"},
}


def commands() -> set[str]:
    """Return every command as it is typed."""
    return {*COMMANDS} | {f"{group} {name}" for group, names in GROUPS.items() for name in names}


def test_every_call_of_a_session_is_a_command() -> None:
    public = {name for name in vars(dc.Session) if not name.startswith("_")}
    assert public - {*NO_COMMAND} <= {*CALLS}, "say which command it is, or why there is none"
    assert set(CALLS.values()) <= commands()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_argument_is_an_option(name: str) -> None:
    told = shell(OPTIONS[name], "--help").out
    arguments = [*inspect.signature(getattr(dc, name)).parameters]
    asked = [as_typed(argument) for argument in arguments if argument not in NO_OPTION[name]]
    assert [argument for argument in asked if not re.search(rf"\b{argument}\b", told)] == []
    assert set(NO_OPTION[name]) <= set(arguments)


def complete(*words: str, cwd: Path) -> list[str]:
    """Return what a shell offers for the last word."""
    asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("discreet", *words))}
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv = ['discreet']; from discreet.cli import main; main()",
    ]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **asked, "COMP_CWORD": str(len(words))},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


def test_shells_complete_commands_columns_and_words(tmp_path: Path) -> None:
    protect_loans(tmp_path, rows=50)
    assert complete("rel", cwd=tmp_path) == ["release"]
    assert complete("budget", "a", cwd=tmp_path) == ["allot"]
    assert complete("release", "histo", cwd=tmp_path) == ["histogram"]
    assert complete("release", "histogram", "a", cwd=tmp_path) == ["age"]
    assert "laplace" in complete("release", "histogram", "age", "--mechanism", "lap", cwd=tmp_path)
    assert complete("budget", "show", "--dataset", "l", cwd=tmp_path) == ["loans"]
    assert complete("release", "histogram", "a", cwd=tmp_path.parent) == []


def test_a_long_answer_is_shown_by_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    protect_loans(tmp_path)
    ask = ["release", "synthesize", "--rows", "100", "--epsilon", "1", "--table", "rows.csv"]
    done = shell(*ask)
    assert done.code == 0 and "... and 40 rows more; --table FILE writes all" in done.out
    assert (tmp_path / "rows.csv").read_text().count("\n") == 101


def test_a_mistyped_command_is_an_error_like_any_other() -> None:
    done = shell("release", "histogram", "age", "--epsilonn", "1", "--json")
    assert done.code == 2 and '"code": "argument"' in done.out and "No such option" in done.out
    assert "No such command" in shell("release", "--nothing").err
    assert "'histogram' is a question" in shell("histogram", "age").err


def test_a_forest_is_explained_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    protect_loans(tmp_path)
    tree = ["release", "decision-tree", "defaulted", "--depth", "2", "--epsilon", "1"]
    assert shell(*tree, "--out", "tree.json").code == 0
    ask = ["release", "partial-dependence", "credit_score", "--model", "tree.json", "--epsilon", "1"]
    assert "certified" in shell(*ask).out
