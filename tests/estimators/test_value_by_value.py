"""What one row holds changes how no other row is read, and raises nothing."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import SchemaError
from discreet.estimators import PrivateDecisionTreeClassifier
from discreet.estimators.frames import _quick

DAYS = [datetime.timedelta(days=1 + place % 2) for place in range(6)]
SCHEMA = dc.Schema({"k": dc.Category("1 day, 0:00:00", "2 days, 0:00:00", missing=False, other=False)})


@pytest.mark.parametrize("odd", ["text", 0.5, None, {"a": 1}, [1], np.datetime64("2020-01-01")])
def test_one_odd_value_leaves_the_others_as_they_are(odd: Any) -> None:
    plain, mixed = np.empty(6, dtype=object), np.empty(6, dtype=object)
    plain[:], mixed[:] = DAYS, DAYS
    mixed[0] = odd
    first, second = (list(_quick("k", values, SCHEMA)) for values in (plain, mixed))
    assert first[1:] == second[1:]


def test_lists_of_labels_are_read_one_by_one() -> None:
    """In an array one float would make floats of all; classes it would merge are refused."""
    with pytest.raises(SchemaError, match="as floats, got two alike"):
        merging = PrivateDecisionTreeClassifier(bounds=(0, 1), classes=[2**53, 2**53 + 1])
        merging.fit([[0.0], [1.0]], [2**53, 2**53 + 1])
    classes = [2**53, 2**53 + 2]
    rows = [[0.0], [1.0]] * 500
    for first in (2**53, 0.5):
        model = PrivateDecisionTreeClassifier(
            epsilon=50.0, bounds=(0, 1), classes=classes, max_depth=1, random_state=0
        )
        model.fit(rows, [first, *[classes[place % 2] for place in range(1, 1_000)]])
        assert model.predict_proba([[1.0]])[0, 1] > 0.9


def test_a_level_without_a_split_is_no_failure() -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"a": draw.choice(["x", "y"], 200), "t": draw.choice(["n", "y"], 200)})
    schema = dc.Schema(
        {
            "a": dc.Category("x", "y", missing=False, other=False),
            "t": dc.Category("n", "y", missing=False, other=False),
        },
        target="t",
    )
    for seed in range(6):
        session = dc.protect(
            frame, schema, dataset="d", epsilon=9.0, ledger=":memory:", seed=seed, relation="add-remove"
        )
        plan = dc.decision_tree("t", depth=3, mechanism="stability", epsilon=1.0)
        assert session.release(plan).value.predict(frame).shape == (200,)
        assert session.release(dc.random_forest("t", method="random", depth=4, epsilon=1.0)).value
