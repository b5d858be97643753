"""Faults that a hunt of neighbours or a long look at a model finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.audit.faults.fault import Fault
from discreet.audit.faults.hunted_stages import (
    SCHEMA,
    Stages,
    always,
    bootstrap_values,
    dealt_counts,
    near_rows,
    scaled_sum,
    squared_curve,
    summed_incomes,
)
from discreet.audit.finding import Check, Effort, Finding
from discreet.audit.hunting.answers import model as ask_at_length
from discreet.audit.hunting.checks import finding_of_audit, finding_of_hunts
from discreet.audit.hunting.hunter import hunt_stages
from discreet.audit.hunting.neighbours import Rows, draw_table
from discreet.audit.hunting.persons import all_rows_count, for_rows, persons_check
from discreet.models.probe import DOUBLE
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import public_generator
from discreet.schema import FloatArray

_ROWS = 48
_MOST_SECONDS = 60.0
"""A hunt ends at the first certificate that is broken: some hundred pairs, which a busy machine, too,
has tried long before."""

_ONE_ROUND = 0.1
"""An audit of a model asks what the probe asks, however little time it has."""


def _hunted(
    name: str,
    stages: Callable[[], Stages],
    relation: Relation = REPLACE_ONE,
    rows: Callable[[], Rows] = lambda: draw_table(SCHEMA, _ROWS, 0),
) -> Check:
    def look(effort: Effort) -> Finding:
        report = hunt_stages(
            stages(),
            SCHEMA,
            relation,
            rows(),
            name=name,
            seconds=_MOST_SECONDS,
            seed=effort.seed,
            until_broken=True,
        )
        return finding_of_hunts([report])

    return Check(f"hunt: {name}", "hunt", name, look)


def _asked(
    name: str, made: Callable[[], Any], bounds: Any = None, batch_error: float | None = None
) -> Check:
    def look(effort: Effort) -> Finding:
        audit = ask_at_length(
            made(),
            SCHEMA,
            bounds=bounds,
            batch_error=batch_error,
            seconds=min(effort.seconds, _ONE_ROUND),
            seed=effort.seed,
        )
        return finding_of_audit(audit)

    return Check(f"model: {name}", "model", name, look)


def scaling_pipeline() -> Any:
    """Return a classifier behind a scaler that takes mean and spread of whatever it is given."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, scale

    draw = public_generator(0)
    rows = np.column_stack([draw.uniform(0, 200_000, 300), draw.integers(18, 91, 300)])
    paid = rows[:, 0] + draw.normal(0, 30_000, 300) > 100_000
    return make_pipeline(FunctionTransformer(scale), LogisticRegression()).fit(rows, paid)


def rank_in_batch(rows: FloatArray) -> FloatArray:
    """Return every row's rank among the incomes of its call."""
    return np.asarray(np.searchsorted(np.sort(rows[:, 0]), rows[:, 0]) / len(rows))


def single_score(rows: FloatArray) -> FloatArray:
    """Return a score computed in single precision, handed out as float64."""
    weights = np.array([2e-5, -0.03], dtype=np.float32)
    margin = rows.astype(np.float32) @ weights
    return np.asarray(1 / (1 + np.exp(-margin)), dtype=np.float64)


FAULTS: list[Fault] = [
    Fault(
        "bounds read from data",
        "The least and the greatest income of the rows at hand scale all of them, so one record moves "
        "every other one's share.",
        "a slip of the pen; min-max scaling inside a private mean",
        _hunted("bounds read from data", lambda: always(scaled_sum(read_from_data=True))),
    ),
    Fault(
        "rows dealt to trees by position",
        "A record that comes moves all later ones to the next tree, so counts of all trees move.",
        "a slip of the pen; forests that split a table by row number under add-remove",
        _hunted("rows dealt to trees by position", lambda: always(dealt_counts()), ADD_REMOVE),
    ),
    Fault(
        "wrapped sums",
        "The lattice is so fine that the sum does not fit into 64 bits, and a record moves it from one "
        "end of the integers to the other.",
        "a slip of the pen; overflow of the accumulator, as Casacuberta et al. (2022) describe it",
        _hunted("wrapped sums", lambda: always(summed_incomes(2.0**-45))),
    ),
    Fault(
        "bootstrap calibration",
        "The sensitivity is the greatest change a bootstrap of the private rows has seen, which misses "
        "every neighbour unlike them.",
        "Alissaiei (2026), Algorithm 1",
        _hunted(
            "bootstrap calibration",
            lambda: lambda table, seed: [bootstrap_values(table)],
            rows=near_rows,
        ),
    ),
    Fault(
        "row-level noise on person-level data",
        "Noise hides one row where a person may have fifty, each of which counts one.",
        "a slip of the pen; a table of visits taken for one of patients",
        persons_check("persons: row-level noise", all_rows_count(), for_rows),
    ),
    Fault(
        "Lipschitz constant of another plan",
        "Squares of answers are paid for as if they were answers: what third-party code moves is "
        "multiplied by up to twice the greatest answer.",
        "a slip of the pen; copied from partial dependence",
        _hunted("Lipschitz constant of another plan", lambda: always(squared_curve(1.0))),
    ),
    Fault(
        "model that scales its batch",
        "A scaler inside the pipeline takes mean and spread of the rows of a call, so every answer "
        "depends on the rows beside it.",
        "scikit-learn's FunctionTransformer(scale) in a pipeline",
        _asked("model that scales its batch", scaling_pipeline),
    ),
    Fault(
        "model that ranks its batch",
        "An answer is the rank of a row among the rows of its call.",
        "a slip of the pen; percentile features computed when predicting",
        _asked("model that ranks its batch", lambda: rank_in_batch, bounds=(0, 1)),
    ),
    Fault(
        "single precision declared as double",
        "Answers come as float64 but hold single precision, whose last bits follow the rows beside "
        "them half a million times farther than is declared.",
        "a slip of the pen; float32 networks behind a cast",
        _asked(
            "single precision declared as double",
            lambda: single_score,
            bounds=(0, 1),
            batch_error=DOUBLE,
        ),
    ),
]
"""Each is found by its own check, alone."""
