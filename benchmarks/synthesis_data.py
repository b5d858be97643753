"""Tables of ``benchmarks.synthesis`` with public ranges of their numbers; values outside are clipped.

The rule that decides how many pairs are measured was made on Adult, NLTCS, small cuts of them, Pima and
German; the others were looked at once it was fixed. Categories are the values that occur: a benchmark's
shortcut.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc

FOLDER = "DISCREET_DATA"
MADE_ON = ("nltcs", "adult")
KEPT_ASIDE = ("mushroom", "credit", "visits", "pima")
SMALL = ("adult, 5 columns", "nltcs, 2,000 rows")
_FILES = {
    "adult": "adult_full.csv",
    "nltcs": "nltcs.csv",
    "mushroom": "mushroom.csv",
    "credit": "default_credit_card.csv",
    "visits": "diabetes_visits.csv",
    "pima": "pima_diabetes.csv",
}
TARGETS = {
    "adult": "income",
    "nltcs": "15",
    "mushroom": "class",
    "credit": "class",
    "visits": "readmitted",
    "pima": "outcome",
}
_PIMA = ("pregnancies", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age", "outcome")
Range = tuple[float, float, float | None]
_NUMBERS: dict[str, dict[str, Range]] = {
    "adult": {
        "age": (17, 90, 1),
        "education-num": (1, 16, 1),
        "capital-gain": (0, 100_000, None),
        "capital-loss": (0, 5_000, None),
        "hours-per-week": (1, 99, 1),
    },
    "credit": {
        "LIMIT_BAL": (0, 500_000, None),
        "AGE": (20, 80, 1),
        **{f"BILL_AMT{month}": (0.0, 200_000.0, None) for month in range(1, 7)},
        **{f"PAY_AMT{month}": (0.0, 20_000.0, None) for month in range(1, 7)},
    },
    "visits": {
        "time_in_hospital": (1, 14, 1),
        "num_lab_procedures": (1, 120, 1),
        "num_medications": (1, 60, 1),
        "number_outpatient": (0, 10, 1),
        "number_emergency": (0, 10, 1),
        "number_inpatient": (0, 10, 1),
    },
    "pima": {
        "pregnancies": (0, 17, 1),
        "glucose": (0, 200, None),
        "pressure": (0, 130, None),
        "skin": (0, 100, None),
        "insulin": (0, 850, None),
        "bmi": (0, 70, None),
        "pedigree": (0, 2.5, None),
        "age": (20, 85, 1),
    },
}

Data = tuple[pd.DataFrame, pd.DataFrame, dc.Schema]


def load(name: str) -> Data:
    """Return records, held-out records, and the public schema."""
    if name == "adult, 5 columns":
        train, held, schema = load("adult")
        few = ["age", "education-num", "hours-per-week", "sex", "income"]
        return train[few], held[few], dc.Schema({n: schema[n] for n in few}, target="income")
    if name == "nltcs, 2,000 rows":
        train, held, schema = load("nltcs")
        return train.iloc[:2_000].reset_index(drop=True), held, schema
    frame = _read(name)
    numbers = _NUMBERS.get(name, {})
    columns: dict[str, Any] = {}
    for column in frame.columns:
        if column in numbers:
            low, high, step = numbers[column]
            frame[column] = frame[column].clip(low, high)
            columns[column] = dc.Number(low, high, step=step, missing=False)
        else:
            frame[column] = frame[column].astype(str)
            columns[column] = dc.Category(*sorted(frame[column].unique()), missing=False, other=False)
    order = np.random.default_rng(0).permutation(len(frame))
    cut = len(frame) * 4 // 5
    parts = [frame.iloc[order[:cut]], frame.iloc[order[cut:]]]
    train, held = (part.reset_index(drop=True) for part in parts)
    return train, held, dc.Schema(columns, target=TARGETS[name])


def _read(name: str) -> pd.DataFrame:
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise SystemExit(f"Set {FOLDER} to the folder that holds {', '.join(_FILES.values())}.")
    path = Path(folder) / _FILES[name]
    if name == "pima":
        return pd.read_csv(path, names=list(_PIMA))
    frame = pd.read_csv(path, keep_default_na=False)
    if name == "visits":
        frame["readmitted"] = frame["readmitted"] == "<30"
    return frame.drop(columns=["fnlwgt", "ID", "patient"], errors="ignore")
