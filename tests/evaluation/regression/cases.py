"""A small table with a number to predict, models of it, and questions about their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import discreet as dc
from discreet.data.blocks import Block
from discreet.evaluation.question import EvaluationQuestion, groups_of
from discreet.evaluation.regression.release import lay_out
from discreet.evaluation.regression.sums import ErrorSums
from discreet.models import as_model
from discreet.plans import Setting

LOW, HIGH = 0.0, 60.0


def schema(*, gaps: bool = False, groups: bool = True) -> dc.Schema:
    """Return columns x (what the model reads), ward (a group) and y (the target)."""
    ward = dc.Category("a", "b", missing=False, other=False)
    columns = {"x": dc.Number(-20.0, 80.0, missing=False), "y": dc.Number(LOW, HIGH, missing=gaps)}
    return dc.Schema(columns | ({"ward": ward} if groups else {}), target="y")


def identity(bounds: tuple[float, float] = (LOW, HIGH)) -> Any:
    """Return a model that answers its column x: one whose answers code of ours computes."""
    rows = np.linspace(-20.0, 80.0, 11)[:, None]
    fitted = LinearRegression().fit(rows, rows[:, 0])
    fitted.coef_, fitted.intercept_ = np.array([1.0]), 0.0
    return as_model(dc.Model(fitted, columns=["x"], bounds=bounds))


def opaque(bounds: tuple[float, float] = (LOW, HIGH), *, isolated: bool = False) -> Any:
    """Return the same as a function, of which nothing is known."""

    def first(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0]

    made = dc.Model(first, columns=["x"], bounds=bounds, name="first column", isolated=isolated)
    return as_model(made)


def question(
    model: Any,
    table: dc.Schema,
    *,
    relation: str = "replace-one",
    rows: int = 400,
    by: tuple[str, ...] = (),
    residuals: tuple[str, ...] = (),
    clip: float | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
) -> EvaluationQuestion:
    """Return a question about the errors of a model."""
    setting = Setting(table, relation, rows if relation == "replace-one" else None)
    return EvaluationQuestion(
        setting=setting,
        model=model.bind(table),
        output="value",
        target="y",
        groups=groups_of(table, by),
        bins=None,
        cuts="public",
        epsilon=epsilon,
        delta=delta,
        mechanism="auto",
        clip=clip,
        residuals=residuals,
    )


def layout(model: Any, table: dc.Schema, **asked: Any) -> ErrorSums:
    """Return how the vector of a question is laid out."""
    return lay_out(question(model, table, **asked))


def vectors(layout: ErrorSums, frame: pd.DataFrame) -> np.ndarray:
    """Return what records add, as the engine rounds it to no lattice at all."""
    columns = layout.contribution.columns
    table = layout.setting.schema
    encoded = [table[name].encode(frame[name].to_numpy()) for name in columns]
    return layout.contribution.compute(Block(0, columns, np.column_stack(encoded)))
