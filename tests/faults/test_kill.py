"""A process that dies at any point leaves books that are whole and never a release without a charge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.privacy.accounting import Amount
from tests.faults import kill_swarm

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_killed_200_times(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "books.db", tmp_path / "releases"
    folder.mkdir()
    swarm = [sys.executable, "-m", "tests.faults.kill_swarm", str(ledger), str(folder), "200", "7"]
    subprocess.run(swarm, check=True, cwd=ROOT, timeout=1800)

    session = kill_swarm.open_session(ledger)
    releases = [dc.Release.load(path) for path in folder.glob("*.json")]
    history = session.history()
    reserved = history[history["kind"] == "reserve"]
    settled = set(history[history["kind"] == "settle"]["id"])

    assert session.verify(releases).ok
    assert {release.id for release in releases} <= settled <= set(reserved["id"])
    assert len(reserved) > len(settled), "no child died between reserve and settle: the test is blind"
    assert len(releases) > 10, "hardly any child got to release: the test is blind"
    spent = session.balance.spent
    assert spent == Amount(Amount.charge(kill_swarm.EPSILON).loss * len(reserved))
    session.release(dc.histogram("age", epsilon=kill_swarm.EPSILON), fresh=True)
    assert session.balance.spent == spent + Amount.charge(kill_swarm.EPSILON)
