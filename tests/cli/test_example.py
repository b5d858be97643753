"""The way of someone with a CSV file and no Python, from a sketch to a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc

SCRIPT = Path(__file__).parents[2] / "examples" / "csv_by_shell.sh"


@pytest.mark.slow
def test_csv_by_shell(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "discreet"
    command.write_text(f"#!{sys.executable}\nfrom discreet.cli import main\nmain()\n")
    command.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(SCRIPT), "out"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "read from data" in done.stderr and "--plot must be in a folder" in done.stderr
    assert done.stdout.count("free: it was answered before") == 1
    ledger = dc.Ledger.open(tmp_path / "out" / "clinic.db", create=False)
    charged = [entry.amount.loss for entry in ledger.history("clinic") if entry.kind == "reserve"]
    assert [loss / 10**12 for loss in charged] == [0.2, 0.2, 0.3, 0.1, 0.1]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The clinic" in page and page.count("<svg ") >= 5
