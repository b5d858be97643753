"""One record moves the sum of every stage by no more than the stage's certificate says.

Neighbours are chosen by structure: corners, extremes, missing and unknown values, doubles, and the
record by which models lean. Stages that a program decides on along the way are tried as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.data import PrivateTable, SealedContribution, Summand, add_up
from discreet.mechanisms.additive.select_then_measure import SelectThenMeasure
from discreet.mechanisms.selection.spanning_tree import STEPS_PER_RECORD as SCORE_STEPS
from discreet.mechanisms.selection.spanning_tree import TreeChoice
from discreet.plans import Stage
from discreet.plans.stages.sums import TableNoise
from discreet.privacy.certificate import NORMS, Certificate
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation
from discreet.tables.entropy.noise import MeasureNoise
from discreet.trees.scores import STEPS_PER_RECORD as UTILITY_STEPS
from discreet.trees.splits import SplitNoise
from tests.laws import world
from tests.laws.examples import Case, all_cases, leaning_cases
from tests.laws.runs import run

ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}
PLACES = (0, world.ROWS - 1)
HUGE = 1.7976931348623157e308


def newcomers() -> dict[str, list[Any]]:
    """Return records that move a sum far, or ought not to move it at all."""
    return {
        "high corner": [90, 100.0, 5.0, "other", 1],
        "low corner": [18, 0.0, -5.0, "rent", 0],
        "mixed corner": [90, 0.0, 5.0, "own", 0],
        "other corner": [18, 100.0, -5.0, "own", 1],
        "missing": [np.nan, np.nan, np.nan, None, None],
        "unknown": [47, 31.0, 0.5, "palace", 7],
        "beyond": [HUGE, -HUGE, np.inf, "rent", 1],
        "double": world.table().iloc[20].tolist(),
        "leaning": [41, 33.0, world.MARK, "own", 1],
    }


@cache
def neighbours(relation: Relation) -> tuple[tuple[PrivateTable, ...], ...]:
    """Return groups of tables of which any two are neighbours."""
    return _replaced() if relation.keeps_places else _added()


def _replaced() -> tuple[tuple[PrivateTable, ...], ...]:
    """One place, and everybody who could stand there."""
    groups = []
    for place in PLACES:
        frames = [world.table()]
        for newcomer in newcomers().values():
            frames.append(world.table().astype(object))
            frames[-1].iloc[place] = newcomer
        groups.append(tuple(PrivateTable(frame, world.SCHEMA) for frame in frames))
    return tuple(groups)


def _added() -> tuple[tuple[PrivateTable, ...], ...]:
    """The table and one with a record more, before or behind all others, or with one less."""
    base = world.table().astype(object)
    frames = [base.iloc[1:], base.iloc[:-1]]
    for newcomer in newcomers().values():
        one = pd.DataFrame([newcomer], columns=list(base.columns), dtype=object)
        frames += [pd.concat(pair, ignore_index=True) for pair in ((one, base), (base, one))]
    whole, *others = [PrivateTable(frame, world.SCHEMA, ADD_REMOVE) for frame in (base, *frames)]
    return tuple((whole, other) for other in others)


def raw_sums(stage: Stage[Any], tables: Sequence[PrivateTable]) -> list[np.ndarray]:
    summand = Summand(stage.contribution, stage.noise.step)
    return [add_up(table, [summand])[0] for table in tables]


def apart(noise: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how far two sums are apart, or what is made of them where that is what is certified."""
    match noise:
        case MeasureNoise():
            values = [noise.measure(noise.filled(raw)) / noise.unit for raw in (first, second)]
            steps = np.rint(np.array(values) / noise.noise.step)
            return np.array([steps[0] - steps[1]]) * noise.noise.step
        case TreeChoice():
            return (noise.scores(first) - noise.scores(second)) / SCORE_STEPS
        case SplitNoise():
            return _utilities_apart(noise, first, second)
        case TableNoise() | SelectThenMeasure():
            return (first - second)[list(noise.places)] * noise.step
    return (first - second).astype(np.float64) * noise.step


def _utilities_apart(noise: SplitNoise, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return by how much the utilities of one node's splits move against each other, where most."""
    assert noise.level is not None
    nodes, splits, grid = noise.level.nodes, noise.level.splits, noise.level.grid
    shape = (len(nodes.open), grid, splits, noise.level.classes)
    moved = np.subtract(*(noise.criterion.utilities(raw, *shape) for raw in (first, second)))
    centred = [
        (row[useful] - (row[useful].max() + row[useful].min()) / 2) / UTILITY_STEPS
        for row, useful in zip(moved, nodes.useful(splits), strict=True)
        if useful.any()
    ]
    return max(centred, key=lambda row: float(np.abs(row).max()), default=np.zeros(1))


def too_far(
    noise: Any, certificate: Certificate, relation: Relation, sums: Sequence[np.ndarray]
) -> list[str]:
    """Return where two of some neighbours' sums are farther apart than is certified."""
    faults = []
    for (one, first), (two, second) in combinations(enumerate(sums), 2):
        moved = apart(noise, first, second)
        for norm in NORMS:
            far, allowed = np.linalg.norm(moved, ORDERS[norm]), certificate.sensitivity(norm, relation)
            if far > allowed:
                faults.append(
                    f"tables {one} and {two}: {far:.8g} in {norm}, {allowed:.8g} is certified"
                )
    return faults


def moves(stage: Stage[Any], relation: Relation) -> list[str]:
    """Return how neighbours move the sum of a stage too far."""
    return [
        fault
        for tables in neighbours(relation)
        for fault in too_far(stage.noise, stage.certificate, relation, raw_sums(stage, tables))
    ]


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
        sums = [raw_sums(stage, [neighbours(case.relation)[0][0]])[0] for stage in (first, second)]
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
    tables = neighbours(relation)[0]
    assert any(
        too_far(stage.noise, stage.certificate.scale(0.5), relation, raw_sums(stage, tables))
        for stage in run(case).stages
    )
