"""Limits of work: so many prices and jobs at once, and none that depends on a row."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import TooManyRequests
from discreet.service import make_app
from discreet.service.asked.desks import Desks
from discreet.service.guards import Frequency
from discreet.service.routes import releases
from discreet.session import Session

from .conftest import Server, World, plan, write_project
from .test_lost import spent

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)
PRICE = "/v1/datasets/loans/price"


@pytest.fixture
def make_limited(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**settings: int) -> World:
        project = write_project(tmp_path)
        told = "".join(f"{name} = {value}\n" for name, value in settings.items())
        project.write_text(project.read_text().replace("[service]\n", f"[service]\n{told}"))
        app = make_app(project)
        ring = app.state.office.keys
        keys = {name: ring.new("analyst", analyst=name)[0] for name in ("ann", "bob")}
        made.append(World(tmp_path, app, {**keys, "owner": ring.new("owner")[0]}, Server(app)))
        return made[-1]

    yield make
    for world in made:
        world.close()


def held(monkeypatch: pytest.MonkeyPatch, name: str) -> threading.Event:
    """Let a step of sessions wait until it is told to go on."""
    go_on, step = threading.Event(), getattr(Session, name)

    def wait(session: Session, *given: Any, **options: Any) -> Any:
        go_on.wait(60)
        return step(session, *given, **options)

    monkeypatch.setattr(Session, name, wait)
    return go_on


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_heavy_prices_hold_up_nothing_else_and_end_with_a_sentence(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_limited(prices=1)
    ann, go_on = world.client("ann"), held(monkeypatch, "price")
    monkeypatch.setattr(world.office.prices, "_seconds", 0.5)

    def price(_: int) -> tuple[int, str]:
        told = ann.post(PRICE, json={"plans": [AGES]})
        return told.status_code, told.json().get("error", {}).get("code", "")

    with ThreadPoolExecutor(60) as pool:  # as many as all threads of the server, and more
        told = pool.map(price, range(60))
        assert world.client("bob").get("/v1/datasets/loans").status_code == 200
        statuses = sorted(told)
    go_on.set()
    assert set(statuses) == {(413, "too-large"), (429, "too-many-requests")}
    assert statuses[0][0] == 413 and statuses[1][0] == 429, "one was begun, the others only waited"
    monkeypatch.setattr(world.office.prices, "_seconds", 120.0)
    found = ann.post(PRICE, json={"plans": [AGES]})
    assert found.status_code == 200, "there is room again"


def test_to_open_a_table_is_no_part_of_a_prices_time(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes as long as the table has rows."""
    world, threads = make_limited(), {}

    def noted(kind: type, name: str) -> None:
        step = getattr(kind, name)

        def note(*given: Any, **options: Any) -> Any:
            threads[name] = threading.current_thread().name
            return step(*given, **options)

        monkeypatch.setattr(kind, name, note)

    noted(Desks, "owner")
    noted(Session, "price")
    assert world.client("ann").post(PRICE, json={"plans": [AGES]}).status_code == 200
    assert threads["price"].startswith("discreet-price")
    assert not threads["owner"].startswith("discreet-price")


@dataclass
class Clock:
    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("step", "status"), [("_made_ready", 413), ("_run", 200)])
def test_only_what_reads_no_row_can_take_too_long(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch, step: str, status: int
) -> None:
    """How long an answer takes follows from rows, so that no limit may end it."""
    world, clock, done = make_limited(), Clock(), getattr(Session, step)

    def slow(session: Session, *given: Any) -> Any:
        clock.now += 3600
        return done(session, *given)

    monkeypatch.setattr("discreet.service.asked.jobs.time", clock)
    monkeypatch.setattr(Session, step, slow)
    assert world.ask("ann", AGES).status_code == status
    assert spent(world) == ("0.5" if status == 200 else "0")


