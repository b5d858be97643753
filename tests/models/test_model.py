"""Models through the adapter: right columns in, bounded numbers out, and no row to be seen."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from discreet.data import ModelCalls, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.calls import RowCalls
from discreet.errors import ModelError
from discreet.models import BoundModel, LinearForm, Model, as_model
from discreet.schema import Category, FloatArray, Schema
from tests.models.zoo import (
    ESTIMATORS,
    HOMES,
    NUMBERS,
    SCHEMA,
    encoded,
    fit,
    fitted,
    numbers_only,
    one_hot_pipeline,
    training,
)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_probabilities_of_the_second_class(name: str, named: bool) -> None:
    estimator = fitted(name, named)
    model = Model(estimator)
    bound = model.bind(NUMBERS)
    expected = estimator.predict_proba(numbers_only(named))[:, 1]
    rows = numbers_only(named=False)
    np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-12)
    assert bound.columns == ("age", "income")
    assert (model.output, model.class_index) == ("probability", 1)
    assert (bound.bounds.limits, bound.fill) == ((0.0, 1.0), 0.5)
    first = Model(estimator, class_=0).bind(NUMBERS).predict(rows)
    np.testing.assert_allclose(first, 1 - expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("named", [True, False])
def test_forests_with_threads_repeat_bit_for_bit(named: bool) -> None:
    bound = Model(fitted("forest", named)).bind(NUMBERS)
    rows = numbers_only(named=False)
    answers = {bound.predict(rows).tobytes() for _ in range(5)}
    assert len(answers) == 1


def test_work_handed_to_threads_stays_on_the_calling_one() -> None:
    """Forests add up their trees in whatever order threads finish."""
    seen: set[int] = set()

    def spreads(rows: FloatArray) -> FloatArray:
        jobs = (joblib.delayed(threading.get_ident)() for _ in range(8))
        seen.update(joblib.Parallel(n_jobs=2, require="sharedmem")(jobs))
        return rows[:, 0]

    Model(spreads, bounds=(0, 100)).bind(NUMBERS).predict(numbers_only(named=False))
    assert seen == {threading.get_ident()}


KINDS_OF_CATEGORIES = {
    "texts and ints": {},
    "objects": {
        "home": training()[0]["home"].astype(object),
        "level": training()[0]["level"].astype(object),
    },
    "categories": {
        "home": training()[0]["home"].astype("category"),
        "level": training()[0]["level"].astype("category"),
    },
    "small ints": {"level": training()[0]["level"].astype("int8")},
}


@pytest.mark.parametrize("kind", KINDS_OF_CATEGORIES)
def test_pipelines_get_frames_with_original_values(kind: str) -> None:
    columns = KINDS_OF_CATEGORIES[kind]
    pipeline = one_hot_pipeline(**columns)
    expected = pipeline.predict_proba(training()[0].assign(**columns))[:, 1]
    bound = Model(pipeline).bind(SCHEMA)
    np.testing.assert_allclose(bound.predict(encoded()), expected, rtol=0, atol=1e-12)
    assert bound.columns == SCHEMA.features
    assert bound.form is None


@pytest.mark.parametrize("columns", [["age", "home", "level"], ["age", "level"], ["home", "age"]])
def test_histogram_boosting_trained_on_categories(columns: list[str]) -> None:
    """Categories in another order than the schema's, as texts and as numbers."""
    frame = training()[0][columns]
    if "home" in frame:
        frame = frame.assign(home=pd.Categorical(frame["home"], categories=HOMES[::-1]))
    if "level" in frame:
        frame = frame.assign(level=frame["level"].astype("category"))
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype")
    fit(model, frame, training()[1])
    bound = Model(model).bind(SCHEMA)
    assert bound.columns == tuple(columns)
    rows = encoded()[:, [SCHEMA.position(name) for name in columns]]
    np.testing.assert_array_equal(bound.predict(rows), model.predict_proba(frame)[:, 1])


