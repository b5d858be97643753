"""Metrics: counted everywhere, timed only where no table can be opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.service.app import matrix
from discreet.service.asked.desks import Desks
from discreet.service.metrics import OTHER, TIMED

from .conftest import World, plan


def timed(world: World) -> set[str]:
    lines = world.client("owner").get("/metrics").text.splitlines()
    return {line.split('route="')[1].split('"')[0] for line in lines if "seconds_sum{" in line}


def ask_everything(world: World) -> None:
    for method, path, _ in matrix():
        place = path.format(dataset="loans", id="a" * 16, analyst="eve", name="none")
        world.client("owner").request(method, place, json={} if method in ("POST", "PUT") else None)
    world.client("owner").get("/nowhere")
    world.ask("ann", plan("histogram", columns="age", bins=5, epsilon=0.5))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_nothing_is_timed_that_could_open_a_table(
    make_world: Callable[..., World], relation: str
) -> None:
    world = make_world(relation=relation)
    ask_everything(world)
    assert timed(world) <= set(TIMED) and {OTHER, "/v1/me", "/v1/keys"} <= timed(world)
    counted = world.client("owner").get("/metrics").text
    assert 'route="/v1/datasets/{dataset}/releases",status="200"' in counted
    assert 'worker="' in counted


def test_what_is_timed_opens_no_table(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_(_: Desks, dataset: str) -> Any:
        opened.append(dataset)
        raise AssertionError

    monkeypatch.setattr(Desks, "ledger", open_)
    for method, path, _ in matrix():
        if path in TIMED:
            place = path.format(id="a" * 16)
            world.client("owner").request(method, place, json={} if method == "POST" else None)
    assert opened == []
    world.client("owner").get("/v1/datasets/loans")
    assert opened == ["loans"], "the check sees who opens one"


def test_methods_that_somebody_makes_up_make_no_lines(world: World) -> None:
    for number in range(50):
        world.client("nobody").request(f"MADE{number}", "/nowhere")
    counted = world.client("owner").get("/metrics").text
    assert "MADE" not in counted
    told = [line for line in counted.splitlines() if 'requests_total{method="other"' in line]
    assert [line.rsplit(" ", 1)[1] for line in told] == ["50.0"]
