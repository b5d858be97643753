"""Additive models made by hand: scores and counts as if they had been released."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from discreet.additive.released.result import AdditiveModel, Term
from discreet.models.released import model_facts
from discreet.schema import Bins

SCHEMA = dc.Schema(
    {
        "age": dc.Number(20, 80, unit="years"),
        "income": dc.Number(0, 100, missing=False),
        "job": dc.Category("clerk", "nurse", "smith"),
        "bad": dc.Category("no", "yes", missing=False, other=False),
    },
    target="bad",
)
FEATURES = ("age", "income", "job")


def cut(name: str, *edges: float) -> Bins:
    """Return bins of a number of the schema at these edges."""
    column = SCHEMA[name]
    inner = [f"[{a:g}, {b:g})" for a, b in pairwise(edges)]
    missing = ("(missing)",) if column.may_be_missing else ()
    return Bins((*inner, *missing), edges, reserved=len(missing))


def term(columns: tuple[str, ...], bins: tuple[Bins, ...], margins: int, draw: Any) -> Term:
    """Return a term with drawn scores, whose mean over the counts is zero, and drawn counts."""
    cells = int(np.prod([len(part) for part in bins]))
    counts = np.round(draw.uniform(-2, 60, cells), 1)
    scores = draw.normal(0, 1, (margins, cells))
    weights = np.maximum(counts, 0)
    scores -= (scores @ weights / weights.sum())[:, None]
    return Term(
        columns=columns,
        bins=bins,
        scores=tuple(map(tuple, scores.tolist())),
        counts=tuple(counts.tolist()),
        noise_std=tuple(map(tuple, draw.uniform(0.05, 0.2, (margins, cells)).tolist())),
    )


def model(classes: int = 2, *, seed: int = 0, pair: bool = True) -> AdditiveModel:
    """Return a model of two classes, of several, or (0) of a number."""
    draw = np.random.default_rng(seed)
    margins = 1 if classes in (0, 2) else classes
    target = (
        dc.Number(-3, 3, missing=False)
        if classes == 0
        else dc.Category(*"abcdefgh"[:classes], missing=False, other=False)
    )
    schema = dc.Schema({**{n: SCHEMA[n] for n in FEATURES}, "bad": target}, target="bad")
    age, income = cut("age", 20, 30, 45, 60, 80), cut("income", 0, 10, 50, 100)
    job = SCHEMA["job"].bins(99)
    terms = [
        term(("age",), (age,), margins, draw),
        term(("job",), (job,), margins, draw),
        term(("income",), (income,), margins, draw),
    ]
    if pair:
        terms.append(term(("income", "job"), (cut("income", 0, 40, 100), job), margins, draw))
    return AdditiveModel(
        target="bad",
        classes=None if classes == 0 else tuple("abcdefgh"[:classes]),
        features=FEATURES,
        intercept=tuple(draw.normal(0, 1, margins).tolist()),
        terms=tuple(terms),
        records=200.0,
        facts=model_facts(schema, FEATURES, "bad"),
    )


def rows(count: int = 300, seed: int = 1) -> pd.DataFrame:
    """Return rows with missing and unlisted values, and values at the edges of bins."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.choice([20, 30, 44.999, 45, 59, 60, 80, np.nan, 29.9], count),
            "income": draw.choice([0, 9.99, 10, 40, 50, 77, 100], count),
            "job": draw.choice(
                np.array(["clerk", "nurse", "smith", "king", None], dtype=object), count
            ),
        }
    )
    return frame
