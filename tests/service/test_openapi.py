"""The OpenAPI description is true: schemathesis asks every route what it says it takes, and more.

Every role asks every route, with what the description allows and with what it does not, about things
that are there and things that are not. No answer is a 500, none has a status, a content type or a shape
that the description does not name.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from discreet.errors import LedgerTampered
from discreet.plans.registry import declared_plans, describe_declaration, find_plan
from discreet.samples import loan_schema
from discreet.service.app import matrix
from tests.service.conftest import World, open_world, plan

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ROUTES = [(method, path) for method, path, _ in matrix()]
HOLDERS = {"owner": "owner", "analyst": "ann", "auditor": "auditor", "nobody": ""}


def without_end(app: Any) -> Any:
    """Return an application that outlives those who call it: each would open and close it."""

    async def going_on(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for part in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{part}.complete"})

    return going_on


class Described:
    """A service with something of everything, what its description says, and who asks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.schema = schemathesis.openapi.from_asgi("/openapi.json", without_end(world.app))
        done = world.ask("ann", plan("histogram", columns="age", bins=3, epsilon=0.01)).json()
        self.known = {
            "dataset": ["loans"],
            "id": [done["job"]["id"], done["releases"][0]["id"]],
            "analyst": ["ann", "eve"],
            "name": ["risk"],
        }

    def operation(self, method: str, path: str) -> Any:
        return self.schema[path][method]

    def ask(self, case: Any, role: str) -> Any:
        """Return the answer to a case, asked with the key of a role whatever key was drawn."""
        for name in [name for name in case.headers if name.lower() == "authorization"]:
            del case.headers[name]
        if role != "nobody":
            case.headers["Authorization"] = f"Bearer {self.world.keys[HOLDERS[role]]}"
        return case.call()


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    world = open_world(tmp_path_factory.mktemp("described"), epsilon=1e6)
    yield Described(world)
    world.close()


def values() -> Any:
    """Values as arguments of questions have them, and others."""
    names = st.sampled_from(["age", "income", "home", "risk", "defaulted", "auto", "age >= 40", "x"])
    numbers = st.sampled_from([0, 1, -1, 3, 0.01, 0.5, 1e-300, 1e300, 2**70])
    plain = st.none() | st.booleans() | numbers | names
    return plain | st.lists(plain, max_size=3) | st.dictionaries(names, plain, max_size=2)


SHAP = {"model": "risk", "x": {"income": 3e4, "age": 50}, "epsilon": 0.01}
GOOD = [
    plan("histogram", columns="age", bins=3, epsilon=0.01),
    plan("mean", column="income", where="age >= 40", epsilon=0.01),
    plan("count", where="age >= 40", epsilon=0.01),
    plan("percentile", column="age", p=50, epsilon=0.01),
    plan("partial_dependence", model="risk", features="age", epsilon=0.01),
    plan("shap_values", **SHAP),
    plan("variance", column="age", epsilon=0.01),
]
"""Questions that can be answered; each is also asked with an argument that is another's."""


@st.composite
def questions(draw: Any) -> dict[str, Any]:
    """Draw a good question, one with an argument changed, or any of the registry's."""
    if draw(st.booleans()):
        good = draw(st.sampled_from(GOOD))
        changed = draw(
            st.dictionaries(st.sampled_from(sorted(good["arguments"])), values(), max_size=1)
        )
        return {**good, "arguments": {**good["arguments"], **changed}}
    name = draw(st.sampled_from(sorted(declared_plans())))
    own = [one["name"] for one in describe_declaration(find_plan(name))["arguments"]]
    given = draw(st.dictionaries(st.sampled_from(own), values(), max_size=4))
    return {"plan": name, "arguments": {**given, "epsilon": draw(st.sampled_from([0.01, 0.0, "1"]))}}


def bodies(path: str, folder: Path) -> Any:
    """Return bodies that a route takes, as it is asked for what it can do."""
    content = base64.b64encode((folder / "risk.skops").read_bytes()).decode()
    schema = loan_schema().to_json()
    table = {"data": "loans.csv", "schema": schema, "epsilon": 1.0}
    known = {
        "/price": st.fixed_dictionaries({"plans": st.lists(questions(), min_size=1, max_size=2)}),
        "/v1/datasets": numbered({"dataset": "more-{}", **table}),
        "/v1/models": numbered({"name": "m-{}", "file": {"name": "m.skops", "content": content}}),
        "/v1/keys": numbered({"role": "analyst", "analyst": "a{}", "days": 1}),
        "/allotments/{analyst}": st.fixed_dictionaries({"epsilon": st.floats(0.1, 3.0)}),
        "/terms": st.fixed_dictionaries({"reason": st.just("more"), "epsilon": st.floats(1e5, 2e5)}),
    }
    known["/releases"] = known["/price"]
    return next((found for end, found in known.items() if path.endswith(end)), None)


