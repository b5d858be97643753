"""The law behind the companion term: other rows in a call move an answer by less than a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.certificates import Box
from discreet.data import VectorContribution, companion_rows
from discreet.data.blocks import BLOCK_ROWS
from discreet.data.foreign import foreign_code
from discreet.mechanisms import sum_noise
from discreet.models import BoundModel, Model
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
