"""Prices and releases over HTTP: the same charges as in a session, and never twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import ArgumentError
from discreet.plans import Release
from discreet.samples import loans
from discreet.service.asked.wire import read_plans

from .conftest import World, plan

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)


def spent(world: World) -> float:
    return float(world.client("owner").get("/v1/datasets/loans/budget").json()["spent"]["epsilon"])


def test_a_price_is_free_and_says_what_to_expect(world: World) -> None:
    found = world.client("ann").post("/v1/datasets/loans/price", json={"plans": [AGES]})
    assert found.status_code == 200, found.text
    assert found.json()["affordable"] and found.json()["plans"][0]["expected_error"]
    assert spent(world) == 0.0


def test_a_release_is_charged_once_and_shared(world: World) -> None:
    first = world.ask("ann", AGES)
    assert first.status_code == 200, first.text
    body = first.json()
    assert body["job"]["state"] == "done" and body["releases"][0]["charged"]["loss"] == "0.5"
    second = world.ask("bob", AGES)
    assert second.json()["job"] is None
    assert second.json()["releases"][0]["value"] == body["releases"][0]["value"]
    assert second.json()["releases"][0]["charged"]["loss"] == "0"
    assert spent(world) == 0.5


def test_a_release_is_what_the_library_reads(world: World) -> None:
    import json

    body = world.ask("ann", AGES).json()["releases"][0]
    release = Release.loads(json.dumps(body))
    assert release.guarantee.epsilon == 0.5 and release.guarantee.certified
    checked = world.office.desks.ledger("loans").verify("loans")
    assert checked.ok


def test_a_request_sent_again_under_its_name_is_answered_from_its_job(world: World) -> None:
    fresh: dict[str, Any] = {"fresh": True, "headers": {"Idempotency-Key": "monday"}}
    first, second = world.ask("ann", AGES, **dict(fresh)), world.ask("ann", AGES, **dict(fresh))
    assert first.json()["releases"] == second.json()["releases"]
    assert spent(world) == 0.5
    other = world.ask("ann", plan("count", where="age >= 40", epsilon=0.1), **dict(fresh))
    assert other.status_code == 409 and "Idempotency-Key" in other.json()["error"]["message"]
    assert spent(world) == 0.5


def test_models_are_named_by_the_owner(world: World) -> None:
    asked = plan("partial_dependence", model="risk", features="age", epsilon=1.0)
    found = world.ask("ann", asked)
    assert found.status_code == 200, found.text
    wrong = world.ask("ann", plan("partial_dependence", model="nobody", features="age", epsilon=1.0))
    assert wrong.status_code == 422 and "risk" in wrong.json()["error"]["message"]


def test_what_costs_too_much_is_refused_with_what_is_left(world: World) -> None:
    found = world.ask("ann", plan("histogram", columns="age", epsilon=11.0))
    assert found.status_code == 402
    assert found.json()["error"]["code"] == "budget-exhausted"
    assert found.json()["error"]["remaining"]["epsilon"] == "10"
    assert spent(world) == 0.0


@pytest.mark.parametrize("wait", ["\u00b2", "\u00bd", "-1", "1e9", "nan", "9" * 40, ""])
def test_a_wait_that_is_none_counts_as_left_out(world: World, wait: str) -> None:
    told = world.client("ann").post(
        "/v1/datasets/loans/releases",
        json={"plans": [plan("histogram", columns="age", bins=5, epsilon=0.1)]},
        headers=[("Prefer", f"wait={wait}".encode("latin-1"))],
    )
    assert told.status_code in (200, 202), told.text


def test_an_answer_that_was_worked_for_lets_its_connection_go(world: World) -> None:
    """So that the next question comes to a worker that has time; a stored answer keeps it."""
    asked = plan("histogram", columns="age", epsilon=0.1)
    assert world.ask("ann", asked).headers.get("connection") == "close"
    assert "connection" not in world.ask("ann", asked).headers


@pytest.mark.parametrize("name", ["once 5", "again 5"])
def test_names_that_the_service_gives_itself_are_refused(world: World, name: str) -> None:
    for asked in (AGES, {"plan": "shap_values", "arguments": {"protects": "query"}}):
        told = world.ask("ann", asked, headers={"Idempotency-Key": name})
        assert told.status_code == 422 and "Idempotency-Key must not begin with" in told.text
    assert spent(world) == 0.0 and world.client("ann").get("/v1/jobs").json() == []


def test_how_many_workers_there_are_is_the_services(world: World) -> None:
    """An asker could start a thousand processes with one request; forms do not offer it."""
    test = loans(3, seed=5).to_dict("records")
    options: dict[str, Any] = {"records": [0], "audience": "owner", "epsilon": 1.0}
    asked = plan("data_shapley", model="plain", test=test, **options)
    read = read_plans([asked], None, "loans", world.office.models)[0]
    asked["arguments"]["n_jobs"] = 1024
    told = world.client("owner").post("/v1/datasets/loans/price", json={"plans": [asked]})
    assert told.status_code == 422 and "n_jobs must be left out" in told.text
    written = read.describe()
    model = world.office.models.get("plain", "loans")
    held = {written["arguments"]["model"]["fingerprint"]: model}
    held[written["arguments"]["test"]] = loans(3, seed=5)
    known: Any = SimpleNamespace(by_fingerprint=lambda _: held)
    assert read_plans([written], None, "loans", known)[0].describe() == read.describe()
    written["arguments"]["n_jobs"] = 1024
    with pytest.raises(ArgumentError, match="n_jobs must be left out"):
        read_plans([written], None, "loans", known)
    offered = world.client("ann").get("/v1/plans").json()["data_shapley"]["arguments"]
    assert "n_jobs" not in {one["name"] for one in offered}


def test_one_request_that_comes_twice_at_once_is_one_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look for its job before either writes one down; the second finds the first's."""
    jobs, named = world.office.jobs, {"Idempotency-Key": "monday"}
    first = world.ask("ann", AGES, fresh=True, headers=named)
    find, looked = type(jobs).find, []

    def too_early(self: Any, *given: Any) -> Any:
        looked.append(given)
        return None if len(looked) == 1 else find(self, *given)

    monkeypatch.setattr(type(jobs), "find", too_early)
    second = world.ask("ann", AGES, fresh=True, headers=named)
    assert second.status_code == 200 and second.json()["job"]["id"] == first.json()["job"]["id"]
    assert len(looked) == 2 and spent(world) == 0.5
