"""What the caller has set decides nothing about a release, on any thread, and is left as it was."""

from __future__ import annotations

import decimal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import discreet as dc
from discreet.data import ModelCalls, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, isolated
from discreet.data.state import own_state, thread_state
from discreet.errors import DiscreetError
from discreet.plans import Plan
from discreet.privacy.certificate import Box

SCHEMA = dc.Schema(
    {"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, step=0.25, missing=False)}
)
DRAW = np.random.default_rng(0)
ROWS = pd.DataFrame(DRAW.uniform(0, 1, (BLOCK_ROWS + 50, 2)), columns=["a", "b"])
ROWS.iloc[::100] = 3e-310  # subnormal: the least operation underflows
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0).fit(
    ROWS.to_numpy(), ROWS["a"] > ROWS["b"]
)


def touchy(rows: np.ndarray) -> np.ndarray:
    """Warn, underflow, and divide in decimals: everything a caller's state can turn into an error."""
    warnings.warn("a row", stacklevel=1)
    third = float(decimal.Decimal("0.123456789") / 3)
    return np.exp(-800 * rows[:, 0]) * rows[:, 1] + third


def vague(frame: pd.DataFrame) -> list[float]:
    return [float(np.mean(touchy(frame.to_numpy()))), 0.0, 1.0]


def plans() -> list[Plan]:
    model = dc.Model(touchy, bounds=(0, 2), name="touchy")
    return [
        dc.partial_dependence(FOREST, "b", resolution=3, epsilon=1.0),
        dc.partial_dependence(model, "b", resolution=3, epsilon=1.0),
        dc.shap_values(model, ROWS.iloc[1], epsilon=1.0),
        dc.any_curve(vague, grid=[0, 1, 2], bounds=(0, 2), subsets=5, name="vague", epsilon=1.0),
        dc.histogram("b", epsilon=1.0),
    ]


@contextmanager
def hostile() -> Iterator[None]:
    """Turn everything that can be turned into an error into one."""
    strict = decimal.Context(prec=2, traps=[decimal.Inexact, decimal.Rounded])
    with np.errstate(all="raise"), decimal.localcontext(strict), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextmanager
def loud() -> Iterator[None]:
    with np.errstate(all="warn"), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    assert not heard


def found(workers: int) -> list[Any]:
    session = dc.protect(
        ROWS, SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", seed=1, workers=workers
    )
    session.price(plans())
    return [release.value for release in session.release(plans())]


@pytest.mark.proves("own-state")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("state", [hostile, loud])
def test_a_release_is_the_same_in_every_state(state: Any, workers: int) -> None:
    with state():
        before = np.geterr(), repr(decimal.getcontext()), list(warnings.filters)
        there = found(workers)
        assert (np.geterr(), repr(decimal.getcontext()), list(warnings.filters)) == before
    assert there == found(1)


@pytest.mark.refutes("own-state")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_state_that_is_not_our_own_is_caught(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.data.state.thread_state", nullcontext)
    monkeypatch.setattr("discreet.data.engine.thread_state", nullcontext)
    expected = found(1)
    with hostile():
        try:
            there = found(workers)
        except (DiscreetError, FloatingPointError, Warning):  # the state that was let in
            there = []
    assert there != expected


@pytest.mark.proves("own-state")
def test_what_a_model_sets_is_gone_with_its_block() -> None:
    """Nothing set while one block is summed reaches the next."""
    seen: list[tuple[Any, int]] = []

    def careless(block: Block) -> np.ndarray:
        seen.append((np.geterr()["under"], decimal.getcontext().prec))
        np.seterr(all="raise")
        decimal.getcontext().prec = 3
        return np.zeros((len(block), 1))

    known = ModelCalls(ThirdParty.of(isolated()), lipschitz=1.0)
    contribution = VectorContribution(("a",), 1, Box(0, 1), 0.0, careless, calls=known)
    with np.errstate(all="warn"):
        add_up(PrivateTable(ROWS, SCHEMA), [Summand(contribution, 1.0)])
        assert np.geterr()["under"] == "warn"
    assert seen == [("ignore", 28)] * 2


@pytest.mark.proves("own-state")
def test_what_a_model_sets_is_gone_with_its_call() -> None:
    """Nothing a model sets reaches our own arithmetic on subnormal rows, nor its next call."""
    seen: set[tuple[Any, int]] = set()

    def careless(rows: np.ndarray) -> np.ndarray:
        seen.add((np.geterr()["under"], decimal.getcontext().prec))
        np.seterr(all="raise")
        decimal.getcontext().prec = 3
        return rows[:, 0] + 0.0

    session = dc.protect(ROWS, SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", seed=1)
    model = dc.Model(careless, bounds=(0, 1), name="careless")
    plan = dc.shap_importance(model, background=ROWS.iloc[:2], epsilon=1.0)
    assert session.release(plan).guarantee.epsilon == 1.0
    assert seen == {("ignore", 28)}


def test_states_are_restored_after_errors() -> None:
    for state in (own_state, thread_state):
        with np.errstate(all="raise"), pytest.raises(ValueError, match="mine"), state():
            assert np.geterr()["over"] == "ignore"
            raise ValueError("mine")
        assert np.geterr()["over"] == "warn"
