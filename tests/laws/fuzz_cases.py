"""What a fuzz draws from: plans with arguments that work, values that do not, schemas and tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import discreet as dc

Draw = np.random.Generator

NASTY: tuple[Any, ...] = (
    None,
    "",
    "x",
    "auto",
    "🜁" * 40,
    b"x",
    -1,
    0,
    1,
    2.5,
    10**30,
    float("inf"),
    float("nan"),
    -0.0,
    5e-324,
    1e308,
    True,
    np.int64(3),
    np.float32(0.5),
    np.bool_(True),
    np.array([1.0, 2.0]),
    np.array(3),
    pd.DataFrame({"age": [1]}),
    (),
    [],
    {},
    [None],
    ["age", "age"],
    ["age", "unknown"],
    [10, 20],
    (0, 1),
    (1, 0),
    (float("nan"), 1),
    {"age": 3},
    {1: 2},
    object(),
    len,
    LogisticRegression(),
    "x" * 300_000,
    [[[[[]]]]],
    1 + 2j,
)


@dataclass(frozen=True)
class Case:
    """A plan function and arguments that work for the schema with all kinds of columns."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def function(self) -> Callable[..., dc.Plan]:
        return getattr(dc, self.name)

    @property
    def options(self) -> list[str]:
        return list(inspect.signature(self.function).parameters)


def make_schema(draw: Draw, kind: str) -> dc.Schema:
    """Return a schema: the usual one, or one with less, or with stranger names and ends."""
    usual = {
        "age": dc.Number(18, 90, step=1, missing=False),
        "income": dc.Number(0.0, 100.0, missing=False),
        "home": dc.Category("rent", "own", "other", missing=False, other=False),
        "paid": dc.Category(0, 1, missing=False, other=False),
    }
    if kind == "usual":
        return dc.Schema(usual, target="paid")
    if kind == "id":
        return dc.Schema(usual, target="paid", id="who")
    if kind == "no target":
        return dc.Schema(usual)
    if kind == "strange ends":
        usual["age"] = dc.Number(-1e300, 1e300, missing=False)
        usual["income"] = dc.Number(0.0, 1e-300, missing=False)
        return dc.Schema(usual, target="paid")
    kept = {"numbers": ("age", "income"), "categories": ("home", "paid"), "one": ("paid",)}[kind]
    return dc.Schema({name: usual[name] for name in kept}, target="paid" if "paid" in kept else None)


SCHEMAS = (*["usual"] * 8, "id", "id", "no target", "strange ends", "numbers", "categories", "one")


def make_table(draw: Draw) -> Any:
    """Return a table that may lack rows, values or columns, or hold texts for numbers."""
    rows = int(draw.choice([0, 1, 2, 40, 200], p=[0.04, 0.03, 0.03, 0.4, 0.5]))
    columns: dict[str, Any] = {
        "age": draw.integers(18, 91, rows),
        "income": draw.uniform(-50, 150, rows),
        "home": draw.choice(["rent", "own", "other", "palace"], rows),
        "paid": draw.integers(0, 2, rows),
        "who": np.arange(rows),
    }
    frame = pd.DataFrame(columns)
    spoil = draw.integers(12)
    if spoil == 0 and rows:
        frame.loc[0, "income"] = np.nan
    elif spoil == 1:
        frame["age"] = [f"{value}?" for value in frame["age"]]
    elif spoil == 2:
        frame = frame.drop(columns=[str(draw.choice(list(frame.columns)))])
    elif spoil == 3:
        frame["paid"] = frame["paid"].astype(float).astype(object)
    elif spoil == 4 and rows:
        frame["income"] = np.inf
    as_kind = draw.integers(4)
    if as_kind == 0:
        return pl.from_pandas(frame)
    return pa.Table.from_pandas(frame) if as_kind == 1 else frame


@cache
def models() -> tuple[Any, ...]:
    """Return small models of the usual schema's features: a function, a pipeline's kind, trees."""
    draw = np.random.default_rng(3)
    rows = np.column_stack(
        [draw.uniform(18, 90, 80), draw.uniform(0, 100, 80), draw.integers(0, 3, 80)]
    )
    labels = (rows[:, 0] > 50).astype(int)
    return (
        LogisticRegression(max_iter=500).fit(rows / 100, labels),
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels),
        dc.Model(mean_of_row, bounds=(0, 100)),
    )


