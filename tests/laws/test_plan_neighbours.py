"""One record moves the sum of every stage by no more than the stage's certificate says.

Neighbours are chosen by structure: corners, extremes, missing and unknown values, doubles, and the
record by which models lean. Stages that a program decides on along the way are tried as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.neighbours import Record, around, newcomers
from discreet.data import PrivateTable, SealedContribution
from discreet.plans import Stage
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases, leaning_cases
from tests.laws.runs import run

LEANING: Record = (41, 33.0, world.MARK, "own", 1)
"""The record by which models lean."""


class Group(NamedTuple):
    """Tables of which any two are neighbours, and the place at which they differ."""

    place: int
    tables: tuple[PrivateTable, ...]


@cache
def neighbours(relation: Relation) -> tuple[Group, ...]:
    """Return groups of neighbours: of everybody who could stand at the first and the last place."""
    rows = world.table().to_numpy(dtype=object)
    come = [*newcomers(world.SCHEMA, rows).values(), LEANING]
    groups = []
    for home, standing in around(world.SCHEMA, relation, rows):
        first, *others = [record for _, record in standing]
        if relation.keeps_places:
            groups.append(Group(home.place, tuple(home.table(record) for record in (first, *come))))
            continue
        nobody, added = home.table(first), others or come
        groups += [Group(home.place, (nobody, home.table(record))) for record in added]
    return tuple(groups)


def test_every_kind_of_newcomer_is_tried() -> None:
    """As many tables as there were when they were written down for this schema alone."""
    replaced, added = neighbours(REPLACE_ONE), neighbours(ADD_REMOVE)
    assert [len(group.tables) for group in replaced] == [10, 10]
    assert len(added) == 20 and {len(group.tables) for group in added} == {2}
    sizes = {tuple(sorted(table.count() for table in group.tables)) for group in added}
    assert sizes == {(world.ROWS - 1, world.ROWS), (world.ROWS, world.ROWS + 1)}


def moves(stage: Stage[Any], relation: Relation) -> list[str]:
    """Return how neighbours move the sum of a stage too far."""
    return [
        fault
        for place, tables in neighbours(relation)
        for fault in too_far(stage.noise, stage.certificate, relation, raw_sums(stage, tables, place))
    ]


@pytest.mark.once_per("case")
@pytest.mark.proves("lattice")
@pytest.mark.parametrize("case", [*all_cases(), *leaning_cases()], ids=str)
def test_neighbours_stay_within_the_certificate_of_every_stage(case: Case) -> None:
    found = run(case)
    for stage in found.stages:
        if stage.certificate.certified and not isinstance(stage.contribution, SealedContribution):
            assert moves(stage, found.relation) == [], stage.name


SEALED = [case for case in all_cases() if case.example.other is not None]


@pytest.mark.parametrize("case", SEALED, ids=str)
def test_neighbouring_queries_stay_within_the_certificate(case: Case) -> None:
    assert case.example.other is not None
    other = replace(case, example=replace(case.example, ask=case.example.other))
    for first, second in zip(run(case).stages, run(other).stages, strict=True):
        assert first.noise.step == second.noise.step
        sums = [
            raw_sums(stage, [neighbours(case.relation)[0].tables[0]])[0] for stage in (first, second)
        ]
        assert np.any(sums[0] != sums[1]), "or nothing was tried"
        assert too_far(first.noise, first.certificate, REPLACE_ONE, sums) == []


def test_sealed_queries_bring_a_neighbour() -> None:
    for case in all_cases():
        sealed = [isinstance(stage.contribution, SealedContribution) for stage in run(case).stages]
        assert any(sealed) == (case.example.other is not None), case


# Planted faults: certificates that promise too much.

TIGHT = (
    "accumulated_effects",
    "background",
    "choose",
    "decision_tree",
    "histogram",
    "mutual_information",
    "partial_dependence",
    "quantiles",
    "shap_values",
    "synthesize",
)


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("plan", TIGHT)
def test_a_certificate_of_half_the_size_is_caught(plan: str, relation: Relation) -> None:
    """Of every kind of contribution and of noise: neighbours move a sum by more than half of it."""
    forms = (None, "linear")
    asked = [case for case in all_cases() if case.example.plan == plan and case.form in forms]
    (case, *_) = [case for case in asked if case.relation is relation]
    place, tables = neighbours(relation)[0]
    assert any(
        too_far(stage.noise, stage.certificate.scale(0.5), relation, raw_sums(stage, tables, place))
        for stage in run(case).stages
    )
