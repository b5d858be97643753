"""Errors cross the border between processes with all that they hold."""

from __future__ import annotations

import pickle

import pytest

from discreet.errors import (
    ArgumentError,
    BudgetExhausted,
    DataRefused,
    DiscreetError,
    LedgerUnavailable,
    SettlementFailed,
    UnderWay,
)

ERRORS = [
    ArgumentError("x must be positive, got -1."),
    DataRefused("no", column="age", rule="missing"),
    BudgetExhausted("no", requested={"epsilon": "1"}, remaining={"epsilon": "0"}),
    LedgerUnavailable("It is busy. Try again.", what="It is busy."),
    UnderWay("wait", since="2026-01-01T00:00:00Z", reservation="ab"),
    SettlementFailed("kept", releases=[1], reservations=[2], unsettled=[{"seal": "x"}]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_an_error_survives_the_way_out_of_a_pool(error: DiscreetError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