def mean_of_row(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=1)


def utility(block: Any, candidates: Any) -> np.ndarray:
    return np.zeros((len(block["paid"]), len(candidates)))


def explainer(frame: pd.DataFrame) -> dict[str, float]:
    return {"age": 1.0, "income": float(len(frame) > 1), "home": 0.0}


def curve_explainer(frame: pd.DataFrame) -> np.ndarray:
    return np.linspace(0, 1, 5)


def query() -> pd.DataFrame:
    return pd.DataFrame({"age": [40], "income": [50.0], "home": ["own"]})


def counted() -> dc.Histogram:
    homes = ("rent", "own", "other")
    return dc.Histogram(("home",), (homes,), (None,), (3.0, 2.0, 1.0), 1.0, 2.0, 0.95)


def labelled_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": [30, 60], "income": [10.0, 90.0], "home": ["own", "rent"], "paid": [0, 1]}
    )


def make_cases(draw: Draw) -> list[Case]:
    """Return every kind of question with arguments that work, a model drawn."""
    model = models()[int(draw.integers(3))]
    numbers = ["age", "income"]
    background = pd.concat([query()] * 3, ignore_index=True)
    asked: dict[str, dict[str, Any]] = {
        "accumulated_effects": {"model": model, "features": "age", "intervals": 4},
        "any_curve": {
            "explainer": curve_explainer,
            "grid": [0, 1, 2, 3, 4],
            "bounds": (0, 1),
            "subsets": 5,
        },
        "any_ranking": {"explainer": explainer, "items": ["age", "income", "home"], "subsets": 5},
        "background": {"kind": "mean", "rows": 3},
        "choose": {"utility": utility, "candidates": ["a", "b"], "bounds": (0, 1)},
        "cdf": {"column": "age", "bins": 8},
        "correlation": {"columns": numbers},
        "count": {"columns": ["age"]},
        "covariance": {"columns": numbers},
        "compare": {"first": models()[0], "second": models()[1]},
        "data_shapley": {
            "model": LogisticRegression(),
            "test": labelled_rows(),
            "records": [0],
            "rounds": 1,
            "n_jobs": 1,
        },
        "decision_tree": {"target": "paid", "depth": 2},
        "deniable_rows": {"attempts": 2, "delta": 1e-3, "epsilon": 1.0},
        "drift": {"reference": counted()},
        "entropy": {"columns": "home"},
        "evaluate": {"model": model, "bins": 4},
        "feature_interaction": {"model": model, "subsets": 4, "points": 3},
        "fit": {"target": "paid", "model": "tree"},
        "functional_mean": {"columns": numbers, "delta": 1e-6},
        "histogram": {"columns": "home"},
        "linear_regression": {"target": "income", "features": ["age"]},
        "mean": {"column": "income"},
        "most_frequent": {"column": "home"},
        "mutual_information": {"first": "home", "second": "paid"},
        "partial_dependence": {"model": model, "features": "age", "resolution": 4},
        "percentile": {"column": "age", "p": 50},
        "permutation_importance": {"model": model, "repeats": 1},
        "proportion": {"column": "home", "values": "own"},
        "quantiles": {"column": "age", "levels": [0.25, 0.5]},
        "additive_model": {"target": "paid", "bins": 4, "interactions": 1},
        "random_forest": {"target": "paid", "trees": 2, "depth": 2},
        "shap_baseline": {
            "model": model,
            "x": query(),
            "clip": 1.0,
            "coalitions": 8,
            "resamples": 2,
            "delta": 1e-6,
        },
        "shap_dependence": {"model": model, "feature": "age", "background": background, "bins": 3},
        "shap_importance": {"model": model, "background": background},
        "shap_ranking": {"model": model, "x": query()},
        "shap_values": {"model": model, "x": query()},
        "source_values": {"source": "home", "test": labelled_rows()},
        "std": {"column": "income"},
        "synthesize": {"rows": 3, "bins": 4},
        "total": {"column": "income"},
        "variance": {"column": "income"},
    }
    return [Case(name, {"epsilon": 0.5, **given}) for name, given in asked.items()]
