"""Every plan of a table in which persons have 1, 2 or 50 rows: all rows of one are within certificates.

A person is replaced by any other rows, under her id or another, or all her rows come and go.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.neighbours import newcomers
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable, SealedContribution
from discreet.errors import ArgumentError, ModelError
from discreet.plans import Setting
from discreet.plans.persons import GroupNoise, ready
from discreet.privacy.relation import Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases

FORMS = (None, "trees", "opaque", "linear")
MODES: dict[str, dict[str, Any]] = {
    "weighted": {},
    "capped": {"rows": "capped", "most": 3},
    "one": {"rows": "one"},
}
CHANGED = "x"
"""The person whose rows are others in neighbouring tables."""


def schema_of(mode: str) -> dc.Schema:
    columns = {name: world.GAPS[name] for name in world.GAPS}
    return dc.Schema(columns, target=world.GAPS.target, person="who", **MODES[mode])


@cache
def everybody() -> pd.DataFrame:
    """Rows of persons that stay as they are: most have one, one has 2 and one has 50."""
    frame = world.gappy_table()
    names = [f"p{place}" for place in range(len(frame))]
    names[:2] = ["two"] * 2
    names[-50:] = ["fifty"] * 50
    return frame.assign(who=names)


@cache
def rows_of_one() -> list[pd.DataFrame]:
    """What the rows of one person may be: one, two, or fifty, alike or not."""
    frame = world.gappy_table()
    come = [
        pd.DataFrame([list(record)], columns=frame.columns)
        for record in newcomers(world.GAPS, frame.to_numpy(dtype=object)).values()
    ]
    some = [come[0], come[len(come) // 2], come[-1]]
    return [*some, pd.concat(some[1:]), pd.concat([some[1]] * 50), pd.concat([*some * 16, *some[:2]])]


@cache
def neighbours(mode: str, relation: Relation) -> list[list[PrivateTable]]:
    """Return tables all of which are neighbours: of one person the rows differ, or she is gone."""
    tables = [_table(mode, relation, rows, CHANGED) for rows in rows_of_one()]
    if relation.rows_public:
        return [[*tables, _table(mode, relation, rows_of_one()[0], "another")]]
    gone = PrivateTable(everybody(), schema_of(mode), relation)
    return [[gone, table] for table in tables]


def _table(mode: str, relation: Relation, rows: pd.DataFrame, name: str) -> PrivateTable:
    places = np.linspace(0, len(everybody()), len(rows) + 1).astype(int)
    pieces = []
    for place, start in enumerate(places[:-1]):  # here and there, not side by side
        pieces += [rows.iloc[[place]].assign(who=name), everybody().iloc[start : places[place + 1]]]
    return PrivateTable(pd.concat(pieces, ignore_index=True), schema_of(mode), relation)


def cases() -> list[Case]:
    """Return one or two examples of every plan under every relation."""
    found: dict[Any, Case] = {}
    asked = [case for case in all_cases() if case.form in FORMS]
    for case in sorted(asked, key=lambda case: FORMS.index(case.form)):
        found.setdefault((case.example.plan, case.relation, min(case.number, 1)), case)
    return list(found.values())


def run(case: Case, mode: str) -> Run | str:
    """Return what a case asks of a table of persons, or why it is refused."""
    table = neighbours(mode, case.relation)[0][0]
    rows = table.count() if case.relation.rows_public else None
    try:
        program = ready(case.plan(), Setting(schema_of(mode), case.relation, rows))
    except (ArgumentError, ModelError) as error:
        return str(error)
    return run_program(program, table, case.relation, 3)


@pytest.mark.proves("person-weights")
@pytest.mark.proves("person-rows")
@pytest.mark.proves("person-group")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_all_rows_of_a_person_stay_within_certificates(case: Case, mode: str) -> None:
    found = run(case, mode)
    if isinstance(found, str):
        assert found.count(". ") <= 3 and "got" in found
        return
    assert found.program.protects != "one record of the table"
    for stage in found.stages:
        if not stage.certificate.certified or isinstance(stage.contribution, SealedContribution):
            continue
        noise = stage.noise.noise if isinstance(stage.noise, GroupNoise) else stage.noise
        for tables in neighbours(mode, case.relation):
            sums = raw_sums(stage, tables)
            assert too_far(noise, stage.certificate, found.relation, sums) == [], stage.name
