"""Tables of ``benchmarks.glass_box``: public bounds and categories, one test split for everybody.

No range is read from the rows: ranges and values are those of the files' documentation, or round
numbers beyond what such a quantity can be; values outside are clipped. Every model gets the same codes.
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
from benchmarks.trees_data import _COMPAS, _WINE, FOLDER, Task, _task, load, synthetic

_VISITS: dict[str, Any] = {
    "race": ["Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other", "?"],
    "gender": ["Female", "Male", "Unknown/Invalid"],
    "age": [f"[{low}-{low + 10})" for low in range(0, 100, 10)],
    "admission_type_id": list(range(1, 9)),
    "discharge_disposition_id": list(range(1, 30)),
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 150),
    "num_procedures": (0, 6),
    "num_medications": (0, 100),
    "number_outpatient": (0, 50),
    "number_emergency": (0, 50),
    "number_inpatient": (0, 25),
    "number_diagnoses": (1, 16),
    "max_glu_serum": ["None", "Norm", ">200", ">300"],
    "A1Cresult": ["None", "Norm", ">7", ">8"],
    "insulin": ["No", "Down", "Steady", "Up"],
    "change": ["No", "Ch"],
    "diabetesMed": ["No", "Yes"],
}
_CREDIT: dict[str, Any] = {
    "LIMIT_BAL": (0, 1_000_000),
    "SEX": [1, 2],
    "EDUCATION": list(range(7)),
    "MARRIAGE": list(range(4)),
    "AGE": (20, 80),
    **{f"PAY_{month}": (-2, 9) for month in (0, 2, 3, 4, 5, 6)},
    **{f"BILL_AMT{month}": (-200_000, 1_000_000) for month in range(1, 7)},
    **{f"PAY_AMT{month}": (0, 500_000) for month in range(1, 7)},
}
_GERMAN: dict[int, Any] = {
    0: ["A11", "A12", "A13", "A14"],
    1: (4, 72),
    2: ["A30", "A31", "A32", "A33", "A34"],
    3: ["A40", "A41", "A42", "A43", "A44", "A45", "A46", "A47", "A48", "A49", "A410"],
    4: (0, 20_000),
    5: ["A61", "A62", "A63", "A64", "A65"],
    6: ["A71", "A72", "A73", "A74", "A75"],
    7: (1, 4),
    8: ["A91", "A92", "A93", "A94", "A95"],
    9: ["A101", "A102", "A103"],
    10: (1, 4),
    11: ["A121", "A122", "A123", "A124"],
    12: (18, 80),
    13: ["A141", "A142", "A143"],
    14: ["A151", "A152", "A153"],
    15: (1, 4),
    16: ["A171", "A172", "A173", "A174"],
    17: (1, 2),
    18: ["A191", "A192"],
    19: ["A201", "A202"],
}
_PIMA = ((0, 20), (0, 200), (0, 140), (0, 100), (0, 900), (0, 70), (0, 2.5), (18, 90))
_HEART: dict[int, Any] = {
    0: (18, 90),
    1: [0.0, 1.0],
    2: [1.0, 2.0, 3.0, 4.0],
    3: (80, 220),
    4: (100, 600),
    5: [0.0, 1.0],
    6: [0.0, 1.0, 2.0],
    7: (60, 220),
    8: [0.0, 1.0],
    9: (0, 7),
    10: [1.0, 2.0, 3.0],
    11: ["0.0", "1.0", "2.0", "3.0", "?"],
    12: ["3.0", "6.0", "7.0", "?"],
}
_BIKE: dict[str, Any] = {
    "season": [1, 2, 3, 4],
    "yr": [0, 1],
    "mnth": (1, 12),
    "hr": (0, 23),
    "holiday": [0, 1],
    "weekday": list(range(7)),
    "workingday": [0, 1],
    "weathersit": [1, 2, 3, 4],
    **dict.fromkeys(("temp", "atemp", "hum", "windspeed"), (0, 1)),
}
_LEAKS = ("start", "end", "event", "c_days_from_compas")
"""Columns of COMPAS that tell when a person came back, hence whether."""


@dataclass(frozen=True)
class Numbers(Task):
    """A table whose target is a number between public bounds; ``classes`` holds its values."""

    target: tuple[float, float] = (0.0, 1.0)

    @property
    def target_column(self) -> dc.Number:
        """The public facts about the target."""
        return dc.Number(*self.target, missing=False)


def _file(name: str, **options: Any) -> Any:
    import pandas as pd

    return pd.read_csv(Path(os.environ[FOLDER]) / name, **options)


def _visits() -> Task:
    frame = _file("diabetes_visits.csv", keep_default_na=False)
    return _task("visits", frame, _VISITS, frame["readmitted"] == "<30", (False, True))


def _credit() -> Task:
    frame = _file("default_credit_card.csv")
    return _task("credit", frame, _CREDIT, frame["class"], (0, 1))


def _german() -> Task:
    frame = _file("german.csv", header=None)
    return _task("german", frame, _GERMAN, frame[20], (1, 2))


def _pima() -> Task:
    frame = _file("pima_diabetes.csv", header=None)
    return _task("pima", frame, dict(enumerate(_PIMA)), frame[8], (0, 1))


def _heart() -> Task:
    frame = _file("heart_cleveland.data", header=None)
    return _task("heart", frame, _HEART, frame[13] > 0, (False, True))


def _recidivism() -> Task:
    frame = _file("compas_snm.csv")
    facts = {name: fact for name, fact in _COMPAS.items() if name not in _LEAKS}
    return _task("recidivism", frame, facts, frame["event"], (0, 1))


def _good_wine() -> Task:
    frame = _file("winequality-white.csv", header=None)
    return _task("good wine", frame, dict(enumerate(_WINE)), frame[11] >= 7, (False, True))


def _wine() -> Numbers:
    frame = _file("winequality-white.csv", header=None)
    return _numbers("wine quality", frame, dict(enumerate(_WINE)), frame[11], (0, 10))


def _bike() -> Numbers:
    frame = _file("bike_hour.csv")
    return _numbers("bike", frame, _BIKE, frame["cnt"], (0, 1000))


def _numbers(
    name: str, frame: Any, facts: dict[Any, Any], target: Any, bounds: tuple[float, float]
) -> Numbers:
    own = _task(name, frame, facts, target * 0, (0,))
    values = np.clip(target.to_numpy(float), *bounds)
    return Numbers(name, own.features, values, own.bounds, own.widths, 0, bounds)


def _drawn(name: str, rows: int, score: Callable[[Any], Any], shift: float) -> Task:
    """Return classes drawn with the logit of a public function of eight numbers and two categories."""
    generator = np.random.default_rng(18)
    numbers = generator.uniform(-1, 1, (rows, 8))
    codes = generator.integers(0, (4, 6), (rows, 2))
    features = np.column_stack([numbers, codes])
    chance = 1 / (1 + np.exp(-(score(features) + shift)))
    classes = (generator.random(rows) < chance).astype(np.int64)
    bounds = ((-1.0, 1.0),) * 8 + ((0.0, 3.0), (0.0, 5.0))
    return Task(name, features, classes, bounds, (0,) * 8 + (4, 6), 2)


def _linear(x: Any) -> Any:
    return x[:, :8] @ np.array([2.5, -2.0, 1.5, -1.5, 1.0, 0.5, 0.0, 0.0])


def _additive(x: Any) -> Any:
    steps = np.array([-0.8, 0.0, 0.3, 0.8])[x[:, 8].astype(int)]
    bends = 2 * np.sin(3 * x[:, 0]) + 2 * x[:, 1] ** 2 + 1.5 * (x[:, 2] > 0.3) - 1.5 * np.abs(x[:, 3])
    return np.asarray(bends + x[:, 4] + steps)


def _paired(x: Any) -> Any:
    return 4 * x[:, 0] * x[:, 1] + 3 * np.sign(x[:, 2]) * np.sign(x[:, 3]) + x[:, 4]


BINARY: dict[str, Callable[[], Task]] = {
    "adult": lambda: load("adult"),
    "credit": _credit,
    "visits": _visits,
    "mushroom": lambda: load("mushroom"),
    "nltcs": lambda: load("nltcs"),
    "recidivism": _recidivism,
    "good wine": _good_wine,
    "german": _german,
    "pima": _pima,
    "heart": _heart,
}
SYNTHETIC: dict[str, Callable[[], Task]] = {
    "additive": lambda: _drawn("additive", 40_000, _additive, -0.8),
    "paired": lambda: _drawn("paired", 40_000, _paired, 0.0),
    "rare": lambda: _drawn("rare", 40_000, _additive, -6.0),
    "linear": lambda: _drawn("linear", 40_000, _linear, 0.0),
    "clusters": synthetic,
}
CLASSES: dict[str, Callable[[], Task]] = {
    "wallsensor": lambda: load("wallsensor"),
    "pendigits": lambda: load("pendigits"),
}
REGRESSION: dict[str, Callable[[], Task]] = {"wine quality": _wine, "bike": _bike}
TABLES = BINARY | SYNTHETIC | CLASSES | REGRESSION


@cache
def table(name: str) -> Task:
    """Return a table by its name; one of ``SYNTHETIC`` needs no file."""
    return TABLES[name]()


__all__ = ["BINARY", "CLASSES", "FOLDER", "REGRESSION", "SYNTHETIC", "TABLES", "Numbers", "table"]
