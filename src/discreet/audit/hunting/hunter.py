"""``hunt``: search neighbouring tables for a move of a sum above its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.arguments import shown
from discreet.audit.hunting.neighbours import Rows, columns_of, draw_table
from discreet.audit.hunting.report import HuntReport
from discreet.audit.hunting.runs import run_program
from discreet.audit.hunting.search import Search, StagesOf
from discreet.audit.hunting.trial import Trial
from discreet.data import PrivateTable
from discreet.data.blocks import BLOCK_ROWS
from discreet.errors import ArgumentError, DiscreetError
from discreet.models.forms.trees import TreeEnsemble
from discreet.models.model import Model, as_model
from discreet.numerics import check_positive, check_whole
from discreet.plans import Plan, Setting
from discreet.privacy.relation import Relation, RelationName
from discreet.progress import progress_bar
from discreet.schema import Number, Schema

_LEAST_ROWS = 4
_TICKS = 10

MakePlan = Callable[[Any], Plan]


def hunt(
    plan: Plan | MakePlan,
    schema: Any,
    model: Any = None,
    *,
    relation: Relation | RelationName = "replace-one",
    rows: int = 96,
    seconds: float = 10.0,
    seed: int = 0,
    start: Any = None,
    progress: bool | None = None,
) -> HuntReport:
    """Search neighbouring tables for a move of a stage's sum above what its certificate says.

    Neighbours are tried by structure (corners, values one step beside thresholds and split points of
    trees, doubles, missing, unknown, beyond the bounds, the table's own rows) and by hill-climbing on
    the records that differ and on the table. The program runs with simulated noise, so that stages that
    it decides on along the way are tried as well. Besides, vectors of the same rows are made alone, in
    another order and beside other rows: what moves must be paid for.

    Args:
      plan: a plan, or a function that makes one of a model.
      schema: of the tables, which are made up; or the path of its TOML file.
      model: what the function makes the plan of; its split points are tried as well.
      relation: how neighbours differ.
      rows: of the tables.
      seconds: after about so many it stops, but not before all corners were tried at one place.
        Ctrl-C stops it too; both keep what was found.
      seed: of everything that is drawn.
      start: a public frame to start from, instead of one that is drawn.
      progress: whether a bar is shown; by default on a terminal.

    Guarantees:
      - None. A report without violations says what was not found, never that there is nothing.

    >>> import discreet as dc
    >>> schema = dc.Schema({"home": dc.Category("rent", "own", missing=False, other=False)})
    >>> hunt(dc.histogram("home", epsilon=1.0), schema, seconds=0.2).held
    True
    """
    known = Schema.of(schema)
    check_whole("rows", rows, _LEAST_ROWS, BLOCK_ROWS, "Neighbours differ in one of them.")
    check_positive("seconds", seconds, "It is the time the search may take.")
    check_whole("seed", seed, 0)
    agreed = Relation(relation)
    asked = plan_of(plan, model)
    table = draw_table(known, rows, seed) if start is None else _rows_of(start, known)
    setting = Setting(known, agreed, len(table) if agreed.rows_public else None)
    program = asked.prepare(setting)
    neighbours = program.relation or agreed
    return hunt_stages(
        lambda private, noise: run_program(program, private, neighbours, noise).stages,
        known,
        neighbours,
        table,
        name=asked.plan_name,
        seconds=seconds,
        seed=seed,
        thresholds=find_thresholds(asked, model, known),
        progress=progress,
    )


def hunt_stages(
    stages_of: StagesOf,
    schema: Schema,
    relation: Relation,
    rows: Rows,
    *,
    name: str,
    seconds: float,
    seed: int = 0,
    thresholds: Mapping[str, Sequence[float]] | None = None,
    progress: bool | None = False,
    until_broken: bool = False,
) -> HuntReport:
    """Do so for stages that no plan has.

    Args:
      stages_of: makes them for a table, with noise of a seed.
      schema: of the tables.
      relation: of the neighbours.
      rows: the first table.
      name: of what is on trial.
      seconds: after about so many it stops.
      seed: of everything that is drawn.
      thresholds: numbers at which a sum may jump, by column.
      progress: whether a bar is shown; None means on a terminal.
      until_broken: whether it stops at the first certificate that is broken.
    """
    with progress_bar("hunting", math.ceil(seconds * _TICKS), progress) as advance:
        trial = Trial(schema, relation, seconds, tick=_ticker(advance), until_broken=until_broken)
        Search(trial, rows, seed, thresholds or {}).go(stages_of)
    return trial.report(name, len(rows))


def plan_of(plan: Plan | MakePlan, model: Any) -> Plan:
    """Return the plan that is on trial."""
    if isinstance(plan, Plan):
        return plan
    if not callable(plan):
        raise ArgumentError(
            f"plan must be a plan or a function that makes one of a model, got {shown(plan)}."
        )
    if model is None:
        raise ArgumentError(
            "model must be given with a function that makes a plan of one, got None. "
            "Use hunt(plan, schema, model)."
        )
    try:
        made = plan(model)
    except DiscreetError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"plan must make a plan of the model, and raised {type(error).__name__}: {error}. "
            "Call it by hand first."
        ) from error
    if not isinstance(made, Plan):
        raise ArgumentError(f"plan must make a plan of the model, got {shown(made)}.")
    return made


def find_thresholds(plan: Plan, model: Any, schema: Schema) -> dict[str, list[float]]:
    """Return numbers at which a sum may jump: split points of trees, and those a plan was given."""
    found: dict[str, list[float]] = {name: [] for name in schema}
    held = [part for part in vars(plan).values() if isinstance(part, Model)]
    for one in held if model is None else [as_model(model)]:
        _add_splits(found, one, schema)
    for number in _numbers(plan.arguments()):
        for name in schema:
            column = schema[name]
            if isinstance(column, Number) and column.low < number < column.high:
                found[name].append(number)
    return found


def _add_splits(found: dict[str, list[float]], model: Model, schema: Schema) -> None:
    try:
        bound = model.bind(schema)
    except DiscreetError:  # the plan has bound its model before, or takes none of this kind
        return
    if isinstance(bound.form, TreeEnsemble):
        inner = np.isfinite(bound.form.threshold)
        for feature, threshold in zip(
            bound.form.feature[inner], bound.form.threshold[inner], strict=True
        ):
            found[bound.columns[int(feature)]].append(float(threshold))


def _numbers(plain: Any) -> Iterable[float]:
    """Yield all numbers inside the arguments of a plan."""
    if isinstance(plain, Mapping):
        for value in plain.values():
            yield from _numbers(value)
    elif isinstance(plain, list | tuple):
        for value in plain:
            yield from _numbers(value)
    elif isinstance(plain, int | float) and not isinstance(plain, bool) and math.isfinite(plain):
        yield float(plain)


def _rows_of(start: Any, schema: Schema) -> Rows:
    """Return the raw rows of a public frame."""
    PrivateTable(start, schema)  # refuses what no session would take
    try:
        rows = np.asarray(start[list(columns_of(schema))], dtype=object)
    except (TypeError, KeyError, IndexError):
        raise ArgumentError(f"start must be a data frame, got {shown(start)}.") from None
    check_whole("rows of start", len(rows), _LEAST_ROWS, BLOCK_ROWS)
    return rows


def _ticker(advance: Callable[[int], None]) -> Callable[[float], None]:
    """Return a function that tells a bar how many ticks of time have passed."""
    told = 0

    def tick(passed: float) -> None:
        nonlocal told
        now = int(passed * _TICKS)
        if now > told:
            advance(now - told)
            told = now

    return tick
