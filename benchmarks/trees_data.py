"""Data sets of ``benchmarks.trees`` with their public facts: documented ranges and values.

No range is read from the rows; values outside are clipped. Every model, ours and others', gets the same
encoded rows and the same bounds: categories as codes, in the order of their documentation.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.curves_tasks import _WORDS

FOLDER = "DISCREET_DATA"
FORESTS = ("adult", "mushroom", "wine", "pendigits", "wallsensor", "compas")
GREEDY = ("nltcs", "adult")

_CENSUS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 9_999),
    "hours-per-week": (1, 99),
}
_MUSHROOM = {
    "cap-shape": "bcxfks",
    "cap-surface": "fgys",
    "cap-color": "nbcgrpuewy",
    "bruises": "tf",
    "odor": "alcyfmnps",
    "gill-attachment": "adfn",
    "gill-spacing": "cwd",
    "gill-size": "bn",
    "gill-color": "knbhgropuewy",
    "stalk-shape": "et",
    "stalk-root": "bcuezr?",
    "stalk-surface-above-ring": "fyks",
    "stalk-surface-below-ring": "fyks",
    "stalk-color-above-ring": "nbcgopewy",
    "stalk-color-below-ring": "nbcgopewy",
    "veil-type": "pu",
    "veil-color": "nowy",
    "ring-number": "not",
    "ring-type": "ceflnpsz",
    "spore-print-color": "knbhrouwy",
    "population": "acnsvy",
    "habitat": "glmpuwd",
}
_WINE = (
    (3, 15),
    (0, 1.2),
    (0, 1.7),
    (0, 66),
    (0, 0.35),
    (0, 290),
    (0, 440),
    (0.98, 1.04),
    (2.7, 3.9),
    (0.2, 1.1),
    (8, 14.5),
)
_TURNS = ("Move-Forward", "Slight-Right-Turn", "Sharp-Right-Turn", "Slight-Left-Turn")
_COMPAS: dict[str, Any] = {
    "sex": ("Male", "Female"),
    "age": (18.0, 96.0),
    "race": ("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"),
    "juv_fel_count": (0.0, 20.0),
    "juv_misd_count": (0.0, 20.0),
    "juv_other_count": (0.0, 20.0),
    "priors_count": (0.0, 40.0),
    "c_days_from_compas": (0.0, 10_000.0),
    "c_charge_degree": ("F", "M"),
    "start": (0.0, 1_200.0),
    "end": (0.0, 1_200.0),
    "event": [0, 1],
}


@dataclass(frozen=True)
class Task:
    """Encoded features, classes 0 to K - 1, and the schema of both; ``widths`` is 0 for a number."""

    name: str
    features: Any
    classes: Any
    bounds: tuple[tuple[float, float], ...]
    widths: tuple[int, ...]
    count: int

    @property
    def schema(self) -> dc.Schema:
        """The public facts; a category has its codes as values."""
        columns: dict[str, Any] = {
            f"x{place}": dc.Category(*range(width), missing=False, other=False)
            if width
            else dc.Number(*self.bounds[place], missing=False)
            for place, width in enumerate(self.widths)
        }
        return dc.Schema({**columns, "class": self.target_column}, target="class")

    @property
    def target_column(self) -> dc.Category | dc.Number:
        """The public facts about the target."""
        return dc.Category(*range(self.count), missing=False, other=False)

    def split(self, run: int, share: float = 0.8) -> tuple[Any, Any]:
        """Return shuffled row numbers to train and to test on."""
        order = np.random.default_rng(1_000 + run).permutation(len(self.classes))
        cut = int(share * len(order))
        return order[:cut], order[cut:]

    def folds(self, run: int, number: int) -> list[tuple[Any, Any]]:
        """Return row numbers of a cross-validation."""
        order = np.random.default_rng(2_000 + run).permutation(len(self.classes))
        parts = np.array_split(order, number)
        return [(np.concatenate(parts[:i] + parts[i + 1 :]), parts[i]) for i in range(number)]


def synthetic() -> Task:
    """Return 50,000 rows of 14 numbers, 8 of them informative: 40,000 to train on."""
    from sklearn.datasets import make_classification

    features, classes = make_classification(50_000, 14, n_informative=8, random_state=0)
    bounds = ((-6.0, 6.0),) * 14
    return Task("synthetic", np.clip(features, -6, 6), classes, bounds, (0,) * 14, 2)


@cache
def load(name: str) -> Task:
    """Return a data set of the folder that DISCREET_DATA names."""
    import pandas as pd

    folder = Path(os.environ[FOLDER])
    if name == "adult":
        frame = pd.read_csv(folder / "adult_full.csv").drop(columns="fnlwgt")
        values: dict[str, Any] = {c: [*words.split(), "?"] for c, words in _WORDS.items()}
        facts = {c: values.get(c) or _CENSUS[c] for c in frame if c != "income"}
        return _task(name, frame, facts, frame["income"], ("<=50K", ">50K"))
    if name == "mushroom":
        frame = pd.read_csv(folder / "mushroom.csv")
        return _task(name, frame, {c: tuple(v) for c, v in _MUSHROOM.items()}, frame["class"], "ep")
    if name == "wine":
        frame = pd.read_csv(folder / "winequality-white.csv", header=None)
        return _task(name, frame, dict(enumerate(_WINE)), frame[11], range(3, 10))
    if name == "pendigits":
        parts = [
            pd.read_csv(folder / f"pendigits.{part}", header=None, dtype={16: str})
            for part in ("tra", "tes")
        ]
        frame = pd.concat(parts, ignore_index=True)
        digits = frame[16].str.strip().str.index("1")
        return _task(name, frame, dict.fromkeys(range(16), (0, 100)), digits, range(10))
    if name == "wallsensor":
        frame = pd.read_csv(folder / "wallsensor.csv")
        facts = dict.fromkeys(frame.columns[:4], (0, 5))
        return _task(name, frame, facts, frame["class"], _TURNS)
    if name == "compas":
        frame = pd.read_csv(folder / "compas_snm.csv")
        scores = ["c-1", *(f"c{place}" for place in range(1, 11))]
        return _task(name, frame, _COMPAS, frame["decile_score"], scores)
    frame = pd.read_csv(folder / "nltcs.csv")
    return _task(name, frame, {column: [0, 1] for column in frame.columns[:15]}, frame["15"], (0, 1))


def _task(name: str, frame: Any, facts: dict[Any, Any], labels: Any, classes: Sequence[Any]) -> Task:
    """Return encoded rows; a pair of two numbers that is no list is a range, all else values."""
    columns, bounds, widths = [], [], []
    for column, fact in facts.items():
        ranged = isinstance(fact, tuple) and len(fact) == 2 and not isinstance(fact[0], str)
        if ranged:
            columns.append(np.clip(frame[column].to_numpy(float), *fact))
            bounds.append((float(fact[0]), float(fact[1])))
        else:
            columns.append(_codes(frame[column], fact))
            bounds.append((0.0, float(len(fact) - 1)))
        widths.append(0 if ranged else len(fact))
    found = np.column_stack(columns).astype(float)
    own = _codes(labels, classes)
    return Task(name, found, own, tuple(bounds), tuple(widths), len(classes))


def _codes(column: Any, values: Sequence[Any]) -> Any:
    places = {value: code for code, value in enumerate(values)}
    return column.map(places).to_numpy().astype(np.int64)
