"""Data, models and exact curves of Lange et al. (2024), for the benchmark that compares with them.

Census Income is the training part of the file without incomplete rows and without ``fnlwgt``, words as
codes in the order of the documentation; a random forest explains the rows it was fitted on. Bike
Sharing is the hourly file without six columns; a network on the logarithm of the count, answers
exponentiated.

The authors read all bounds from the rows. Here they are public, from the documentation of the files:

* Census Income: the survey asks people above 16 and codes ages up to 90; years of education 1 to 16 are
  the steps of its list; gains have five digits, losses four, hours of a week two; categories are
  listed.
* Bike Sharing: hours, months, days and weather codes are listed; temperature, humidity and wind are
  divided by their greatest value, so between 0 and 1. A count between 0 and 1000 is our assumption.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.curves_published import authors_order
from discreet.data import PrivateTable
from discreet.plans import Setting

FOLDER = "DISCREET_DATA"
POINTS = 1_000

_WORDS = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
    "Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th "
    "12th Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed "
    "Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv "
    "Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany "
    "Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines Italy "
    "Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan "
    "Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador "
    "Trinadad&Tobago Peru Hong Holand-Netherlands",
}


def _words(name: str) -> dc.Category:
    """Return a category of codes: what the models were fitted on."""
    return dc.Category(*range(len(_WORDS[name].split())), missing=False, other=False)


CENSUS = dc.Schema(
    {
        "age": dc.Number(17, 90, step=1, missing=False),
        "workclass": _words("workclass"),
        "education": _words("education"),
        "education-num": dc.Number(1, 16, step=1, missing=False),
        "marital-status": _words("marital-status"),
        "occupation": _words("occupation"),
        "relationship": _words("relationship"),
        "race": _words("race"),
        "sex": _words("sex"),
        "capital-gain": dc.Number(0, 99_999, step=1, missing=False),
        "capital-loss": dc.Number(0, 9_999, step=1, missing=False),
        "hours-per-week": dc.Number(1, 99, step=1, missing=False),
        "native-country": _words("native-country"),
        "income": dc.Category(0, 1, missing=False, other=False),
    },
    target="income",
)
BIKE = dc.Schema(
    {
        "yr": dc.Category(0, 1, missing=False, other=False),
        "mnth": dc.Number(1, 12, step=1, missing=False),
        "hr": dc.Number(0, 23, step=1, missing=False),
        "holiday": dc.Category(0, 1, missing=False, other=False),
        "weekday": dc.Number(0, 6, step=1, missing=False),
        "workingday": dc.Category(0, 1, missing=False, other=False),
        "weathersit": dc.Number(1, 4, step=1, missing=False),
        "atemp": dc.Number(0, 1, missing=False),
        "hum": dc.Number(0, 1, missing=False),
        "windspeed": dc.Number(0, 1, missing=False),
        "cnt": dc.Number(0, 1_000, step=1, missing=False),
    },
    target="cnt",
)


@dataclass(frozen=True)
class Task:
    """Encoded rows with the target last, the schema, and the model with public bounds."""

    name: str
    schema: dc.Schema
    rows: Any
    model: dc.Model
    bounds: tuple[float, float]

    @property
    def features(self) -> tuple[str, ...]:
        """All columns but the target."""
        return tuple(name for name in self.schema if name != self.schema.target)

    @property
    def setting(self) -> Setting:
        """One record is replaced, as in the paper."""
        return Setting(self.schema, "replace-one", len(self.rows))

    @property
    def table(self) -> PrivateTable:
        """The rows as a plan reads them."""
        return PrivateTable(self.rows, self.schema)

    def numeric(self, feature: str) -> bool:
        """Whether a feature is a number."""
        return isinstance(self.schema[feature], dc.Number)

    def predict(self, rows: Any) -> Any:
        """Return predictions, clipped to the bounds; every row's depends on that row alone."""
        return self.bound.predict(np.asfortranarray(rows, dtype=np.float64))

    @property
    def bound(self) -> Any:
        """The model as plans see it."""
        return _bind(self.name)


@cache
def _bind(name: str) -> Any:
    task = load(name)
    return task.model.bind(task.schema)


def data_folder() -> Path | None:
    """Return the folder of real data, or None if the environment names none."""
    return Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None


@cache
def load(name: str) -> Task:
    """Return "census" or "bike"; the rows are put in random order, which subsets need."""
    import pandas as pd

    folder = data_folder()
    if folder is None:
        raise SystemExit(f"Set {FOLDER} to the folder that holds adult_full.csv and bike_hour.csv.")
    make: Callable[[Any], Task] = {"census": _census, "bike": _bike}[name]
    file = {"census": "adult_full.csv", "bike": "bike_hour.csv"}[name]
    return make(pd.read_csv(folder / file))


def _census(frame: Any) -> Task:
    from sklearn.ensemble import RandomForestClassifier

    frame = frame[:32_561]
    frame = frame[~(frame == "?").any(axis=1)].assign(income=lambda f: (f["income"] == ">50K") * 1)
    for name, words in _WORDS.items():
        frame[name] = frame[name].map({word: code for code, word in enumerate(words.split())})
    rows = _encode(frame, CENSUS)
    model = RandomForestClassifier(random_state=42).fit(rows[:, :-1], rows[:, -1].astype(int))
    return Task("census", CENSUS, rows, dc.Model(model), (0.0, 1.0))


