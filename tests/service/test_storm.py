"""Many analysts at once, on two workers and PostgreSQL: never over budget, every charge told of.

A worker that is killed and a database that is restarted in the middle of it change nothing of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ledger.conftest import new_database, server

from .crowd import CHARGE, STORED, Analyst, Told, check_account, prepare, served

__all__ = ["new_database", "server"]

ANALYSTS, REQUESTS = 20, 50
EPSILON = 1.0
KINDS = ["price", "stored", "release", "price", "stored"] * (REQUESTS // 5)


@pytest.mark.slow
def test_twenty_analysts_never_overdraw(
    tmp_path: Path,
    new_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, Any], None],
) -> None:
    address, told = new_database(), Told()
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    project, keys, owner = prepare(tmp_path, address, analysts=ANALYSTS, epsilon=EPSILON)
    with served(project) as (url, _), ThreadPoolExecutor(ANALYSTS) as pool:
        store_one(url, owner)
        crowd = [Analyst(number, url, key, told) for number, key in enumerate(keys)]
        list(pool.map(lambda one: one.ask(KINDS), crowd))
    for kind in ("price", "stored", "release"):
        record_property(f"p99 ms of {kind}", told.p99(kind))
        print(f"p99 of {kind}: {told.p99(kind):.0f} ms")
    check_account(address, told, epsilon=EPSILON)
    most = round(EPSILON / CHARGE) - 1  # the stored one was the first
    assert told.statuses == {
        "price 200": 20 * ANALYSTS,
        "stored 200": 20 * ANALYSTS,
        "release 200": most,
        "release 402": 10 * ANALYSTS - most,
    }


def store_one(url: str, owner: str) -> None:
    """Answer the question that all will ask."""
    headers = {"Authorization": f"Bearer {owner}", "Prefer": "wait=30"}
    found = httpx.post(
        f"{url}/v1/datasets/loans/releases", json={"plans": [STORED]}, headers=headers, timeout=120.0
    )
    assert found.status_code == 200, found.text
