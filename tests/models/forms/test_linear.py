"""Weighted sums: the fused form is the model, for every row by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from discreet.errors import ModelError
from discreet.models import LinearForm, Model
from discreet.models.forms import kernels
from discreet.models.forms.linear import linear_form
from discreet.schema import Category, Number, Schema
from tests.models.zoo import NUMBERS, SCHEMA, fit, fitted, numbers_only, one_hot_pipeline, training
from tests.schema.strategies import hostile

ROWS = np.asfortranarray(numbers_only(named=False))


@pytest.mark.parametrize("class_", [0, 1])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", ["logistic", "scaled logistic"])
def test_logistic_forms_equal_their_models(name: str, named: bool, class_: int) -> None:
    estimator = fitted(name, named)
    bound = Model(estimator, class_=class_).bind(NUMBERS)
    assert isinstance(bound.form, LinearForm) and bound.form.logistic
    expected = estimator.predict_proba(numbers_only(named))[:, class_]
    np.testing.assert_allclose(bound.form.predict(ROWS), expected, rtol=0, atol=1e-12)
    margin = Model(estimator, class_=class_, output="margin", bounds=(-9, 9)).bind(NUMBERS)
    assert isinstance(margin.form, LinearForm) and not margin.form.logistic
    expected = (2 * class_ - 1) * estimator.decision_function(numbers_only(named))
    np.testing.assert_allclose(margin.form.predict(ROWS), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        LinearRegression(),
        Lasso(0.01),
        ElasticNet(0.01),
        Ridge(fit_intercept=False),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(StandardScaler(with_mean=False), Ridge()),
        make_pipeline(StandardScaler(with_std=False), Ridge()),
    ],
)
def test_regressors_equal_their_forms(estimator: Any) -> None:
    fit(estimator, numbers_only(), training()[1])
    form = Model(estimator, bounds=(-2, 2)).bind(NUMBERS).form
    assert form is not None
    np.testing.assert_allclose(
        form.predict(ROWS), estimator.predict(numbers_only()), rtol=0, atol=1e-12
    )


class Twisted(LogisticRegression):
    """Has coefficients, and does something else with them."""

    def predict_proba(self, rows: Any) -> Any:
        return super().predict_proba(rows)[:, ::-1]


OTHERS: dict[str, Callable[[], Any]] = {
    "forest": lambda: fitted("forest"),
    "scaled network": lambda: fitted("network"),
    "three classes": lambda: fit(
        LogisticRegression(max_iter=5_000), numbers_only(), training()[0]["level"]
    ),
    "other scaler": lambda: on_numbers(make_pipeline(MinMaxScaler(), LogisticRegression())),
    "two scalers": lambda: on_numbers(
        make_pipeline(StandardScaler(), StandardScaler(), LogisticRegression())
    ),
    "not theirs": lambda: on_numbers(Twisted()),
}


def on_numbers(estimator: Any) -> Any:
    return fit(estimator, numbers_only(), training()[1])


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_have_no_form(name: str) -> None:
    assert linear_form(OTHERS[name](), "probability", 1) is None


def test_forms_only_for_what_was_asked() -> None:
    assert linear_form(fitted("logistic"), "value", 1) is None
    assert linear_form(fitted("ridge"), "probability", 1) is None
    assert linear_form(fitted("ridge"), "value", 1) is not None
    assert linear_form(LogisticRegression(), "probability", 1) is None
    assert Model(one_hot_pipeline()).bind(SCHEMA).form is None
    # A frame with original values is not the encoding the weights would be applied to.
    coded = Schema(
        {
            "age": Number(18, 90, missing=False),
            "income": Category(10, 20, missing=False, other=False),
            "paid": Category(0, 1, missing=False, other=False),
        },
        target="paid",
    )
    assert Model(fitted("logistic")).bind(coded).form is None


def test_a_form_that_disagrees_with_its_model_is_not_used() -> None:
    estimator = fit(LogisticRegression(), numbers_only(), training()[1])
    honest = Model(estimator).bind(NUMBERS)
    estimator.predict_proba = lambda rows: np.column_stack(
        [np.full(len(rows), 0.2), np.full(len(rows), 0.8)]
    )
    assert isinstance(honest.form, LinearForm)
    assert Model(estimator).bind(NUMBERS).form is None


@hostile
@given(
    st.lists(st.floats(-2_000, 2_000), min_size=1, max_size=5),
    st.lists(st.floats(-2_000, 2_000), min_size=1, max_size=5),
)
def test_far_scores_and_shifts_meet(scores: list[float], shifts: list[float]) -> None:
    """Once scores beyond 300 were cut before their shift was added, and curves went flat."""
    form = LinearForm(np.ones(1), 0.0, logistic=True)
    found = form.shifted(np.array(scores), np.array(shifts))
    total = np.add.outer(scores, shifts)
    expected = np.exp(-np.logaddexp(0.0, -total))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    plain = LinearForm(np.ones(1), 0.0, logistic=False)
    np.testing.assert_array_equal(plain.shifted(np.array(scores), np.array(shifts)), total)


def test_an_unscaled_model_keeps_its_curve() -> None:
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[0.0, 0.01]]), np.array([-1_000.0])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    schema = Schema({"age": Number(18, 90, missing=False), "income": Number(0, 1e5, missing=False)})
    form = Model(model).bind(schema).form
    assert form is not None
    grid = np.array([0.0, 9e4, 99_900.0, 1e5])
    curve = form.shifted(form.scores(np.array([[20.0, 0.0]])), 0.01 * grid)[0]
    expected = model.predict_proba(np.column_stack([np.full(4, 20.0), grid]))[:, 1]
    np.testing.assert_allclose(curve, expected, rtol=1e-9, atol=1e-300)


def test_weights_and_columns_must_fit() -> None:
    form = LinearForm(np.ones(2), 0.0, logistic=True)
    for width in (1, 3):
        with pytest.raises(ModelError, match="must have 2 columns"):
            form.scores(np.zeros((4, width)))


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("name", ["logistic", "scaled logistic", "scaled ridge"])
def test_compiled_predictions_know_no_companions(name: str) -> None:
    """Bit for bit the same alone, in any order, in any memory layout: no companion has to be paid."""
    output = {"bounds": (-9, 9)} if "ridge" in name else {}
    form = Model(fitted(name), **output).bind(NUMBERS).form  # type: ignore[arg-type]
    assert form is not None
    grid = np.linspace(-3, 3, 11)

    def curves(rows: np.ndarray) -> np.ndarray:
        return form.shifted(form.scores(rows), grid)

    whole = curves(ROWS)
    assert curves(np.ascontiguousarray(ROWS)).tobytes() == whole.tobytes()
    order = np.random.default_rng(0).permutation(len(ROWS))
    assert curves(ROWS[order]).tobytes() == whole[order].tobytes()
    for size in (1, 2, 3, 5, 8, 17):
        for start in range(0, 60, size):
            assert curves(ROWS[start : start + size]).tobytes() == whole[start : start + size].tobytes()


@pytest.mark.parametrize("far", [1.0, 400.0])
def test_the_compiled_loops_are_the_ones_that_are_read(far: float) -> None:
    weights = np.array([0.5, -3.0])
    columns = np.ascontiguousarray(ROWS.T)
    scores = kernels.linear_scores(columns, weights, 0.1)
    assert kernels.linear_scores.py_func(columns, weights, 0.1).tobytes() == scores.tobytes()
    scores, shifts = np.array([-far, -2.0, 0.0, far]), np.array([-far, -1.0, 0.0, far])
    for loop in (kernels.shifted_logistic, kernels.shifted_identity):
        compiled, read = np.empty((4, 4)), np.empty((4, 4))
        loop(scores, shifts, compiled)
        with np.errstate(over="ignore"):
            loop.py_func(scores, shifts, read)
        np.testing.assert_allclose(compiled, read, rtol=1e-14)
