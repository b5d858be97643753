"""Plans are declared once: from fields and a docstring come checks, plain data, keys and help."""

from __future__ import annotations

import inspect
import json
from dataclasses import KW_ONLY, FrozenInstanceError
from typing import Annotated, Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans import Program, Setting
from discreet.plans.declaration import DeclaredPlan, arguments_of, kinds_of, summary
from discreet.plans.kinds import Columns, Delta, Epsilon, Flag, Kind, OneOf, Positive, Whole
from discreet.plans.registry import declared_plans, find_plan


class census(DeclaredPlan):
    """Plan a count.

    Args:
      columns: which ones.
      k: how many.
      clip: how far,
        at most.
      tidy: whether; by default where ``k`` is one.
      workers: of the sum.
      epsilon: the budget.
      delta: zero.
      mechanism: of noise.
    """

    columns: Annotated[Any, Columns()]
    _: KW_ONLY
    k: Annotated[int, Whole(1, 9)] = 1
    clip: Annotated[Any, Positive(auto=True, optional=True)] = "auto"
    tidy: Annotated[bool | None, Flag(optional=True)] = None
    workers: Annotated[int, Whole(1, identifies=False)] = 1
    epsilon: Epsilon
    delta: Delta = 0.0
    mechanism: Annotated[str, OneOf(lambda: ("auto", "laplace"))] = "auto"

    def settle(self) -> dict[str, Any]:
        if self.k > len(self.columns):
            raise ArgumentError(f"k must be at most {len(self.columns)}, got {self.k}.")
        return {"tidy": self.k == 1 if self.tidy is None else self.tidy}

    def prepare(self, setting: Setting) -> Program:
        raise NotImplementedError


def test_arguments_are_settled_when_the_plan_is_made() -> None:
    plan = census("age", clip=np.float32(2), k=np.int64(1), epsilon=1)
    assert (plan.columns, plan.clip, plan.k, plan.tidy, plan.epsilon) == (("age",), 2.0, 1, True, 1.0)
    assert type(plan.k) is int and type(plan.clip) is float and type(plan.epsilon) is float
    assert plan.arguments() == {
        "columns": ["age"],
        "k": 1,
        "clip": 2.0,
        "tidy": True,
        "mechanism": "auto",
    }
    with pytest.raises(FrozenInstanceError):
        plan.k = 2  # type: ignore[misc]


def test_equal_questions_are_equal_and_others_are_not() -> None:
    plan = census(["age", "job"], epsilon=1.0)
    assert plan == census(("age", "job"), k=1, tidy=True, workers=3, epsilon=1)
    assert hash(plan) == hash(census(("age", "job"), epsilon=1))
    others = [census(["job", "age"], epsilon=1), census(["age", "job"], epsilon=2), plan.at(2.0)]
    assert all(other != plan for other in others) and others[1] == others[2]
    assert repr(census("a", epsilon=0.5, delta=1e-6)) == (
        "census(columns=['a'], k=1, clip='auto', tidy=True, mechanism='auto', epsilon=0.5, delta=1e-06)"
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"columns": ["a", "a"]}, "columns must be one or more different names"),
    ({"k": 10}, "k must be a whole number of at least 1 and at most 9, got 10."),
    ({"k": 2}, "k must be at most 1, got 2."),
    ({"clip": -1}, "clip must be a positive finite number, got -1. Or use clip='auto'."),
    ({"tidy": 1}, "tidy must be True or False, got 1."),
    ({"epsilon": 0}, "epsilon must be a positive finite number, got 0. It is the whole budget"),
    ({"delta": 1}, "delta must be at least 0 and below 1, got 1."),
    ({"mechanism": "x"}, "mechanism must be one of auto, laplace, got 'x'."),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=lambda part: str(part)[:20])
def test_a_wrong_argument_gets_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as told:
        census(**{"columns": "a", "epsilon": 1.0} | given)
    assert str(told.value).startswith(said)
    with pytest.raises(ArgumentError):
        census("a", epsilon=1.0)._with(given)