def numbered(body: dict[str, Any]) -> Any:
    """Draw a body whose texts are new ones."""
    return st.integers(0, 10**6).map(
        lambda n: {k: v.format(n) if isinstance(v, str) else v for k, v in body.items()}
    )


def fit(data: Any, case: Any, described: Described) -> None:
    """Let a case speak of what is there, now and then: what is drawn names nothing that exists."""
    for name in case.path_parameters or {}:
        if name in described.known and data.draw(st.integers(0, 3)) < 3:
            case.path_parameters[name] = data.draw(st.sampled_from(described.known[name]))
    good = bodies(case.operation.path, described.world.folder)
    if good is not None and data.draw(st.integers(0, 2)) < 2:
        case.body, case.media_type = data.draw(good), "application/json"


def try_route(described: Described, method: str, path: str, role: str, examples: int) -> None:
    """Ask a route so often, with data that the description allows and with data that it does not."""
    operation = described.operation(method, path)
    modes = schemathesis.GenerationMode
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

    @hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(data=st.data())
    def ask(data: Any) -> None:
        case = data.draw(cases)
        fit(data, case, described)
        case.validate_response(described.ask(case, role), checks=CHECKS)

    ask()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_answers_as_described(described: Described, method: str, path: str) -> None:
    try_route(described, method, path, "owner", examples=3)


@pytest.mark.slow
@pytest.mark.parametrize("role", HOLDERS)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_role_is_answered_as_described(
    described: Described, method: str, path: str, role: str
) -> None:
    try_route(described, method, path, role, examples=15)


def test_good_questions_are_good(described: Described) -> None:
    told = described.world.client("owner").post("/v1/datasets/loans/price", json={"plans": GOOD})
    assert told.status_code == 200, told.text


def faults(described: Described, raw: dict[str, Any], path: str, **given: Any) -> list[str]:
    """Return the kinds of faults that the checks find at a route, as another description has it."""
    lying = schemathesis.openapi.from_dict(raw)
    lying.app = described.schema.app
    case = lying[path]["GET"].Case(path_parameters=given)
    with pytest.raises(FailureGroup) as found:
        case.validate_response(described.ask(case, "owner"), checks=CHECKS)
    return [type(one).__name__ for one in found.value.exceptions]


def test_an_answer_that_is_not_described_is_found(described: Described) -> None:
    """The checks can fail: a description without a status, a type or a field is caught."""
    raw = described.world.client("nobody").get("/openapi.json").json()
    del raw["paths"]["/v1/datasets/{dataset}"]["get"]["responses"]["404"]
    assert faults(described, raw, "/v1/datasets/{dataset}", dataset="none") == ["UndefinedStatusCode"]
    raw["components"]["schemas"]["Health"]["required"].append("mood")
    assert faults(described, raw, "/v1/health") == ["JsonSchemaError"]
    raw["paths"]["/v1/health"]["get"]["responses"]["200"]["content"] = {"text/plain": {}}
    assert faults(described, raw, "/v1/health") == ["UndefinedContentType"]


def test_another_method_is_refused_with_those_there_are(described: Described) -> None:
    owner, taken = described.world.client("owner"), {}
    for method, path in ROUTES:
        taken.setdefault(path, set()).add(method)
    for path, methods in taken.items():
        told = owner.request("PATCH", path.format(dataset="loans", id="a", analyst="a", name="a"))
        assert told.status_code == 405 and told.json()["error"]["code"] == "request", path
        assert set(told.headers["allow"].split(", ")) <= methods, path


def test_a_ledger_that_contradicts_itself_is_told_in_the_one_shape(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tampered(*_: Any) -> Any:
        raise LedgerTampered("The ledger's chain must hold, got one that does not.")

    monkeypatch.setattr("discreet.ledger.Ledger.history", tampered)
    told = described.world.client("owner").get("/v1/datasets/loans/history")
    assert told.status_code == 500 and told.json()["error"]["code"] == "ledger-tampered"
    case = described.operation("GET", "/v1/datasets/{dataset}/history").Case(
        path_parameters={"dataset": "loans"}
    )
    case.validate_response(described.ask(case, "owner"), checks=CHECKS[1:])
