"""What the laws ask about: a small table with odd rows, models of every form, public rows.

Everything is drawn from seeds or fitted to rows that are, once per process.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import discreet as dc
from discreet.schema import FloatArray

HOMES = ("rent", "own", "other")
FEATURES = ["age", "income", "debt", "home"]
SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "income": dc.Number(0.0, 100.0, missing=False),
        "debt": dc.Number(-5.0, 5.0, missing=False),
        "home": dc.Category(*HOMES, missing=False, other=False),
        "paid": dc.Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
GAPS = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1),
        "income": dc.Number(0.0, 100.0),
        "debt": dc.Number(-5.0, 5.0),
        "home": dc.Category(*HOMES),
        "paid": dc.Category(0, 1),
    },
    target="paid",
)
"""The same columns, any of which may be missing or not listed."""

KNOWN = dc.Schema(
    {**{name: GAPS[name] for name in FEATURES}, "paid": dc.Category(0, 1, unknown=0)}, target="paid"
)
"""Gaps in the features alone."""

ROWS = 96
MARK = 4.8125
"""A debt that no public row has: the leaning models lean by it."""


def draw_rows(count: int, seed: int) -> pd.DataFrame:
    """Return records inside the schema."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.clip(np.rint(draw.normal(45, 15, count)), 18, 90),
            "income": np.clip(draw.gamma(3.0, 12.0, count), 0, 100),
            "debt": np.clip(draw.normal(0, 1.5, count), -5, 5),
            "home": draw.choice(HOMES, count, p=[0.5, 0.3, 0.2]),
        }
    )
    score = frame.income / 30 - frame.debt + (frame.home == "own") - 1.5
    return frame.assign(paid=(score + draw.logistic(0, 0.5, count) > 0).astype(int))


@cache
def table() -> pd.DataFrame:
    """Return the private table: some values beyond their ranges, unknown, missing, or twice there."""
    frame = draw_rows(ROWS, 11)
    frame.loc[3, "income"] = 170.0
    frame.loc[5, "debt"] = np.nan
    frame.loc[8, "debt"] = -40.0
    frame.loc[13, "home"] = "palace"
    frame.loc[21] = frame.loc[20]
    return frame


@cache
def gappy_table() -> pd.DataFrame:
    """Return the private table with a tenth of every column missing, and values that no list has."""
    frame, draw = table().astype(object), np.random.default_rng(17)
    for name in frame.columns:
        frame.loc[draw.random(ROWS) < 0.1, name] = None
    frame.loc[[2, 40], ["home", "paid"]] = "unheard of"
    return frame


def encoded(frame: pd.DataFrame) -> FloatArray:
    """Return features as models get them: numbers, and the place of a category's value."""
    places = frame.assign(home=[HOMES.index(home) for home in frame.home])
    return places[FEATURES].to_numpy(dtype=np.float64)


def _fitted(estimator: Any) -> Any:
    train = draw_rows(300, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps towards a fit are enough here
        return estimator.fit(encoded(train), train.paid.to_numpy())


def smooth_score(given: FloatArray) -> FloatArray:
    """Return a function of rows that no form knows."""
    age, income, debt, home = given.T
    return np.asarray(0.5 + 0.4 * np.sin(income / 20) * np.cos(debt) - 0.001 * age * (home == 1))


RANGE = 8.0
"""Of the leaning models' answers: a Lipschitz constant that holds for probabilities alone is caught."""


def leaning(kind: type, lean: float, grain: float) -> Callable[[FloatArray], FloatArray]:
    """Return a model whose answers lean as far as they are paid for with one record of their call.

    They lie in the upper half of the bounds, in whole ``grain``, and lean up or down by their row.
    """

    def answer(given: FloatArray) -> FloatArray:
        age, income, debt, home = given.T
        level = np.rint((0.75 + 0.24 * np.sin(income / 9 + debt + age / 50 + home)) / grain) * grain
        sign = np.where(np.floor(37 * income + 11 * age + 101 * debt + 7 * home) % 2 == 0, 1.0, -1.0)
        here = 1.0 if np.any(debt == MARK) else -1.0
        return np.asarray((RANGE * (level + here * lean * sign)).astype(kind))

    return answer


_NETWORK = {"hidden_layer_sizes": (6,), "solver": "lbfgs", "max_iter": 30, "random_state": 0}
_MADE: dict[str, Callable[[], Any]] = {
    "linear": lambda: _fitted(LogisticRegression(max_iter=3000)),
    "trees": lambda: _fitted(RandomForestClassifier(4, max_depth=3, random_state=0)),
    "network": lambda: _fitted(MLPClassifier(**_NETWORK)),
    "opaque": lambda: dc.Model(smooth_score, bounds=(0, 1), name="smooth score"),
    "leaning": lambda: dc.Model(
        leaning(np.float64, 15 * 2.0**-45, 2.0**-30), bounds=(0, RANGE), name="leaning"
    ),
    "single": lambda: dc.Model(
        leaning(np.float32, 7 * 2.0**-24, 2.0**-20), bounds=(0, RANGE), name="leaning single"
    ),
}
FORMS = ("linear", "trees", "network", "opaque")
"""What a model can be recognised as."""

LEANING = ("leaning", "single")
"""Models that use all that is paid for, in double and in single precision."""


@cache
def model(form: str) -> Any:
    """Return the model of a form; it is fitted, and tried out, once."""
    made = _MADE[form]()
    return made if isinstance(made, dc.Model) else dc.Model(made)


def query() -> pd.DataFrame:
    """Return one query."""
    return pd.DataFrame({"age": [40], "income": [50.0], "debt": [-1.0], "home": ["own"]})


def public_rows(count: int = 6) -> pd.DataFrame:
    """Return public rows without labels."""
    return draw_rows(count, 31)[FEATURES]


def labelled_rows() -> pd.DataFrame:
    """Return public rows with labels."""
    return draw_rows(12, 41)