def test_help_comes_from_the_docstring() -> None:
    told = {argument.name: argument for argument in arguments_of(census)}
    assert told["clip"].help == "how far, at most." and summary(census) == "A count."
    assert told["columns"].positional and told["columns"].required and not told["k"].required
    assert told["k"].describe() == {
        "name": "k",
        "required": False,
        "positional": False,
        "kind": "whole number",
        "low": 1,
        "high": 9,
        "default": 1,
        "help": "how many.",
    }
    assert told["mechanism"].describe()["choices"] == ["auto", "laplace"]


def test_a_field_without_a_kind_or_without_help_is_refused() -> None:
    class bare(DeclaredPlan):
        """Plan nothing."""

        k: int
        epsilon: Epsilon

        def prepare(self, setting: Setting) -> Program:
            raise NotImplementedError

    class silent(DeclaredPlan):
        """Plan nothing."""

        epsilon: Epsilon

        def prepare(self, setting: Setting) -> Program:
            raise NotImplementedError

    with pytest.raises(TypeError, match="k must name one kind"):
        bare(k=1, epsilon=1.0)
    with pytest.raises(TypeError, match="must say what epsilon is"):
        arguments_of(silent)


@pytest.mark.parametrize("name", declared_plans())
def test_every_plan_is_described_in_plain_data(name: str) -> None:
    told = dc.describe_plans()[name]
    assert json.loads(json.dumps(told)) == told and told["name"] == name and told["summary"]
    arguments = {argument["name"]: argument for argument in told["arguments"]}
    assert list(arguments) == list(kinds_of(find_plan(name)))
    assert all(argument["help"] and argument["kind"] for argument in arguments.values())
    assert not arguments["epsilon"]["required"], "rho may be given in its place"
    assert list(arguments)[-1] == "rho" and arguments["rho"]["optional"]


def test_no_argument_hides_a_method_of_plans() -> None:
    """A field named like a method would take its place, silently."""
    own = {name for name in dir(DeclaredPlan) if not name.startswith("__")} - {"rho"}
    taken = {(name, field) for name in declared_plans() for field in kinds_of(find_plan(name))}
    assert [pair for pair in taken if pair[1] in own] == []
    assert issubclass(Whole, Kind)


def test_a_misspelt_argument_is_told_the_next_one() -> None:
    told = r"arguments must be ones of histogram \(columns, .*\), got 'bin'\. Did you mean bins\?"
    with pytest.raises(ArgumentError, match=told):
        dc.histogram("age", bin=3, epsilon=1.0)  # type: ignore[call-arg]
    with pytest.raises(ArgumentError, match=r"got 'zzzzzz'\.$"):
        dc.histogram("age", zzzzzz=3, epsilon=1.0)  # type: ignore[call-arg]


def test_a_number_by_its_place_is_told_that_it_needs_a_name() -> None:
    with pytest.raises(
        ArgumentError, match=r"all but columns by name, got 0\.1 by its place\. Write epsi"
    ):
        dc.histogram("age", 0.1)  # type: ignore[call-arg, misc]
    with pytest.raises(ArgumentError, match=r"all but model and features by name, got 0\.1"):
        dc.partial_dependence(len, "age", 0.1)  # type: ignore[call-arg, misc]


def test_help_shows_plain_types_and_what_must_be_given() -> None:
    shown = inspect.signature(dc.histogram)
    assert str(shown).startswith("(columns: str | collections.abc.Sequence[str], *, bins: int")
    assert shown.parameters["epsilon"].default is inspect.Parameter.empty
    assert shown.parameters["delta"].default == 0.0
    assert [*shown.parameters][-3:] == ["where", "by", "rho"]
    for name in declared_plans():
        told = inspect.signature(getattr(dc, name))
        assert [*told.parameters] == [*kinds_of(find_plan(name))], name
        assert "Annotated" not in str(told), name


def test_python_can_tell_the_next_name_of_a_misspelt_question() -> None:
    """It looks for one among the names of ``obj``, which it is not told by default."""
    with pytest.raises(AttributeError) as caught:
        dc.histgram  # noqa: B018
    assert caught.value.name == "histgram" and "histogram" in dir(caught.value.obj)
