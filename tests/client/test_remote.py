"""A data set of a server is asked as a session is, and answers the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import (
    AccessDenied,
    ArgumentError,
    BudgetExhausted,
    ModelError,
    NotAuthenticated,
    NotFound,
)
from discreet.privacy.accounting import Amount
from discreet.session.project import Project
from tests.client.conftest import ask_as, connected
from tests.service.conftest import World

AGES = dc.histogram("age", bins=5, epsilon=0.5)


def local(world: World) -> dc.Session:
    """Return a session of the same data set, without the service."""
    entry = Project.load(world.folder / "discreet.toml").entries["loans"]
    return dc.protect(
        world.folder / entry.data,
        world.folder / entry.schema,
        dataset="loans",
        ledger=world.folder / entry.ledger,
        progress=False,
    )


def test_a_server_tells_what_it_has(world: World) -> None:
    server, _ = connected(world)
    frame = server.datasets()
    assert frame[["dataset", "rows", "remaining", "models"]].values.tolist() == [
        ["loans", 400, 10.0, "risk, plain"]
    ]
    assert (server.role, server.analyst) == ("analyst", "ann")
    assert server.plans()["histogram"]["travels"] and not server.plans()["any_curve"]["travels"]
    assert "risk" in {*server.models()["name"]}
    assert repr(server) == f"Server({world.server.url}, analyst ann)"


def test_a_data_set_that_cannot_be_asked_now_is_listed_with_its_reason(world: World) -> None:
    def listed(number: int, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        told = [*response.json(), {"dataset": "gone", "reason": "There is no ledger at gone.db."}]
        return httpx.Response(200, json=told) if request.url.path == "/v1/datasets" else response

    server, _ = connected(world, "owner", listed)
    rows = server.datasets().set_index("dataset")
    assert (
        rows.loc["gone", "reason"] == "There is no ledger at gone.db."
        and not rows.loc["gone", "models"]
    )
    assert server.model("risk").name == "risk"


def test_a_session_is_had_at_once(world: World) -> None:
    with dc.connect(world.server.url, key=world.keys["ann"], dataset="loans") as session:
        assert session.dataset == "loans" and session.schema == dc.samples.loan_schema()
        assert session.version == "1" and "400 records" in session._repr_html_()
        assert repr(session) == f"RemoteSession('loans' at {world.server.url}, asked by ann)"
        assert dc.errors and session.card.models["risk"].form


def test_a_price_is_the_sessions_own(world: World) -> None:
    session, _ = ask_as(world)
    plans = [AGES, dc.mean("income", by="home", epsilon=0.2), dc.percentile("age", 50, epsilon=0.1)]
    there, here = session.price(plans), local(world).price(plans)
    assert there.to_json() == here.to_json() and str(there) == str(here)
    assert there._repr_html_() == here._repr_html_()
    many = session.price(
        dc.shap_values(session.model("risk"), {"income": 1.0, "age": 30}, epsilon=0.5), queries=9
    )
    assert isinstance(many.plans[0].strategies, tuple)
    assert session.remaining.loss == 10.0


def test_a_release_is_one_and_is_stored_once(world: World) -> None:
    session, _ = ask_as(world)
    release = session.release(AGES)
    assert isinstance(release, dc.Release) and isinstance(release.value, dc.Histogram)
    assert release.charged == Amount.charge(0.5) and release.plan == AGES.describe()
    assert release.plot().figure_ is not None and len(release.value.to_frame()) > 4
    again = session.release(AGES)
    assert again == release and again.charged == Amount()
    assert local(world).release(AGES) == release
    assert session.remaining.to_json() == local(world).remaining.to_json()
    assert session.balance.spent == Amount.charge(0.5)


def test_several_are_released_together_and_fresh_noise_is_paid_for(world: World) -> None:
    session, _ = ask_as(world)
    both = session.release([AGES, dc.count(where="age >= 40", epsilon=0.1)])
    assert [release.plan["kind"] for release in both] == ["histogram", "count"]
    assert session.release([AGES])[0] == both[0]
    fresh = session.release(AGES, fresh=True)
    assert fresh.id != both[0].id and session.remaining.loss == pytest.approx(8.9)


def test_models_are_the_servers(world: World) -> None:
    server, _ = connected(world)
    session = server.dataset("loans")
    model = server.model("risk")
    assert repr(model) == "RemoteModel('risk', the server has it)" and model.name == "risk"
    plan = dc.partial_dependence(model, "age", epsilon=0.5)
    assert session.price(plan).plans[0].cost.loss == 0.5
    release = session.release(plan)
    assert isinstance(release.value, dc.Curve) and release.guarantee.certified
    assert plan == dc.partial_dependence(session.model("risk"), "age", epsilon=0.5)
    with pytest.raises(ArgumentError, match=r"one of the server's models \(.*risk\), got 'other'"):
        server.model("other")
    with pytest.raises(ArgumentError, match=r"one of the server's models \(.*risk\), got 'other'"):
        session.model("other")
    with pytest.raises(ModelError, match="'risk', which only the server has"):
        local(world).price(plan)


def test_a_plan_for_every_feature_has_several_answers(world: World) -> None:
    session, _ = ask_as(world)
    releases = session.release(dc.partial_dependence(session.model("risk"), "all", epsilon=1.0))
    assert isinstance(releases, list) and {release.about for release in releases} == {
        ("income",),
        ("age",),
    }
    assert sum(release.charged.loss for release in releases) == 10**12


def test_public_rows_travel_with_their_plan(world: World) -> None:
    session, network = ask_as(world)
    rows = pd.DataFrame({"income": [30_000.0, 60_000.0], "age": [30, 60]})
    plan = dc.shap_importance(session.model("risk"), background=rows, epsilon=0.5)
    assert session.release(plan).plan == plan.describe()
    assert json.loads(network.asked("POST", "/releases")[0].content)["rows"]


def test_labels_of_queries_are_the_askers(world: World) -> None:
    session, network = ask_as(world)
    x = pd.DataFrame({"income": [30_000.0, 60_000.0], "age": [30, 60]}, index=["ann", "bob"])
    release = session.release(dc.shap_values(session.model("risk"), x, epsilon=0.5))
    assert set(release.value.to_frame().index.get_level_values("query")) == {"ann", "bob"}
    assert b"bob" not in network.asked("POST", "/releases")[0].content


def test_sealed_queries_are_asked_and_not_written(world: World) -> None:
    session, network = ask_as(world)
    rows = pd.DataFrame({"income": [30_000.0, 60_000.0], "age": [30, 60]})
    query = {"income": 41_234.5, "age": 33}
    plan = dc.shap_values(
        session.model("risk"), query, protects="query", background=rows, radius=1.0, epsilon=0.5
    )
    release = session.release(plan)
    assert isinstance(release, dc.Release) and release.guarantee.epsilon == 0.5
    sent = json.loads(network.asked("POST", "/releases")[0].content)["plans"][0]
    assert sent["plan"] == "shap_values" and sent["arguments"]["model"] == "risk"
    assert sent["arguments"]["x"] == [query] and "41234.5" not in release.dumps()
    other, _ = ask_as(world, "bob")
    with pytest.raises(NotFound):
        other.find(release.id)


def test_tables_of_public_rows_are_asked(world: World) -> None:
    session, network = ask_as(world)
    test = dc.samples.loans(40, seed=5)
    plan = dc.data_shapley(test=test, method="tknn", radius=0.3, epsilon=1.0, delta=1e-5)
    price = session.price(plan)
    assert price.affordable
    sent = json.loads(network.asked("POST", "/price")[0].content)["plans"][0]
    assert len(sent["arguments"]["test"]) == 40


def test_functions_do_not_travel(world: World) -> None:
    session, _ = ask_as(world)
    plan = dc.choose(lambda rows: rows[["age"]].to_numpy(), ["a", "b"], bounds=(0, 1), epsilon=0.1)
    with pytest.raises(ArgumentError, match="a function, which does not travel"):
        session.price(plan)


def test_refusals_are_the_sessions_own(world: World) -> None:
    session, _ = ask_as(world)
    dear = dc.histogram("age", epsilon=11.0)
    with pytest.raises(BudgetExhausted) as there:
        session.release(dear)
    with pytest.raises(BudgetExhausted) as here:
        local(world).release(dear)
    assert there.value.to_json() == here.value.to_json()
    for wrong in (dc.histogram("nothing", epsilon=0.1), dc.mean("home", epsilon=0.1)):
        with pytest.raises(ArgumentError) as told:
            session.release(wrong)
        with pytest.raises(ArgumentError) as said:
            local(world).release(wrong)
        assert str(told.value) == str(said.value)
    with pytest.raises(ArgumentError, match="plans must be a plan or a non-empty list"):
        session.release([])
    with pytest.raises(ArgumentError, match="queries must be"):
        session.price(AGES, queries=0)
    assert session.remaining.loss == 10.0


def test_a_model_that_was_fitted_again_is_refused_before_it_is_sent(world: World) -> None:
    from sklearn.linear_model import LogisticRegression

    session, network = ask_as(world)
    frame = dc.samples.loans(100)
    model = LogisticRegression().fit(frame[["age"]], frame["defaulted"])
    plan = dc.partial_dependence(model, "age", epsilon=0.5)
    with pytest.raises(ArgumentError, match=r"model must be one of the server's models \(.*risk\)"):
        session.release(plan)
    assert not network.asked("POST")
    model.fit(-frame[["age"]], frame["defaulted"])
    before = len(network.requests)
    with pytest.raises(ArgumentError, match="fitted again"):
        session.release(plan)
    assert len(network.requests) == before


def test_history_and_stored_releases_are_frames(world: World) -> None:
    session, _ = ask_as(world)
    release = session.release(AGES)
    entries = session.history()
    assert entries["kind"].tolist() == ["register", "reserve", "settle"]
    assert "histogram" in entries._repr_html_().lower()
    listed = session.releases()
    assert listed["id"].tolist() == [release.id] and listed["certified"].all()
    found = session.find(release.id)
    assert found == release and found.charged is None
    with pytest.raises(NotFound):
        session.find("nothing/../../keys")
    with pytest.raises(ArgumentError, match="id must be that of a release"):
        session.find("")
    assert session.budget()["spent_on"][0]["plan"] == "histogram"


def test_what_a_role_may_not_do_is_told(world: World, tmp_path: Path) -> None:
    mine, _ = ask_as(world)
    release = mine.release(AGES)
    with pytest.raises(AccessDenied, match="got one of the role analyst"):
        mine.verify()
    auditor, _ = ask_as(world, "auditor")
    assert auditor.verify().ok and auditor.verify().entries == 3
    with pytest.raises(AccessDenied, match="the answer is not"):
        auditor.find(release.id)
    with pytest.raises(AccessDenied, match="got one of the role auditor"):
        auditor.release(AGES)
    owner, _ = ask_as(world, "owner")
    saved = release.save(tmp_path / "release.json")
    assert owner.verify([release, saved]).ok
    edited = saved.read_text().replace('"epsilon": 0.5', '"epsilon": 0.4')
    (tmp_path / "edited.json").write_text(edited)
    assert owner.verify([tmp_path / "edited.json"]).problems == [
        f"Release {release.id} is not as the server has it."
    ]
    with pytest.raises(NotFound):
        connected(world)[0].dataset("other")


def test_keys_that_are_none_are_refused(world: World) -> None:
    stranger = world.keys["ann"][:-1] + ("A" if world.keys["ann"][-1] != "A" else "B")
    with pytest.raises(NotAuthenticated) as refused:
        dc.connect(world.server.url, key=stranger)
    assert stranger not in str(refused.value)
    server, _ = connected(world)
    world.office.keys.revoke(world.keys["ann"].split("_")[1])
    with pytest.raises(NotAuthenticated):
        server.datasets()


def test_a_card_of_another_owner_is_refused(world: World) -> None:
    server, _ = connected(world)
    known = server.dataset("loans").card.signature.public_key
    assert server.dataset("loans", public_key=known).dataset == "loans"
    with pytest.raises(dc.errors.CardError, match="public_key must be the one"):
        server.dataset("loans", public_key="00" * 32)


def test_jobs_are_looked_up(world: World) -> None:
    server, _ = connected(world)
    release = server.dataset("loans").release(AGES)
    assert server.jobs()["state"].tolist() == ["done"]
    job = server.job(server.jobs()["id"][0])
    assert job.releases() == [release] and repr(job).endswith("done: histogram)")
    assert not job.cancel()
    with pytest.raises(ArgumentError, match="id must be one of your jobs, got 'other'"):
        server.job("other")


def test_help_speaks_of_what_is_returned() -> None:
    import inspect

    from discreet.client import AsyncServer, RemoteSession

    shown: Any = inspect.signature(RemoteSession.price)
    assert str(shown.return_annotation) == "Price" and RemoteSession.price.__name__ == "price"
    assert inspect.iscoroutinefunction(AsyncServer.datasets)