def test_columns_in_the_models_own_order() -> None:
    frame = training()[0][["income", "age"]]
    model = fit(RandomForestClassifier(5, random_state=0), frame, training()[1])
    bound = Model(model).bind(SCHEMA)
    assert bound.columns == ("income", "age")
    expected = model.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(bound.predict(frame.to_numpy()), expected, rtol=0, atol=1e-12)


def spy(seen: list[Any]) -> Any:
    def look(frame: Any) -> Any:
        seen.append(frame.copy())
        return frame

    return FunctionTransformer(look)


def test_the_target_and_the_id_never_reach_a_model() -> None:
    seen: list[Any] = []
    pipeline = make_pipeline(spy(seen), LogisticRegression(max_iter=5_000))
    fit(pipeline, training()[0][["age", "income"]], training()[1])
    seen.clear()
    Model(pipeline).bind(SCHEMA).predict(numbers_only(named=False))
    assert {tuple(frame.columns) for frame in seen} == {("age", "income")}
    matrices: list[FloatArray] = []

    def function(rows: FloatArray) -> FloatArray:
        matrices.append(rows)
        return rows[:, 0]

    Model(function, bounds=(0, 100)).bind(SCHEMA)
    assert {matrix.shape[1] for matrix in matrices} == {len(SCHEMA.features)}
    assert SCHEMA.target not in SCHEMA.features


def test_a_model_of_the_target_is_refused() -> None:
    frame = training()[0][["age"]].assign(paid=training()[1])
    model = fit(RandomForestClassifier(3), frame, training()[1])
    with pytest.raises(ModelError, match=r"got 'paid' besides.*check that it is not the target"):
        Model(model).bind(SCHEMA)


def test_a_model_of_other_columns_is_refused() -> None:
    frame = training()[0][["age"]].assign(height=1.0)
    model = fit(RandomForestClassifier(3), frame, training()[1])
    with pytest.raises(ModelError, match="must use features of the schema, got 'height' besides"):
        Model(model).bind(SCHEMA)
    with pytest.raises(ModelError, match="must take the schema's 4 features, got one with 2"):
        Model(fitted("logistic", named=False)).bind(SCHEMA)


