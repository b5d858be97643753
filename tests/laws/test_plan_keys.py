"""The key of a plan is stable, and its text reads back to the same plan, argument by argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans import Program, Setting, registry
from discreet.plans.declaration import DeclaredPlan, kinds_of
from discreet.plans.kinds import Delta, Epsilon, Positive
from tests.laws.examples import Case, all_cases

ASKED = list({(case.example, case.form): case for case in all_cases()}.values())
READABLE = [case for case in ASKED if not case.example.unreadable]
PLAIN = (str, int, float, bool, tuple, list, dict, type(None))


def objects_of(plan: DeclaredPlan) -> dict[str, Any]:
    """Return what the text of a plan cannot hold, by the fingerprints in it."""
    found = {}
    for name, kind in kinds_of(type(plan)).items():
        value, plain = getattr(plan, name), kind.plain(getattr(plan, name))
        printed = plain.get("fingerprint") if isinstance(plain, Mapping) else plain
        if isinstance(printed, str) and not isinstance(value, PLAIN):
            found[printed] = getattr(value, "value", value)
    return found


def lost(plan: DeclaredPlan) -> list[str]:
    """Return which arguments of a plan do not come back from its text."""
    again = dc.plan_from_json(plan.to_json(), objects=objects_of(plan))
    assert again == plan and again.key == plan.key and type(again) is type(plan)
    assert again.to_json() == plan.to_json()
    asked = [name for name, kind in kinds_of(type(plan)).items() if kind.identifies]
    pairs = {name: (getattr(plan, name), getattr(again, name)) for name in asked}
    return [
        name
        for name, (old, new) in pairs.items()
        if isinstance(old, PLAIN) and plainly(old) != plainly(new)
    ]


def plainly(value: Any) -> Any:
    """Return a value as JSON would have it: lists and tuples are one."""
    if isinstance(value, tuple | list):
        return [plainly(entry) for entry in value]
    return {name: plainly(entry) for name, entry in value.items()} if isinstance(value, dict) else value


@pytest.mark.proves("plan-keys")
@pytest.mark.parametrize("case", READABLE, ids=str)
def test_a_plan_reads_back_from_its_text(case: Case) -> None:
    plan, again = case.plan(), case.plan()
    assert isinstance(plan, DeclaredPlan), f"{case.example.plan} must be a declaration"
    assert plan == again and plan.key == again.key, "made twice, it is the same question"
    assert lost(plan) == []


@pytest.mark.parametrize("case", [case for case in ASKED if case.example.unreadable], ids=str)
def test_what_cannot_be_read_back_says_so(case: Case) -> None:
    plan = case.plan()
    assert isinstance(plan, DeclaredPlan)
    with pytest.raises(ArgumentError):
        dc.plan_from_json(plan.to_json(), objects=objects_of(plan))


def test_no_two_examples_share_a_key() -> None:
    assert len({case.plan().key for case in ASKED}) == len(ASKED)


@dataclass(frozen=True)
class Rounded(Positive):
    """A number that is written down with two digits."""

    def plain(self, value: Any) -> Any:
        return round(value, 2)


class rounding(DeclaredPlan):
    """Plan nothing, and forget digits.

    Args:
      width: a number.
      epsilon: the budget.
      delta: of it.
    """

    _: KW_ONLY
    width: Annotated[float, Rounded()]
    epsilon: Epsilon
    delta: Delta = 0.0

    def prepare(self, setting: Setting) -> Program:
        raise NotImplementedError


@pytest.mark.refutes("plan-keys")
def test_an_argument_that_loses_digits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two different questions would share a key, and both texts would read back as equal plans."""
    monkeypatch.setitem(registry.PLANS, "rounding", __name__)
    assert rounding(width=0.123, epsilon=1.0) == rounding(width=0.124, epsilon=1.0)
    assert lost(rounding(width=0.12, epsilon=1.0)) == []
    assert lost(rounding(width=0.123, epsilon=1.0)) == ["width"]
