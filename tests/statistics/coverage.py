"""How often the interval of a statistic holds the exact one, over seeded noise on sums taken once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Plan, Setting
from discreet.privacy.relation import Relation

DRAWS, LEAST = 300, 0.915
"""Intervals of 95 % that hold fall below .915 of 300 draws once in 300 times; draws are seeded."""

NEAR = 1e-6

SCHEMA = dc.Schema(
    {
        "gain": dc.Number(0.0, 100.0, missing=False),
        "age": dc.Number(18, 90, step=1, missing=False),
        "odd": dc.Number(-3.0, 9.0),
        "home": dc.Category("rent", "own", "other", missing=False, other=False),
        "job": dc.Category("a", "b", "c"),
    }
)


def people(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    """Return records of which some lack a value."""
    draw = np.random.default_rng(seed)
    gain = np.clip(draw.gamma(0.5, 8.0, rows), 0, 100)
    odd = np.clip(draw.normal(1.0, 2.0, rows), -3, 9)
    return pd.DataFrame(
        {
            "gain": gain,
            "age": np.clip(np.rint(draw.normal(45, 12, rows)), 18, 90),
            "odd": np.where(draw.random(rows) < 0.2, np.nan, odd),
            "home": draw.choice(["rent", "own", "other"], rows, p=[0.6, 0.3, 0.1]),
            "job": draw.choice(["a", "b", "strange"], rows),
        }
    )


def setting_of(relation: str, rows: int = 400) -> Setting:
    """Return what is public about the people."""
    return Setting(SCHEMA, relation, rows if Relation(relation).rows_public else None)


def answers(plan: Plan, relation: str, frame: pd.DataFrame, draws: int = DRAWS) -> list[Any]:
    """Return many answers to a plan, reading the rows once."""
    program = plan.prepare(setting_of(relation, len(frame)))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=5)
    return [program.finish(releaser) for _ in range(draws)]


def held(found: list[Any], exact: float, shrink: float = 1.0) -> float:
    """Return how often intervals, made narrower than stated, hold a number."""
    inside = [
        one.value - shrink * (one.value - one.low) - NEAR
        <= exact
        <= one.value + shrink * (one.high - one.value) + NEAR
        for one in found
    ]
    return float(np.mean(inside))


Make = Callable[..., Plan]
