"""What the curator is told of a table beside its schema: exact, for nobody else."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import AccessDenied

SCHEMA = dc.Schema(
    {
        "bmi": dc.Number(10, 60, missing=False),
        "age": dc.Number(0, 100, step=1),
        "sex": dc.Category("F", "M", unknown="F"),
        "smoker": dc.Category("no", "yes"),
    }
)
FRAME = pd.DataFrame(
    {
        "bmi": [np.nan, 9.0, 20.0, 70.0, 80.0],
        "age": [30.0, 30.5, 31.0, np.nan, 200.0],
        "sex": ["F", None, "X", "M", "M"],
        "smoker": [True, True, False, False, False],
    }
)


def session(analyst: str | None = None) -> dc.Session:
    return dc.protect(FRAME, SCHEMA, dataset="d", epsilon=1, ledger=":memory:", seed=1, analyst=analyst)


def test_every_column_is_told_by_its_shares() -> None:
    told = session().check().to_frame()
    columns = ["missing", "unlisted", "below", "above", "moved", "constant"]
    assert told.loc["bmi", columns].tolist() == [0.2, 0, 0.2, 0.4, 0, False]
    assert told.loc["age", columns].tolist() == [0.2, 0, 0, 0.2, 0.2, False]
    assert told.loc["sex", columns].tolist() == [0.2, 0.2, 0, 0, 0, False]
    assert told.loc["smoker", columns].tolist() == [0, 1.0, 0, 0, 0, True]


def test_it_is_read_as_sentences() -> None:
    text = str(session().check())
    assert text.startswith("FOR THE CURATOR ONLY")
    assert "smoker: 100% not among the values: check spelling and kind; one value only" in text


def test_it_costs_nothing_and_cannot_leave() -> None:
    asked = session()
    found = asked.check()
    assert asked.remaining.amount == session().remaining.amount
    with pytest.raises(AccessDenied, match="cannot be saved"):
        pickle.dumps(found)


@pytest.mark.parametrize(
    ("how", "unread"),
    [({}, ""), ({"rows": "one"}, "; 3 rows do not count")],
    ids=["weighted", "one"],
)
def test_the_rows_of_persons_are_told(how: dict[str, Any], unread: str) -> None:
    schema = dc.Schema({"age": SCHEMA["age"]}, person="who", **how)
    rows = FRAME.assign(who=["secret-1", "secret-1", "secret-1", None, None])
    table = dc.protect(rows, schema, dataset="d", epsilon=1, ledger=":memory:")
    told = str(table.check())
    assert (
        f"who: 2 persons in 5 rows, at most 3 of one; 2 rows without an id are one person{unread}"
        in told
    )
    assert "secret" not in told
