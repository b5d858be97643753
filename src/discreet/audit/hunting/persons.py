"""Persons with several rows: all rows of one differ between neighbours, and no sum moves farther.

Of one person the rows are others: one, two or fifty, alike or not, here and there in the table, under
her own id or another's; or all of them come and go. What other persons have stays as it is: most one
row, one of them two and one fifty.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from discreet.audit.finding import Check, Effort, Finding
from discreet.audit.hunting.checks import finding_of_hunts
from discreet.audit.hunting.moves import Move, moves_between, sums_of
from discreet.audit.hunting.neighbours import columns_of, draw_table, newcomers
from discreet.audit.hunting.report import HuntReport, Tightest
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable
from discreet.plans import Plan, Program, Setting
from discreet.plans.persons import GroupNoise, ready
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import Category, Column, Number, Schema
from discreet.schema.person import ROWS_OF_ONE
from discreet.statistics.mean import mean
from discreet.tables.histogram.plan import histogram
from discreet.trees.plan import decision_tree

COLUMNS: dict[str, Column] = {
    "income": Number(0, 200_000, missing=False),
    "age": Number(18, 90, step=1),
    "paid": Category(0, 1, missing=False, other=False),
}
_ROWS = 80
_MANY = 50
_MOST = 3
_NOBODY = "nobody"

Prepare = Callable[[Plan, Setting], Program]


def checks() -> list[Check]:
    """Return a check of every way in which the rows of a person count."""
    return [persons_check(f"persons: {rows}", _schema(rows)) for rows in ROWS_OF_ONE]


def persons_check(name: str, schema: Schema, prepare: Prepare = ready) -> Check:
    """Return the check of questions that are made ready for the persons of a schema."""

    def look(effort: Effort) -> Finding:
        reports = [
            hunt_persons(plan, schema, relation, prepare=prepare, seed=effort.seed)
            for plan in _questions()
            for relation in (REPLACE_ONE, ADD_REMOVE)
        ]
        return finding_of_hunts(reports)

    return Check(name, "hunt", "noise that hides all rows of a person", look)


def _schema(rows: str) -> Schema:
    how: dict[str, Any] = {"rows": rows, **({"most": _MOST} if rows == "capped" else {})}
    return Schema(COLUMNS, target="paid", person="who", **how)


def all_rows_count() -> Schema:
    """Return the facts of a table in which fifty rows of a person count one each."""
    return Schema(COLUMNS, target="paid", person="who", rows="capped", most=_MANY)


def for_rows(plan: Plan, setting: Setting) -> Program:
    """Make a question ready as if every row were a person's only one: a planted fault."""
    bare = Schema(COLUMNS, target="paid")
    return plan.prepare(replace(setting, schema=bare))


def _questions() -> list[Plan]:
    return [
        histogram("age", epsilon=1.0),
        mean("income", epsilon=1.0),
        decision_tree("paid", depth=2, epsilon=1.0),
    ]


def hunt_persons(
    plan: Plan, schema: Schema, relation: Relation, *, prepare: Prepare = ready, seed: int = 0
) -> HuntReport:
    """Compare the sums of tables that differ in all rows of one person with what is certified.

    Args:
      plan: a question.
      schema: of the tables, with a person.
      relation: how neighbours differ.
      prepare: makes the question ready.
      seed: of everything that is drawn.
    """
    began = time.perf_counter()
    tables = person_neighbours(schema, relation, seed)
    first = next(iter(tables.values()))
    rows = first.count() if relation.rows_public else None
    run = run_program(prepare(plan, Setting(schema, relation, rows)), first, relation, seed)
    names = [name for name in tables if name != _NOBODY]
    pairs = list(combinations(names, 2)) if relation.rows_public else [(_NOBODY, n) for n in names]
    reached = _farthest(run, tables, pairs)
    return HuntReport(
        plan=plan.plan_name,
        relation=str(relation),
        rows=_ROWS,
        reached=tuple(reached),
        found=tuple(sorted((o for o in reached if o.move.broken), key=lambda one: -one.share)),
        skipped={},
        pairs=len(pairs),
        climbed=0,
        seconds=time.perf_counter() - began,
    )


def person_neighbours(schema: Schema, relation: Relation, seed: int) -> dict[str, PrivateTable]:
    """Return tables in which the rows of one person are others, by what they are."""
    bare = Schema(COLUMNS, target="paid")
    drawn = draw_table(bare, _ROWS, seed)
    everybody = pd.DataFrame(drawn, columns=list(columns_of(bare)), dtype=object)
    everybody["who"] = [f"p{place}" for place in range(_ROWS)]
    everybody.loc[:1, "who"] = "two"
    everybody.loc[_ROWS - _MANY :, "who"] = "fifty"
    known = list(newcomers(bare, drawn).values())
    high, low, middle = known[0], known[1], known[len(known) // 2]
    one = {"high": [high], "low": [low], "two": [low, middle], "fifty": [high] * _MANY}
    one["mixed"] = [high, low, middle] * (_MANY // 3)
    found = {name: _with(everybody, own, "x") for name, own in one.items()}
    found["another id"] = _with(everybody, [high], "another")
    if not relation.rows_public:
        found[_NOBODY] = everybody
    return {name: PrivateTable(frame, schema, relation) for name, frame in found.items()}


def _with(everybody: pd.DataFrame, own: Sequence[tuple[Any, ...]], name: str) -> pd.DataFrame:
    """Return the table with the rows of one person here and there between those of others."""
    columns = list(everybody.columns)
    rows = pd.DataFrame([(*record, name) for record in own], columns=columns, dtype=object)
    places = np.linspace(0, len(everybody) - 1, len(own))
    rows.index = pd.Index(places + 0.5)
    return pd.concat([everybody, rows]).sort_index(kind="stable").reset_index(drop=True)


def _farthest(
    run: Run, tables: dict[str, PrivateTable], pairs: Sequence[tuple[str, str]]
) -> list[Tightest]:
    """Return per stage and norm how far a pair moved it at the most."""
    stages = [stage for stage in run.stages if stage.certificate.certified]
    sums = {name: sums_of(stages, table) for name, table in tables.items()}
    found: dict[tuple[int, str], Tightest] = {}
    for one, other in pairs:
        for place, stage in enumerate(stages):
            noise = stage.noise.noise if isinstance(stage.noise, GroupNoise) else stage.noise
            two = sums[one][place], sums[other][place]
            for move in moves_between(noise, stage.certificate, run.relation, *two):
                known = found.get((place, move.norm))
                if known is None or move.share > known.share:
                    found[place, move.norm] = _told(stage.name, move, one, other)
    return list(found.values())


def _told(stage: str, move: Move, one: str, other: str) -> Tightest:
    return Tightest(stage, move, f"rows of a person: {one} and {other}", {"who": (one, other)})
