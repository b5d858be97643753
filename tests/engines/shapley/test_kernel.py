"""The kernel engine against enumeration, opaque against fused, records against the pool."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from discreet.engines.shapley import kernel as kernel_module
from discreet.engines.shapley.coalitions import MaskSet, all_masks, enumerate_values, sample_masks
from discreet.engines.shapley.kernel import kernel_values, record_values
from discreet.engines.shapley.values import linear_record_values, linear_values
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.records import rounding_error
from discreet.models import LinearForm, Model, NetworkForm, network_form
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Number, Schema

Predict = Callable[[FloatArray], FloatArray]


def rows(count: int, features: int, seed: int = 0, scale: float = 1.0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, features)) * scale


def steps(matrix: FloatArray) -> FloatArray:
    """A discontinuous model with interactions."""
    return np.floor(2 * matrix[:, 0]) * np.sign(matrix[:, 1]) + (matrix.sum(axis=1) > 0)


def by_enumeration(predict: Predict, query: FloatArray, background: FloatArray) -> FloatArray:
    """Shapley values of v(S) = mean of f(query on S, record elsewhere), one coalition at a time."""
    return enumerate_values(
        lambda members: float(predict(np.where(members, query, background)).mean()), len(query)
    )


def logistic(features: int, seed: int = 0, scale: float = 1.0) -> LinearForm:
    weights = np.random.default_rng(seed).normal(size=features) * scale
    return LinearForm(weights, 0.3, True)


def network(
    features: int, units: int, activation: str, *, probability: bool, scale: float = 1.0
) -> NetworkForm:
    rng = np.random.default_rng(units)
    return NetworkForm(
        rng.normal(size=(features, units)) * scale,
        rng.normal(size=units),
        rng.normal(size=units),
        0.2,
        activation,
        probability,
    )


# Against enumeration


@pytest.mark.proves("kernel-operator")
@pytest.mark.parametrize("features", [1, 2, 5, 8])
def test_all_masks_give_the_values_by_enumeration(features: int) -> None:
    predict = steps if features > 1 else lambda matrix: np.floor(matrix[:, 0])
    queries, background = rows(3, features, 1), rows(17, features, 2)
    pooled = kernel_values(predict, queries, background, all_masks(features))
    for query, values in zip(queries, pooled, strict=True):
        assert values == pytest.approx(by_enumeration(predict, query, background), abs=1e-10)


@pytest.mark.parametrize("features", [3, 6])
def test_mean_value_function_by_enumeration(features: int) -> None:
    queries, background = rows(4, features, 1), rows(30, features, 2)
    pooled = kernel_values(steps, queries, background, all_masks(features), value="mean")
    mean = background.mean(axis=0, keepdims=True)
    for query, values in zip(queries, pooled, strict=True):
        assert values == pytest.approx(by_enumeration(steps, query, mean), abs=1e-10)


# Records and the pool


def pool_is_mean(
    masks: MaskSet, records: FloatArray, queries: FloatArray, background: FloatArray
) -> bool:
    pooled = kernel_values(steps, queries, background, masks)
    return np.allclose(records.mean(axis=1), pooled, rtol=0, atol=1e-12)


@pytest.mark.proves("shap-contribution")
@pytest.mark.parametrize(("features", "number"), [(6, 40), (6, 100), (20, 100)])
def test_the_pool_is_the_mean_of_the_records(features: int, number: int) -> None:
    masks, queries, background = (
        sample_masks(features, number),
        rows(3, features, 1),
        rows(31, features),
    )
    records = record_values(steps, queries, background, masks)
    assert records.shape == (3, 31, features)
    assert pool_is_mean(masks, records, queries, background)
    alone = record_values(steps, queries[1:2], background[7:8], masks)
    assert alone[0, 0] == pytest.approx(records[1, 7], abs=1e-13)


@pytest.mark.refutes("shap-contribution")
def test_masks_of_its_own_for_every_record_are_caught() -> None:
    masks, queries, background = sample_masks(8, 60), rows(2, 8, 1), rows(20, 8)
    own = [
        record_values(steps, queries, background[i : i + 1], sample_masks(8, 60, seed=i))
        for i in range(len(background))
    ]
    assert not pool_is_mean(masks, np.concatenate(own, axis=1), queries, background)


@pytest.mark.refutes("shap-contribution")
def test_dropping_features_that_do_not_vary_is_caught() -> None:
    masks, queries, background = sample_masks(8, 60), rows(2, 8, 1), rows(20, 8)
    background[:10, 1] = queries[0, 1]
    records = record_values(steps, queries, background, masks)
    assert pool_is_mean(masks, records, queries, background)
    records[0, :10, 1] = 0.0  # as shap would: the feature equals the query's there
    assert not pool_is_mean(masks, records, queries, background)


@pytest.mark.parametrize("cells", [1, 8, 8 * 13, 8 * 62, 8 * 200, 8 * 1000])
def test_blocks_of_any_size_give_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    masks, queries, background = sample_masks(8, 60), rows(3, 8, 1), rows(11, 8)
    pooled = kernel_values(steps, queries, background, masks)
    records = record_values(steps, queries, background, masks)
    most = []

    def watched(matrix: FloatArray) -> FloatArray:
        most.append(matrix.size)
        assert matrix.flags.c_contiguous and matrix.dtype == np.float64
        return steps(matrix)

    monkeypatch.setattr(kernel_module, "_CALL_CELLS", cells)
    assert kernel_values(watched, queries, background, masks) == pytest.approx(pooled, abs=1e-13)
    assert record_values(watched, queries, background, masks) == pytest.approx(records, abs=1e-13)
    assert max(most) <= max(cells, 8)


def test_one_call_for_all_rows_that_fit() -> None:
    calls: list[int] = []

    def counting(matrix: FloatArray) -> FloatArray:
        calls.append(len(matrix))
        return steps(matrix)

    masks = sample_masks(6, 40)
    kernel_values(counting, rows(5, 6, 1), rows(50, 6), masks)
    kernel_values(counting, rows(5, 6, 1), rows(50, 6), masks, value="mean")
    assert calls == [5 * 50 * 42, 5 * 42]


def test_a_model_that_writes_into_its_rows_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def rude(matrix: FloatArray) -> FloatArray:
        answer = steps(matrix)
        matrix[:] = np.nan
        return answer

    monkeypatch.setattr(kernel_module, "_CALL_CELLS", 500)
    masks, queries, background = sample_masks(6, 40), rows(3, 6, 1), rows(20, 6)
    kept = background.copy()
    assert np.array_equal(
        kernel_values(rude, queries, background, masks),
        kernel_values(steps, queries, background, masks),
    )
    assert np.array_equal(background, kept)


def test_blocks_of_the_engine_are_read_as_they_come() -> None:
    block = np.asfortranarray(rows(20, 6))
    block.setflags(write=False)
    masks, queries = sample_masks(6, 40), rows(2, 6, 1)
    for predict in (steps, logistic(6)):
        assert np.array_equal(
            record_values(predict, queries, block, masks),
            record_values(predict, queries, rows(20, 6), masks),
        )


# Fused


@pytest.mark.parametrize("features", [1, 2, 7, 13, 20, 101])
@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0])
def test_fused_logistic_equals_opaque(features: int, scale: float) -> None:
    form = logistic(features, scale=scale)
    masks, queries, background = (
        sample_masks(features, 2 * features + 40),
        rows(4, features, 1),
        rows(25, features),
    )
    for value in ("interventional", "mean"):
        fused = kernel_values(form, queries, background, masks, value=value)
        opaque = kernel_values(form.predict, queries, background, masks, value=value)
        assert fused == pytest.approx(opaque, abs=1e-10)
    assert record_values(form, queries, background, masks) == pytest.approx(
        record_values(form.predict, queries, background, masks), abs=1e-10
    )


@pytest.mark.parametrize("far", [1e2, 1e3, 1e5, 1e300])
def test_fused_logistic_survives_scores_that_leave_the_exponentials(far: float) -> None:
    form = LinearForm(np.array([1.0, -1.0, 0.5, 0.1]), 0.0, True)
    queries, background = rows(3, 4, 1), rows(6, 4)
    queries[1] *= far
    background[2] *= far
    background[3, 0], background[3, 1] = far, far  # they cancel
    masks = all_masks(4)
    assert record_values(form, queries, background, masks) == pytest.approx(
        record_values(form.predict, queries, background, masks), abs=1e-10
    )


@pytest.mark.parametrize("bounds", [None, Box(-0.5, 0.75)])
def test_fused_linear_equals_opaque_with_and_without_bounds(bounds: Box | None) -> None:
    form = LinearForm(rows(1, 9)[0], 0.1, False)
    masks, queries, background = sample_masks(9, 80), rows(3, 9, 1), rows(15, 9)
    assert record_values(form, queries, background, masks, bounds=bounds) == pytest.approx(
        record_values(form.predict, queries, background, masks, bounds=bounds), abs=1e-12
    )


@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu", "identity"])
@pytest.mark.parametrize("probability", [True, False])
@pytest.mark.parametrize(("units", "scale"), [(1, 1.0), (5, 0.1), (32, 1.0), (32, 60.0)])
def test_fused_network_equals_opaque(
    activation: str, probability: bool, units: int, scale: float
) -> None:
    form = network(11, units, activation, probability=probability, scale=scale)
    masks, queries, background = sample_masks(11, 90), rows(3, 11, 1), rows(12, 11)
    fused = record_values(form, queries, background, masks)
    opaque = record_values(form.predict, queries, background, masks)
    assert fused == pytest.approx(opaque, abs=1e-9, rel=1e-9)
    pooled = kernel_values(form, queries, background, masks)
    assert pooled == pytest.approx(fused.mean(axis=1), abs=1e-10, rel=1e-10)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_networks_of_scikit_learn_are_recognised(scaled: bool, activation: str) -> None:
    matrix = rows(200, 5) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 0]
    labels = (matrix[:, 0] * matrix[:, 1] > 0).astype(int)
    classifier = _fitted(
        MLPClassifier((8,), activation=activation, max_iter=30), matrix, labels, scaled
    )
    regressor = _fitted(
        MLPRegressor(hidden_layer_sizes=(8,), activation=activation, max_iter=30),
        matrix,
        matrix[:, 0],
        scaled,
    )
    masks = all_masks(5)
    for index in (0, 1):
        form = network_form(classifier, "probability", index)
        assert form is not None
        opaque = record_values(
            lambda m, i=index: classifier.predict_proba(m)[:, i], matrix[:3], matrix[:9], masks
        )
        assert record_values(form, matrix[:3], matrix[:9], masks) == pytest.approx(opaque, abs=1e-9)
    form = network_form(regressor, "value")
    assert form is not None
    opaque = record_values(regressor.predict, matrix[:3], matrix[:9], masks)
    assert record_values(form, matrix[:3], matrix[:9], masks) == pytest.approx(opaque, abs=1e-9)


def test_networks_of_another_shape_are_not_recognised() -> None:
    matrix, labels = rows(60, 3), np.arange(60) % 2
    deep = _fitted(MLPClassifier((4, 4), max_iter=5), matrix, labels, False)
    three = _fitted(MLPClassifier((4,), max_iter=5), matrix, np.arange(60) % 3, False)
    two_targets = _fitted(
        MLPRegressor(hidden_layer_sizes=(4,), max_iter=5), matrix, matrix[:, :2], False
    )
    other = make_pipeline(MinMaxScaler(), MLPClassifier((4,), max_iter=5))
    with warnings.catch_warnings(action="ignore"):
        other.fit(matrix, labels)
    for model, output in (
        (deep, "probability"),
        (three, "probability"),
        (two_targets, "value"),
        (other, "probability"),
        (LogisticRegression().fit(matrix, labels), "probability"),
        (_fitted(MLPClassifier((4,), max_iter=5), matrix, labels, False), "margin"),
        (steps, "value"),
    ):
        assert network_form(model, output) is None


def _fitted(model: object, matrix: FloatArray, target: FloatArray, scaled: bool) -> object:
    whole = make_pipeline(StandardScaler(), model) if scaled else model
    with warnings.catch_warnings(action="ignore"):  # not converged: neither needed nor wanted here
        return whole.fit(matrix, target)


@pytest.mark.parametrize("model", ["linear", "logistic", "forest"])
def test_a_bound_model_is_explained_as_it_predicts(model: str) -> None:
    schema = Schema(
        {
            "a": Number(-3, 3, missing=False),
            "b": Number(-3, 3, missing=False),
            "c": Number(-3, 3, missing=False),
        }
    )
    matrix = np.clip(rows(80, 3), -3, 3)
    labels = (matrix[:, 0] > 0).astype(int)
    wrapped = {
        "linear": Model(LinearRegression().fit(matrix, matrix[:, 0]), bounds=(-1.0, 1.0)),
        "logistic": Model(LogisticRegression().fit(matrix, labels)),
        "forest": Model(RandomForestClassifier(5, random_state=0).fit(matrix, labels)),
    }[model].bind(schema)
    assert isinstance(wrapped.form, LinearForm) == (model != "forest")
    fast = record_values(wrapped, matrix[:4], matrix[:20], all_masks(3))
    slow = record_values(wrapped.predict, matrix[:4], matrix[:20], all_masks(3))
    assert fast == pytest.approx(slow, abs=1e-10)


# Linear


def test_linear_values_are_those_of_the_kernel() -> None:
    form = LinearForm(rows(1, 9)[0], 0.1, False)
    queries, background = rows(3, 9, 1), rows(15, 9)
    masks = sample_masks(9, 80)
    assert linear_values(form, queries, background) == pytest.approx(
        kernel_values(form.predict, queries, background, masks), abs=1e-12
    )
    assert linear_record_values(form, queries, background) == pytest.approx(
        record_values(form.predict, queries, background, masks), abs=1e-12
    )


def test_logistic_models_have_no_linear_values() -> None:
    with pytest.raises(ArgumentError, match="form must have the identity link"):
        linear_values(logistic(3), rows(1, 3), rows(2, 3))


# Rounding


def rounded_within(masks: MaskSet, bounds: Box, attribute: Callable[[FloatArray], FloatArray]) -> bool:
    """Compare computed attributions of random values with exact rational arithmetic."""
    values = np.random.default_rng(0).uniform(*bounds.limits, size=len(masks) + 2)
    exact = [
        sum((Fraction(m) * Fraction(v) for m, v in zip(row, values.tolist(), strict=True)), Fraction(0))
        for row in masks.operator.tolist()
    ]
    errors = [abs(Fraction(c) - e) for c, e in zip(attribute(values).tolist(), exact, strict=True)]
    return max(errors) <= Fraction(rounding_error(masks, bounds))


@pytest.mark.proves("shap-rounding")
@pytest.mark.parametrize("bounds", [Box(0, 1), Box(1e6, 1e6 + 1), Box(-3, 1e-3)])
@pytest.mark.parametrize(("features", "number"), [(3, 6), (6, 50), (20, 300)])
def test_computed_vectors_are_as_close_as_said(features: int, number: int, bounds: Box) -> None:
    masks = sample_masks(features, number)
    assert rounded_within(masks, bounds, masks.solve)


@pytest.mark.refutes("shap-rounding")
def test_single_precision_is_caught() -> None:
    masks = sample_masks(20, 300)
    low = masks.operator.astype(np.float32)
    assert not rounded_within(masks, Box(0, 1), lambda v: (low @ v.astype(np.float32)).astype(float))


@pytest.mark.proves("shap-rounding")
@pytest.mark.parametrize("form", [logistic(20), network(20, 7, "tanh", probability=True), steps])
def test_a_record_is_answered_for_alone(form: LinearForm | NetworkForm | Predict) -> None:
    masks, queries, background = sample_masks(20, 100), rows(3, 20, 1), rows(37, 20, scale=20.0)
    together = record_values(form, queries, background, masks)
    for i in (0, 1, 5, 36):
        alone = record_values(form, queries, background[i : i + 1], masks)
        assert np.array_equal(alone[:, 0], together[:, i])
        shifted = record_values(form, queries, background[i:], masks)
        assert np.array_equal(shifted[:, 0], together[:, i])


# What rows can do


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_prediction_stays_with_its_record(bad: float) -> None:
    masks, queries, background = sample_masks(6, 40), rows(2, 6, 1), rows(9, 6)
    background[4, 0] = 1e9

    def sometimes(matrix: FloatArray) -> FloatArray:
        return np.where(matrix[:, 0] > 1e8, bad, steps(matrix))

    clean = record_values(steps, queries, background, masks)
    records = record_values(sometimes, queries, background, masks)
    others = np.arange(9) != 4
    assert records[:, others] == pytest.approx(clean[:, others])
    assert not np.isfinite(records[:, 4]).any()
    assert not np.isfinite(kernel_values(sometimes, queries, background, masks)).any()
    bounded = record_values(sometimes, queries, background, masks, bounds=Box(-1.0, 3.0))
    assert np.isfinite(bounded).all()
    assert np.isfinite(kernel_values(sometimes, queries, background, masks, bounds=Box(-1, 3))).all()


def test_nan_becomes_the_middle_of_the_bounds() -> None:
    masks, queries, background = all_masks(3), rows(1, 3, 1), rows(4, 3)
    bounds = Box(-1.0, 3.0)
    filled = record_values(lambda m: np.full(len(m), np.nan), queries, background, masks, bounds=bounds)
    assert filled == pytest.approx(0.0, abs=1e-15)
    mixed = record_values(
        lambda m: np.where(m[:, 0] == queries[0, 0], np.nan, 3.0),
        queries,
        background,
        masks,
        bounds=bounds,
    )
    assert mixed[0] == pytest.approx(np.array([[-2.0, 0, 0]] * 4), abs=1e-14)


@pytest.mark.parametrize("form", [logistic(5), network(5, 4, "tanh", probability=True)])
def test_rows_that_are_not_finite_raise_nothing_in_recognised_models(
    form: LinearForm | NetworkForm,
) -> None:
    masks, queries, background = sample_masks(5, 20), rows(2, 5, 1), rows(6, 5)
    background[1, 2], background[2, 0], background[3] = np.nan, np.inf, 0.0
    records = record_values(form, queries, background, masks, bounds=Box(0, 1))
    assert np.isfinite(records).all()
    clean = record_values(form, queries, background[3:], masks, bounds=Box(0, 1))
    assert np.array_equal(records[:, 3:], clean)


# Refusals


def test_shapes_that_do_not_fit_are_refused() -> None:
    masks = sample_masks(6, 40)
    with pytest.raises(ArgumentError, match="queries must be a matrix with 6 columns"):
        kernel_values(steps, rows(1, 6)[0], rows(3, 6), masks)
    with pytest.raises(ArgumentError, match="background must be a matrix with 6 columns"):
        kernel_values(steps, rows(1, 6), rows(3, 5), masks)
    with pytest.raises(ArgumentError, match="masks must be of the model's 4 features, got 6"):
        kernel_values(logistic(4), rows(1, 6), rows(3, 6), masks)
    with pytest.raises(ArgumentError, match="predict must return one number per row"):
        kernel_values(lambda m: m[:, :2], rows(1, 6), rows(3, 6), masks)


def test_an_empty_background_has_no_mean_but_an_empty_list_of_records() -> None:
    masks = sample_masks(6, 40)
    for predict in (steps, logistic(6)):
        assert record_values(predict, rows(2, 6), np.empty((0, 6)), masks).shape == (2, 0, 6)
        with pytest.raises(ArgumentError, match="background must have at least one row"):
            kernel_values(predict, rows(2, 6), np.empty((0, 6)), masks)


def test_an_unknown_value_function_is_refused() -> None:
    with pytest.raises(ArgumentError, match="value must be one of interventional, mean"):
        kernel_values(steps, rows(1, 6), rows(3, 6), sample_masks(6, 40), value="marginal")
