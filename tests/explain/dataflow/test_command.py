"""The command ``discreet dataflow``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.about.dataflow import dataflow_command
from discreet.errors import ArgumentError

app = typer.Typer()
app.command()(dataflow_command)


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_table_of_sets() -> None:
    text = run("pdp", "--rows", "30000", "--epsilon", "2")
    assert "30,000 records, epsilon=2" in text
    lines = [line for line in text.splitlines() if line.startswith("│")]
    assert "x values" in lines[0] and "partial" in lines[0] and "input" in lines[-1]
    assert "no price" in run("pfi", "--relation", "add-remove")


def test_json_mermaid_and_picture(tmp_path: Path) -> None:
    plain = json.loads(run("ale", "--json", "--grid", "5"))
    assert plain["sets"][0]["steps"] == ["edges", "differences", "counts"]
    assert plain["sets"][0]["parts"][0]["values"] == 6
    where = tmp_path / "ale.png"
    text = run("ale", "--mermaid", "--plot", str(where))
    assert text.startswith("flowchart LR\n") and "class s1,s2,s3 noise" in text
    assert where.read_bytes().startswith(b"\x89PNG")


def test_unknown_explainers_are_refused() -> None:
    with pytest.raises(ArgumentError, match="name must be one of pdp"):
        run("lime")
