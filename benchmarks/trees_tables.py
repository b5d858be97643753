"""More tables for ``benchmarks.trees``: those on which the default forest is held against its options.

Two classes, unless it says otherwise. Ranges and values are documented ones, as in ``trees_data``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees_data import _COMPAS, _WINE, FOLDER, Task, _task, load, synthetic

_GERMAN: dict[int, Any] = {
    0: [f"A1{n}" for n in range(1, 5)],
    1: (4, 72),
    2: [f"A3{n}" for n in range(5)],
    3: [f"A4{n}" for n in range(11)],
    4: (250, 20_000),
    5: [f"A6{n}" for n in range(1, 6)],
    6: [f"A7{n}" for n in range(1, 6)],
    7: (1, 4),
    8: [f"A9{n}" for n in range(1, 6)],
    9: [f"A10{n}" for n in range(1, 4)],
    10: (1, 4),
    11: [f"A12{n}" for n in range(1, 5)],
    12: (18, 80),
    13: [f"A14{n}" for n in range(1, 4)],
    14: [f"A15{n}" for n in range(1, 4)],
    15: (1, 4),
    16: [f"A17{n}" for n in range(1, 5)],
    17: (1, 2),
    18: ["A191", "A192"],
    19: ["A201", "A202"],
}
_PIMA = ((0, 17), (0, 200), (0, 130), (0, 100), (0, 900), (0, 70), (0, 2.5), (20, 85))
_HEART: tuple[Any, ...] = (
    (25, 80),
    [0.0, 1.0],
    [1.0, 2.0, 3.0, 4.0],
    (90, 200),
    (120, 570),
    [0.0, 1.0],
    [0.0, 1.0, 2.0],
    (70, 205),
    [0.0, 1.0],
    (0, 6.5),
    [1.0, 2.0, 3.0],
    ["0.0", "1.0", "2.0", "3.0", "?"],
    ["3.0", "6.0", "7.0", "?"],
)
_CREDIT: dict[str, Any] = {
    "LIMIT_BAL": (0, 1e6),
    "SEX": [1, 2],
    "EDUCATION": list(range(7)),
    "MARRIAGE": list(range(4)),
    "AGE": (18, 100),
    **{f"PAY_{n}": (-2, 9) for n in (0, 2, 3, 4, 5, 6)},
    **{f"BILL_AMT{n}": (-2e5, 1e6) for n in range(1, 7)},
    **{f"PAY_AMT{n}": (0, 1e6) for n in range(1, 7)},
}
_VISITS: dict[str, Any] = {
    "race": ["Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other", "?"],
    "gender": ["Female", "Male", "Unknown/Invalid"],
    "age": [f"[{10 * n}-{10 * n + 10})" for n in range(10)],
    "admission_type_id": list(range(1, 9)),
    "discharge_disposition_id": list(range(1, 31)),
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 140),
    "num_procedures": (0, 6),
    "num_medications": (0, 90),
    "number_outpatient": (0, 50),
    "number_emergency": (0, 80),
    "number_inpatient": (0, 25),
    "number_diagnoses": (1, 16),
    "max_glu_serum": ["None", "Norm", ">200", ">300"],
    "A1Cresult": ["None", "Norm", ">7", ">8"],
    "insulin": ["No", "Down", "Steady", "Up"],
    "change": ["No", "Ch"],
    "diabetesMed": ["No", "Yes"],
}


def _read(name: str, **options: Any) -> Any:
    import pandas as pd

    return pd.read_csv(Path(os.environ[FOLDER]) / name, **options)


def _german() -> Task:
    frame = _read("german.csv", header=None)
    return _task("german", frame, _GERMAN, frame[20], (1, 2))


def _pima() -> Task:
    frame = _read("pima_diabetes.csv", header=None)
    return _task("pima", frame, dict(enumerate(_PIMA)), frame[8], (0, 1))


def _heart() -> Task:
    frame = _read("heart_cleveland.data", header=None)
    return _task("heart", frame, dict(enumerate(_HEART)), frame[13] > 0, (False, True))


def _credit() -> Task:
    frame = _read("default_credit_card.csv")
    return _task("credit", frame, _CREDIT, frame["class"], (0, 1))


def _visits() -> Task:
    frame = _read("diabetes_visits.csv", keep_default_na=False)
    return _task("visits", frame, _VISITS, frame["readmitted"] == "<30", (False, True))


def _arrests() -> Task:
    frame = _read("compas_snm.csv")
    facts = {name: fact for name, fact in _COMPAS.items() if name not in ("event", "start", "end")}
    return _task("arrests", frame, facts, frame["event"], (0, 1))


def _good_wine() -> Task:
    frame = _read("winequality-white.csv", header=None)
    return _task("good wine", frame, dict(enumerate(_WINE)), frame[11] > 5, (False, True))


def made(name: str, margin: Callable[[Any], Any], rows: int = 20_000, width: int = 10) -> Task:
    """Return rows of uniform numbers with the chance of class 1 that a function of them says."""
    draw = np.random.default_rng(len(name))
    values = draw.uniform(-1, 1, (rows, width))
    classes = (draw.random(rows) < 1 / (1 + np.exp(-margin(values)))).astype(np.int64)
    return Task(name, values, classes, ((-1.0, 1.0),) * width, (0,) * width, 2)


def _additive(x: Any) -> Any:
    return 1.5 * x[:, 0] + 2 * np.abs(x[:, 1]) - 1 + np.sin(3 * x[:, 2]) + x[:, 3] - x[:, 4] ** 2


def _crossed(x: Any) -> Any:
    return 4 * x[:, 0] * x[:, 1] + 3 * np.where(x[:, 2] > 0.2, x[:, 3], -x[:, 3]) + x[:, 4]


def _rare(x: Any) -> Any:
    return -7.0 + 3 * x[:, 0] + 3 * x[:, 1] + 2 * (x[:, 2] > 0.5) + x[:, 3]


OPTIONS: dict[str, Callable[[], Task]] = {
    "adult": lambda: load("adult"),
    "credit": _credit,
    "visits": _visits,
    "arrests": _arrests,
    "german": _german,
    "pima": _pima,
    "heart": _heart,
    "mushroom": lambda: load("mushroom"),
    "good wine": _good_wine,
    "nltcs": lambda: load("nltcs"),
    "wallsensor": lambda: load("wallsensor"),
    "pendigits": lambda: load("pendigits"),
    "compas": lambda: load("compas"),
    "synthetic": synthetic,
    "additive": lambda: made("additive", _additive),
    "crossed": lambda: made("crossed", _crossed),
    "rare": lambda: made("rare", _rare, 30_000),
}
MADE = ("synthetic", "additive", "crossed", "rare")


@cache
def table(name: str, most: int = 25_000) -> Task:
    """Return a table by its name, at most so many rows of it."""
    task = OPTIONS[name]()
    if len(task.classes) <= most:
        return task
    kept = np.random.default_rng(0).permutation(len(task.classes))[:most]
    return replace(task, features=task.features[kept], classes=task.classes[kept])
