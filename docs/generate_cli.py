"""Write docs/cli.md from the command line itself; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from discreet.cli import app

PAGE = Path(__file__).parent / "cli.md"


def render() -> str:
    """Return the command reference as Markdown."""
    command = typer.main.get_command(app)
    with typer.Context(command) as context:
        text = get_docs_for_click(obj=command, ctx=context, name="discreet", title="Command reference")
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text() == render() else "docs/cli.md is old: run python docs/generate_cli.py"
        )
    PAGE.write_text(render())
