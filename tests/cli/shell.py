"""The command line, run in this process: what it prints, and the code it leaves with."""

from __future__ import annotations

import io
import json
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import discreet as dc
from discreet.cli import main


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def shell(*words: Any) -> Done:
    """Run a command."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    typed = patch.object(sys, "argv", ["discreet", *map(str, words)])
    with typed, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def told(*words: Any) -> Any:
    """Run a command that must end well, and return what it tells programs."""
    done = shell(*words, "--json")
    assert done.code == 0, done
    return json.loads(done.out)


def left() -> str:
    """Return the epsilon that is left of the only data set here."""
    return str(told("budget", "show")["remaining"]["epsilon"])


def protect_loans(folder: Path, rows: int = 300) -> None:
    """Write loans, their schema and a protected data set of epsilon 5 into a folder."""
    dc.samples.loans(rows).to_csv(folder / "loans.csv", index=False)
    dc.samples.loan_schema().save(folder / "schema.toml")
    with chdir(folder):
        words = ["--schema", "schema.toml", "--dataset", "loans", "--ledger", "loans.db"]
        assert shell("protect", "loans.csv", *words, "--epsilon", "5").code == 0
