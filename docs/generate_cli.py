"""Write docs/cli.md from the command line itself; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

from discreet.cli import app

PAGE = Path(__file__).parent / "cli.md"


def render() -> str:
    """Return the command reference as Markdown."""
    command = typer.main.get_command(app)
    with typer.Context(command) as context:
        text = get_docs_for_click(obj=command, ctx=context, name="discreet", title="Command reference")
        for cut, whole in _summaries(command, context):
            text = text.replace(cut, whole)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


def _summaries(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield the lines of lists of commands, as they are cut to fit a screen and whole."""
    for name in command.list_commands(context):
        listed = command.get_command(context, name)
        cut, whole = listed.get_short_help_str(), listed.get_short_help_str(limit=1000)
        yield f"* `{name}`: {cut}\n", f"* `{name}`: {whole}\n"
        if hasattr(listed, "list_commands"):
            yield from _summaries(listed, context)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text() == render() else "docs/cli.md is old: run python docs/generate_cli.py"
        )
    PAGE.write_text(render())
