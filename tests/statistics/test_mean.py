"""Means and sums: their intervals hold, their noise is what one record can move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE
from tests.laws.examples import Example
from tests.statistics.coverage import LEAST, answers, held, people, setting_of

EXAMPLES = [
    Example("mean", lambda _: dc.mean("income", epsilon=1.0)),
    Example("mean", lambda _: dc.mean("age", clip=(20, 60), epsilon=1.0, delta=1e-5)),
    Example("mean", lambda _: dc.mean("income", clip="auto", epsilon=10.0)),
    Example("total", lambda _: dc.total("income", epsilon=1.0)),
    Example("total", lambda _: dc.total("debt", clip=(1, 3), epsilon=1.0)),
]


def exact(name: str, column: str, clip: tuple[float, float] | None = None) -> float:
    values = people()[column].dropna()
    values = values if clip is None else values.clip(*clip)
    return float(values.mean() if name == "mean" else values.sum())


@pytest.mark.once_per("name", "relation")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("column", ["gain", "age", "odd"])
@pytest.mark.parametrize("name", ["mean", "total"])
def test_intervals_hold_and_thirds_of_them_do_not(
    name: str, column: str, delta: float, relation: str
) -> None:
    law: Any = {"mechanism": "gaussian"} if delta else {}
    found = answers(getattr(dc, name)(column, epsilon=0.5, delta=delta, **law), relation, people())
    truth = exact(name, column)
    assert held(found, truth) > LEAST > held(found, truth, 1 / 3)
    errors = np.array([one.value - truth for one in found])
    assert np.std(errors) == pytest.approx(np.mean([one.noise_std for one in found]), rel=0.25)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_few_records_give_an_answer_in_the_range(relation: str) -> None:
    for rows in (1, 3):
        for one in answers(dc.mean("odd", epsilon=0.05), relation, people(rows), 60):
            assert -3 <= one.low <= one.value <= one.high <= 9


def test_with_a_public_number_of_records_all_noise_is_on_the_sum() -> None:
    (stage,) = dc.mean("gain", epsilon=0.5).prepare(setting_of(REPLACE_ONE)).stages
    assert stage.noise.std == pytest.approx(np.sqrt(2) * 100 / 0.5, rel=1e-6)
    (stage,) = dc.total("gain", epsilon=0.5).prepare(setting_of(ADD_REMOVE)).stages
    assert stage.noise.std == pytest.approx(np.sqrt(2) * 100 / 0.5, rel=1e-6)


def test_a_private_number_of_records_costs_no_share_of_its_own() -> None:
    """Sum and size apart, at half of epsilon each, would err by twice as much."""
    found = answers(dc.mean("gain", epsilon=0.5), ADD_REMOVE, people(4_000), 300)
    errors = np.array([one.value for one in found]) - people(4_000)["gain"].mean()
    apart = np.sqrt(2) * 100 / 0.25 / 4_000
    assert np.std(errors) < 0.6 * apart


def test_clips_are_told_and_narrow_the_noise() -> None:
    plan, whole = dc.mean("gain", clip=(0, 10), epsilon=0.5), dc.mean("gain", epsilon=0.5)
    found = answers(plan, REPLACE_ONE, people())
    assert found[0].clip == (0.0, 10.0) and found[0].bias is None
    assert held(found, exact("mean", "gain", (0, 10))) > LEAST
    ratio = [p.prepare(setting_of(REPLACE_ONE)).stages[0].noise.std for p in (plan, whole)]
    assert ratio[0] == pytest.approx(ratio[1] / 10, rel=1e-6)
    assert plan.whole() == whole


def test_values_that_are_missing_add_nothing_even_away_from_zero() -> None:
    """A range [1, 3] that records may leave: the sum moves by 3, not by 2."""
    (stage,) = dc.total("odd", clip=(1, 3), epsilon=1.0).prepare(setting_of(REPLACE_ONE)).stages
    assert stage.certificate.sensitivity("l1", REPLACE_ONE) == pytest.approx(3.0, rel=1e-9)
    (stage,) = dc.total("age", clip=(30, 40), epsilon=1.0).prepare(setting_of(REPLACE_ONE)).stages
    assert stage.certificate.sensitivity("l1", REPLACE_ONE) == pytest.approx(10.0, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"column": "home"}, "column must be a number, got the category 'home'"),
        ({"clip": (200, 300)}, "clip must overlap the bounds of 'gain', 0 to 100"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(wrong: dict[str, Any], told: str) -> None:
    for make in (dc.mean, dc.total):
        with pytest.raises(ArgumentError, match=told):
            make(**{"column": "gain", "epsilon": 1.0, **wrong}).prepare(setting_of(REPLACE_ONE))


@pytest.mark.parametrize("clip", [(3, 1), (0, float("inf")), 5, "low"])
def test_clips_must_be_two_numbers(clip: Any) -> None:
    with pytest.raises(ArgumentError, match="clip must be"):
        dc.mean("gain", clip=clip, epsilon=1.0)
