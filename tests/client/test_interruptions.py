"""Lost connections, slow jobs and Ctrl-C: what is charged is charged once, and told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import discreet as dc
from discreet.errors import (
    AccessDenied,
    Cancelled,
    LedgerUnavailable,
    ServerUnreachable,
    TooManyRequests,
)
from discreet.ledger import Ledger
from discreet.privacy.accounting import Amount
from tests.client.conftest import ask_as, connected
from tests.service.conftest import World

AGES = dc.histogram("age", bins=5, epsilon=0.5)


def spent(world: World) -> Amount:
    return world.office.desks.owner("loans").balance.spent


def is_release(request: httpx.Request) -> bool:
    return request.method == "POST" and request.url.path.endswith("/releases")


def losing(times: int, kind: type[httpx.TransportError] = httpx.ReadError) -> Any:
    """Return a fault that loses the answers of the first releases, after the server worked."""
    lost: list[httpx.Request] = []

    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if is_release(request) and len(lost) < times:
            lost.append(request)
            raise kind("gone", request=request)
        return answer

    return fault


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("kind", [httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_an_answer_that_was_lost_on_its_way_is_charged_once(
    world: World, fresh: bool, kind: type[httpx.TransportError], no_pauses: list[float]
) -> None:
    session, network = ask_as(world, fault=losing(3, kind))
    release = session.release(AGES, fresh=fresh)
    asked = [request for request in network.requests if is_release(request)]
    assert len(asked) == 4 and len(no_pauses) == 3
    assert len({request.headers["idempotency-key"] for request in asked}) == 1
    assert len({request.content for request in asked}) == 1
    assert spent(world) == Amount.charge(0.5)
    assert session.find(release.id) == release


def test_two_calls_are_two_questions(world: World) -> None:
    session, network = ask_as(world)
    first, second = session.release(AGES, fresh=True), session.release(AGES, fresh=True)
    assert first.id != second.id and spent(world) == Amount.charge(1.0)
    keys = {request.headers["idempotency-key"] for request in network.requests if is_release(request)}
    assert len(keys) == 2


def test_a_server_that_stays_away_is_told_with_what_goes_on(
    world: World, no_pauses: list[float]
) -> None:
    session, _ = ask_as(world, fault=losing(100))
    with pytest.raises(
        ServerUnreachable, match="Whether the question was charged is not known"
    ) as gone:
        session.release(AGES, fresh=True)
    key = gone.value.idempotency_key
    assert key and gone.value.to_json()["error"]["idempotency_key"] == key
    assert spent(world) == Amount.charge(0.5)
    later, _ = ask_as(world)
    release = later.release(AGES, fresh=True, idempotency_key=key)
    assert release.charged == Amount.charge(0.5) and spent(world) == Amount.charge(0.5)


def test_a_sealed_query_that_was_lost_is_charged_once(world: World, no_pauses: list[float]) -> None:
    session, _ = ask_as(world, fault=losing(2))
    plan = dc.shap_values(
        session.model("risk"),
        {"income": 41_234.5, "age": 33},
        protects="query",
        background=[{"income": 30_000.0, "age": 30}],
        radius=1.0,
        epsilon=0.5,
    )
    assert session.release(plan).charged == Amount.charge(0.5) == spent(world)


def busy(times: int, retry_after: str) -> Any:
    """Return a fault that tells the first requests to come again later."""
    told: list[int] = []

    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if len(told) >= times:
            return answer
        told.append(number)
        plain = {"error": {"code": "too-many-requests", "message": "Later.", "seconds": 7.0}}
        return httpx.Response(429, json=plain, headers={"Retry-After": retry_after})

    return fault


def test_a_server_that_wants_a_pause_gets_it(world: World, no_pauses: list[float]) -> None:
    server, _ = connected(world, fault=busy(2, "7"))
    assert server.role == "analyst" and no_pauses == [7.0, 7.0]


def test_a_server_that_wants_a_long_pause_is_told(world: World, no_pauses: list[float]) -> None:
    with pytest.raises(TooManyRequests, match=r"Later\.") as told:
        connected(world, fault=busy(1, "3600"))
    assert told.value.seconds == 7.0 and no_pauses == []


def test_the_servers_own_limit_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.service.guards import Frequency

    now = [0.0]

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    object.__setattr__(world.office, "rate", Frequency(4, clock=lambda: now[0]))
    monkeypatch.setattr("discreet.client.driving.time.sleep", pass_time)
    server, _ = connected(world)
    for _ in range(4):
        server.plans()
    assert 45.0 <= now[0] <= 60.0, "five requests, two at once, then one in fifteen seconds"


@pytest.fixture
def slow(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, threading.Event]]:
    """Let questions wait before their charge and after it, until they are told to go on."""
    from discreet.session import Session

    gates = {"before": threading.Event(), "after": threading.Event(), "charged": threading.Event()}
    ready, run = Session._made_ready, Session._run

    def made_ready(self: Any, plans: Any) -> Any:
        gates["before"].wait(30)
        return ready(self, plans)

    def running(self: Any, *args: Any) -> Any:
        gates["charged"].set()
        gates["after"].wait(30)
        return run(self, *args)

    monkeypatch.setattr(Session, "_made_ready", made_ready)
    monkeypatch.setattr(Session, "_run", running)
    yield gates
    for gate in gates.values():
        gate.set()


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server be asked to wait for no time."""
    monkeypatch.setattr("discreet.client.jobs._FIRST_WAIT", 0)


