"""More tables for ``benchmarks.trees``: those on which the default forest is held against its options.

Two classes, unless it says otherwise. Ranges and values are documented ones, as in ``trees_data``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.glass_box_data import _BIKE, SYNTHETIC
from benchmarks.public_tables import credit, german, heart, pima, read, visits
from benchmarks.trees_data import _COMPAS, _WINE, Task, _task, load, synthetic

_PIMA = {0: (0, 17), 2: (0, 130), 7: (20, 85)}
_HEART = {0: (25, 80), 3: (90, 200), 4: (120, 570), 7: (70, 205), 9: (0, 6.5)}
_CREDIT = {"AGE": (18, 100), **{f"PAY_AMT{n}": (0, 1e6) for n in range(1, 7)}}
_VISITS: dict[str, Any] = {
    "discharge_disposition_id": list(range(1, 31)),
    "num_lab_procedures": (0, 140),
    "num_medications": (0, 90),
    "number_emergency": (0, 80),
}
"""Ranges with which the results of these tables were made, where they are not those of others."""


def _arrests() -> Task:
    frame = read("compas_snm.csv")
    facts = {name: fact for name, fact in _COMPAS.items() if name not in ("event", "start", "end")}
    return _task("arrests", frame, facts, frame["event"], (0, 1))


def _good_wine() -> Task:
    frame = read("winequality-white.csv", header=None)
    return _task("good wine", frame, dict(enumerate(_WINE)), frame[11] > 5, (False, True))


def _busy_hours() -> Task:
    frame = read("bike_hour.csv")
    return _task("bike", frame, _BIKE, frame["cnt"] > 200, (False, True))


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
    "credit": lambda: credit(_CREDIT),
    "visits": lambda: visits(_VISITS),
    "arrests": _arrests,
    "german": lambda: german({4: (250, 20_000)}),
    "pima": lambda: pima(_PIMA),
    "heart": lambda: heart(_HEART),
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
    "wine": lambda: load("wine"),
    "bike": _busy_hours,
    "linear": SYNTHETIC["linear"],
    "paired": SYNTHETIC["paired"],
    "rare additive": SYNTHETIC["rare"],
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
