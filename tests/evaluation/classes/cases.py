"""Three classes, classifiers of them, and evaluations with seeded noise or with none."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.evaluation.classes.result import ClassEvaluation
from discreet.evaluation.plan import evaluate
from discreet.plans import Setting
from discreet.randomness import IntArray, SimulatedNoise

CLASSES = ("a", "b", "c")
FEATURES = ["x", "z"]


def schema(*, gaps: bool = False) -> dc.Schema:
    """Return two numbers, a group and a target of three classes."""
    return dc.Schema(
        {
            "x": dc.Number(-4, 4, missing=False),
            "z": dc.Number(-4, 4, missing=False),
            "sex": dc.Category("F", "M", missing=False, other=False),
            "y": dc.Category(*CLASSES, missing=gaps, other=False),
        },
        target="y",
    )


def draw(seed: int, rows: int = 3_000) -> pd.DataFrame:
    """Return records whose class is the one with the greatest of three noisy scores."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(0, 1, (2, rows))
    sex = rng.choice(["F", "M"], rows, p=[0.6, 0.4])
    worth = np.stack([x + 0.5 * (sex == "M"), z, -x - z], 1) + rng.gumbel(0, 0.6, (rows, 3))
    named = np.array(CLASSES)[worth.argmax(1)]
    return pd.DataFrame({"x": np.clip(x, -4, 4), "z": np.clip(z, -4, 4), "sex": sex, "y": named})


@cache
def forest() -> Any:
    """Return a classifier that code of ours evaluates."""
    train = draw(10**6)
    return RandomForestClassifier(8, max_depth=4, random_state=0).fit(train[FEATURES], train.y)


@cache
def logistic() -> Any:
    """Return a classifier that is known to answer a row by itself in its place."""
    train = draw(10**6)
    return LogisticRegression().fit(train[FEATURES], train.y)


class Unknown:
    """The logistic classifier, as somebody's own class: nothing is known of it."""

    feature_names_in_ = np.array(FEATURES)
    n_features_in_ = 2

    def __init__(self, kind: type = float) -> None:
        self.kind, self.classes_ = kind, logistic().classes_

    def predict_proba(self, rows: Any) -> Any:
        return logistic().predict_proba(rows).astype(self.kind)


class NoNoise(SimulatedNoise):
    """A source that adds nothing."""

    def laplace(self, scale: float, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)


def released(
    frame: pd.DataFrame,
    model: Any,
    *,
    table: dc.Schema | None = None,
    relation: str = "replace-one",
    noise: bool = True,
    seed: int = 0,
    **asked: Any,
) -> ClassEvaluation:
    """Return an evaluation with seeded noise, or with none."""
    table = table or schema()
    releaser = SimulatedReleaser(PrivateTable(frame, table, relation), seed)
    if not noise:
        releaser.source = NoNoise(0)
    plan = evaluate(model, **{"epsilon": 1.0, **asked})
    rows = len(frame) if relation == "replace-one" else None
    found = plan.prepare(Setting(table, relation, rows)).finish(releaser)
    assert isinstance(found, ClassEvaluation)
    return found
