"""Every plan brings examples in the test module that mirrors its own: the laws find them there."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, replace
from types import ModuleType, SimpleNamespace

import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.privacy.relation import RELATIONS
from tests.laws import examples, world
from tests.laws.examples import Case, all_cases, find_examples


@pytest.mark.parametrize("plan", dc.PLANS)
def test_a_plan_brings_examples_of_itself(plan: str) -> None:
    for example in find_examples(plan):
        form = example.forms[0] if example.forms else None
        made = example.ask(None if form is None else world.model(form))
        assert isinstance(made, dc.Plan) and made.plan_name == plan


@pytest.mark.parametrize("plan", dc.PLANS)
def test_a_plan_of_a_fitted_model_is_asked_of_every_form(plan: str) -> None:
    forms = {form for example in find_examples(plan) for form in example.forms}
    takes_model = "model" in inspect.signature(getattr(dc, plan)).parameters
    assert forms == set(FEWER.get(plan, world.FORMS if takes_model else ()))


FEWER: dict[str, tuple[str, ...]] = {
    "data_shapley": (),  # it fits models itself
    "fit": (),  # so does it: what it is given is a name
    "shap_baseline": ("linear", "opaque"),  # nothing is certified, so nothing is lost
}


def smaller(plan: str) -> set[str]:
    """Return the numbers that every example sets below their default, or below what follows from it."""
    found: dict[str, list[bool]] = {}
    for example in find_examples(plan):
        made = example.ask(world.model(example.forms[0]) if example.forms else None)
        for field in fields(made):  # type: ignore[arg-type]
            name, value = field.name, getattr(made, field.name)
            if field.default is not MISSING and type(value) is int:
                usual = getattr(replace(made, **{name: field.default}), name)
                found.setdefault(name, []).append(type(usual) is int and value < usual)
    return {name for name, below in found.items() if all(below)}


@pytest.mark.parametrize("plan", dc.PLANS)
def test_some_example_is_as_large_as_a_plan_is_by_default(plan: str) -> None:
    """A sum of few numbers hides that ``np.var`` adds them in an order that depends on other rows."""
    assert smaller(plan) == SMALLER.get(plan, set())


SMALLER: dict[str, set[str]] = {
    "any_curve": {"subsets"},  # subsets are not added up along a row
    "any_ranking": {"subsets"},
    "background": {"bins", "rows"},  # a record adds to counts, which are whole
    "feature_interaction": {"subsets", "points"},
    "shap_baseline": {"coalitions", "resamples"},  # nothing is certified
}


def _left_out() -> list[Case]:
    found = {(case.example, case.number, case.form) for case in all_cases()}
    known = set(all_cases())
    every = [Case(*one, relation) for one in found for relation in RELATIONS]
    return sorted((case for case in every if case not in known), key=str)


@pytest.mark.parametrize("case", _left_out(), ids=str)
def test_a_relation_is_left_out_only_where_the_plan_is_refused(case: Case) -> None:
    with pytest.raises(DiscreetError):
        case.plan().prepare(case.setting)


def test_a_plan_without_an_example_is_told_what_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    homeless = "discreet.explain.ice_variance.plan"
    monkeypatch.setattr(examples, "dc", SimpleNamespace(PLANS={"ice_variance": homeless}))
    with pytest.raises(AssertionError, match=r"tests in tests/explain/ice_variance/test_plan.py,"):
        find_examples("ice_variance")
    monkeypatch.setattr(examples.importlib, "import_module", lambda home: ModuleType(home))
    with pytest.raises(AssertionError, match=r"must bring an example, got none. Add EXAMPLES = \[Exam"):
        find_examples("ice_variance")
