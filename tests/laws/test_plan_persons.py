"""Every plan of a table in which persons have 1, 2 or 50 rows: all rows of one are within certificates.

A person is replaced by any other rows, under her id or another, or all her rows come and go.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.neighbours import newcomers
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable, SealedContribution, Summand, add_up
from discreet.errors import ArgumentError, CertificateError, ModelError
from discreet.mechanisms import sum_noise
from discreet.plans import Plan, Program, Setting
from discreet.plans.persons import GroupNoise, ready
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases

FORMS = (None, "trees", "opaque", "linear")
MODES: dict[str, dict[str, Any]] = {
    "weighted": {},
    "capped": {"rows": "capped", "most": 3},
    "one": {"rows": "one"},
}
COUNTED = {**MODES, "fifty": {"rows": "capped", "most": 50}}
"""Also the table of the planted fault: all of fifty rows count one each."""

CHANGED = "x"
"""The person whose rows are others in neighbouring tables."""


def schema_of(mode: str, known: bool = False) -> dc.Schema:
    """Return the facts of a table of persons; ``known`` where every row has to have a target."""
    facts = world.KNOWN if known else world.GAPS
    columns = {name: facts[name] for name in facts}
    return dc.Schema(columns, target=facts.target, person="who", **COUNTED[mode])


def needs_targets(case: Case) -> bool:
    """Return whether a plan refuses rows without a target, whoever they are of."""
    return case.example.plan == "data_shapley"


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
def neighbours(mode: str, relation: Relation, known: bool = False) -> list[list[PrivateTable]]:
    """Return tables all of which are neighbours: of one person the rows differ, or she is gone."""
    schema = schema_of(mode, known)
    tables = [_table(schema, relation, rows, CHANGED) for rows in rows_of_one()]
    if relation.rows_public:
        return [[*tables, _table(schema, relation, rows_of_one()[0], "another")]]
    gone = PrivateTable(everybody(), schema, relation)
    return [[gone, table] for table in tables]


def _table(schema: dc.Schema, relation: Relation, rows: pd.DataFrame, name: str) -> PrivateTable:
    places = np.linspace(0, len(everybody()), len(rows) + 1).astype(int)
    pieces = []
    for place, start in enumerate(places[:-1]):  # here and there, not side by side
        pieces += [rows.iloc[[place]].assign(who=name), everybody().iloc[start : places[place + 1]]]
    return PrivateTable(pd.concat(pieces, ignore_index=True), schema, relation)


def cases() -> list[Case]:
    """Return one or two examples of every plan under every relation."""
    found: dict[Any, Case] = {}
    asked = [case for case in all_cases() if case.form in FORMS]
    for case in sorted(asked, key=lambda case: FORMS.index(case.form)):
        found.setdefault((case.example.plan, case.relation, min(case.number, 1)), case)
    return list(found.values())


def run(case: Case, mode: str) -> Run | str:
    """Return what a case asks of a table of persons, or why it is refused."""
    table = neighbours(mode, case.relation, needs_targets(case))[0][0]
    rows = table.count() if case.relation.rows_public else None
    try:
        program = ready(case.plan(), Setting(table.schema, case.relation, rows))
    except (ArgumentError, ModelError) as error:
        return str(error)
    return run_program(program, table, case.relation, 3)


@pytest.mark.once_per("case", "mode")
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
        for tables in neighbours(mode, case.relation, needs_targets(case)):
            sums = raw_sums(stage, tables)
            assert too_far(noise, stage.certificate, found.relation, sums) == [], stage.name


LOW, HIGH = 2.0**20 + 500 * 2.0**-32, 2.0**20 + 1 + 523 * 2.0**-32
"""Far from zero beside their distance: products of theirs with weights do not fit into 53 bits."""


def far_apart(**other: Any) -> tuple[float, float]:
    """Return how far a person whose rows are all high or all low moves a total, and what is paid."""
    schema = dc.Schema({"x": dc.Number(LOW, HIGH, missing=False)}, person="who")
    setting = Setting(schema, REPLACE_ONE, 3)
    (stage,) = ready(dc.total("x", epsilon=1.0, mechanism="laplace"), setting).stages
    noise: Any = stage.noise
    if other:
        terms = {"relation": REPLACE_ONE.shared, "batch_rows": 1024, "mechanism": "laplace"}
        noise = sum_noise(stage.contribution.certificate, epsilon=1.0, **{**terms, **other})
    found = []
    for value in (LOW, HIGH):
        frame = pd.DataFrame({"who": ["x"] * 1023 + ["y", "z"], "x": [value] * 1023 + [LOW, HIGH]})
        table = PrivateTable(frame, schema, REPLACE_ONE)
        (total,) = add_up(table, [Summand(stage.contribution, noise.step)])
        found.append(int(total[0]))
    return found[1] - found[0], noise.sensitivity


@pytest.mark.proves("person-weights")
def test_weights_of_values_far_from_zero_move_no_more_than_is_paid() -> None:
    moved, paid = far_apart()
    assert moved <= paid


@pytest.mark.refutes("person-weights")
def test_products_with_weights_are_rounded_too() -> None:
    """The planted fault: steps as fine as three records leave room for: one is 2^59 of them."""
    moved, paid = far_apart(largest_sum=3 * HIGH)
    assert moved > paid


PLANTED = [
    dc.histogram("home", epsilon=1.0),
    dc.mean("age", epsilon=1.0),
    dc.proportion("home", ["rent"], epsilon=1.0),
]
"""Questions made ready for rows, asked of persons."""


def row_level(plan: dc.Plan, relation: Relation) -> Run:
    """Return what a plan asks with noise for one row, of a table in which a person may have fifty."""
    bare = dc.Schema({name: world.GAPS[name] for name in world.GAPS}, target=world.GAPS.target)
    table = neighbours("fifty", relation)[0][0]
    rows = table.count() if relation.rows_public else None
    return run_program(plan.prepare(Setting(bare, relation, rows)), table, relation, 3)


@pytest.mark.refutes("person-weights")
@pytest.mark.refutes("person-group")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("plan", PLANTED, ids=lambda plan: plan.plan_name)
def test_noise_for_one_row_is_caught_on_neighbours_of_persons(
    plan: dc.Plan, relation: Relation
) -> None:
    """The trap: every row of a person counts one, and the noise is that of one row."""
    (stage, *_) = row_level(plan, relation).stages
    found = [
        broken
        for tables in neighbours("fifty", relation)
        for broken in too_far(stage.noise, stage.certificate, relation, raw_sums(stage, tables))
    ]
    assert found


@pytest.mark.refutes("person-weights")
@pytest.mark.parametrize("plan", PLANTED, ids=lambda plan: plan.plan_name)
def test_stages_for_rows_do_not_pass_as_stages_for_persons(plan: dc.Plan) -> None:
    """A plan that ignores who its records are is stopped before anything is read."""
    setting = Setting(schema_of("weighted"), REPLACE_ONE, 40)
    with pytest.raises((ArgumentError, CertificateError), match=r"share one|rounding of all rows"):
        ready(Careless(plan), setting)


class Careless(Plan):
    """A plan that is made ready as if every row were a record."""

    def __init__(self, plan: dc.Plan) -> None:
        super().__init__(plan.epsilon, plan.delta)
        self.careful = plan

    def arguments(self) -> dict[str, Any]:
        return self.careful.arguments()

    def prepare(self, setting: Setting) -> Program:
        return self.careful.prepare(replace(setting, relation=REPLACE_ONE))
