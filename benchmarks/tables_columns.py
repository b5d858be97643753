"""Real columns for the benchmarks of tables, with public bounds; what is missing is said."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet.data import PrivateTable, Summand, add_up
from discreet.plans import Plan, Setting
from discreet.randomness import SimulatedNoise
from discreet.schema import Number, Schema

MISSING = (
    "The paper's Kaggle and UCI files (reviews, house prices, home credit, ...) are not available; "
    "public columns stand in their place."
)
BINS = 30


@dataclass(frozen=True)
class Column:
    """Values of one column and its public bounds."""

    name: str
    values: Any
    low: float
    high: float

    def sample(self, rows: int, seed: int = 0) -> Column:
        """Return some of the values, each once if there are enough of them."""
        draw = np.random.default_rng(seed)
        chosen = draw.choice(self.values, rows, replace=rows > len(self.values))
        return Column(self.name, chosen, self.low, self.high)

    def counts(self, bins: int = BINS) -> Any:
        """Return the exact counts of equal bins."""
        return np.histogram(self.values, bins, (self.low, self.high))[0]

    @property
    def schema(self) -> Schema:
        """The public facts."""
        return Schema({"x": Number(self.low, self.high, missing=False)})

    def table(self, relation: str = "replace-one") -> PrivateTable:
        """Return the values as a sealed table."""
        return PrivateTable(pd.DataFrame({"x": self.values}), self.schema, relation)


class CountReleaser:
    """Answers stages with seeded noise; the counts are taken once."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table, self._noise = table, SimulatedNoise(seed)
        self._counts: dict[str, Any] = {}

    def answer(self, *stages: Any) -> list[Any]:
        """Return the noisy answers."""
        for stage in stages:
            if stage.name not in self._counts:
                summand = Summand(stage.contribution, stage.noise.step)
                (self._counts[stage.name],) = add_up(self._table, [summand])
        return [stage.noise.release(self._counts[stage.name], self._noise) for stage in stages]


def values_of(plan: Plan, column: Column, times: int, seed: int = 0) -> list[Any]:
    """Return results of one plan on one column, with fresh seeded noise each time."""
    program = plan.prepare(Setting(column.schema, "replace-one", len(column.values)))
    releaser = CountReleaser(column.table(), seed)
    return [program.finish(releaser) for _ in range(times)]


def even_column(rows: int = 400_000) -> Column:
    """Return a column without any shape: the hardest one for noise on the number itself."""
    return Column("even (made)", np.random.default_rng(0).random(rows), 0.0, 1.0)


@cache
def real_columns() -> list[Column]:
    """Return the columns of the folder named by DISCREET_DATA, or none with a word about it."""
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        print("DISCREET_DATA is not set: real columns are left out.")
        return []
    print(MISSING)
    root = Path(folder)
    adult = pd.read_csv(root / "adult_full.csv")
    credit = pd.read_csv(root / "default_credit_card.csv")
    found = [
        Column("HEPTH", _dpbench(root, "HEPTH"), 0, 4_096),
        Column("INCOME", _dpbench(root, "INCOME"), 0, 4_096),
        Column("PATENT", _dpbench(root, "PATENT"), 0, 4_096),
        Column("unemployment", pd.read_csv(root / "unrate.csv").iloc[:, 1].to_numpy(), 0, 20),
    ]
    for name, low, high in (("age", 17, 90), ("hours-per-week", 1, 99), ("capital-gain", 0, 100_000)):
        found.append(Column(f"adult {name}", adult[name].to_numpy(), low, high))
    found.append(Column("credit limit", credit["LIMIT_BAL"].to_numpy(), 0, 1_000_000))
    found.append(Column("credit age", credit["AGE"].to_numpy(), 18, 90))
    return found


def _dpbench(root: Path, name: str) -> Any:
    """Return 400,000 values drawn from a histogram over 4,096 cells."""
    counts = pd.read_csv(root / f"dpbench_{name}.csv")["count"].to_numpy()
    return np.random.default_rng(0).choice(4_096, 400_000, p=counts / counts.sum())
