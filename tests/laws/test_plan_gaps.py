"""Every plan where any value may be missing or not listed: certificates hold, rows stand alone.

Records come into a part of the table and leave it when they are replaced, so that nothing may rely on
how many records have a value.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.hunting import rows as single_rows
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.neighbours import around, newcomers
from discreet.audit.hunting.rows import OwnRow
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable, SealedContribution
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.privacy.relation import RELATIONS, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases

OF_TARGETS = (
    "additive_model",
    "decision_tree",
    "evaluate",
    "fit",
    "random_forest",
    "permutation_importance",
)
"""Plans that measure records by their target: all their examples are asked."""

NEEDS_TARGET = ("data_shapley",)
"""Plans that refuse a target that may be missing."""

FORMS = (None, "trees", "opaque", "linear")


def cases() -> list[Case]:
    """Return one example of every plan and relation, of the first form there is, or all of some."""
    found: dict[Any, Case] = {}
    asked = [case for case in all_cases() if case.form in FORMS]
    for case in sorted(asked, key=lambda case: FORMS.index(case.form)):
        every = case.number if case.example.plan in OF_TARGETS else None
        found.setdefault((case.example.plan, case.relation, every), case)
    return list(found.values())


def test_every_plan_is_asked() -> None:
    assert {case.example.plan for case in cases()} == set(dc.PLANS)


def schema_of(case: Case) -> dc.Schema:
    return world.KNOWN if case.example.plan in NEEDS_TARGET else world.GAPS


@cache
def run(case: Case) -> Run:
    """Return what a case asks of the table with gaps."""
    schema, relation = schema_of(case), case.relation
    setting = Setting(schema, relation, world.ROWS if relation.rows_public else None)
    table = PrivateTable(world.gappy_table(), schema, relation)
    return run_program(case.plan().prepare(setting), table, relation, 3)


@cache
def neighbours(schema: dc.Schema, relation: Relation) -> list[tuple[int, list[PrivateTable]]]:
    """Return tables that are neighbours in pairs: somebody is replaced, or comes and goes."""
    rows = world.gappy_table().to_numpy(dtype=object)
    come = list(newcomers(schema, rows).values())
    home, standing = next(iter(around(schema, relation, rows)))
    first = standing[0][1]
    if relation.keeps_places:
        return [(home.place, [home.table(record) for record in (first, *come)])]
    nobody = home.table(None)
    return [(home.place, [nobody, home.table(record)]) for record in come]


@pytest.mark.once_per("case")
@pytest.mark.proves("part")
@pytest.mark.parametrize("case", cases(), ids=str)
def test_neighbours_with_gaps_stay_within_the_certificate_of_every_stage(case: Case) -> None:
    found = run(case)
    for stage in found.stages:
        if not stage.certificate.certified or isinstance(stage.contribution, SealedContribution):
            continue
        for place, tables in neighbours(schema_of(case), found.relation):
            sums = raw_sums(stage, tables, place)
            assert too_far(stage.noise, stage.certificate, found.relation, sums) == [], stage.name


@pytest.mark.once_per("case")
@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_vector_with_gaps_is_a_function_of_its_own_row(case: Case) -> None:
    odd = world.gappy_table().iloc[[2, 5, 40]]
    law = OwnRow(world.gappy_table(), odd, schema_of(case))
    for contribution in single_rows.by_row(run(case).stages):
        assert law.broken(contribution, case.relation) == []


@pytest.mark.parametrize("plan", NEEDS_TARGET)
def test_who_needs_a_target_says_so_before_rows_are_read(plan: str) -> None:
    (case, *_) = [case for case in cases() if case.example.plan == plan]
    with pytest.raises(ArgumentError, match="may be missing or not listed"):
        case.plan().prepare(Setting(world.GAPS, case.relation, world.ROWS))


# Planted fault: who takes the number of records with a target for public.


@pytest.mark.refutes("part")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_count_of_the_part_at_no_price_is_caught(relation: str) -> None:
    asked = [case for case in cases() if case.example.plan == "permutation_importance"]
    counted = [
        (case, stage)
        for case in asked
        if case.relation is Relation(relation)
        for stage in run(case).stages
        if stage.name == "number of records in the part"
    ]
    case, stage = counted[0]
    moved = [
        np.ptp([sums[0] for sums in raw_sums(stage, tables, place)])
        for place, tables in neighbours(world.GAPS, case.relation)
    ]
    assert max(moved) == 1
