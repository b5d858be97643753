"""What the recorded questions are about: a small table, models of every form, functions of a user.

Everything is drawn from seeds or fitted from rows that are, so that two trees are asked the very same.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import discreet as dc

HOMES = ("rent", "own", "other")
FEATURES = ["age", "income", "debt", "home"]


@cache
def schema() -> dc.Schema:
    """Return the schema of the table: a step grid, ranges, a category, two classes."""
    columns = {
        "age": dc.Number(18, 90, step=1),
        "income": dc.Number(0.0, 100.0),
        "debt": dc.Number(-5.0, 5.0),
        "home": dc.Category(*HOMES),
        "paid": dc.Category(0, 1),
    }
    return dc.Schema(columns, target="paid")


@cache
def valued_schema() -> dc.Schema:
    """Return the schema with a number as the target."""
    return dc.Schema(
        {name: schema()[name] for name in schema()} | {"paid": dc.Number(0.0, 1.0)}, target="paid"
    )


def rows(count: int, seed: int) -> pd.DataFrame:
    """Return records inside the schema."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.clip(np.rint(draw.normal(45, 15, count)), 18, 90).astype(int),
            "income": np.clip(draw.gamma(3.0, 12.0, count), 0, 100),
            "debt": np.clip(draw.normal(0, 1.5, count), -5, 5),
            "home": draw.choice(HOMES, count, p=[0.5, 0.3, 0.2]),
        }
    )
    score = frame.income / 30 - frame.debt + (frame.home == "own") - 1.5
    return frame.assign(paid=(score + draw.logistic(0, 0.5, count) > 0).astype(int))


@cache
def table(count: int = 300) -> pd.DataFrame:
    """Return the private table: some values beyond their ranges, unknown, or missing."""
    frame = rows(count, 11)
    frame.loc[3, "income"] = 170.0
    frame.loc[5, "debt"] = np.nan
    frame.loc[8, "debt"] = -40.0
    frame.loc[13, "home"] = "palace"
    frame.loc[21] = frame.loc[20]
    return frame


def encoded(frame: pd.DataFrame) -> np.ndarray:
    """Return features as models get them: numbers, and the place of a category's value."""
    places = frame.assign(home=[HOMES.index(home) for home in frame.home])
    return places[FEATURES].to_numpy(dtype=np.float64)


def smooth_score(given: np.ndarray) -> np.ndarray:
    """Return a function of rows that no form knows."""
    age, income, debt, home = given.T
    return 0.5 + 0.4 * np.sin(income / 20) * np.cos(debt) - 0.001 * age * (home == 1)


def rough_score(given: np.ndarray) -> np.ndarray:
    """Return the same in single precision, through a matrix product: it has a batch error."""
    weights = np.array([0.01, 0.02, -0.1, 0.05], dtype=np.float32)
    return 0.5 + 0.2 * np.tanh(given.astype(np.float32) @ weights)


def _boosters() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {"histogram booster": _histogram_booster}
    if importlib.util.find_spec("xgboost"):
        made["xgboost"] = _xgboost
    if importlib.util.find_spec("lightgbm"):
        made["lightgbm"] = _lightgbm
    return made


def _histogram_booster() -> Any:
    return HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=8, random_state=0)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, random_state=0)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=5, num_leaves=6, n_jobs=1, random_state=0, verbose=-1)


def _fit(estimator: Any) -> Any:
    train = rows(400, 5)
    return estimator.fit(encoded(train), train.paid.to_numpy())


def _pipeline() -> Any:
    """Return a pipeline that is fitted to a frame: it sees names and original values."""
    numbers, train = ["age", "income", "debt"], rows(400, 5)
    parts = [("numbers", StandardScaler(), numbers), ("home", OneHotEncoder(), ["home"])]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(
        train[FEATURES], train.paid.to_numpy()
    )


def _network(kind: Any, activation: str) -> Any:
    return _fit(
        kind(
            hidden_layer_sizes=(6,),
            activation=activation,
            solver="lbfgs",
            max_iter=40,
            random_state=0,
        )
    )


