"""Tables of ``benchmarks.glass_box``: public bounds and categories, one test split for everybody.

No range is read from the rows: ranges and values are those of the files' documentation, or round
numbers beyond what such a quantity can be; values outside are clipped. Every model gets the same codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.public_tables import credit, german, heart, pima, read, visits
from benchmarks.trees_data import _COMPAS, _WINE, FOLDER, Task, _task, load, synthetic

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


def _recidivism() -> Task:
    frame = read("compas_snm.csv")
    facts = {name: fact for name, fact in _COMPAS.items() if name not in _LEAKS}
    return _task("recidivism", frame, facts, frame["event"], (0, 1))


def _good_wine() -> Task:
    frame = read("winequality-white.csv", header=None)
    return _task("good wine", frame, dict(enumerate(_WINE)), frame[11] >= 7, (False, True))


def _wine() -> Numbers:
    frame = read("winequality-white.csv", header=None)
    return _numbers("wine quality", frame, dict(enumerate(_WINE)), frame[11], (0, 10))


def _bike() -> Numbers:
    frame = read("bike_hour.csv")
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
    "credit": credit,
    "visits": visits,
    "mushroom": lambda: load("mushroom"),
    "nltcs": lambda: load("nltcs"),
    "recidivism": _recidivism,
    "good wine": _good_wine,
    "german": german,
    "pima": pima,
    "heart": heart,
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
