"""The three data sets of the valuation benchmarks: training records, public test rows, a schema."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc

TASKS = ("adult", "pima", "synthetic")
_PIMA = {
    "pregnancies": dc.Number(0, 17, step=1, missing=False),
    "glucose": dc.Number(40, 200, missing=False),
    "pressure": dc.Number(20, 125, missing=False),
    "skin": dc.Number(0, 100, missing=False),
    "insulin": dc.Number(0, 850, missing=False),
    "bmi": dc.Number(15, 68, missing=False),
    "pedigree": dc.Number(0.0, 2.5, missing=False),
    "age": dc.Number(21, 81, step=1, missing=False),
    "diabetes": dc.Category(0, 1, missing=False, other=False),
}
_ADULT_NUMBERS = {
    "age": dc.Number(17, 90, step=1, missing=False),
    "education-num": dc.Number(1, 16, step=1, missing=False),
    "hours-per-week": dc.Number(1, 99, step=1, missing=False),
}
_ADULT_CATEGORIES = ("workclass", "marital-status", "occupation", "relationship", "race", "sex")
_WIDTH, _IMPORTANT = 50, 5


@dataclass(frozen=True)
class Task:
    """Training records, test rows of the valuation, and rows that judge removals."""

    name: str
    schema: dc.Schema
    train: pd.DataFrame
    test: pd.DataFrame
    judge: pd.DataFrame

    @property
    def target(self) -> str:
        """The label's column."""
        assert self.schema.target is not None
        return self.schema.target

    def flipped(self, share: float, seed: int) -> tuple[Task, np.ndarray]:
        """Return the task with some labels of the training records flipped, and which."""
        draw = np.random.default_rng(seed)
        wrong = np.zeros(len(self.train), dtype=bool)
        wrong[draw.choice(len(wrong), round(share * len(wrong)), replace=False)] = True
        train = self.train.copy()
        train.loc[wrong, self.target] = 1 - train.loc[wrong, self.target]
        return Task(self.name, self.schema, train, self.test, self.judge), wrong


def folder() -> Path | None:
    """Return the folder with the data sets, if it is named."""
    named = os.environ.get("DISCREET_DATA")
    return None if named is None else Path(named)


def load_task(name: str, n: int, *, test: int = 300, seed: int = 0) -> Task:
    """Return ``n`` training records, ``test`` test rows, and up to 2,000 rows that judge."""
    draw = np.random.default_rng(seed)
    frame, schema = {"adult": _adult, "pima": _pima, "synthetic": _synthetic}[name](draw)
    frame = frame.sample(frac=1, random_state=seed).reset_index(drop=True)
    parts = np.split(np.arange(len(frame)), [n, n + test, n + test + 2_000])[:3]
    return Task(name, schema, *(frame.iloc[part].reset_index(drop=True) for part in parts))


def _adult(draw: np.random.Generator) -> tuple[pd.DataFrame, dc.Schema]:
    path = folder()
    assert path is not None
    raw = pd.read_csv(path / "adult_full.csv", skipinitialspace=True)
    raw["income"] = raw["income"].str.contains(">50K").astype(int)
    # Categories are the public codebook's; here they are read from the whole public file.
    columns: dict[str, dc.Number | dc.Category] = dict(_ADULT_NUMBERS)
    for name in _ADULT_CATEGORIES:
        columns[name] = dc.Category(*sorted(raw[name].astype(str).unique()), missing=False, other=False)
    columns["income"] = dc.Category(0, 1, missing=False, other=False)
    # Half of each class, so that accuracy says something.
    high = raw[raw["income"] == 1]
    low = raw[raw["income"] == 0].sample(len(high), random_state=int(draw.integers(2**31)))
    return pd.concat([high, low])[list(columns)], dc.Schema(columns, target="income")


def _pima(draw: np.random.Generator) -> tuple[pd.DataFrame, dc.Schema]:
    path = folder()
    assert path is not None
    raw = pd.read_csv(path / "pima_diabetes.csv", header=None, names=list(_PIMA))
    return raw, dc.Schema(_PIMA, target="diabetes")


def _synthetic(draw: np.random.Generator) -> tuple[pd.DataFrame, dc.Schema]:
    """Return DataShapley's: 50 normal columns, 5 of which matter."""
    rows = 20_000
    x = draw.normal(size=(rows, _WIDTH))
    weights = draw.uniform(0.5, 1.5, _IMPORTANT) * draw.choice([-1, 1], _IMPORTANT)
    y = draw.uniform(size=rows) < 1 / (1 + np.exp(-2 * x[:, :_IMPORTANT] @ weights))
    frame = pd.DataFrame(np.clip(x, -4, 4), columns=[f"x{i}" for i in range(_WIDTH)])
    columns: dict[str, dc.Number | dc.Category] = {
        name: dc.Number(-4.0, 4.0, missing=False) for name in frame
    }
    frame["label"] = y.astype(int)
    return frame, dc.Schema(
        {**columns, "label": dc.Category(0, 1, missing=False, other=False)}, target="label"
    )
