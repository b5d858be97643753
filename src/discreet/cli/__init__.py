"""The command line: a thin skin over the library, the same nouns."""

from __future__ import annotations

import sys

import typer

from discreet import __version__
from discreet.cli import asking, budget
from discreet.cli.curator import protect_command, sketch_command
from discreet.cli.dataflow import dataflow_command
from discreet.cli.demo import demo_command
from discreet.cli.output import fail, refuse_passwords
from discreet.errors import DiscreetError

app = typer.Typer(
    help="Private answers about models and data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo_command)
app.command("sketch")(sketch_command)
app.command("protect")(protect_command)
app.add_typer(asking.price_app, name="price")
app.add_typer(asking.diagnose_app, name="diagnose")
app.add_typer(asking.release_app, name="release")
app.add_typer(budget.app, name="budget")
app.command("dataflow")(dataflow_command)


@app.command("version")
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