def test_values_a_pipeline_does_not_know_are_refused_before_any_row() -> None:
    wider = Schema(
        {name: SCHEMA[name] for name in SCHEMA}
        | {"home": Category(*HOMES, "castle", missing=False, other=False)}
    )
    with pytest.raises(
        ModelError, match=r"must predict rows drawn from the schema.*Found unknown"
    ) as caught:
        Model(one_hot_pipeline()).bind(wider)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (RandomForestClassifier(), r"NotFittedError.*estimator\. Fit it first: model\.fit\(X, y\)\.$"),
        (
            RandomForestClassifier,
            r"Make one and fit it: RandomForestClassifier\(\.\.\.\)\.fit\(X, y\)\.$",
        ),
    ],
)
def test_a_model_that_is_not_fitted_is_told_the_next_step(model: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Model(model).bind(SCHEMA)


def test_margins() -> None:
    model = fit(SVC(), numbers_only(named=False), training()[1])
    rows = numbers_only(named=False)
    margin = model.decision_function(rows)
    second = Model(model, output="margin", bounds=(-5, 5))
    first = Model(model, output="margin", class_=0, bounds=(-5, 5))
    np.testing.assert_array_equal(second.bind(NUMBERS).predict(rows), margin)
    np.testing.assert_array_equal(first.bind(NUMBERS).predict(rows), -margin)


def test_several_classes() -> None:
    frame, three = numbers_only(), training()[0]["level"]
    names = three.map({1: "low", 2: "mid", 3: "top"})
    model = fit(LogisticRegression(max_iter=5_000), frame, names)
    rows = numbers_only(named=False)
    for place, name in enumerate(("low", "mid", "top")):
        chosen = Model(model, class_=name).bind(NUMBERS)
        np.testing.assert_array_equal(chosen.predict(rows), model.predict_proba(frame)[:, place])
        assert chosen.form is None
        margin = Model(model, class_=name, output="margin", bounds=(-99, 99)).bind(NUMBERS)
        np.testing.assert_array_equal(margin.predict(rows), model.decision_function(frame)[:, place])
    with pytest.raises(ModelError, match=r"class_ must name one of .* when there are not two classes"):
        Model(model)
    with pytest.raises(ModelError, match=r"class_ must be one of .*, got 'best'"):
        Model(model, class_="best")


def test_values_are_clipped_to_their_bounds() -> None:
    model = fit(Ridge(), numbers_only(), training()[1])
    bound = Model(model, bounds=(0.4, 0.6)).bind(NUMBERS)
    rows = numbers_only(named=False)
    expected = np.clip(model.predict(numbers_only()), 0.4, 0.6)
    np.testing.assert_allclose(bound.predict(rows), expected, rtol=1e-12)
    assert bound.predict(rows).min() == 0.4 and bound.predict(rows).max() == 0.6


# Functions, and what may go wrong in them.


def reading(rows: FloatArray) -> FloatArray:
    return rows[:, 1].copy()


def failing(rows: FloatArray) -> FloatArray:
    """Misbehave in every way, each on some rows of nobody's age; income 80 to 90 decides how."""
    answers = rows[:, 1].copy()
    incomes = np.where(rows[:, 0] == NOBODY, np.floor(rows[:, 1]), 0.0)
    for income in incomes:
        if income == 80:
            raise ValueError(f"row with {income}")
        if income == 81:
            sys.exit(3)
    answers[incomes == 82] = np.nan
    answers[incomes == 83] = np.inf
    answers[incomes == 84] = -np.inf
    answers[incomes == 85] = 1e9
    if np.any(incomes == 86):
        return answers[:-1]
    if np.any(incomes == 87):
        return np.array(["text"] * len(rows), dtype=object)
    if np.any(incomes == 88):
        return None  # type: ignore[return-value]
    return answers


NOBODY = -1.0
SPOILT = {80: 50, 81: 50, 82: 50, 83: 100, 84: 0, 85: 100, 86: 50, 87: 50, 88: 50}


def wrong_predictions(bound: BoundModel, rows: FloatArray) -> list[float]:
    """Return the incomes whose prediction is not the clipped, filled answer to that row alone."""
    try:
        found = bound.predict(rows)
    except Exception:
        return rows[:, 1].tolist()
    expected = [SPOILT.get(int(income), min(max(income, 0.0), 100.0)) for income in rows[:, 1]]
    wrong = ~((found == expected) & (found >= bound.bounds.low) & (found <= bound.bounds.high))
    return rows[wrong, 1].tolist()


def awkward_rows(count: int) -> FloatArray:
    draw = np.random.default_rng(count)
    incomes = draw.uniform(-20, 79, count)
    spoilt = draw.choice(count, count // 4, replace=False)
    incomes[spoilt] = draw.integers(80, 89, len(spoilt))
    return np.column_stack([np.full(count, NOBODY), incomes])


def bound_to(function: Any, kind: type[BoundModel] = BoundModel) -> BoundModel:
    model = Model(reading, bounds=(0, 100)).bind(NUMBERS)  # as if it had behaved when it was tried
    call = replace(model.call, model=function)  # type: ignore[type-var]
    return kind(model.columns, model.bounds, RowCalls(call, model.calls.shape), model.sight)


@pytest.mark.proves("clip-predictions")
@pytest.mark.parametrize("count", [1, 2, 7, 64, 1_000])
def test_only_the_rows_that_fail_get_the_middle(count: int) -> None:
    assert wrong_predictions(bound_to(failing), awkward_rows(count)) == []


@dataclass(frozen=True)
class Unclipped(BoundModel):
    def predict(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        raw = self.answer(rows)
        return np.where(np.isnan(raw), self.fill, raw)


@dataclass(frozen=True)
class Unfilled(BoundModel):
    def predict(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        return np.clip(self.answer(rows), self.bounds.low, self.bounds.high)


@dataclass(frozen=True)
class Unhalved(BoundModel):
    def answer(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        try:
            return self.call(rows)
        except BaseException:
            return np.full(len(rows), np.nan)


@dataclass(frozen=True)
class Unguarded(BoundModel):
    def answer(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        try:
            return self.call(rows)
        except SystemExit:
            raise RuntimeError("gone") from None


@pytest.mark.refutes("clip-predictions")
@pytest.mark.parametrize("kind", [Unclipped, Unfilled, Unhalved, Unguarded])
def test_a_forgotten_step_is_caught(kind: type[BoundModel]) -> None:
    assert wrong_predictions(bound_to(failing, kind), awkward_rows(200)) != []


def test_no_rows_are_no_predictions() -> None:
    def picky(rows: FloatArray) -> FloatArray:
        raise ValueError("never")

    assert bound_to(picky).predict(np.zeros((0, 2))).tolist() == []
    assert bound_to(picky).predict(np.zeros((3, 2))).tolist() == [50, 50, 50]


def test_the_person_at_the_keyboard_is_heard() -> None:
    def interrupted(rows: FloatArray) -> FloatArray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bound_to(interrupted).predict(np.zeros((3, 2)))


def test_a_model_may_write_into_what_it_gets() -> None:
    def greedy(rows: FloatArray) -> FloatArray:
        rows *= 2
        if np.any(rows[:, 1] == 160.5):
            raise ValueError
        return rows[:, 1] / 2

    rows = np.array([[1.0, 10.0], [1.0, 80.25], [1.0, 30.0]])
    kept = rows.copy()
    assert Model(greedy, bounds=(0, 100)).bind(NUMBERS).predict(rows).tolist() == [10, 50, 30]
    assert rows.tolist() == kept.tolist()
    scaled = fit(
        make_pipeline(StandardScaler(copy=False), RandomForestClassifier(5, random_state=0)),
        numbers_only(named=False).copy(),
        training()[1],
    )
    bound = Model(scaled).bind(NUMBERS)
    rows = numbers_only(named=False).copy()
    assert bound.predict(rows).tobytes() == bound.predict(rows).tobytes()
    assert np.array_equal(rows, numbers_only(named=False))
    named = fit(
        make_pipeline(make_column_transformer((spy([]), ["age", "income"])), LogisticRegression()),
        numbers_only(),
        training()[1],
    )
    Model(named).bind(NUMBERS).predict(rows)
    assert np.array_equal(rows, numbers_only(named=False))


def test_functions_that_print_rows_are_not_heard(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(rows: FloatArray) -> FloatArray:
        print("row", rows.tolist())
        print("row", rows.tolist(), file=sys.stderr)
        return rows[:, 1]

    bound = Model(loud, bounds=(0, 100)).bind(NUMBERS)
    capsys.readouterr()  # what it said about public rows
    contribution = VectorContribution(
        bound.columns,
        1,
        bound.bounds,
        bound.fill,
        lambda block: bound.predict(block.values)[:, None],
        calls=ModelCalls(bound.third_party, lipschitz=1.0),
    )
    rows = np.column_stack([np.full(9_000, 44.0), np.full(9_000, 73.91), np.zeros(9_000)])
    for workers in (1, 2):
        (total,) = add_up(PrivateTable(rows, NUMBERS), [Summand(contribution, 0.25)], workers=workers)
        assert total.tolist() == [9_000 * 296]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: rows[:, 0] - rows[:, 0].mean(),
        lambda rows: rows[:, 0] / np.sum(rows[:, 0]),
        lambda rows: np.arange(len(rows))[::-1] / len(rows),
        lambda rows: np.random.default_rng().uniform(size=len(rows)),
    ],
)
def test_answers_that_depend_on_other_rows_are_refused(function: Any) -> None:
    """No bound on one record would hold: one row would move the answers to all the others."""
    with pytest.raises(ModelError, match="must answer every row by itself"):
        Model(function, bounds=(0, 1)).bind(NUMBERS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rows: rows, r"one number per row, got shape \(\d+, 2\)"),
        (lambda rows: rows[:, 0].sum(), r"one number per row, got shape \(\)"),
        (lambda rows: ["a"] * len(rows), "ValueError: could not convert string to float"),
        (lambda rows: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_functions_that_fail_on_public_rows_are_refused(function: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model(function, bounds=(0, 1)).bind(NUMBERS)


def test_functions_may_answer_in_one_column() -> None:
    rows = np.array([[20.0, 30.0], [40.0, 50.0]])
    for output in ("value", "probability", "margin"):
        model = Model(lambda rows: rows[:, :1] / 100, output=output, bounds=(0, 1))  # type: ignore[arg-type]
        assert model.bind(NUMBERS).predict(rows).tolist() == [0.2, 0.4]
    both = Model(
        lambda rows: np.column_stack([1 - rows[:, 0] / 100, rows[:, 0] / 100]), output="probability"
    )
    assert both.bind(NUMBERS).predict(rows).tolist() == [0.2, 0.4]
    assert Model(lambda rows: [7] * len(rows), bounds=(0, 9)).bind(NUMBERS).predict(rows).tolist() == [
        7,
        7,
    ]


class Bare:
    """Neither an estimator nor a function."""


class Labels:
    """A classifier of the barest kind."""

    classes_ = np.array(["no", "yes"])

    def predict(self, rows: FloatArray) -> Any:
        return np.array(["no"] * len(rows))


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Bare(), {}, "must be an estimator or a function, got Bare"),
        (5, {"bounds": (0, 1)}, "must be an estimator or a function, got int"),
        (SVC().fit([[0], [1]], [0, 1]), {}, r"must have predict_proba, got SVC\. Use dc\.Model"),
        (Labels(), {}, "must have predict_proba, got Labels"),
        (Labels(), {"output": "probability"}, "must have predict_proba for output='probability'"),
        (Labels(), {"output": "margin"}, "must have decision_function for output='margin'"),
        (
            reading,
            {"output": "odds"},
            "output must be one of auto, probability, margin, value, got 'odds'",
        ),
        (reading, {}, "bounds must be given for a model whose output is not a probability"),
        (reading, {"bounds": (1, 0)}, r"bounds must be a finite low below a finite high, got \(1, 0\)"),
        (reading, {"bounds": (0, np.inf)}, "bounds must be a finite low"),
        (reading, {"bounds": (0, 1, 2)}, "bounds must be a finite low"),
        (reading, {"bounds": 5}, "bounds must be a finite low"),
        (reading, {"bounds": ("a", 1)}, "bounds must be a finite low"),
        (
            reading,
            {"bounds": (0, 1), "class_": 1},
            "class_ must be left out for a model without classes",
        ),
    ],
)
def test_models_that_are_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model(model, **options)


def test_objects_that_cannot_predict_are_refused_when_bound() -> None:
    with pytest.raises(ModelError, match="must predict rows drawn from the schema, but it failed"):
        Model(Bare(), output="value", bounds=(0, 1)).bind(NUMBERS)
    with pytest.raises(ModelError, match="NotFittedError"):
        Model(LogisticRegression()).bind(NUMBERS)
    with pytest.raises(ModelError, match="could not convert string"):
        Model(Labels(), output="value", bounds=(0, 1)).bind(NUMBERS)


def test_plans_get_no_model_to_keep() -> None:
    estimator = fitted("logistic")
    model = Model(estimator, bounds=(0.1, 0.9))
    described = model.describe()
    assert described == {
        "kind": "LogisticRegression",
        "fingerprint": model.fingerprint,
        "output": "probability",
        "class_index": 1,
        "bounds": [0.1, 0.9],
    }
    assert repr(model) == "Model(LogisticRegression, output='probability', bounds=(0.1, 0.9))"
    assert as_model(model) is model
    assert as_model(estimator).describe() == Model(estimator).describe()
    assert "call" not in repr(model.bind(NUMBERS))


def test_a_model_may_use_fewer_columns_than_the_schema() -> None:
    bound = Model(fitted("scaled logistic")).bind(SCHEMA)
    assert bound.columns == ("age", "income")
    assert isinstance(bound.form, LinearForm)  # numbers look the same in a frame and encoded
