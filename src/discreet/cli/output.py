"""How commands speak: tables for people, JSON for programs, one sentence for an error."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Annotated, Any

import typer

from discreet.errors import ArgumentError, DiscreetError

_PASSWORD = re.compile(r"://[^/@]*:[^@]*@")

_WIDE = 200

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def say(text: str, *, nl: bool = True) -> None:
    """Print a text; whoever stopped reading (``| head``) does not stop what comes after."""
    try:
        typer.echo(text, nl=nl)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """Print plain data as JSON."""
    say(json.dumps(value, indent=2))


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table for people."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    # A file or a pipe has no width: lines stay whole, for grep.
    Console(width=None if sys.stdout.isatty() else _WIDE).print(table)


def refuse_passwords(words: list[str]) -> None:
    """Refuse addresses with a password: shells keep command lines, and everybody can list them."""
    if any(_PASSWORD.search(word) for word in words):
        raise ArgumentError(
            "An address on the command line must have no password, got one that does. Put it into "
            "PGPASSWORD, a service file or ~/.pgpass and leave it out of the address."
        )


def fail(error: DiscreetError, *, as_json: bool) -> None:
    """Show an error and leave with its exit code."""
    if as_json:
        typer.echo(json.dumps(error.to_json()))
    else:
        typer.echo(f"error: {error}", err=True)
    sys.exit(error.exit_code)
