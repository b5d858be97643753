"""The probe: how much it asks, what it remembers, and what counts as single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ModelError
from discreet.models.probe import DOUBLE, SINGLE, is_single

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "b": dc.Number(-3, 9, step=3, missing=False),
        "h": dc.Category("x", "y", missing=False, other=False),
    }
)
WIDE = dc.Schema(
    {f"n{place}": dc.Number(0, 1, missing=False) for place in range(60)}
    | {
        f"h{place}": dc.Category(*map(str, range(40)), missing=False, other=False)
        for place in range(20)
    }
)


class Counted:
    """Counts its calls where nobody looks."""

    calls: list[int] = []  # noqa: RUF012

    def __call__(self, rows: Any) -> Any:
        self.calls.append(len(rows))
        return rows[:, 0] / 3


@pytest.mark.parametrize("schema", [SCHEMA, WIDE], ids=["small", "wide"])
def test_at_most_two_hundred_calls_and_never_twice(schema: dc.Schema) -> None:
    model = dc.Model(Counted(), bounds=(0, 1))
    Counted.calls.clear()
    model.bind(schema)
    assert 50 <= len(Counted.calls) <= 200 and len(set(Counted.calls)) == 1
    Counted.calls.clear()
    model.bind(schema)
    assert len(Counted.calls) == 1, "public rows once, to see how rows are handed over"


def honest(rows: Any) -> Any:
    return rows[:, 0] / 3


def looking(rows: Any) -> Any:
    return rows[:, 0] / 3 + rows[:, 0].mean() / 3


def test_a_name_does_not_vouch_for_another_function() -> None:
    dc.Model(honest, bounds=(0, 1), name="f").bind(SCHEMA)
    with pytest.raises(ModelError, match="must answer every row by itself"):
        dc.Model(looking, bounds=(0, 1), name="f").bind(SCHEMA)


@pytest.mark.parametrize(
    ("answers", "single"),
    [
        (np.float32(np.random.default_rng(0).uniform(size=50)).astype(np.float64), True),
        (np.random.default_rng(0).uniform(size=50), False),
        (np.array([0.0, 1.0, 1.0]), False),
        (np.arange(4_000.0), False),
        (np.array([0.25, 0.625, np.nan]), False),
        (np.array([0.5, np.float32(0.1)], dtype=np.float64), True),
        (np.array([np.nan, np.inf]), False),
    ],
)
def test_short_numbers_are_not_taken_for_single_precision(answers: Any, single: bool) -> None:
    assert is_single(answers) is single


@pytest.mark.parametrize(("share", "batch_error"), [(2.0**-42, DOUBLE), (2.0**-30, SINGLE)])
def test_what_moves_a_little_is_paid_for(share: float, batch_error: float) -> None:
    model = dc.Model(lambda rows: rows[:, 0] / 3 + share * rows[:, 0].mean(), bounds=(0, 2))
    assert model.bind(SCHEMA).batch_error("replace-one") == 2 * batch_error
