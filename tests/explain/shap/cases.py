"""Tiny tables on which every neighbour can be tried, and models for every engine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.plans import Stage
from discreet.privacy.certificate import NORMS, Bounds

TINY = dc.Schema(
    {"a": dc.Number(0, 2, step=1, missing=False), "b": dc.Number(0, 1, step=1, missing=False)}
)
TINY_ROWS = list(itertools.product([0.0, 1.0, 2.0], [0.0, 1.0]))
ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


def jumpy(rows: np.ndarray) -> np.ndarray:
    """Answers at the ends of its bounds, far outside of them, and NaN for one kind of row."""
    odd = (rows[:, 0] + rows[:, 1]) % 2
    return np.where((rows[:, 0] == 2) & (rows[:, 1] == 1), np.nan, 40.0 * odd - 20.0)


def tiny_models() -> dict[str, Any]:
    rows = np.array(TINY_ROWS * 5)
    value = 3 * (rows[:, 0] > 0) - 2 * rows[:, 1] * (rows[:, 0] > 1)
    label = (value > 0).astype(int)
    return {
        "opaque": dc.Model(jumpy, bounds=(-1, 2), name="jumpy"),
        "linear": dc.Model(LinearRegression().fit(rows, value), bounds=TINY),
        "logistic": LogisticRegression().fit(rows, label),
        "network": MLPClassifier((3,), tol=10.0, n_iter_no_change=1, random_state=0).fit(rows, label),
        "forest": RandomForestClassifier(3, max_depth=2, random_state=0).fit(rows, label),
        "boosted": GradientBoostingRegressor(n_estimators=3, random_state=0).fit(rows, value),
    }


def raw_steps(stage: Stage, rows: list[tuple[float, float]]) -> np.ndarray:
    frame = pd.DataFrame(rows, columns=list(TINY), dtype=float)
    table = PrivateTable(frame, TINY, "add-remove")
    return add_up(table, [Summand(stage.contribution, stage.noise.step)])[0]


def worst_moves(stage: Stage, relation: str) -> Bounds:
    """Return the greatest change between neighbours, in values: sums are of records, one by one."""
    own = {row: raw_steps(stage, [row]) for row in TINY_ROWS}
    if relation == "add-remove":
        changes = list(own.values())
    else:
        changes = [own[a] - own[b] for a, b in itertools.permutations(TINY_ROWS, 2)]
    changes = [change * stage.noise.step for change in changes]
    return Bounds(*(max(np.linalg.norm(c, ORDERS[n]) for c in changes) for n in NORMS))


def keeps(stage: Stage, relation: str) -> bool:
    found = worst_moves(stage, relation)
    return all(getattr(found, n) <= stage.certificate.sensitivity(n, relation) for n in NORMS)
