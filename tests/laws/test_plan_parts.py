"""Every plan that can be asked of a part of the table, or by groups: certificates hold there too.

A replaced record comes into the part, leaves it, or moves from one group to another.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import discreet as dc
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.neighbours import around, newcomers
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable, SealedContribution
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.plans.parts import PartPlan, WherePlan
from discreet.plans.registry import find_plan
from discreet.privacy.relation import Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases

FORMS = (None, "trees", "opaque", "linear")
SOME = (dc.col("debt") >= 0) | ~(dc.col("home") == "rent")
WHOLE_ONLY = {
    "any_curve",
    "any_ranking",
    "data_shapley",
    "deniable_rows",
    "entropy",
    "feature_interaction",
    "mutual_information",
    "percentile",
    "shap_baseline",
}
"""Questions about all records of a table alone."""


def cases(kind: type) -> list[Case]:
    """Return one or two examples of every plan of a kind, under every relation."""
    found: dict[Any, Case] = {}
    asked = [case for case in all_cases() if case.form in FORMS]
    for case in sorted(asked, key=lambda case: FORMS.index(case.form)):
        if issubclass(find_plan(case.example.plan), kind):
            found.setdefault((case.example.plan, case.relation, min(case.number, 1)), case)
    return list(found.values())


def test_every_plan_takes_parts_or_says_why_not() -> None:
    assert {name for name in dc.PLANS if not issubclass(find_plan(name), WherePlan)} >= WHOLE_ONLY
    for name in WHOLE_ONLY:
        with pytest.raises(ArgumentError, match=f"where must be left out of {name}, got"):
            find_plan(name)(where=SOME, epsilon=1.0)


@cache
def neighbours(relation: Relation) -> list[tuple[int, list[PrivateTable]]]:
    """Return tables that are neighbours in pairs: somebody is replaced, or comes and goes."""
    rows = world.gappy_table().to_numpy(dtype=object)
    come = list(newcomers(world.GAPS, rows).values())
    home, standing = next(iter(around(world.GAPS, relation, rows)))
    if relation.keeps_places:
        return [(home.place, [home.table(record) for record in (standing[0][1], *come)])]
    return [(home.place, [home.table(None), home.table(record)]) for record in come]


def run(case: Case, **some: Any) -> Run | None:
    """Return what a case asks of some records of the table with gaps; None if it is refused."""
    plan = case.plan()
    assert isinstance(plan, WherePlan)
    rows = world.ROWS if case.relation.rows_public else None
    table = PrivateTable(world.gappy_table(), world.GAPS, case.relation)
    try:
        plan = plan._with(some)
        program = plan.prepare(Setting(world.GAPS, case.relation, rows))
    except ArgumentError as error:
        assert str(error).split()[0] in ("where", "by", "sampling", "mechanism")
        return None
    return run_program(program, table, case.relation, 3)


def check(found: Run) -> None:
    for stage in found.stages:
        if stage.certificate.certified and not isinstance(stage.contribution, SealedContribution):
            for place, tables in neighbours(found.relation):
                sums = raw_sums(stage, tables, place)
                assert too_far(stage.noise, stage.certificate, found.relation, sums) == [], stage.name


@pytest.mark.proves("where")
@pytest.mark.parametrize("case", cases(WherePlan), ids=str)
def test_neighbours_of_a_part_stay_within_certificates(case: Case) -> None:
    found = run(case, where=SOME)
    if found is None:
        assert _in_pairs(case)
        return
    assert all("where" in stage.certificate.statements for stage in found.stages)
    check(found)


def _in_pairs(case: Case) -> bool:
    """Whether records answer together, by positions or by parts, or a query is asked of no record."""
    plan: Any = case.plan()
    return (
        getattr(plan, "sampling", "") == "permutation"
        or case.example.plan in ("choose",)
        or getattr(plan, "choose", "") == "held-out"  # a part of a part
        or (getattr(plan, "protects", "") == "query")
    )


@pytest.mark.proves("groups")
@pytest.mark.parametrize("case", cases(PartPlan), ids=str)
def test_neighbours_of_groups_stay_within_certificates(case: Case) -> None:
    found = run(case, by="home")
    if found is None:
        return
    assert "groups" in found.stages[-1].certificate.statements  # others may be shared by all groups
    check(found)


def test_most_plans_are_answered_by_group() -> None:
    answered = {case.example.plan for case in cases(PartPlan) if run(case, by="home") is not None}
    needed = {"histogram", "partial_dependence", "shap_importance", "shap_values", "functional_mean"}
    assert needed <= answered
