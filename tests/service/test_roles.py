"""Every route and every role: who is let in, who is not, and what nobody sees of another's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from discreet.samples import loans
from discreet.service.access.keys import ROLES, _read_secret
from discreet.service.app import matrix
from discreet.service.store import keys as keys_table

from .conftest import World, plan

ALL = ("owner", "analyst", "auditor")
ASK = ("owner", "analyst")
OVERSEE = ("owner", "auditor")
OWN = ("owner",)

WHO: dict[tuple[str, str], tuple[str, ...]] = {
    ("GET", "/v1/health"): (),
    ("GET", "/v1/me"): ALL,
    ("GET", "/v1/plans"): ALL,
    ("GET", "/metrics"): OVERSEE,
    ("GET", "/v1/datasets"): ALL,
    ("GET", "/v1/datasets/{dataset}"): ALL,
    ("GET", "/v1/datasets/{dataset}/budget"): ALL,
    ("GET", "/v1/datasets/{dataset}/history"): ALL,
    ("GET", "/v1/datasets/{dataset}/verification"): OVERSEE,
    ("POST", "/v1/datasets/{dataset}/price"): ASK,
    ("POST", "/v1/datasets/{dataset}/releases"): ASK,
    ("GET", "/v1/jobs"): ASK,
    ("GET", "/v1/jobs/{id}"): ASK,
    ("DELETE", "/v1/jobs/{id}"): ASK,
    ("POST", "/v1/jobs/{id}/again"): OWN,
    ("GET", "/v1/datasets/{dataset}/releases"): ALL,
    ("GET", "/v1/datasets/{dataset}/releases/{id}"): ALL,
    ("GET", "/v1/datasets/{dataset}/releases/{id}/picture.svg"): ASK,
    ("GET", "/v1/datasets/{dataset}/releases/{id}/picture.png"): ASK,
    ("GET", "/v1/datasets/{dataset}/releases/{id}/table.csv"): ASK,
    ("GET", "/v1/datasets/{dataset}/releases/{id}/page"): ASK,
    ("POST", "/v1/datasets"): OWN,
    ("PUT", "/v1/datasets/{dataset}/allotments/{analyst}"): OWN,
    ("PUT", "/v1/datasets/{dataset}/terms"): OWN,
    ("GET", "/v1/models"): ALL,
    ("POST", "/v1/models"): OWN,
    ("DELETE", "/v1/models/{name}"): OWN,
    ("GET", "/v1/keys"): OWN,
    ("POST", "/v1/keys"): OWN,
    ("DELETE", "/v1/keys/{id}"): OWN,
    ("GET", "/v1/audit"): OVERSEE,
}
"""Written out by hand: what an application admits is compared with it."""

HOLDERS = {"owner": "owner", "analyst": "ann", "auditor": "auditor"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from .conftest import open_world

    world = open_world(tmp_path_factory.mktemp("roles"))
    yield world
    world.close()


def test_the_matrix_is_the_one_that_is_meant(shared: World) -> None:
    assert {(method, path): roles for method, path, roles in matrix()} == WHO


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
@pytest.mark.parametrize(("method", "path"), WHO)
def test_a_route_admits_its_roles_alone(shared: World, method: str, path: str, role: str) -> None:
    place = path.format(dataset="loans", id="a" * 16, analyst="eve", name="none")
    client = shared.client(HOLDERS.get(role, "nobody"))
    found = client.request(method, place, json={} if method in ("POST", "PUT") else None)
    admitted = WHO[method, path]
    if admitted and role == "nobody":
        assert found.status_code == 401 and found.json()["error"]["code"] == "unauthenticated"
    elif admitted and role not in admitted:
        assert found.status_code == 403 and found.json()["error"]["code"] == "access-denied"
    else:
        assert found.status_code not in (401, 403, 405, 500, 501), found.text


def test_every_answer_carries_the_headers_of_safety(shared: World) -> None:
    for path in ("/", "/v1/health", "/v1/me", "/v1/nothing"):
        headers = shared.client("nobody").get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and "server" not in headers


def test_a_key_opens_its_data_sets_alone(shared: World) -> None:
    key, _ = shared.office.keys.new("analyst", analyst="ann", datasets=["other"])
    headers = {"Authorization": f"Bearer {key}"}
    client = shared.client("nobody")
    assert client.get("/v1/datasets", headers=headers).json() == []
    one = client.get("/v1/datasets/loans", headers=headers)
    none = client.get("/v1/datasets/nowhere", headers=headers)
    assert one.status_code == 404 and one.json() == none.json()


def test_a_key_of_another_data_set_opens_nothing_of_this_one(shared: World) -> None:
    """Every route with a data set or a job of it, every role whose key may be limited."""
    client = shared.client("nobody")
    answered = shared.ask("ann", plan("count", where="age >= 40", epsilon=0.1)).json()
    ids = {"release": answered["releases"][0]["id"], "job": answered["job"]["id"]}
    for role, analyst in (("analyst", "ann"), ("auditor", None)):
        key, _ = shared.office.keys.new(role, analyst=analyst, datasets=["other"])
        headers = {"Authorization": f"Bearer {key}"}
        for method, path in (one for one, roles in WHO.items() if role in roles):
            id_ = ids["job" if path.startswith("/v1/jobs") else "release"]
            place = path.format(dataset="loans", id=id_, analyst="eve", name="none")
            found = client.request(method, place, headers=headers, json=BODY.get((method, path)))
            if "{" in path:
                assert found.status_code == 404, (role, method, path, found.text)
            elif path in ("/v1/datasets", "/v1/jobs", "/v1/models"):
                assert found.json() == [], (role, path)
            assert id_ not in found.text
    assert shared.client("ann").get(f"/v1/jobs/{ids['job']}").status_code == 200


BODY: dict[tuple[str, str], Any] = {
    ("POST", "/v1/datasets/{dataset}/price"): {"plans": [plan("count", epsilon=0.1)]},
    ("POST", "/v1/datasets/{dataset}/releases"): {"plans": [plan("count", epsilon=0.1)]},
}


def test_an_owners_key_is_limited_to_nothing(shared: World) -> None:
    """It makes keys, so that a limited one could make itself one without a limit."""
    asked = {"role": "owner", "datasets": ["other"], "days": 1}
    refused = shared.client("owner").post("/v1/keys", json=asked)
    assert refused.status_code == 422 and "datasets must be left out" in refused.text
    key, holder = shared.office.keys.new("owner")
    with shared.office.store.writing() as connection:  # as an earlier version kept it
        limited = update(keys_table).where(keys_table.c.id == holder.key).values(datasets='["other"]')
        connection.execute(limited)
    headers = {"Authorization": f"Bearer {key}"}
    asked = {"role": "owner", "days": 1}
    assert shared.client("nobody").post("/v1/keys", json=asked, headers=headers).status_code == 401


def test_a_revoked_key_and_one_that_expired_open_nothing(
    shared: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, holder = shared.office.keys.new("auditor", days=1)
    headers, client = {"Authorization": f"Bearer {key}"}, shared.client("nobody")
    assert client.get("/v1/me", headers=headers).json()["role"] == "auditor"
    with monkeypatch.context() as later:
        later.setattr("discreet.service.access.keys.now", lambda: "2999-01-01T00:00:00+00:00")
        assert client.get("/v1/me", headers=headers).status_code == 401
    assert shared.client("owner").delete(f"/v1/keys/{holder.key}").status_code == 200
    assert client.get("/v1/me", headers=headers).status_code == 401


def test_a_key_for_a_data_set_that_is_misspelt_is_refused(shared: World) -> None:
    asked = {"role": "analyst", "analyst": "eve", "datasets": ["loans", "laons"]}
    told = shared.client("owner").post("/v1/keys", json=asked)
    assert told.status_code == 422
    assert "registered here (loans), got 'laons'" in told.json()["error"]["message"]
    assert "eve" not in shared.client("owner").get("/v1/keys").text


@pytest.mark.parametrize("note", ["a\0b", "two\nlines", "x" * 201, " blank"])
def test_a_note_is_a_short_printable_text(shared: World, note: str) -> None:
    asked = {"role": "auditor", "note": note}
    told = shared.client("owner").post("/v1/keys", json=asked)
    assert told.status_code == 422 and "note must be" in told.text


def test_a_secret_that_is_there_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may be one that nobody can write to."""
    made = _read_secret(tmp_path / "service.key")

    def refuse(*_: Any) -> Any:
        raise PermissionError

    monkeypatch.setattr("discreet.service.access.keys.os.open", refuse)
    assert _read_secret(tmp_path / "service.key") == made and len(made) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["service.key"]
    with pytest.raises(PermissionError):
        _read_secret(tmp_path / "another.key")


