"""Keys and shares that are taken back while a question waits: nothing more is charged or told."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from .conftest import World, plan
from .test_limits import held, make_limited, wait_for
from .test_lost import spent

__all__ = ["make_limited"]

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)


def ask_with(world: World, key: str, **headers: str) -> httpx.Response:
    """Ask with a key, and wait for the answer however long it takes."""
    sent = {"Authorization": f"Bearer {key}", "Prefer": "wait=30", **headers}
    place = "/v1/datasets/loans/releases"
    return world.client("nobody").post(place, json={"plans": [AGES]}, headers=sent)


def begun(world: World) -> bool:
    jobs = world.client("owner").get("/v1/jobs").json()
    return bool(jobs) and jobs[0]["phase"] != "queued"


def revoke(world: World, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.client("owner").delete(f"/v1/keys/{key.split('_')[1]}").status_code == 200


def let_expire(world: World, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.service.access import keys

    def valid(row: Any) -> bool:
        return row.id != key.split("_")[1]

    monkeypatch.setattr(keys, "_is_valid", valid)


@pytest.mark.parametrize("end", [revoke, let_expire])
def test_nothing_is_charged_for_a_key_that_ended_while_it_waited(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch, end: Callable[..., None]
) -> None:
    world = make_limited(jobs=1)
    key, _ = world.office.keys.new("analyst", analyst="eve")
    go_on = held(monkeypatch, "_made_ready")
    with ThreadPoolExecutor(1) as pool:
        told: Future[httpx.Response] = pool.submit(ask_with, world, key)
        wait_for(lambda: begun(world))
        end(world, key, monkeypatch)
        go_on.set()
        assert told.result().status_code == 401
    assert spent(world) == "0"
    (job,) = world.client("owner").get("/v1/jobs").json()
    assert (job["state"], job["reservations"]) == ("failed", [])
    assert job["error"]["code"] == "unauthenticated"


def test_an_answer_that_was_paid_for_is_not_told_to_a_key_that_ended_meanwhile(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored: her next key has it for nothing, under the name that she gave it."""
    world = make_limited(jobs=1)
    (key, _), (next_key, _) = (world.office.keys.new("analyst", analyst="eve") for _ in range(2))
    go_on = held(monkeypatch, "_run")
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask_with, world, key, **{"Idempotency-Key": "monday"})
        wait_for(lambda: spent(world) == "0.5")
        revoke(world, key, monkeypatch)
        go_on.set()
        assert told.result().status_code == 401 and "value" not in told.result().text
    again = ask_with(world, next_key, **{"Idempotency-Key": "monday"})
    assert again.status_code == 200 and again.json()["releases"] and spent(world) == "0.5"


def test_an_answer_is_not_told_to_who_lost_her_share_meanwhile(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_limited(jobs=1)
    go_on = held(monkeypatch, "_run")
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask_with, world, world.keys["ann"])
        wait_for(lambda: spent(world) == "0.5")
        share = world.client("owner").put("/v1/datasets/loans/allotments/bob", json={"epsilon": 1.0})
        assert share.status_code == 200, "from now on nobody without one may ask"
        go_on.set()
        assert told.result().status_code == 403 and "value" not in told.result().text
