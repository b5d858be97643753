"""Tables, models and groups for ``benchmarks.evaluation``: Adult, hospital visits, and made ones.

Models are gradient-boosted trees of numbers, fitted on one half of a table; records to evaluate are
drawn from the other half, with replacement where more are wanted than it has. Groups are no feature.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.schema import Category, Number

FOLDER = "DISCREET_DATA"
GAP = 0.05

_ADULT = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
_VISITS = {
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (1, 132),
    "num_procedures": (0, 6),
    "num_medications": (1, 81),
    "number_outpatient": (0, 42),
    "number_emergency": (0, 76),
    "number_inpatient": (0, 21),
    "number_diagnoses": (1, 16),
}


@dataclass(frozen=True)
class Task:
    """A model, the schema of its records, and where records come from.

    Args:
      name: of the table and the groups.
      schema: with a target of 0 and 1.
      model: a classifier of its features.
      features: what the model reads.
      by: the column of groups.
      draw: so many records, by a seed.
    """

    name: str
    schema: dc.Schema
    model: Any
    features: list[str]
    by: str
    draw: Callable[[int, int], pd.DataFrame]

    def scores(self, frame: pd.DataFrame) -> Any:
        """Return the model's probabilities."""
        return self.model.predict_proba(frame[self.features])[:, 1]

    def asked(self) -> dc.Model:
        """Return the model as a plan takes it."""
        return dc.Model(self.model, columns=self.features)


def tasks() -> list[Task]:
    """Return all tasks there is data for."""
    found = [synthetic()]
    if FOLDER not in os.environ:
        print(f"{FOLDER} is not set: Adult and hospital visits are left out.")
        return found
    return [adult("sex"), adult("race"), visits("race"), visits("age"), *found]


@cache
def adult(by: str) -> Task:
    """Return who earns more than 50K, by sex or race."""
    frame = _read("adult_full.csv")
    frame = frame.assign(y=(frame["income"].str.strip() == ">50K").astype(int))
    return _fitted(f"Adult by {by}", frame, _ADULT, by)


@cache
def visits(by: str) -> Task:
    """Return which visits were followed by another within 30 days, by race or age."""
    frame = _read("diabetes_visits.csv")
    frame = frame.assign(y=(frame["readmitted"] == "<30").astype(int))
    return _fitted(f"visits by {by}", frame, _VISITS, by)


@cache
def synthetic() -> Task:
    """Return two groups whose selection rates differ by five points, in the whole population.

    Scores are even in group a; in group b 5 points of the share above one half lie below it.
    """
    train = _draw_gap(20_000, 10**6)
    model = LogisticRegression(C=1e6).fit(train[["x"]], train["y"])
    columns = {"x": Number(-6, 6, missing=False), "group": Category("a", "b", missing=False)}
    schema = dc.Schema({**columns, "y": Category(0, 1, missing=False, other=False)}, target="y")
    return Task("made, a gap of 5 points", schema, model, ["x"], "group", _draw_gap)


def _draw_gap(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    above = rng.random(rows) < np.where(group == "a", 0.5, 0.5 - GAP)
    share = np.where(above, rng.uniform(0.5, 0.98, rows), rng.uniform(0.02, 0.5, rows))
    x = np.log(share / (1 - share))
    return pd.DataFrame({"x": x, "group": group, "y": (rng.random(rows) < share).astype(int)})


def exact_gap(rows: int) -> pd.DataFrame:
    """Return records of the made task in which selection rates differ by exactly five points."""
    frame = _draw_gap(4 * rows, 7)
    selected = synthetic().scores(frame) >= 0.5
    wanted = {("a", True): 0.5, ("b", True): 0.5 - GAP}
    parts = []
    for group in "ab":
        most = round(rows / 2 * wanted[group, True])
        for side, count in ((True, most), (False, rows // 2 - most)):
            parts.append(frame[(frame["group"] == group) & (selected == side)].head(count))
    return pd.concat(parts, ignore_index=True)


def _fitted(name: str, frame: pd.DataFrame, ranges: dict[str, tuple[int, int]], by: str) -> Task:
    features = list(ranges)
    order = np.random.default_rng(0).permutation(len(frame))
    train, held = frame.iloc[order[: len(frame) // 2]], frame.iloc[order[len(frame) // 2 :]]
    model = GradientBoostingClassifier(n_estimators=40, max_depth=3, random_state=0)
    model.fit(train[features], train["y"])
    groups = sorted(frame[by].unique())
    columns: dict[str, Any] = {n: Number(*ends, step=1, missing=False) for n, ends in ranges.items()}
    columns[by] = Category(*groups, missing=False, other=False)
    schema = dc.Schema({**columns, "y": Category(0, 1, missing=False, other=False)}, target="y")
    kept = held[[*features, by, "y"]]

    def draw(rows: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return kept.iloc[rng.choice(len(kept), rows, replace=rows > len(kept))].reset_index(drop=True)

    return Task(name, schema, model, features, by, draw)


def _read(name: str) -> pd.DataFrame:
    frame = pd.read_csv(Path(os.environ[FOLDER]) / name)
    texts = frame.select_dtypes("object").columns
    return frame.assign(**{column: frame[column].str.strip() for column in texts})
