"""Planted faults: each is caught by its own check alone, and the same thing done right holds."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc
from discreet.audit.faults import hunted_stages as planted
from discreet.audit.faults.hunted import FAULTS
from discreet.audit.finding import Effort
from discreet.audit.hunting.hunter import hunt_stages
from discreet.audit.hunting.neighbours import draw_table
from discreet.privacy.relation import REPLACE_ONE

BY_NAME = {fault.name: fault for fault in FAULTS}


def test_names_and_sentences() -> None:
    assert len(BY_NAME) == len(FAULTS) == 9
    assert all(fault.wrong.endswith(".") and fault.source for fault in FAULTS)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_fault_is_caught_by_its_own_check(name: str) -> None:
    found = BY_NAME[name].check.run(Effort())
    assert not found.held and found.found > 1, found.said
    assert found.kind == "model" or found.tries < 500, "a hunt is over after few pairs"


RIGHT: dict[str, Any] = {
    "scaled by the schema": lambda: planted.scaled_sum(read_from_data=False),
    "dealt where places are public": planted.dealt_counts,
    "a lattice that fits": lambda: planted.summed_incomes(2.0**-20),
    "a constant of its own": lambda: planted.squared_curve(2 * planted.RANGE),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_same_done_right_holds(name: str) -> None:
    rows = draw_table(planted.SCHEMA, 24, 0)
    report = hunt_stages(
        planted.always(RIGHT[name]()), planted.SCHEMA, REPLACE_ONE, rows, name=name, seconds=0.5
    )
    assert report.held and report.pairs > 30, str(report)


def test_more_resamples_do_not_mend_the_bootstrap() -> None:
    """It sees rows like those at hand, however often it draws them."""
    rows = planted.near_rows()
    report = hunt_stages(
        lambda table, seed: [planted.bootstrap_values(table, resamples=2_000)],
        planted.SCHEMA,
        REPLACE_ONE,
        rows,
        name="bootstrap",
        seconds=600.0,
        until_broken=True,
    )
    assert report.found[0].share > 10


def test_no_plan_knows_a_fault() -> None:
    assert not any("audit" in home for home in dc.PLANS.values())
