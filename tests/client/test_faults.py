"""An error of a server is raised here as the class it was there, with its fields."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import discreet as dc
from discreet import errors
from discreet.client.faults import error_of
from discreet.errors import BudgetExhausted, DiscreetError, ServerUnreachable, SettlementFailed
from tests.session.conftest import small_frame


def tree(kind: type[DiscreetError] = DiscreetError) -> Iterator[type[DiscreetError]]:
    if kind.__module__ == errors.__name__:
        yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


SAMPLES: dict[str, Any] = {
    "requested": {"epsilon": "1"},
    "remaining": {"epsilon": "0.25"},
    "releases": [],
    "reservations": ["r1"],
    "unsettled": [{"id": "r1"}],
    "seconds": 3.0,
}


def example(kind: type[DiscreetError]) -> DiscreetError:
    """Return an error of a class with something in every field."""
    wanted = [
        name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "message")
    ]
    given = {name: SAMPLES.get(name, f"the {name}") for name in wanted}
    if kind is SettlementFailed:
        given["reservations"] = [SimpleNamespace(id="r1")]
    return kind("It must be so, got another.", **given)


@pytest.mark.parametrize("kind", list(dict.fromkeys(tree())), ids=lambda kind: kind.code)
def test_every_error_comes_back_as_itself(kind: type[DiscreetError]) -> None:
    there = example(kind)
    here = error_of(kind.http_status, json.loads(json.dumps(there.to_json())))
    assert type(here) is kind and str(here) == str(there) and here.to_json() == there.to_json()


def test_an_answer_that_was_not_stored_comes_with_its_error(tiny_schema: dc.Schema) -> None:
    session = dc.protect(
        small_frame(), tiny_schema, dataset="people", epsilon=1.0, ledger=":memory:", seed=1
    )
    release = session.release(dc.histogram("age", bins=5, epsilon=0.25))
    there = SettlementFailed(
        "Kept.", releases=[release], reservations=[SimpleNamespace(id="r1")], unsettled=[{"id": "r1"}]
    )
    here = error_of(503, json.loads(json.dumps(there.to_json())))
    assert isinstance(here, SettlementFailed)
    assert here.release == release and here.reservation.id == "r1" and here.unsettled == [{"id": "r1"}]


def test_a_code_of_a_newer_server_keeps_its_name_and_status() -> None:
    error = error_of(418, {"error": {"code": "teapot", "message": "Short and stout."}})
    assert (type(error), error.code, error.http_status) == (DiscreetError, "teapot", 418)
    assert str(error) == "Short and stout." and DiscreetError.code == "error"


def test_fields_that_an_older_or_newer_server_tells_do_no_harm() -> None:
    less = error_of(402, {"error": {"code": "budget-exhausted", "message": "Too dear."}})
    more = error_of(422, {"error": {"code": "argument", "message": "No.", "place": "epsilon"}})
    assert isinstance(less, BudgetExhausted) and str(less) == "Too dear."
    assert type(more) is errors.ArgumentError and vars(more)["place"] == "epsilon"


@pytest.mark.parametrize(
    "plain", [None, [], {"error": "no"}, {"error": {"message": 3}}, {"detail": "x"}]
)
def test_what_has_another_shape_is_another_server(plain: Any) -> None:
    assert isinstance(error_of(404, plain), ServerUnreachable)
