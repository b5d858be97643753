"""Hunts of persons: all rows of one stay within certificates, and noise for one row does not."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.audit.finding import Effort
from discreet.audit.hunting.persons import (
    all_rows_count,
    checks,
    for_rows,
    hunt_persons,
    person_neighbours,
    persons_check,
)
from discreet.audit.suite import product_checks
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation

CHECKS = {check.name: check for check in checks()}


@pytest.mark.proves("person-weights")
@pytest.mark.proves("person-rows")
@pytest.mark.proves("person-group")
@pytest.mark.parametrize("name", CHECKS)
def test_all_rows_of_a_person_stay_within_certificates(name: str) -> None:
    found = CHECKS[name].run(Effort())
    assert found.held and 0.4 < found.found <= 1.0, found.said
    assert found.tries > 40


@pytest.mark.refutes("person-weights")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("plan", [dc.histogram("age", epsilon=1.0), dc.mean("income", epsilon=1.0)])
def test_noise_for_one_row_is_broken_by_a_person(plan: dc.Plan, relation: Relation) -> None:
    report = hunt_persons(plan, all_rows_count(), relation, prepare=for_rows)
    assert not report.held and report.found[0].share > 10


def test_the_same_table_asked_for_persons_holds() -> None:
    assert persons_check("persons: fifty", all_rows_count()).run(Effort()).held


def test_an_audit_tries_persons() -> None:
    assert set(CHECKS) == {"persons: weighted", "persons: capped", "persons: one"}
    assert set(CHECKS) <= set(product_checks())


def test_neighbours_have_the_persons_they_should() -> None:
    tables = person_neighbours(all_rows_count(), REPLACE_ONE, 0)
    assert len({table.count() for table in tables.values()}) == 1 < len(tables)
    moved = person_neighbours(all_rows_count(), ADD_REMOVE, 0)
    assert moved["nobody"].count() == moved["fifty"].count() - 1
