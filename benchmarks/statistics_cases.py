"""Real columns for the benchmark of plain statistics, with bounds of somebody who has not seen them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.statistics import Told
from discreet.data import PrivateTable
from discreet.plans import Setting
from discreet.schema import Category, Number, Schema


@dataclass(frozen=True)
class Case:
    """A column, what is public of it, and the groups its records are in.

    ``skewed`` says that few values are far from the others and that bounds are wide, so that clipping
    matters.
    """

    name: str
    told: Told
    skewed: bool

    @property
    def schema(self) -> Schema:
        """The public facts."""
        told = self.told
        return Schema(
            {
                "x": Number(told.low, told.high, step=told.step, missing=False),
                "group": Category(list(range(told.groups)), missing=False, other=False),
            }
        )

    @property
    def setting(self) -> Setting:
        """The public facts of the table."""
        return Setting(self.schema, "replace-one", self.told.rows)

    def table(self) -> PrivateTable:
        """Return the records as a sealed table."""
        frame = pd.DataFrame({"x": self.told.values, "group": self.told.by})
        return PrivateTable(frame, self.schema)


BINS = 20

_PIMA = ["pregnancies", "glucose", "pressure", "skin", "insulin", "mass", "pedigree", "age", "outcome"]

_PLAIN = {
    "adult": ("adult_full.csv", "race", {"age": (0, 120, 1), "hours-per-week": (0, 168, 1)}),
    "credit": (
        "default_credit_card.csv",
        "EDUCATION",
        {"AGE": (0, 120, 1), "LIMIT_BAL": (0, 1_000_000, None)},
    ),
    "bike": ("bike_hour.csv", "season", {"cnt": (0, 1_000, 1)}),
    "pima": ("pima_diabetes.csv", "outcome", {"glucose": (0, 300, 1)}),
}
_SKEWED = {
    "adult": ("adult_full.csv", "race", {"capital-gain": (0, 1_000_000, None)}),
    "credit": ("default_credit_card.csv", "EDUCATION", {"PAY_AMT1": (0, 10_000_000, None)}),
    "bike": ("bike_hour.csv", "season", {"casual": (0, 10_000, 1)}),
    "pima": ("pima_diabetes.csv", "outcome", {"insulin": (0, 10_000, 1)}),
}


def read_cases() -> list[Case]:
    """Return the columns of the folder named by DISCREET_DATA, the skewed ones last."""
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        raise SystemExit("Set DISCREET_DATA to the folder with the tables.")
    return [
        Case(f"{table} {column}", _told(frame[column], frame[by], *facts), tables is _SKEWED)
        for tables in (_PLAIN, _SKEWED)
        for table, (file, by, columns) in tables.items()
        for frame in [_read(Path(folder) / file)]
        for column, facts in columns.items()
    ]


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, names=_PIMA if "pima" in path.name else None)


def _told(values: Any, by: Any, low: float, high: float, step: float | None) -> Told:
    groups, labels = pd.factorize(by, sort=True)
    edges = Number(low, high, step=step, missing=False).bins(BINS).edges
    assert edges is not None
    found = values.to_numpy(np.float64)
    return Told(found, groups, float(low), float(high), step, len(labels), list(edges))
