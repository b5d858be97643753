"""The law behind the batch term: other rows in a call move an answer by less than a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data import ModelCalls, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.blocks import BLOCK_ROWS
from discreet.data.calls import RowCalls, ThirdParty, probed
from discreet.data.state import quietly
from discreet.errors import ModelError
from discreet.mechanisms import sum_noise
from discreet.models import BoundModel, Model
from discreet.plans import Setting
from discreet.privacy.certificate import Box
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
def test_batch_rows_move_real_models_by_less_than_a_step(name: str, named: bool) -> None:
    with quietly():
        assert greatest_move(*bound_model(name, named)) < LARGEST


@pytest.mark.proves("lattice")
def test_batch_rows_move_a_pipeline_by_less_than_a_step() -> None:
    with quietly():
        assert greatest_move(*bound_model("one hot", True)) < LARGEST


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("share", [1e-9, 1e-3])
def test_a_model_that_looks_around_is_caught(share: float) -> None:
    bound, rows = bound_model("forest", False)

    def looks_around(block: FloatArray) -> FloatArray:
        return bound.predict(block) * (1 - share) + share * block[:, 1].mean() / 100

    calls = RowCalls(looks_around, bound.calls.shape)
    assert greatest_move(BoundModel(bound.columns, bound.bounds, calls, bound.sight), rows) > LARGEST


def test_typical_steps_are_coarser_than_what_batch_rows_move() -> None:
    """The step a curve of 20 points gets, from a strict promise to a loose one."""
    known = ModelCalls(ThirdParty.of(probed(LARGEST, 9)), lipschitz=1.0)
    contribution = VectorContribution(
        ("a",), 20, Box(-0.5, 0.5), 0.0, lambda block: block.values, calls=known
    )
    for epsilon in (0.01, 1.0, 10.0):
        noise = sum_noise(
            contribution.certificate,
            relation="replace-one",
            epsilon=epsilon,
            largest_sum=5e5,
            batch_rows=contribution.batch_rows("replace-one"),
        )
        assert noise.step >= 2.0**-46


def single(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] / 10).astype(np.float32)


def hidden(rows: np.ndarray) -> np.ndarray:
    """Single precision behind an answer in double precision."""
    return single(rows).astype(np.float64)


def company(rows: np.ndarray) -> np.ndarray:
    """Answers in double precision whose seventh digit depends on the rows beside it."""
    return rows[:, 0] / 10 + 1e-8 * rows[:, 0].mean()


@pytest.mark.parametrize("function", [single, hidden, company])
def test_single_precision_is_paid_for_and_refused_where_it_cannot_be(function: Any) -> None:
    schema = dc.Schema(
        {
            "size": dc.Number(0, 10, missing=False),
            "kind": dc.Category("a", "b", missing=False, other=False),
        }
    )
    plan = dc.partial_dependence(dc.Model(function, bounds=(0, 1)), "kind", rug=False, epsilon=1.0)
    exact = dc.partial_dependence(
        dc.Model(lambda rows: rows[:, 0] / 10, bounds=(0, 1)), "kind", rug=False, epsilon=1.0
    )
    public = Setting(schema, "replace-one", 1000)
    coarse, fine = (p.prepare(public).stages[0].certificate for p in (plan, exact))
    paid = coarse.sensitivity("linf", "replace-one") - fine.sensitivity("linf", "replace-one")
    assert paid == pytest.approx(BLOCK_ROWS * 2.0**-20, rel=1e-3)
    assert "moves by at most 9.53674e-07" in coarse.assumptions[1]
    with pytest.raises(ModelError, match="double precision under add-remove"):
        plan.prepare(Setting(schema, "add-remove", None))


ALMOST = 0.123456789


def drifting(rows: np.ndarray) -> np.ndarray:
    """Answers that move by 2^-41 of their range, all of them, if one value is among the rows."""
    lean = 2.0**-41 if np.any(rows[:, 0] == ALMOST) else 0.0
    own = np.where(rows[:, 0] == 0.0, 0.0, 0.3 + lean)
    return np.where(rows[:, 0] == ALMOST, 1.0, own)


def drift_over_paid(paid: bool, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return what a record moves beyond its own width, in units of what is paid beyond it."""
    monkeypatch.setattr("discreet.data.calls.CALL_ROWS", 2 * BLOCK_ROWS)
    schema = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
    model = dc.Model(drifting, bounds=(0, 1))
    plan = dc.partial_dependence(model, "b", resolution=2, rug=False, epsilon=5_000.0)
    stage = plan.prepare(Setting(schema, "replace-one", BLOCK_ROWS)).stages[0]
    rows = np.full((BLOCK_ROWS, 2), 0.5)
    sums = []
    for value in (0.0, ALMOST):
        rows[0, 0] = value
        contribution, step = stage.contribution, stage.noise.step
        sums.append(add_up(PrivateTable(rows.copy(), schema), [Summand(contribution, step)])[0])
    beyond = float(np.abs(sums[1] - sums[0]).max()) * step - 1.0
    steps = (1 + BLOCK_ROWS) * step
    return beyond / (stage.certificate.sensitivity("linf", "replace-one") - 1.0 if paid else steps)


@pytest.mark.proves("lattice")
def test_a_drift_that_passes_the_probe_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < drift_over_paid(True, monkeypatch) <= 1


@pytest.mark.refutes("lattice")
def test_one_step_for_every_batch_row_is_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drift_over_paid(False, monkeypatch) > 1
