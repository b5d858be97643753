"""Stores and ledgers that fail at the worst moment: every charge has its answer or is told as lost."""

from __future__ import annotations

import gc
import threading
from typing import Any

import httpx
import pytest

from discreet.errors import BudgetExhausted, DiscreetError, LedgerUnavailable, UnderWay
from discreet.ledger import Ledger
from discreet.service.asked.jobs import Jobs
from discreet.session import Session

from .conftest import World, plan
from .test_lost import change, spent

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)
NAMED: dict[str, Any] = {"headers": {"Idempotency-Key": "monday"}}


def away(*_: Any, **__: Any) -> Any:
    raise LedgerUnavailable("It is away.")


def cut_after_reserving(cut: pytest.MonkeyPatch) -> None:
    """Let the ledger reserve, and its acknowledgement be lost."""
    reserve = Ledger.reserve_all

    def cut_off(*given: Any, **options: Any) -> Any:
        reserve(*given, **options)
        away()

    cut.setattr(Ledger, "reserve_all", cut_off)


def only_job(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.client("owner").get("/v1/jobs").json()[0]
    return found


def test_a_job_whose_end_could_not_be_written_is_told_from_the_ledger(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as store:
        store.setattr(world.office.jobs._book, "end", away)
        first = world.ask("ann", AGES, **NAMED)
    again = world.ask("ann", AGES, **NAMED)
    assert first.status_code == again.status_code == 200
    assert first.json()["releases"] == again.json()["releases"] and spent(world) == "0.5"


def test_whatever_a_job_ends_with_stays_inside(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Asyncio logs what nobody takes from a thread, with all that was raised before it."""

    failed = threading.Event()

    def fail(*_: Any) -> Any:
        failed.set()
        raise RuntimeError("a row's value: 41235")

    with monkeypatch.context() as store:
        store.setattr(world.office.jobs._book, "end", fail)
        world.ask("ann", AGES, headers={"Idempotency-Key": "monday", "Prefer": "wait=1"})
        assert failed.wait(60)
        world.office.jobs.tend()
    gc.collect()
    assert "41235" not in caplog.text and world.office.jobs._heart.is_alive()
    assert world.ask("ann", AGES, **NAMED).status_code == 200 and spent(world) == "0.5"


def test_a_worker_writes_the_end_down_as_soon_as_it_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others see the job as running until then; nobody has to ask this very worker for it."""
    jobs: Jobs = world.office.jobs
    monkeypatch.setattr(jobs, "tend", lambda: None)
    with monkeypatch.context() as store:
        store.setattr(jobs._book, "end", away)
        id_ = world.ask("ann", AGES).json()["job"]["id"]
    assert jobs._book.find(id_).state == "running"  # type: ignore[union-attr]
    Jobs.tend(jobs)
    assert jobs._book.find(id_).state == "done" and not jobs._unwritten  # type: ignore[union-attr]


def test_a_charge_whose_acknowledgement_was_lost_is_told_as_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as cut:
        cut_after_reserving(cut)
        found = world.ask("ann", AGES, **NAMED)
    assert found.status_code == 410 and spent(world) == "0.5"
    assert found.json()["error"]["reservations"] == only_job(world)["reservations"] != []
    assert world.ask("ann", AGES, **NAMED).status_code == 410 and spent(world) == "0.5"


def test_a_ledger_that_cannot_even_be_asked_is_asked_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as cut:
        cut_after_reserving(cut)
        cut.setattr(Ledger, "charges_noting", away)
        assert world.ask("ann", AGES, **NAMED).status_code == 503
    assert world.ask("ann", AGES, **NAMED).status_code == 410 and spent(world) == "0.5"


REFUSALS: dict[str, DiscreetError] = {
    "away": LedgerUnavailable("The database starts."),
    "exhausted": BudgetExhausted("Too much.", requested={}, remaining={}),
    "under way": UnderWay("Somebody else asks it."),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_what_failed_before_its_charge_may_be_asked_again_under_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch, refusal: DiscreetError
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise refusal

    with monkeypatch.context() as refusing:
        refusing.setattr(Ledger, "reserve_all", refuse)
        assert world.ask("ann", AGES, **NAMED).status_code == refusal.http_status
    first = world.ask("ann", AGES, **NAMED)
    again = world.ask("ann", AGES, **NAMED)
    assert first.status_code == 200 and first.json()["releases"] == again.json()["releases"]
    assert spent(world) == "0.5"
    other = world.ask("ann", plan("count", where="age >= 40", epsilon=0.1), **NAMED)
    assert other.status_code == 409, "the name is the first request's"


def test_a_cancelled_request_stays_cancelled_under_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes late over a slow line must not start what was called off."""
    ready = Session._made_ready

    def cancelled(session: Session, plans: Any) -> Any:
        world.client("ann").delete(f"/v1/jobs/{only_job(world)['id']}")
        return ready(session, plans)

    with monkeypatch.context() as slow:
        slow.setattr(Session, "_made_ready", cancelled)
        world.ask("ann", AGES, **NAMED)
    assert world.ask("ann", AGES, **NAMED).json()["job"]["state"] == "cancelled"
    assert spent(world) == "0"


def test_a_job_that_was_taken_over_before_its_charge_is_never_charged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker takes this one for dead at the last moment, and says that nothing was charged."""
    reserve = Ledger.reserve_all

    def taken_over_first(*given: Any, **options: Any) -> Any:
        change(world, only_job(world)["id"], worker="another")
        return reserve(*given, **options)

    monkeypatch.setattr(Ledger, "reserve_all", taken_over_first)
    monkeypatch.setattr(world.office.jobs._alive, "is_alive", lambda _: True)
    world.ask("ann", AGES, headers={"Prefer": "wait=1"})
    assert spent(world) == "0"


def test_an_answer_that_comes_after_all_overrules_that_it_is_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = Session._run, []

    def taken_over(session: Session, *rest: Any) -> Any:
        jobs: Jobs = world.office.jobs
        id_ = only_job(world)["id"]
        change(world, id_, worker="another")
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(jobs, "_mine", {})
            elsewhere.setattr(jobs._alive, "is_alive", lambda _: False)
            told.append(world.client("ann").get(f"/v1/jobs/{id_}").status_code)
        return run(session, *rest)

    with monkeypatch.context() as slow:
        slow.setattr(Session, "_run", taken_over)
        world.ask("ann", AGES, **NAMED)
    assert told == [410] and world.ask("ann", AGES, **NAMED).status_code == 200
    assert spent(world) == "0.5"


def test_a_lost_job_that_is_asked_again_twice_is_charged_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as breaking:
        breaking.setattr(Session, "_run", lambda *_: 1 / 0)
        world.ask("ann", AGES, fresh=True)
    path, owner = f"/v1/jobs/{only_job(world)['id']}/again", world.client("owner")
    first, second = owner.post(path), owner.post(path)
    assert first.status_code == second.status_code == 200
    assert first.json()["releases"] == second.json()["releases"] and spent(world) == "1"


def sealed(income: float) -> dict[str, Any]:
    query, rows = {"income": income, "age": 37.0}, [{"income": 30_000.0, "age": 50.0}]
    about = {"model": "risk", "x": query, "protects": "query", "background": rows, "radius": 1.0}
    return plan("shap_values", **about, epsilon=1.0)


def test_another_sealed_query_under_the_same_name_is_refused(world: World) -> None:
    first = world.ask("ann", sealed(41_235.0), **NAMED)
    again = world.ask("ann", sealed(41_235.0), **NAMED)
    other = world.ask("ann", sealed(20_000.0), **NAMED)
    assert first.status_code == again.status_code == 200, first.text
    assert first.json()["releases"] == again.json()["releases"]
    assert other.status_code == 409 and "Idempotency-Key" in other.text and spent(world) == "1"


def test_what_is_wrong_with_a_sealed_question_is_told_and_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence quotes the query. Said at once it is nowhere; said by a job it would be kept."""
    wrong = sealed(41_235.0)
    wrong["arguments"]["x"]["weight_of_ann"] = 93.5
    told = world.ask("ann", wrong, **NAMED)
    assert told.status_code == 422 and "weight_of_ann" in told.text
    assert world.client("owner").get("/v1/jobs").json() == []

    async def unchecked(*_: Any) -> None:
        pass

    monkeypatch.setattr("discreet.service.routes.asking._check_sealed", unchecked)
    told = world.ask("ann", wrong, **NAMED)
    assert told.status_code == 422 and "Its query is sealed" in told.text
    (job,) = world.client("owner").get("/v1/jobs").json()
    assert job["state"] == "failed" and "weight_of_ann" not in str(job)
    dear = {**sealed(41_235.0)["arguments"], "epsilon": 99.0}
    assert world.ask("ann", plan("shap_values", **dear)).status_code == 402, (
        "others are told as they are"
    )
    assert spent(world) == "0"


def test_nobody_can_try_guesses_of_a_sealed_query_by_what_is_kept(world: World) -> None:
    """The mark is made with the asker's key: neither the store nor the service's secret make it."""
    ring = world.office.keys
    body = b"the query"
    key, other = (ring.new("analyst", analyst="ann")[0] for _ in range(2))
    assert ring.sealed_mark(key, body) == ring.sealed_mark(key, body)
    assert ring.sealed_mark(key, body) != ring.sealed_mark(other, body)
    assert ring.sealed_mark(key, body) != ring.sealed_mark(key, b"another")
    assert ring.mark(body) not in ring.sealed_mark(key, body)
    first = world.ask("ann", sealed(41_235.0), **NAMED)
    assert first.status_code == 200
    (kept,) = world.office.jobs._book.newest(ring.open(world.keys["ann"]))
    request = {"plans": [sealed(41_235.0)]}
    sent = httpx.Request("POST", "http://x", json=request).content
    assert kept.mark == ring.sealed_mark(world.keys["ann"], sent) and kept.asked is None


def test_jobs_are_forgotten_after_their_days_unless_their_answers_are_lost(world: World) -> None:
    counts = [plan("count", where=f"age >= {age}", epsilon=0.1) for age in (30, 40, 50)]
    old, gone, new = (world.ask("ann", one).json()["job"]["id"] for one in counts)
    for id_ in (old, gone):
        change(world, id_, finished="2020-01-01T00:00:00+00:00")
    change(world, gone, state="lost")
    book = world.office.jobs._book
    book.forget(90)
    assert [book.find(id_) is not None for id_ in (old, gone, new)] == [False, True, True]