def test_the_store_holds_no_key(shared: World) -> None:
    for path in shared.folder.iterdir():
        held = path.read_bytes()
        for key in shared.keys.values():
            assert key.split("_", 2)[2].encode() not in held, path.name


def test_without_a_share_an_analyst_is_denied_once_others_have_one(world: World) -> None:
    owner = world.client("owner")
    assert owner.put("/v1/datasets/loans/allotments/ann", json={"epsilon": 1.0}).status_code == 200
    assert world.client("bob").get("/v1/datasets").json() == []
    denied = world.ask("bob", plan("histogram", columns="age", epsilon=0.1))
    assert denied.status_code == 403
    told = world.client("ann").get("/v1/datasets").json()[0]["yours"]
    assert told["remaining"]["epsilon"] == "1"
    budget = world.client("ann").get("/v1/datasets/loans/budget").json()
    assert budget["shares"] == [] and budget["yours"]["budget"]["epsilon"] == "1"
    assert owner.get("/v1/datasets/loans/budget").json()["shares"][0]["analyst"] == "ann"


def test_an_analyst_sees_no_entry_of_another(world: World) -> None:
    world.ask("ann", plan("histogram", columns="age", epsilon=0.1))
    entries = world.client("bob").get("/v1/datasets/loans/history").json()
    assert [entry["kind"] for entry in entries] == ["register"]
    assert len(world.client("auditor").get("/v1/datasets/loans/history").json()) == 3


