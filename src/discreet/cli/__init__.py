"""The command line: a thin skin over the library, the same nouns."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from discreet import __version__
from discreet.cli.commands import Commands
from discreet.cli.output import fail, refuse_passwords
from discreet.errors import ArgumentError, DiscreetError

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)

_WRONGLY_TYPED: Any = typer.BadParameter.__mro__[1]
"""What every mistake in a command is, whichever copy of click it comes from."""


def version_command() -> None:
    """Print the version."""
    typer.echo(__version__)


def _print_version(asked: bool) -> None:
    if asked:
        version_command()
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Private answers about models and data."""


def main() -> None:
    """Run the command line; an error of ours becomes one sentence and its exit code.

    With --json a mistake in the command itself has the same shape.
    """
    as_json = "--json" in sys.argv
    try:
        refuse_passwords(sys.argv[1:])
        sys.exit(app(standalone_mode=not as_json))
    except DiscreetError as error:
        fail(error, as_json=as_json)
    except _WRONGLY_TYPED as error:
        fail(ArgumentError(error.format_message()), as_json=as_json)