def test_a_slow_job_is_waited_for_and_its_phases_told(
    world: World,
    slow: dict[str, threading.Event],
    brief: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("discreet.progress._PATIENCE", -1.0)

    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if "/v1/jobs/" in request.url.path:
            slow["before"].set()
            if slow["charged"].wait(30):
                slow["after"].set()
        return answer

    server, network = connected(world, fault=fault, progress=True)
    release = server.dataset("loans").release(AGES)
    assert release.charged == Amount.charge(0.5)
    polled = [request for request in network.requests if "/v1/jobs/" in request.url.path]
    assert polled and "idempotency-key" not in polled[0].headers
    assert "histogram: " in capsys.readouterr().err


@pytest.mark.parametrize("waits", [0, 2], ids=["asked for the job", "waited for"])
def test_a_database_that_was_away_before_the_charge_is_asked_again(
    world: World, waits: int, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    """Under the same name, so that it is charged once."""
    monkeypatch.setattr("discreet.client.jobs._FIRST_WAIT", waits)
    reserve, tried = Ledger.reserve_all, []

    def away_at_first(*given: Any, **options: Any) -> Any:
        tried.append(1)
        if len(tried) == 1:
            raise LedgerUnavailable("The database starts.")
        return reserve(*given, **options)

    monkeypatch.setattr(Ledger, "reserve_all", away_at_first)
    session, network = ask_as(world)
    assert session.release(AGES).charged == Amount.charge(0.5) == spent(world)
    asked = [request for request in network.requests if is_release(request)]
    assert len(tried) == 2 == len(asked)
    assert len({request.headers["idempotency-key"] for request in asked}) == 1


def interrupted_at(gate: Callable[[httpx.Request], bool]) -> Any:
    """Return a fault that is Ctrl-C, once."""
    done: list[int] = []

    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if gate(request) and not done:
            done.append(number)
            raise KeyboardInterrupt
        return answer

    return fault


def is_poll(request: httpx.Request) -> bool:
    return request.method == "GET" and "/v1/jobs/" in request.url.path


@pytest.mark.parametrize("when", [is_poll, is_release], ids=["polling", "asking"])
def test_ctrl_c_before_the_charge_cancels(
    world: World, slow: dict[str, threading.Event], brief: None, when: Any
) -> None:
    session, network = ask_as(world, fault=interrupted_at(when))
    with pytest.raises(KeyboardInterrupt, match="Interrupted before anything was charged"):
        session.release(AGES)
    assert len(network.asked("DELETE")) == 1
    for gate in slow.values():
        gate.set()
    world.office.jobs.close()
    assert spent(world) == Amount()


@pytest.mark.parametrize("when", [is_poll, is_release], ids=["polling", "asking"])
def test_ctrl_c_after_the_charge_says_what_stays_and_where_the_answer_will_be(
    world: World, slow: dict[str, threading.Event], brief: None, when: Any
) -> None:
    slow["before"].set()

    def later(request: httpx.Request) -> bool:
        return when(request) and slow["charged"].wait(30)

    server, _ = connected(world, fault=interrupted_at(later))
    with pytest.raises(KeyboardInterrupt, match="The charge was taken and stays") as told:
        server.dataset("loans").release(AGES)
    slow["after"].set()
    job = server.job(str(told.value).split("job ")[1].split(".")[0])
    (release,) = job.releases()
    assert release.charged == Amount.charge(0.5) == spent(world)
    assert server.dataset("loans").release(AGES) == release and spent(world) == Amount.charge(0.5)


def test_ctrl_c_while_nobody_answers_says_that_it_is_not_known(
    world: World, no_pauses: list[float]
) -> None:
    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if is_release(request):
            raise KeyboardInterrupt
        if "/v1/jobs" in request.url.path:
            raise httpx.ConnectError("gone", request=request)
        return answer

    session, _ = ask_as(world, fault=fault)
    with pytest.raises(KeyboardInterrupt, match="whether it was charged is not known here"):
        session.release(AGES)


def test_a_job_that_an_owner_cancelled_says_so(
    world: World, slow: dict[str, threading.Event], brief: None
) -> None:
    def fault(number: int, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if is_release(request):
            owner, _ = connected(world, "owner")
            assert owner.job(json.loads(answer.content)["job"]["id"]).cancel()
        return answer

    session, _ = ask_as(world, fault=fault)
    with pytest.raises(Cancelled, match="was cancelled before anything was charged"):
        session.release(AGES)


def run(world: World, work: Callable[[Any], Any]) -> Any:
    """Run a coroutine with an asynchronous server."""

    async def main() -> Any:
        transport = httpx.ASGITransport(world.app)
        key = world.keys["ann"]
        async with await dc.connect_async("http://localhost", key=key, transport=transport) as server:
            return await work(server)

    return asyncio.run(main())


def test_the_same_verbs_are_awaited(world: World) -> None:
    async def work(server: Any) -> None:
        session = await server.dataset("loans")
        plan = dc.partial_dependence(await server.model("risk"), "age", epsilon=0.5)
        price = await session.price([AGES, plan])
        assert price.cost.loss == 1.0
        first, second = await asyncio.gather(session.release(AGES), session.release(plan))
        assert (first.charged, second.charged) == (Amount.charge(0.5), Amount.charge(0.5))
        assert (await session.remaining()).loss == 9.0 and (await session.balance()).spent.loss
        assert len(await session.history()) == 5 and len(await session.releases()) == 2
        assert await session.find(first.id) == first
        assert (await server.datasets())["remaining"].tolist() == [9.0]
        jobs = await server.jobs()
        assert await (await server.job(jobs["id"][0])).releases()
        with pytest.raises(AccessDenied):
            await session.verify()
        assert repr(session).startswith("AsyncRemoteSession('loans' at")

    run(world, work)


def test_a_cancelled_task_cancels_its_job(
    world: World, slow: dict[str, threading.Event], brief: None
) -> None:
    async def work(server: Any) -> None:
        session = await server.dataset("loans")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await session.release(AGES)
        assert (await server.jobs())["state"].tolist() == ["cancelled"]

    run(world, work)
    assert spent(world) == Amount()


def test_a_server_that_is_gone_is_told(world: World, no_pauses: list[float]) -> None:
    server, _ = connected(world)
    session = server.dataset("loans")
    world.server.close()
    for ask in (server.datasets, lambda: session.release(AGES)):
        with pytest.raises(ServerUnreachable, match="did not answer"):
            ask()
