"""Variances: their intervals hold, their strategies follow public facts, their bounds are attained."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data.blocks import Block
from discreet.plans import Setting
from discreet.privacy.relation import RELATIONS, REPLACE_ONE
from discreet.statistics.spread import certify_squares, squares_about_mean
from tests.laws.examples import Example
from tests.statistics.coverage import LEAST, answers, held, people, setting_of

EXAMPLES = [
    Example("variance", lambda _: dc.variance("income", epsilon=1.0)),
    Example("variance", lambda _: dc.variance("age", clip=(20, 60), epsilon=500.0)),
    Example("std", lambda _: dc.std("debt", epsilon=1.0)),
]


@pytest.mark.once_per("name", "relation")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [400, 20_000])
@pytest.mark.parametrize("column", ["gain", "age", "odd"])
@pytest.mark.parametrize("name", ["variance", "std"])
def test_intervals_hold(name: str, column: str, rows: int, relation: str) -> None:
    frame = people(rows)
    exact = float(frame[column].var(ddof=0))
    exact = exact if name == "variance" else exact**0.5
    found = answers(getattr(dc, name)(column, epsilon=1.0), relation, frame, 200)
    assert held(found, exact) > LEAST > held(found, exact, 1 / 4)


@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_noise_holds_as_well(relation: str) -> None:
    frame = people(20_000)
    plan = dc.variance("age", epsilon=1.0, delta=1e-6, mechanism="gaussian")
    assert held(answers(plan, relation, frame, 200), float(frame["age"].var(ddof=0))) > LEAST


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_few_records_give_an_answer_that_can_be(relation: str) -> None:
    for rows in (1, 2):
        for one in answers(dc.variance("odd", epsilon=0.1), relation, people(rows), 40):
            assert 0 <= one.low <= one.value <= one.high <= 36


def test_a_mean_in_the_middle_pays_where_there_are_records_enough() -> None:
    """A quarter of the noise that the variance itself needs, less what finding the mean costs."""
    direct = dc.variance("age", epsilon=1.0).prepare(setting_of(REPLACE_ONE, 400)).stages
    assert len(direct) == 1
    frame = people(40_000)
    errors = np.array(
        [one.value for one in answers(dc.variance("age", epsilon=1.0), REPLACE_ONE, frame)]
    )
    needed = np.sqrt(2) * 72**2 / 40_000
    assert np.std(errors - frame["age"].var(ddof=0)) < 0.5 * needed


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.proves("variance-replace")
def test_squares_about_the_mean_move_by_no_more(size: int) -> None:
    grid, bound = np.linspace(0, 1, 5), certify_squares(size).sensitivity("l1", REPLACE_ONE)
    found = farthest(size, grid)
    assert found <= bound
    if size > 1:
        assert found == pytest.approx(bound, rel=1e-9)


@pytest.mark.refutes("variance-replace")
def test_a_bound_of_a_quarter_is_caught() -> None:
    """Planted: the greatest variance in place of how far its sum may move."""
    assert farthest(3, np.linspace(0, 1, 5)) > 0.25


def farthest(size: int, grid: np.ndarray) -> float:
    """Return how far the squares move at most over all tables of a grid and all replacements."""
    found = {
        table: squares_about_mean(np.array(table)) for table in itertools.product(grid, repeat=size)
    }
    return max(
        abs(found[table] - found[(*table[:i], other, *table[i + 1 :])])
        for table in found
        for i in range(size)
        for other in grid
    )


class Centred:
    """Answers the first stage so that the mean is found at a place, and keeps the second."""

    def __init__(self, at: float, rows: int) -> None:
        self.sum, self.squares = (at - 0.5) * rows, None

    def answer(self, *stages: Any) -> list[np.ndarray]:
        if stages[0].name == "sum":
            return [np.array([self.sum])]
        self.squares = stages[0]
        return [np.array([1.0])]


def squares_about(at: float) -> Any:
    """Return the stage that adds up squares about a mean that was released."""
    schema, rows = dc.Schema({"x": dc.Number(0, 1, missing=False)}), 100_000
    found = Centred(at, rows)
    dc.variance("x", epsilon=1.0).prepare(Setting(schema, REPLACE_ONE, rows)).finish(found)
    return found.squares


@pytest.mark.proves("variance-centred")
@pytest.mark.parametrize("centre", [0.0, 0.2, 0.5, 0.9])
def test_squares_about_a_released_number_stay_below_the_farther_end(centre: float) -> None:
    stage = squares_about(centre)
    grid = np.linspace(0, 1, 101)[:, None]
    squares = stage.contribution.compute(Block(0, ("x",), grid))
    exact = stage.contribution.certificate
    for relation in RELATIONS:
        bound = exact.sensitivity("l1", relation)
        assert np.ptp(squares) <= squares.max() <= bound <= max(centre, 1 - centre) ** 2 * (1 + 1e-12)
        assert stage.certificate.sensitivity("l1", relation) >= bound


@pytest.mark.refutes("variance-centred")
def test_the_nearer_end_is_caught() -> None:
    squares = squares_about(0.2).contribution.compute(Block(0, ("x",), np.linspace(0, 1, 101)[:, None]))
    assert np.ptp(squares) > min(0.2, 0.8) ** 2


def test_units_are_squared() -> None:
    schema = dc.Schema({"x": dc.Number(0, 10, missing=False, unit="kg")})
    for plan, unit in ((dc.variance("x", epsilon=1.0), "kg²"), (dc.std("x", epsilon=1.0), "kg")):
        program = plan.prepare(Setting(schema, "add-remove", None))

        class Fixed:
            def answer(self, *stages: Any) -> list[np.ndarray]:
                return [np.array([30.0, 40.0, 30.0])]

        assert program.finish(Fixed()).unit == unit  # type: ignore[attr-defined]
