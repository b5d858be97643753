"""Covariances and correlations: intervals hold, matrices can be, arguments are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.privacy.relation import RELATIONS, REPLACE_ONE
from tests.laws.examples import Example
from tests.statistics.coverage import answers, people, setting_of

EXAMPLES = [
    Example("covariance", lambda _: dc.covariance(["income", "debt"], epsilon=1.0)),
    Example(
        "covariance",
        lambda _: dc.covariance(
            ["age", "debt", "income"], epsilon=1.0, delta=1e-5, mechanism="gaussian"
        ),
    ),
    Example(
        "correlation",
        lambda _: dc.correlation(["age", "income"], clip={"income": (10, 60)}, epsilon=1.0),
    ),
]

COLUMNS = ["age", "odd", "gain"]
LEAST = 0.9
"""Intervals are drawn, and correlations curved: of 200 draws, of every entry."""


def linked(rows: int) -> pd.DataFrame:
    frame = people(rows)
    wave = np.random.default_rng(8).normal(0, 3, rows)
    return frame.assign(
        odd=np.where(frame["odd"].isna(), np.nan, np.clip(frame.age / 20 + wave, -3, 9))
    )


@pytest.mark.once_per("name", "relation")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("name", ["covariance", "correlation"])
def test_intervals_hold(name: str, delta: float, relation: str) -> None:
    frame = linked(20_000)
    known = frame[COLUMNS].dropna()
    exact = (known.cov(ddof=0) if name == "covariance" else known.corr()).to_numpy()
    law: Any = {"mechanism": "gaussian"} if delta else {}
    found = answers(getattr(dc, name)(COLUMNS, epsilon=1.0, delta=delta, **law), relation, frame, 200)
    each = np.mean(
        [(np.array(m.low) <= exact + 1e-9) & (exact <= np.array(m.high) + 1e-9) for m in found], 0
    )
    assert each.min() > LEAST
    together = [
        np.all((m.band("all")[0] <= exact + 1e-9) & (exact <= m.band("all")[1] + 1e-9)) for m in found
    ]
    assert np.mean(together) > LEAST
    value = np.array([m.values for m in found])
    half = (np.array([m.high for m in found]) - np.array([m.low for m in found])) / 2
    assert np.mean(np.abs(value[:, 0, 1] - exact[0, 1]) < half[:, 0, 1] / 4) < LEAST


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 5, 300])
def test_matrices_are_positive_semi_definite_whatever_the_noise(rows: int, relation: str) -> None:
    for name in ("covariance", "correlation"):
        for one in answers(getattr(dc, name)(COLUMNS, epsilon=0.05), relation, people(rows), 20):
            scaled = one.to_array() / np.sqrt(
                np.outer(*2 * [np.maximum(np.diag(one.to_array()), 1e-9)])
            )
            assert np.linalg.eigvalsh(scaled)[0] > -1e-6
            assert np.all(np.array(one.low) <= one.to_array()) and np.isfinite(one.high).all()
            if name == "correlation":
                assert (
                    np.diag(one.to_array()).tolist() == [1.0] * 3 and np.abs(one.to_array()).max() <= 1
                )


def test_frames_are_square_and_pictures_are_drawn() -> None:
    (one,) = answers(dc.correlation(COLUMNS, epsilon=1.0), REPLACE_ONE, people(), 1)
    assert one.square().loc["age", "gain"] == one.values[0][2]
    assert one.plot().ax_.get_xticklabels()[0].get_text() == "age"
    assert type(one).read(one.to_json()) == one


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"columns": ["age"]}, "columns must be 2 to 64 different names"),
        ({"clip": (0, 1)}, "clip must map columns to a"),
        ({"clip": {"age": (3, 1)}}, "clip of 'age' must be a finite low below a finite high"),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        dc.covariance(**{"columns": COLUMNS, "epsilon": 1.0, **given})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"columns": ["age", "home"]}, "columns must be a number, got the category 'home'"),
        ({"clip": {"job": (0, 1)}}, "clip must be of columns that are asked for, got 'job'"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        plan = dc.covariance(**{"columns": COLUMNS, "epsilon": 1.0, **given})
        plan.prepare(setting_of(REPLACE_ONE))
