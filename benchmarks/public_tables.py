"""Public tables that several benchmarks read: documented ranges and values, and the class to predict.

No range is read from the rows: ranges and values are those of the files' documentation, or round
numbers beyond what such a quantity can be. A benchmark may have ranges of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.trees_data import FOLDER, Task, _task

VISITS: dict[str, Any] = {
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
CREDIT: dict[str, Any] = {
    "LIMIT_BAL": (0, 1_000_000),
    "SEX": [1, 2],
    "EDUCATION": list(range(7)),
    "MARRIAGE": list(range(4)),
    "AGE": (20, 80),
    **{f"PAY_{month}": (-2, 9) for month in (0, 2, 3, 4, 5, 6)},
    **{f"BILL_AMT{month}": (-200_000, 1_000_000) for month in range(1, 7)},
    **{f"PAY_AMT{month}": (0, 500_000) for month in range(1, 7)},
}
GERMAN: dict[int, Any] = {
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
PIMA = dict(enumerate(((0, 20), (0, 200), (0, 140), (0, 100), (0, 900), (0, 70), (0, 2.5), (18, 90))))
HEART: dict[int, Any] = {
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

Ranges = Mapping[Any, Any]
"""Facts that a benchmark has of its own, by column."""


def read(name: str, **options: Any) -> Any:
    """Return the rows of a file of the folder with public tables."""
    import pandas as pd

    return pd.read_csv(Path(os.environ[FOLDER]) / name, **options)


def visits(own: Ranges | None = None) -> Task:
    """Return visits to hospitals; the class is a return within thirty days."""
    frame = read("diabetes_visits.csv", keep_default_na=False)
    return _task(
        "visits", frame, {**VISITS, **(own or {})}, frame["readmitted"] == "<30", (False, True)
    )


def credit(own: Ranges | None = None) -> Task:
    """Return holders of credit cards; the class is a default."""
    frame = read("default_credit_card.csv")
    return _task("credit", frame, {**CREDIT, **(own or {})}, frame["class"], (0, 1))


def german(own: Ranges | None = None) -> Task:
    """Return German applicants for credit; the class is a bad risk."""
    frame = read("german.csv", header=None)
    return _task("german", frame, {**GERMAN, **(own or {})}, frame[20], (1, 2))


def pima(own: Ranges | None = None) -> Task:
    """Return Pima women; the class is diabetes."""
    frame = read("pima_diabetes.csv", header=None)
    return _task("pima", frame, {**PIMA, **(own or {})}, frame[8], (0, 1))


def heart(own: Ranges | None = None) -> Task:
    """Return patients of Cleveland; the class is a disease of the heart."""
    frame = read("heart_cleveland.data", header=None)
    return _task("heart", frame, {**HEART, **(own or {})}, frame[13] > 0, (False, True))