def sealed(world: World) -> dict[str, Any]:
    query, rows = {"income": 41_235.0, "age": 37.0}, [{"income": 30_000.0, "age": 50.0}]
    return plan(
        "shap_values", model="risk", x=query, protects="query", background=rows, radius=1.0, epsilon=1.0
    )


def test_the_answer_of_a_sealed_query_is_its_askers_alone(world: World) -> None:
    found = world.ask("ann", sealed(world))
    assert found.status_code == 200, found.text
    id_ = found.json()["releases"][0]["id"]
    for who, status in {"ann": 200, "bob": 404, "owner": 404}.items():
        got = world.client(who).get(f"/v1/datasets/loans/releases/{id_}")
        assert got.status_code == status, who
    assert "value" not in world.client("auditor").get(f"/v1/datasets/loans/releases/{id_}").json()
    assert world.client("bob").get("/v1/datasets/loans/releases").json() == []
    job = found.json()["job"]["id"]
    assert world.client("bob").get(f"/v1/jobs/{job}").status_code == 404
    assert world.client("owner").get(f"/v1/jobs/{job}").json().get("releases") == []
    for path in world.folder.iterdir():
        assert b"41235" not in path.read_bytes(), path.name


def test_values_for_owners_come_to_no_analyst(make_world: Callable[..., World]) -> None:
    world = make_world()
    asked = plan(
        "data_shapley",
        model="plain",
        test=loans(20, seed=5).to_dict("records"),
        records=[0, 1, 2],
        method="layered",
        audience="owner",
        epsilon=2.0,
    )
    denied = world.ask("ann", asked)
    assert denied.status_code == 403, denied.text
    given = world.ask("owner", asked)
    assert given.status_code == 200, given.text
    id_ = given.json()["releases"][0]["id"]
    assert world.ask("ann", asked).status_code == 403
    assert world.client("ann").get(f"/v1/datasets/loans/releases/{id_}").status_code == 404
    assert "value" not in world.client("auditor").get(f"/v1/datasets/loans/releases/{id_}").json()
