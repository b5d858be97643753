"""Calls of one public shape: what code that is not ours sees, and what its failures do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.calls import CALL_ROWS, CallShape, RowCalls
from discreet.errors import ModelError
from discreet.privacy.guarantee import MODEL_DEAD
from discreet.schema import FloatArray

SCHEMA = dc.Schema(
    {
        "a": dc.Number(-1, 3, missing=False),
        "n": dc.Number(0, 10, step=2, missing=False),
        "h": dc.Category("x", "y", "z", "w", missing=False, other=False),
    }
)
SHAPE = CallShape.of(SCHEMA, tuple(SCHEMA))
POISON = -7.0


def records(count: int, seed: int = 0) -> FloatArray:
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.uniform(0, 1, count), np.full(count, 4.0), draw.integers(0, 2, count)])


class Watched:
    """Remembers what it was called with."""

    def __init__(self, isolated: bool = False) -> None:
        self.seen: list[FloatArray] = []
        self.calls = RowCalls(self, SHAPE, isolated=isolated)

    def __call__(self, rows: FloatArray) -> FloatArray:
        self.seen.append(rows.copy(order="K"))
        if np.any(rows[:, 0] == POISON):
            raise SystemExit("a row")
        return rows[:, 0] * 2


def test_landmarks_hold_the_ends_and_every_category() -> None:
    marks = SCHEMA.landmarks()
    assert {-1.0, 3.0, 1.0} == set(marks[:, 0]) and {0.0, 10.0} <= set(marks[:, 1])
    assert set(marks[:, 2]) == {0.0, 1.0, 2.0, 3.0} and len(marks) == 4


@pytest.mark.proves("public-shape")
@pytest.mark.parametrize("count", [1, 3, 64, CALL_ROWS, CALL_ROWS + 1, 5_000])
def test_every_call_has_one_shape_and_public_rows_around(count: int) -> None:
    watched, rows = Watched(), records(count)
    np.testing.assert_array_equal(watched.calls(rows), rows[:, 0] * 2)
    assert {call.shape for call in watched.seen} == {SHAPE.batch(rows, 0, 0).shape}
    assert len(watched.seen) == -(-count // CALL_ROWS)
    start, held = len(SHAPE.first), count - (len(watched.seen) - 1) * CALL_ROWS
    for call in watched.seen:
        assert len(call) % 64 == 0 and call.flags.f_contiguous
        np.testing.assert_array_equal(call[:start], SCHEMA.landmarks())
        np.testing.assert_array_equal(call[-64:], SHAPE.blank[-64:])
    np.testing.assert_array_equal(watched.seen[-1][start + held :], SHAPE.blank[held:])


def places(calls: list[FloatArray], number: float) -> set[int]:
    return {int(place) for call in calls for place in np.flatnonzero(call[:, 0] == number)}


@pytest.mark.proves("public-shape")
def test_rows_keep_their_places_while_failures_are_looked_for() -> None:
    watched, rows = Watched(), records(700)
    rows[[5, 333, 699], 0] = POISON
    answers = watched.calls(rows)
    assert np.flatnonzero(np.isnan(answers)).tolist() == [5, 333, 699]
    np.testing.assert_array_equal(
        np.delete(answers, [5, 333, 699]), 2 * np.delete(rows[:, 0], [5, 333, 699])
    )
    for row in (0, 6, 334, 698):
        assert places(watched.seen, rows[row, 0]) == {len(SHAPE.first) + row}


@pytest.mark.proves("public-shape")
def test_an_isolated_call_holds_rows_of_one_record() -> None:
    watched, rows = Watched(isolated=True), records(60)
    rows[:, 0] = np.repeat(np.arange(20), 3) + 0.123
    rows[7, 0] = POISON
    answers = watched.calls(rows, per_record=3)
    assert np.flatnonzero(np.isnan(answers)).tolist() == [7]
    public = set(SHAPE.first[:, 0]) | set(SHAPE.blank[:, 0]) | {POISON}
    assert {len(set(call[:, 0]) - public) for call in watched.seen} <= {0, 1}
    assert len({call.shape for call in watched.seen}) == 1
    long = Watched(isolated=True)
    np.testing.assert_array_equal(
        long.calls(records(5_000), per_record=2_500), records(5_000)[:, 0] * 2
    )
    assert len(long.seen) == 4


# Models that die.


class Mortal:
    """Answers so many calls, then raises for ever, or calls itself for ever."""

    def __init__(self, lives: float, how: str = "raises") -> None:
        self.lives, self.how, self.calls = lives, how, 0

    def __call__(self, rows: FloatArray) -> FloatArray:
        self.calls += 1
        if self.calls > self.lives:
            if self.how == "recurses":
                return self(rows)
            raise ConnectionError("gone")
        if np.any(rows[:, 0] == POISON):
            raise ValueError("a row")
        return np.clip(rows[:, 0], 0, 1)


@pytest.mark.proves("dead-model")
@pytest.mark.parametrize("how", ["raises", "recurses"])
@pytest.mark.parametrize("lives", [0, 1, 5])
def test_a_dead_model_is_asked_no_more(lives: int, how: str) -> None:
    model = Mortal(lives, how)
    calls = RowCalls(model, SHAPE)
    rows = records(10 * CALL_ROWS)
    answers = calls(rows)
    assert calls.pulse.dead
    assert np.isnan(answers[lives * CALL_ROWS :]).all()
    assert np.isnan(calls(rows)).all(), "and later rows are filled at once"
    if how == "raises":
        assert model.calls == lives + 2, "once for records, once for public rows"


@pytest.mark.proves("dead-model")
def test_failing_records_are_no_death() -> None:
    model = Mortal(np.inf)
    calls, rows = RowCalls(model, SHAPE), records(4_000)
    rows[::2, 0] = POISON
    answers = calls(rows)
    assert not calls.pulse.dead
    np.testing.assert_array_equal(np.isnan(answers), rows[:, 0] == POISON)


class Capped(RowCalls):
    """A planted fault: after ten failures everything is filled."""

    def _ask(self, shape: Any, rows: FloatArray, first: int, after: int) -> FloatArray | None:
        said = super()._ask(shape, rows, first, after)
        FAILURES.append(said is None)
        if sum(FAILURES) > 10:
            self.pulse.dead = True
        return said


FAILURES: list[bool] = []


@pytest.mark.refutes("dead-model")
def test_a_cap_on_tries_is_caught() -> None:
    FAILURES.clear()
    rows = records(4_000)
    rows[5, 0] = rows[900, 0] = POISON
    filled = np.isnan(Capped(Mortal(np.inf), SHAPE)(rows)).sum()
    assert filled > 2 == np.isnan(RowCalls(Mortal(np.inf), SHAPE)(rows)).sum()


def session(rows: int = 9_000, **options: Any) -> dc.Session:
    frame = pd.DataFrame(records(rows), columns=list(SCHEMA)).assign(h="x")
    return dc.protect(
        frame, SCHEMA, dataset="d", ledger=":memory:", epsilon=9.0, progress=False, seed=1, **options
    )


LIFE = {"calls": 0, "lives": np.inf}


def mortal(rows: FloatArray) -> FloatArray:
    LIFE["calls"] += 1
    if LIFE["calls"] > LIFE["lives"]:
        raise ConnectionError("gone")
    return np.clip(rows[:, 0], 0, 1)


def curve(lives: float = np.inf) -> dc.Plan:
    LIFE.update(calls=0, lives=lives)
    model = dc.Model(mortal, bounds=(0, 1))
    return dc.partial_dependence(model, "n", resolution=3, rug=False, epsilon=5.0)


@pytest.mark.proves("dead-model")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_release_of_a_dead_model_says_so_and_is_all_fill(workers: int) -> None:
    plan, opened = curve(), session(workers=workers)
    opened.price(plan)
    LIFE["lives"] = LIFE["calls"] + 3  # it answers some of the records
    release = opened.release(plan)
    assert MODEL_DEAD in release.guarantee.assumptions
    np.testing.assert_allclose(release.value.y, 0.5, atol=0.01)
    assert dc.Release.loads(release.dumps()).guarantee == release.guarantee
    living = session().release(curve())
    assert MODEL_DEAD not in living.guarantee.assumptions


def test_a_model_that_dies_while_it_is_tried_is_refused() -> None:
    with pytest.raises(ModelError, match=r"every row by itself|stopped answering"):
        session().price(curve(lives=40))
