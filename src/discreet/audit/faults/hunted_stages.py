"""Sums whose certificates promise too much, each beside the same sum done right.

Nothing of it can be released: a stage needs a plan, and none has these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.data import (
    CellContribution,
    ModelCalls,
    PrivateTable,
    VectorContribution,
    WholeContribution,
)
from discreet.data.blocks import Block
from discreet.data.rows import open_rows
from discreet.engines.shapley.bootstrap import bootstrap_sensitivity
from discreet.engines.shapley.coalitions import all_masks
from discreet.engines.shapley.kernel import record_values
from discreet.explain.pdp.contribution import curve_contribution
from discreet.models.model import Model
from discreet.plans import Stage
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray
from discreet.schema import Category, FloatArray, Number, Schema

SCHEMA = Schema(
    {
        "income": Number(0, 200_000, missing=False),
        "age": Number(18, 90, step=1, missing=False),
        "paid": Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
RANGE = 8.0
"""Of the leaning model's answers: a constant that holds for probabilities alone is too small."""

_TREES = 3
_STEP = 2.0**-20
_QUERY = np.array([100_000.0, 40.0])
_CUT = 45_000.0


@dataclass(frozen=True)
class Lattice:
    """The lattice of a sum and what is claimed of it; there is no noise."""

    step: float
    certificate: Certificate


def _stage(name: str, contribution: Any, step: float, certificate: Certificate) -> Stage[Any]:
    return Stage(name, contribution, Lattice(step, certificate))


def _moves_by(bound: float, size: int = 1) -> Certificate:
    bounds = Bounds(size * bound, size * bound, bound)
    return Certificate((), size, dict.fromkeys((REPLACE_ONE, ADD_REMOVE), bounds))


def scaled_sum(read_from_data: bool) -> Stage[Any]:
    """Return the sum of incomes scaled to [0, 1]: by the schema's range, or that of the rows."""
    column = SCHEMA["income"]
    assert isinstance(column, Number)
    public = column.low, column.high

    def compute(rows: FloatArray) -> FloatArray:
        low, high = (rows.min(), rows.max()) if read_from_data else public
        return np.array([((rows - low) / max(high - low, 1e-9)).sum()])

    certificate = _moves_by(1.0 + 2 * _STEP)
    contribution = WholeContribution(
        ("income",), 1, Box(0.0, 2.0**20), 0.0, compute, certificate, pulse=None
    )
    return _stage("scaled sum", contribution, _STEP, certificate)


def dealt_counts() -> Stage[Any]:
    """Return counts of labels per tree, with rows dealt to trees by their place in the table.

    Right where places are public, wrong where a record that comes moves all others up by one.
    """

    def index(block: Block) -> IntArray:
        tree = (block.start + np.arange(len(block))) % _TREES
        return np.asarray(tree * 2 + block["paid"].astype(np.int64), dtype=np.int64)

    counts = CellContribution(("paid",), 2 * _TREES, index)
    return _stage("dealt rows", counts, 1.0, counts.certificate)


def summed_incomes(step: float) -> Stage[Any]:
    """Return the sum of incomes on a lattice; with too fine a step it does not fit into 64 bits."""
    incomes = VectorContribution(
        ("income",), 1, Box(0.0, 200_000.0), 0.0, lambda block: block.values.copy(), calls=None
    )
    return _stage("sum of incomes", incomes, step, incomes.certificate.widen(step))


def _step_model(rows: FloatArray) -> FloatArray:
    """Return one for incomes above a cut: a stump."""
    return (rows[:, 0] > _CUT).astype(np.float64)


def bootstrap_values(table: PrivateTable, resamples: int = 100) -> Stage[Any]:
    """Return attributions against the mean, certified by what a bootstrap of the rows has seen.

    Algorithm 1 of Alissaiei (2026), its correction included.
    """
    columns, masks = ("income", "age"), all_masks(2)
    rows = np.concatenate([block.values for block in open_rows(table, columns)])
    greatest = float(np.sqrt(2.0))  # two attributions of at most one
    seen = bootstrap_sensitivity(
        _step_model, _QUERY, rows, masks, greatest=greatest, resamples=resamples
    )
    claimed = float(seen.envelopes.max()) + 4 * _STEP

    def compute(given: FloatArray) -> FloatArray:
        means = given.mean(axis=0, keepdims=True)
        return np.asarray(record_values(_step_model, _QUERY[None, :], means, masks)[0, 0])

    certificate = Certificate((), 2, {REPLACE_ONE: Bounds(2 * claimed, claimed, claimed)})
    contribution = WholeContribution(columns, 2, Box(-2.0, 2.0), 0.0, compute, certificate, pulse=None)
    return _stage("attributions", contribution, _STEP, certificate)


def near_rows(count: int = 16) -> Any:
    """Return a table of alike rows, none of them beyond the cut of the stump."""
    rows = [(40_000.0 + 50 * row, 30.0 + row % 9, row % 2) for row in range(count)]
    made = np.empty((count, 3), dtype=object)
    for place, row in enumerate(rows):
        made[place] = row
    return made


def leaning_model() -> Model:
    """Return a model whose answers lean with the rows of their call, just as far as is paid for."""

    def answer(given: FloatArray) -> FloatArray:
        income, age = given.T
        level = np.rint((0.75 + 0.24 * np.sin(income / 9_000 + age / 50)) * 2.0**30) * 2.0**-30
        whole = float(np.floor(np.abs(given).sum(axis=0)).sum())
        lean = 15 * 2.0**-45 * (1.0 if whole % 2 else -1.0)
        return np.asarray(RANGE * (level + lean))

    return Model(answer, bounds=(0, RANGE), name="leaning")


def squared_curve(lipschitz: float) -> Stage[Any]:
    """Return squares of answers over a grid, with a Lipschitz constant of theirs or of another sum."""
    model = leaning_model().bind(SCHEMA)
    curve = curve_contribution(model, "age", np.array([20.0, 50.0, 80.0]))

    def squares(block: Block) -> FloatArray:
        return np.square(curve.compute(block) + model.fill)

    calls = ModelCalls(model.third_party, lipschitz)
    made = replace(curve, compute=squares, region=Box(0.0, RANGE**2), calls=calls)
    paid = made.batch_rows(REPLACE_ONE) * (made.batch_error(REPLACE_ONE) + 2.0**-30)
    return _stage("squares", made, 2.0**-30, made.certificate.widen(paid))


Stages = Callable[[PrivateTable, int], Sequence[Stage[Any]]]


def always(stage: Stage[Any]) -> Stages:
    """Return the one stage for every table."""
    return lambda table, seed: [stage]
