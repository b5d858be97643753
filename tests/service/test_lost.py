"""Crashes and cancellations: nothing is charged twice, nothing is drawn again, everything is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import insert, update

from discreet.errors import LedgerUnavailable
from discreet.service.asked.job import ReleaseJob
from discreet.service.store import jobs as jobs_table
from discreet.session import Session

from .conftest import World, plan, write_project

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)


def spent(world: World) -> str:
    return str(world.client("owner").get("/v1/datasets/loans/budget").json()["spent"]["epsilon"])


def change(world: World, job: str, **values: Any) -> None:
    """Write something else into the book of jobs."""
    with world.office.store.writing() as connection:
        connection.execute(update(jobs_table).where(jobs_table.c.id == job).values(**values))


def test_an_answer_that_fails_after_its_charge_is_lost_and_not_drawn_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a row's value: 41235")

    with monkeypatch.context() as broken:
        broken.setattr(Session, "_run", fail)
        found = world.ask("ann", AGES, headers={"Idempotency-Key": "once"})
    assert found.status_code == 410 and "41235" not in found.text
    error = found.json()["error"]
    assert error["code"] == "answer-lost" and len(error["reservations"]) == 1
    retried = world.ask("ann", AGES, headers={"Idempotency-Key": "once"})
    anew = world.ask("bob", AGES)
    afresh = world.ask("ann", AGES, fresh=True)
    assert [one.status_code for one in (retried, anew, afresh)] == [410, 410, 410]
    assert anew.json()["error"]["reservations"] == error["reservations"] and spent(world) == "0.5"


def test_the_owner_asks_a_lost_question_again_and_pays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Session, "_run", lambda *_: 1 / 0)
        assert world.ask("ann", AGES).status_code == 410
    (job,) = world.client("ann").get("/v1/jobs").json()
    assert job["state"] == "lost"
    assert world.client("ann").post(f"/v1/jobs/{job['id']}/again").status_code == 403
    again = world.client("owner").post(f"/v1/jobs/{job['id']}/again")
    assert again.status_code == 200, again.text
    assert spent(world) == "1"
    assert world.ask("ann", AGES).json()["releases"][0]["charged"]["loss"] == "0"


def test_a_job_is_cancelled_before_its_charge_and_not_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_ready = Session._made_ready

    def cancelled_meanwhile(session: Session, plans: Any) -> Any:
        (job,) = world.client("ann").get("/v1/jobs").json()
        assert world.client("bob").delete(f"/v1/jobs/{job['id']}").status_code == 404
        assert world.client("ann").delete(f"/v1/jobs/{job['id']}").json()["job"]["state"] == "cancelled"
        return made_ready(session, plans)

    with monkeypatch.context() as slow:
        slow.setattr(Session, "_made_ready", cancelled_meanwhile)
        found = world.ask("ann", AGES)
    assert found.json()["job"]["state"] == "cancelled" and spent(world) == "0"
    done = world.ask("ann", AGES).json()["job"]
    late = world.client("ann").delete(f"/v1/jobs/{done['id']}")
    assert late.status_code == 409 and spent(world) == "0.5"


def test_a_store_that_goes_away_after_the_charge_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = world.office.jobs._book
    move = book.move

    def away(job: ReleaseJob, phase: str, charged: Any = ()) -> None:
        if charged:
            raise LedgerUnavailable("The store is away.")
        move(job, phase, charged)

    monkeypatch.setattr(book, "move", away)
    found = world.ask("ann", AGES)
    assert found.status_code == 200 and found.json()["releases"]


def test_what_became_of_a_dead_workers_job_is_told_from_the_ledger(world: World) -> None:
    done = world.ask("ann", AGES).json()
    jobs = world.office.jobs
    caller = world.office.keys.open(world.keys["ann"])
    job = jobs.get(caller, done["job"]["id"])
    change(world, job.id, state="running", phase="answering", worker="gone", finished=None)
    found = world.client("ann").get(f"/v1/jobs/{job.id}")
    assert found.json()["job"]["state"] == "done"
    assert found.json()["releases"] == done["releases"]


def test_a_dead_workers_job_that_was_not_charged_for_says_so(world: World) -> None:
    caller = world.office.keys.open(world.keys["ann"])
    done = world.ask("ann", AGES).json()["job"]["id"]
    jobs = world.office.jobs
    other = jobs.get(caller, done).but(id="b" * 16, retry="another", state="running", phase="queued")
    with world.office.store.writing() as connection:
        connection.execute(insert(jobs_table), {**other.but(worker="gone").row(), "number": 99})
    found = world.client("ann").get(f"/v1/jobs/{'b' * 16}")
    assert (
        found.status_code == 503 and "before anything was charged" in found.json()["error"]["message"]
    )


@pytest.mark.slow
def test_a_killed_worker_leaves_every_charge_answered_or_told(tmp_path: Path) -> None:
    """A real server is killed while it answers; another one on the same files tells what became."""
    project = write_project(tmp_path)
    slow = {"DISCREET_TEST_PAUSE": "30", **os.environ}
    command = [sys.executable, "-m", "tests.service.slow_server", str(project)]
    with subprocess.Popen(command, env=slow, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url, key, owner = server.stdout.readline().split()
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "k", "Prefer": "wait=0"}
        body = {"plans": [AGES]}
        with httpx.Client(base_url=url, headers=headers, timeout=60.0) as client:
            job = client.post("/v1/datasets/loans/releases", json=body).json()["job"]["id"]
            while client.get(f"/v1/jobs/{job}").json()["job"]["phase"] != "answering":
                time.sleep(0.05)
        server.send_signal(signal.SIGKILL)
    with subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[0]
        with httpx.Client(base_url=url, headers=headers, timeout=60.0) as client:
            again = client.post("/v1/datasets/loans/releases", json=body)
            told = client.get("/v1/datasets/loans/budget", headers={"Authorization": f"Bearer {owner}"})
        server.kill()
    assert again.status_code == 410 and len(again.json()["error"]["reservations"]) == 1
    assert told.json()["spent"]["epsilon"] == "0.5"
