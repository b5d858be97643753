"""The law behind the companion term: other rows in a call move an answer by less than a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.certificates import Box
from discreet.data import VectorContribution, companion_rows
from discreet.data.blocks import BLOCK_ROWS
from discreet.data.foreign import foreign_code
from discreet.errors import ModelError
from discreet.mechanisms import sum_noise
from discreet.models import BoundModel, Model
from discreet.plans import Setting
from discreet.schema import FloatArray
from tests.models.zoo import ESTIMATORS, NUMBERS, SCHEMA, fitted, one_hot_pipeline

LARGEST = 2.0**-40
"""Of the range of the answers; the finest step in use is a 2^46th of noise that exceeds the range."""


def greatest_move(bound: BoundModel, rows: FloatArray) -> float:
    """Return how far answers move, relative to their range, when the rows beside them change."""
    draw = np.random.default_rng(1)
    shared = 64
    kept = rows[:shared]
    answers = [bound.predict(np.asfortranarray(kept)), bound.predict(np.ascontiguousarray(kept))]
    for size in (shared + 1, 100, 1_000, BLOCK_ROWS, 3 * BLOCK_ROWS):
        others = rows[draw.integers(0, len(rows), size - shared)]
        place = int(draw.integers(0, len(others) + 1))
        call = np.asfortranarray(np.concatenate([others[:place], kept, others[place:]]))
        answers.append(bound.predict(call)[place : place + shared])
    answers.append(np.concatenate([bound.predict(kept[i : i + 1]) for i in range(shared)]))
    return float(np.ptp(answers, axis=0).max() / (bound.bounds.high - bound.bounds.low))


def bound_model(name: str, named: bool) -> tuple[BoundModel, FloatArray]:
    schema = SCHEMA if name == "one hot" else NUMBERS
    model: Any = one_hot_pipeline() if name == "one hot" else fitted(name, named)
    return Model(model).bind(schema), schema.draw(5_000)[:, : len(schema.features)]


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_companions_move_real_models_by_less_than_a_step(name: str, named: bool) -> None:
    with foreign_code():
        assert greatest_move(*bound_model(name, named)) < LARGEST


@pytest.mark.proves("lattice")
def test_companions_move_a_pipeline_by_less_than_a_step() -> None:
    with foreign_code():
        assert greatest_move(*bound_model("one hot", True)) < LARGEST


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("share", [1e-9, 1e-3])
def test_a_model_that_looks_around_is_caught(share: float) -> None:
    bound, rows = bound_model("forest", False)

    def looks_around(block: FloatArray) -> FloatArray:
        return bound.predict(block) * (1 - share) + share * block[:, 1].mean() / 100

    assert greatest_move(BoundModel(bound.columns, bound.bounds, looks_around), rows) > LARGEST


def test_typical_steps_are_coarser_than_what_companions_move() -> None:
    """The step a curve of 20 points gets, from a strict promise to a loose one."""
    contribution = VectorContribution(("a",), 20, Box(-0.5, 0.5), 0.0, lambda block: block.values, True)
    for epsilon in (0.01, 1.0, 10.0):
        noise = sum_noise(
            contribution.certificate,
            relation="replace-one",
            epsilon=epsilon,
            largest_sum=5e5,
            companions=companion_rows(contribution, "replace-one"),
        )
        assert noise.step >= 2.0**-46


def single(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] / 10).astype(np.float32)


def company(rows: np.ndarray) -> np.ndarray:
    """Answers in double precision whose seventh digit depends on the number of rows beside it."""
    return rows[:, 0] / 10 + 1e-8 * (len(rows) % 7)


@pytest.mark.parametrize("function", [single, company])
def test_single_precision_is_paid_for_and_refused_where_it_cannot_be(function: Any) -> None:
    schema = dc.Schema({"size": dc.Number(0, 10), "kind": dc.Category("a", "b")})
    plan = dc.partial_dependence(dc.Model(function, bounds=(0, 1)), "kind", rug=False, epsilon=1.0)
    exact = dc.partial_dependence(
        dc.Model(lambda rows: rows[:, 0] / 10, bounds=(0, 1)), "kind", rug=False, epsilon=1.0
    )
    public = Setting(schema, "replace-one", 1000)
    coarse, fine = (p.prepare(public).stages[0].certificate for p in (plan, exact))
    paid = coarse.sensitivity("linf", "replace-one") - fine.sensitivity("linf", "replace-one")
    assert paid == pytest.approx(BLOCK_ROWS * 2.0**-20, rel=1e-3)
    assert "moves by less than 9.53674e-07" in coarse.assumptions[0]
    with pytest.raises(ModelError, match="double precision under add-remove"):
        plan.prepare(Setting(schema, "add-remove", None))
