"""Regression: intervals hold the least squares of the records, errors know of noise and sampling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.privacy.relation import RELATIONS, REPLACE_ONE
from tests.laws.examples import Example
from tests.statistics.coverage import answers, people

EXAMPLES = [
    Example(
        "linear_regression",
        lambda _: dc.linear_regression("income", ["age", "debt"], epsilon=1.0, mechanism="laplace"),
    ),
    Example(
        "linear_regression",
        lambda _: dc.linear_regression("debt", "age", clip={"age": (20, 60)}, epsilon=1.0, delta=1e-5),
    ),
]
LEAST = 0.9


def made(rows: int, seed: int) -> pd.DataFrame:
    """Return records whose odd number follows age, slope 0.05, and gain, slope -0.1."""
    frame, draw = people(rows, seed), np.random.default_rng(seed)
    line = 0.05 * frame.age - 0.02 * frame.gain + draw.normal(0, 1, rows)
    return frame.assign(odd=np.where(draw.random(rows) < 0.1, np.nan, line), gain=frame.gain)


def least_squares(frame: pd.DataFrame) -> np.ndarray:
    known = frame.dropna(subset=["odd"])
    rows = np.column_stack([np.ones(len(known)), known.age, known.gain])
    return np.linalg.lstsq(rows, known.odd.clip(-3, 9), rcond=None)[0]


PLAN = dc.linear_regression("odd", ["age", "gain"], epsilon=3.0)


@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_hold_what_least_squares_finds(relation: str) -> None:
    frame = made(20_000, 1)
    found, exact = answers(PLAN, relation, frame, 200), least_squares(frame)
    held = [(np.array(one.low) <= exact) & (exact <= np.array(one.high)) for one in found]
    assert np.mean(held, axis=0).min() > LEAST
    spread = np.std([one.values for one in found], axis=0)
    told = np.mean([one.noise_std for one in found], axis=0)
    assert np.all((0.7 * spread < told) & (told < 1.4 * spread))


def test_standard_errors_hold_sampling_and_noise() -> None:
    off = []
    for seed in range(60):
        (one,) = answers(PLAN, REPLACE_ONE, made(8_000, 100 + seed), 1)
        off.append((one.values[1] - 0.05) / one.standard_errors[1])
        assert one.standard_errors[1] > one.noise_std[1]
    assert 0.6 < np.std(off) < 1.4


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 20])
def test_where_noise_leaves_nothing_intervals_are_open(rows: int, relation: str) -> None:
    for one in answers(PLAN, relation, people(rows), 10):
        assert np.isfinite(one.values).all() and 0 <= one.r_squared <= 1
    few = answers(PLAN.at(0.01), relation, people(rows), 10)
    assert all(one.low[1] is None and one.standard_errors[1] is None for one in few)
    few[0].plot()


def test_predictions_follow_the_line() -> None:
    (one,) = answers(PLAN, REPLACE_ONE, made(20_000, 1), 1)
    line = one.predict(pd.DataFrame({"age": [20.0, 30.0], "gain": [0.0, 0.0]}))
    assert line[1] - line[0] == pytest.approx(10 * one.values[1])
    assert one.to_frame()["name"].tolist() == ["(intercept)", "age", "gain"]
    assert one.plot().ax_.get_xlabel().startswith("slope")
    assert type(one).read(one.to_json()) == one


def test_a_target_among_the_features_is_refused() -> None:
    with pytest.raises(ArgumentError, match="features must not hold the target, got 'age'"):
        dc.linear_regression("age", ["age", "gain"], epsilon=1.0)