def _bike(frame: Any) -> Task:
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, bounds = _encode(frame, BIKE), (0.0, 1_000.0)
    network = MLPRegressor(hidden_layer_sizes=(25,), alpha=0.001, max_iter=400, random_state=1)
    pipeline = make_pipeline(StandardScaler(), network).fit(rows[:, :-1], np.log(rows[:, -1]))

    def count(values: Any) -> Any:
        return np.exp(pipeline.predict(values))

    return Task("bike", BIKE, rows, dc.Model(count, bounds=bounds, name="bike"), bounds)


def _encode(frame: Any, schema: dc.Schema) -> Any:
    frame = frame.sample(frac=1, random_state=42)
    return np.column_stack([schema[name].encode(frame[name].to_numpy()) for name in schema])


@dataclass(frozen=True)
class Line:
    """A curve: places and values."""

    x: Any
    y: Any

    def at(self, places: Any) -> Any:
        """Return the curve at some places, straight between its own."""
        return np.interp(places, self.x, self.y)


def squared_error(task: Task, feature: str, truth: Line, found: Line) -> float:
    """Return the authors' MISE: over 1000 places in the data's range, or over the categories met."""
    places = np.linspace(truth.x[0], truth.x[-1], POINTS) if task.numeric(feature) else truth.x
    return float(np.mean((truth.at(places) - found.at(places)) ** 2))


@cache
def exact_dependence(name: str, feature: str) -> Line:
    """Return the authors' curve without noise: the mean prediction at every value that is met."""
    task = load(name)
    return mean_predictions(task, feature, task.rows[:, :-1])


def mean_predictions(task: Task, feature: str, rows: Any, grid: Any = None) -> Line:
    """Return the mean prediction with a feature set to grid points, by default to the rows' values."""
    from discreet.data.blocks import BLOCK_ROWS, Block
    from discreet.explain.pdp.contribution import curve_contribution

    place = task.features.index(feature)
    grid = np.unique(rows[:, place]) if grid is None else grid
    contribution = curve_contribution(task.bound, feature, grid)
    total = np.zeros(len(grid))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = np.asfortranarray(rows[start : start + BLOCK_ROWS])
        total += contribution.compute(Block(start, task.features, part)).sum(axis=0)
    return Line(grid, task.bound.fill + total / len(rows))


@cache
def exact_effects(name: str, feature: str, intervals: int = 99) -> Line:
    """Return the authors' accumulated effects without noise, with equal values in their order."""
    task = load(name)
    rows = task.rows[:, :-1]
    order = authors_order(rows[:, task.features.index(feature)])
    return local_effects(task, feature, rows[order], intervals)


@cache
def shuffled_effects(name: str, feature: str, seed: int) -> Line:
    """Return what the authors' exact curve would be had equal values come in another order."""
    task = load(name)
    order = np.random.default_rng(seed).permutation(len(task.rows))
    return local_effects(task, feature, task.rows[order, :-1])


@cache
def exact_apley(name: str, feature: str, intervals: int = 99) -> Line:
    """Return accumulated effects as Apley and Zhu define them: equal values are in one interval.

    Intervals hold their right edge, and the curve is centred by the mean over the rows.
    """
    task = load(name)
    if not task.numeric(feature):
        return exact_effects(name, feature)
    rows, place = task.rows[:, :-1], task.features.index(feature)
    values = rows[:, place]
    shares = np.linspace(0, 1, intervals + 1)
    edges = np.unique(np.quantile(values, shares, method="lower"))
    part = np.searchsorted(edges[1:-1], values, side="left")
    means = _mean_moves(task, rows, place, edges[part], edges[part + 1], part, len(edges) - 1)
    curve = np.concatenate([[0.0], np.cumsum(means)])
    return Line(edges, curve - np.mean((curve[part] + curve[part + 1]) / 2))


def local_effects(task: Task, feature: str, rows: Any, intervals: int = 99) -> Line:
    """Return accumulated effects as the authors define them: rows sorted and cut into equal parts.

    Equal values may be on both sides of a cut, and the curve is centred by the mean of its points.
    Categories are parts of their own, in the order of their codes.
    """
    place = task.features.index(feature)
    rows = rows[np.argsort(rows[:, place], kind="stable")]
    values = rows[:, place]
    if task.numeric(feature):
        cuts = np.minimum(len(rows) - 1, np.arange(intervals + 1) * len(rows) // intervals)
    else:
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
    part = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    low, high = values[cuts[part]], values[cuts[part + 1]]
    means = _mean_moves(task, rows[: cuts[-1]], place, low, high, part, len(cuts) - 1)
    curve = np.concatenate([[0.0], np.cumsum(means)])
    return Line(values[cuts], curve - curve.mean())


def _mean_moves(task: Task, rows: Any, place: int, low: Any, high: Any, part: Any, parts: int) -> Any:
    """Return how far the model moves from ``low`` to ``high`` on average over every part."""
    moved = np.concatenate([rows, rows])
    moved[:, place] = np.concatenate([low, high])
    before, after = np.split(task.predict(moved), 2)
    sizes = np.bincount(part, minlength=parts)
    return np.bincount(part, weights=after - before, minlength=parts) / np.maximum(sizes, 1)