def test_one_asker_leaves_room_for_others(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_limited(jobs=1, jobs_each=2)
    go_on = held(monkeypatch, "_made_ready")
    told = [world.begin("ann", AGES, fresh=True).status_code for _ in range(3)]
    his = world.begin("bob", AGES, fresh=True).status_code
    go_on.set()
    assert told == [202, 202, 429] and his == 202


def test_pictures_hold_up_nothing_else_and_leave_room_for_others(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, go_on, threads = make_limited(), threading.Event(), set()
    release = world.ask("ann", AGES).json()["releases"][0]["id"]
    drawn = releases.draw

    def slow(*given: Any, **options: Any) -> bytes:
        threads.add(threading.current_thread().name)
        go_on.wait(60)
        return drawn(*given, **options)

    monkeypatch.setattr(releases, "draw", slow)
    picture = f"/v1/datasets/loans/releases/{release}/picture.svg"
    with ThreadPoolExecutor(61) as pool:  # as many as all threads of the server, and more
        hers = [pool.submit(world.client("ann").get, picture) for _ in range(60)]
        wait_for(lambda: sum(one.done() for one in hers) == 60 - 16)
        assert world.client("bob").get("/v1/datasets/loans").status_code == 200
        his = pool.submit(world.client("bob").get, picture)
        go_on.set()
        assert his.result().status_code == 200
        statuses = sorted(one.result().status_code for one in hers)
    assert statuses == [200] * 16 + [429] * 44 and len(threads) == 1


def test_a_question_of_hers_waits_and_his_is_answered(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many she asks, and however long they take; the same of prices."""
    world = make_limited(jobs=2, prices=2, jobs_each=40)
    go_on, prices_too = threading.Event(), Session.price
    made_ready = Session._made_ready

    def wait(session: Session) -> None:
        if session.analyst == "ann":
            go_on.wait(60)

    def slow(session: Session, *given: Any, **options: Any) -> Any:
        wait(session)
        return made_ready(session, *given, **options)

    def slow_price(session: Session, *given: Any, **options: Any) -> Any:
        wait(session)
        return prices_too(session, *given, **options)

    monkeypatch.setattr(Session, "_made_ready", slow)
    monkeypatch.setattr(Session, "price", slow_price)
    hers = [world.begin("ann", AGES, fresh=True).status_code for _ in range(12)]
    assert hers == [202] * 12
    with ThreadPoolExecutor(12) as pool:
        asked = [
            pool.submit(world.client("ann").post, PRICE, json={"plans": [AGES]}) for _ in range(12)
        ]
        assert world.ask("bob", AGES, fresh=True).status_code == 200
        assert world.client("bob").post(PRICE, json={"plans": [AGES]}).status_code == 200
        assert not any(one.done() for one in asked)
        go_on.set()
        assert {one.result().status_code for one in asked} == {200}
    wait_for(lambda: not world.office.jobs._running)
    assert spent(world) == "6.5"


def test_a_service_whose_threads_are_all_busy_says_that_it_is_there(
    make_limited: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, go_on, busy = make_limited(), threading.Event(), threading.Semaphore(0)
    names = Desks.names

    def slow(desks: Desks, caller: Any) -> list[str]:
        busy.release()
        go_on.wait(60)
        return names(desks, caller)

    monkeypatch.setattr(Desks, "names", slow)
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(world.client("ann").get, "/v1/models") for _ in range(THREADS)]
        assert all(busy.acquire(timeout=60) for _ in range(40)), "as many threads as there are"
        assert world.client("nobody").get("/v1/health", timeout=10.0).status_code == 200
        go_on.set()
        assert {one.result().status_code for one in asked} == {200}


THREADS = 60
"""More than the forty that Starlette has."""


def test_who_comes_on_many_threads_is_counted_as_often() -> None:
    class Slow(OrderedDict[str, tuple[float, float]]):
        """Between what was left and what is left now there is time for others."""

        def pop(self, *given: Any) -> Any:
            found = super().pop(*given)
            time.sleep(0.002)
            return found

    limit = Frequency(20, clock=lambda: 0.0)
    limit._left = Slow()

    def come(_: int) -> bool:
        try:
            limit.check("ann")
        except TooManyRequests:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(come, range(40))) == 10
