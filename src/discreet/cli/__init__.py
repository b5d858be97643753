"""The command line: a thin skin over the library, the same nouns."""

from __future__ import annotations

import sys

import typer

from discreet import __version__
from discreet.cli.commands import Commands
from discreet.cli.output import fail, refuse_passwords
from discreet.errors import DiscreetError

app = typer.Typer(
    cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


@app.callback()
def every_command() -> None:
    """Private answers about models and data."""


def version_command() -> None:
    """Print the version."""
    typer.echo(__version__)


def main() -> None:
    """Run the command line; an error of ours becomes one sentence and its exit code."""
    try:
        refuse_passwords(sys.argv[1:])
        app()
    except DiscreetError as error:
        fail(error, as_json="--json" in sys.argv)