FORMS: dict[str, Callable[[], Any]] = {
    "linear": lambda: _fit(LogisticRegression(max_iter=3000)),
    "linear value": lambda: dc.Model(_fit(LinearRegression()), bounds=schema()),
    "linear margin": lambda: dc.Model(
        _fit(LogisticRegression(max_iter=3000)), output="margin", bounds=(-8, 8)
    ),
    "tree": lambda: _fit(DecisionTreeClassifier(max_depth=3, random_state=0)),
    "tree value": lambda: _fit(DecisionTreeRegressor(max_leaf_nodes=90, random_state=0)),
    "forest": lambda: _fit(RandomForestClassifier(5, max_depth=4, random_state=0)),
    "booster value": lambda: _fit(GradientBoostingRegressor(n_estimators=5, random_state=0)),
    **{name: lambda make=make: _fit(make()) for name, make in _boosters().items()},
    "network": lambda: _network(MLPClassifier, "relu"),
    "network tanh": lambda: _network(MLPClassifier, "tanh"),
    "network value": lambda: dc.Model(_network(MLPRegressor, "logistic"), bounds=(-1, 2)),
    "pipeline": _pipeline,
    "opaque": lambda: dc.Model(smooth_score, bounds=(0, 1), name="smooth score"),
    "opaque single": lambda: dc.Model(rough_score, bounds=(0, 1), name="rough score"),
    "isolated": lambda: dc.Model(smooth_score, bounds=(0, 1), name="smooth score", isolated=True),
}
FEW = ("linear", "forest", "network", "opaque")
VALUES = ("linear value", "tree value", "booster value", "network value", "opaque")


@cache
def model(form: str) -> Any:
    """Return the model of a form; it is fitted once."""
    return FORMS[form]()


def right_by_row(block: Any, cuts: Any) -> np.ndarray:
    """Return whether a rule is right about a record: a utility that is a sum."""
    return np.stack([(block["income"] > cut) == (block["paid"] == 1) for cut in cuts], axis=1)


def _offsets(block: Any, candidates: Any) -> np.ndarray:
    above = np.array([np.sum(block["income"] > cut) for cut in candidates])
    return np.abs(2 * above - len(block["income"]))


def balance(block: Any, candidates: Any) -> np.ndarray:
    """Return a utility of the whole table: minus how far a cut is from halving it."""
    return -_offsets(block, candidates)


def edits(block: Any, candidates: Any) -> np.ndarray:
    """Return one distance per candidate, zero for one alone."""
    offsets = _offsets(block, candidates)
    best = int(np.argmin(offsets))
    return np.where(np.arange(len(offsets)) == best, 0, 1 + (offsets - offsets[best]) // 2)


def near(block: Any, candidates: Any) -> np.ndarray:
    """Return how far one record moves a score, at distances zero, one, two and so on."""
    return np.minimum(2.0, 0.5 + 0.25 * np.arange(8))


def mean_line(frame: pd.DataFrame) -> np.ndarray:
    """Return a curve of a subset, one number per grid point."""
    return np.linspace(0, 1, 5) * float(frame["paid"].astype(float).mean())


def mean_pairs(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve of a subset as pairs."""
    return np.array([18.0, 50.0, 90.0]), np.array([0.1, frame["income"].mean() / 100, 0.9])


def spread_scores(frame: pd.DataFrame) -> dict[str, float]:
    """Return scores of a subset by name."""
    numbers = frame[["age", "income", "debt"]].astype(float)
    return dict(numbers.std().fillna(0) / [72, 100, 10])


def query() -> pd.DataFrame:
    """Return one query."""
    return pd.DataFrame({"age": [40], "income": [50.0], "debt": [-1.0], "home": ["own"]})


def queries() -> pd.DataFrame:
    """Return three queries."""
    return rows(3, 23)[FEATURES]


def public_rows() -> pd.DataFrame:
    """Return a public background."""
    return rows(12, 31)[FEATURES]


def test_rows() -> pd.DataFrame:
    """Return public rows with labels."""
    return rows(25, 41)


@cache
def released_background() -> Any:
    """Return a background that was released with noise of a seed."""
    session = dc.protect(
        table(), schema(), dataset="people", epsilon=10.0, ledger=":memory:", seed=3, progress=False
    )
    return session.release(dc.background(rows=20, epsilon=5.0))


THINGS: dict[str, Callable[[], Any]] = {
    "@query": query,
    "@queries": queries,
    "@public rows": public_rows,
    "@released background": released_background,
    "@test rows": test_rows,
    "@coreset": dc.Coreset,
    "@logistic": lambda: LogisticRegression(solver="liblinear"),
    "@ridge": lambda: Ridge(),
    "@tree": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
    "@right by row": lambda: right_by_row,
    "@balance": lambda: balance,
    "@edits": lambda: edits,
    "@near": lambda: near,
    "@mean line": lambda: mean_line,
    "@mean pairs": lambda: mean_pairs,
    "@spread scores": lambda: spread_scores,
}


def resolve(value: Any) -> Any:
    """Return an option, with the thing in the place of its name."""
    return THINGS[value]() if isinstance(value, str) and value in THINGS else value
