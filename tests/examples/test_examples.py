"""Every example runs to its end, as somebody would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


SAID = {
    "analyst_without_rows.py": (
        "together epsilon=0.75, delta=0; left epsilon=2, delta=0",  # the analyst's price, from the card
        "\nepsilon=0.75, delta=0\n",  # the owner's, of the plan file
        "epsilon=0.5 (pure) for one record of the table, replace-one, certified",
    ),
    "frame_with_everything.py": (
        "visit: 4 % missing; dates from 2020-01-01 to 2024-02-08 (read from data)",
        "left out: {'patient': 'looks like an id or free text (5,000 different values in 5,000 rows)'}",
        "4  2024-01 to 2024-12",
        "(other)",
    ),
}
"""What an example must have printed on its way."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_and_leaves_nothing_behind(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [said for said in SAID.get(example.name, ()) if said not in done.stdout] == []
    assert list(tmp_path.iterdir()) == []
