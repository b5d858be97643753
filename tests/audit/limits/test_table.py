"""The table of bounds: ours never below, vacuous ones said to be so."""

from __future__ import annotations

import math

import pytest

from discreet.audit.limits.table import LowerBound, lower_bounds
from discreet.errors import ArgumentError


def test_ours_is_never_below_a_bound() -> None:
    frame = lower_bounds(rows=(100, 5_000), columns=(4, 50), epsilons=(0.5, 3.0), delta=1e-7, k=2)
    assert set(frame.columns) == {
        "question", "n", "d", "epsilon", "delta", "lower bound", "ours", "ratio", "vacuous", "source"
    }  # fmt: skip
    told = frame[~frame["vacuous"]]
    assert len(told) > 40 and (told["ratio"] >= 1 - 1e-9).all()
    assert (frame.loc[frame["vacuous"], "ratio"] == math.inf).all()
    assert not frame.duplicated().any()


def test_a_bound_without_a_constant_is_vacuous() -> None:
    frame = lower_bounds(rows=(100,), columns=(4,), epsilons=(1.0,), k=2)
    told = frame[frame["source"].str.contains("without a constant")]
    assert len(told) == 1 and bool(told["vacuous"].iloc[0])


def test_a_gap_that_so_few_records_cannot_have_is_vacuous() -> None:
    frame = lower_bounds(rows=(20,), columns=(6,), epsilons=(0.1,))
    gaps = frame[frame["question"].str.contains("gap")]
    assert gaps["vacuous"].all()


def test_a_line_says_where_a_bound_is_vacuous() -> None:
    empty = LowerBound("mean", 100, 1, 1.0, 1e-6, 0.0, 0.2, "fingerprinting")
    assert str(empty) == "mean: the bound is vacuous at n=100, d=1, epsilon=1, delta=1e-06"
    full = LowerBound("mean", 100, 1, 1.0, 0.0, 0.1, 0.2, "packing")
    assert str(full) == "mean: 0.1, ours 0.2 (2x), at n=100, d=1, epsilon=1, delta=0"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": (0,)}, "rows must be"),
        ({"rows": 5}, "rows must be a list, got 5. Give one number as"),
        ({"columns": ()}, "columns must be at least one number, got none"),
        ({"k": 6}, "k must be"),
        ({"delta": 0.0}, "delta must be"),
    ],
)
def test_wrong_sizes_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        lower_bounds(**wrong)  # type: ignore[arg-type]
