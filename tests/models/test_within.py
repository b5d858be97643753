"""Answers to public rows against the bounds that were given: refused, told or left alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import discreet as dc
from discreet.errors import ModelError
from discreet.models import Model
from discreet.models.within import PublicAnswers
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray
from tests.models.zoo import NUMBERS

UNIT = Box(0.0, 1.0)


def always(value: float) -> Model:
    def constant(rows: FloatArray) -> FloatArray:
        return np.full(len(rows), value)

    return Model(constant, bounds=(0, 1), name=f"always {value}")


def by_age(rows: FloatArray) -> FloatArray:
    return rows[:, 0] / 40


def loans_session() -> dc.Session:
    return dc.protect(
        dc.samples.loans(300), dc.samples.loan_schema(), dataset="loans", ledger=":memory:", epsilon=1.0
    )


def test_counts_what_is_outside_beyond_rounding() -> None:
    answers = np.array([-0.5, 0.0, 1.0 + 2.0**-24, 0.5, np.nan, 1.7])
    found = PublicAnswers.of(answers, UNIT)
    assert (found.rows, found.outside, found.least, found.greatest) == (5, 2, -0.5, 1.7)
    assert found.told() == ("answers outside 0 to 1 are clipped: 40 % of those to public rows",)


def test_answers_at_an_end_to_rounding_are_not_refused() -> None:
    """XGBoost adds in single precision: its least answer is next to that of exact sums."""
    PublicAnswers.of(np.full(3, -(2.0**-24)), UNIT).check("value")
    PublicAnswers.of(np.full(3, 1 + 2.0**-24), UNIT).check("value")
    for outside in (-(2.0**-18), 1 + 2.0**-18):
        with pytest.raises(ModelError, match="must hold some"):
            PublicAnswers.of(np.full(3, outside), UNIT).check("value")


def test_answers_inside_and_models_that_answer_nothing_are_left_alone() -> None:
    for answers in (np.array([0.0, 1.0]), np.full(3, np.nan), np.zeros(0)):
        found = PublicAnswers.of(answers, UNIT)
        found.check("probability")
        found.check_scores()
        assert found.told() == ()


@pytest.mark.parametrize(
    "plan",
    [
        lambda model: dc.evaluate(model, epsilon=0.1),
        lambda model: dc.partial_dependence(model, "age", epsilon=0.1),
        lambda model: dc.permutation_importance(model, epsilon=0.1),
        lambda model: dc.shap_importance(model, background=dc.samples.loans(20), epsilon=0.1),
    ],
)
def test_nothing_is_spent_on_answers_that_are_all_outside(plan) -> None:  # type: ignore[no-untyped-def]
    session = loans_session()
    with pytest.raises(ModelError, match=r"got 0 to 1 and answers of 1\.7 on public rows: clipped"):
        session.release(plan(always(1.7)))
    assert session.remaining.loss == 1.0


def test_a_probability_outside_0_and_1_is_refused() -> None:
    model = Model(by_age, output="probability", name="age")
    with pytest.raises(ModelError, match=r"probabilities between 0 and 1, got 0\.\d* to 2\.\d* on"):
        model.bind(NUMBERS)


def test_scores_that_are_evaluated_must_be_inside() -> None:
    model = Model(by_age, bounds=(0, 1), name="age", columns=["age"])
    session = loans_session()
    with pytest.raises(ModelError, match=r"every score of a model that is evaluated, got 0 to 1 and"):
        session.release(dc.evaluate(model, epsilon=0.1))
    assert session.remaining.loss == 1.0

    def inside(rows: FloatArray) -> FloatArray:
        return np.clip(by_age(rows), 0, 1)

    within = Model(inside, bounds=(0, 1), name="in", columns=["age"])
    session.release(dc.evaluate(within, epsilon=0.1))


def test_narrow_bounds_stay_a_choice_and_are_told() -> None:
    model = Model(by_age, bounds=(0, 1), name="age", columns=["age"])
    told = loans_session().release(dc.partial_dependence(model, "age", epsilon=0.1)).guarantee
    assert any("answers outside 0 to 1 are clipped" in text for text in told.assumptions)


def test_certified_intervals_are_never_left() -> None:
    rows = NUMBERS.draw(50)[:, :2]
    model = LinearRegression().fit(rows, rows[:, 0])
    bound = Model(model, bounds=NUMBERS).bind(NUMBERS)
    assert bound.public is not None
    assert bound.public.outside == 0
