"""How far sums are apart: in every norm, as numbers even if they wrapped, and as others see them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.hunting.moves import Move, apart, moves_between, raw_sums, too_far
from discreet.audit.hunting.neighbours import Neighbourhood, draw_table
from discreet.audit.laws.of_trees import Rows, counts_of, neighbouring_rows, two_nodes
from discreet.plans import Setting
from discreet.privacy.certificate import Ball, Box
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.trees.scores import STEPS_PER_RECORD, Criterion
from discreet.trees.splits import level_stage, split_noise
from tests.audit.hunting.plans import SCHEMA
from tests.laws import world
from tests.value.test_plan import valued

PLAIN: Any = SimpleNamespace(step=0.5)


def test_moves_in_every_norm_beside_what_is_certified() -> None:
    certificate = Ball(1.0, "l2").certify(2)
    found = moves_between(PLAIN, certificate, REPLACE_ONE, np.array([6, 0]), np.array([0, 8]))
    assert [(move.norm, move.far) for move in found] == [("l1", 7.0), ("l2", 5.0), ("linf", 4.0)]
    assert [move.broken for move in found] == [True, True, True]
    assert found[1].share == 2.5
    assert len(too_far(PLAIN, certificate, REPLACE_ONE, [np.array([6, 0]), np.array([0, 8])])) == 3
    assert too_far(PLAIN, certificate, REPLACE_ONE, [np.array([1, 1]), np.array([0, 0])]) == []


def test_shares_of_nothing() -> None:
    assert Move("l1", 0.0, 0.0).share == 0.0 and not Move("l1", 0.0, 0.0).broken
    assert Move("l1", 1e-300, 0.0).share == math.inf and Move("l1", 1e-300, 0.0).broken


def test_wrapped_sums_are_as_far_apart_as_the_numbers_they_are() -> None:
    high = np.array([2**63 - 1])
    with np.errstate(over="ignore"):
        wrapped = high + np.int64(2)
    assert (high - wrapped).item() == -2, "in 64 bits nobody would notice"
    assert apart(SimpleNamespace(step=1.0), high, wrapped)[0] == pytest.approx(2.0**64)


def _place_of(record: int) -> tuple[Any, Neighbourhood, Any, Any]:
    plan = valued(records=[0, 7])
    (stage,) = plan.prepare(Setting(world.SCHEMA, REPLACE_ONE, world.ROWS)).stages
    rows = world.table().to_numpy(dtype=object)
    home = Neighbourhood(world.SCHEMA, REPLACE_ONE, np.delete(rows, record, axis=0), record)
    return stage, home, tuple(rows[record]), (90, 0.0, 5.0, "other", 1)


def test_what_an_owner_alone_will_see_is_left_out() -> None:
    """The certificate of values for owners promises nothing of a record's own value."""
    stage, home, own, other = _place_of(7)
    tables = [home.table(own), home.table(other)]
    everything, of_others = raw_sums(stage, tables), raw_sums(stage, tables, home.place)
    assert stage.contribution.owners == (0, 7)
    assert [len(raw) for raw in everything] == [2, 2] and [len(raw) for raw in of_others] == [1, 1]
    assert of_others[0][0] == everything[0][0]
    assert too_far(stage.noise, stage.certificate, REPLACE_ONE, of_others) == []


def test_public_values_are_seen_by_all() -> None:
    plan = valued(records=[0, 7], audience="public")
    (stage,) = plan.prepare(Setting(world.SCHEMA, REPLACE_ONE, world.ROWS)).stages
    assert stage.contribution.owners is None


def test_a_lone_owner_leaves_nothing_to_others() -> None:
    plan = valued(records=[3])
    (stage,) = plan.prepare(Setting(world.SCHEMA, REPLACE_ONE, world.ROWS)).stages
    _, home, own, other = _place_of(3)
    sums = raw_sums(stage, [home.table(own), home.table(other)], 3)
    assert [raw.tolist() for raw in sums] == [[0], [0]]


def test_sums_of_counts_are_whole_records() -> None:
    (stage,) = dc.histogram("home", epsilon=1.0).prepare(Setting(SCHEMA, REPLACE_ONE, 6)).stages
    rows = draw_table(SCHEMA, 6, 0)
    home = Neighbourhood(SCHEMA, REPLACE_ONE, rows[1:], 0)
    first, second = raw_sums(stage, [home.table((1.0, "rent")), home.table((1.0, "own"))])
    assert np.abs(apart(stage.noise, first, second)).tolist() == [1.0, 1.0]
    assert Box(0.0, 1.0).certify(2).sensitivity("linf", REPLACE_ONE) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("heaviest", "broken"), [(STEPS_PER_RECORD, False), (4 * STEPS_PER_RECORD, True)]
)
def test_splits_are_looked_at_with_the_weights_of_classes(heaviest: int, broken: bool) -> None:
    """A class that weighs more than a record moves utilities farther than is certified."""
    level = replace(two_nodes(), weights=np.array([heaviest, STEPS_PER_RECORD]))
    noise = split_noise(
        Criterion("norm", 50), "auto", relation=ADD_REMOVE, epsilon=1.0, candidates=len(level.splits)
    )
    stage = level_stage("level", noise, level, "class")

    def found(pair: tuple[Rows, Rows]) -> list[str]:
        sums = [counts_of(stage, np.array(rows)) for rows in pair]
        return too_far(stage.noise, stage.certificate, ADD_REMOVE, sums)

    assert any(map(found, neighbouring_rows(ADD_REMOVE))) == broken
