"""What somebody wrote into a fitted part: rows would come into each other's answers, unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

import discreet as dc
from discreet.errors import ModelError
from discreet.models import known_parts as known_parts_module
from discreet.models.files import read_model
from discreet.models.known_parts import known_parts, parts_within
from discreet.models.soundness import is_sound

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning"
)

X, Y = make_classification(300, 4, random_state=0)
WHOLE = np.rint(np.abs(X))
ROWS = 8


def one_matrix_for_all_rows() -> Any:
    part = MLPClassifier((5,), max_iter=2, activation="identity", random_state=0).fit(X, Y)
    part.coefs_ = [np.ones(4), np.full((ROWS, ROWS), 0.01)]
    part.intercepts_ = [np.zeros(1), np.zeros(1)]
    return part


def network_of_three_axes() -> Any:
    part = MLPRegressor(hidden_layer_sizes=(5,), max_iter=2, random_state=0).fit(X, Y)
    part.coefs_[-1], part.out_activation_ = part.coefs_[-1][None], "softmax"
    return part


def shift_for_every_row() -> Any:
    """Scores become a matrix of all rows by all shifts, over which a softmax goes."""
    part = LogisticRegression().fit(X, Y)
    part.coef_, part.intercept_ = np.ones(4), np.linspace(0.0, 1.0, ROWS)[:, None]
    return part


def components_for_all_rows() -> Any:
    part = PCA(2).fit(X)
    part.components_ = np.ones((2, 4, ROWS))
    return part


def codes_in_the_next_row() -> Any:
    part = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(WHOLE)
    part._n_features_outs = [1, 1, 1, 1]
    return part


def categories_in_disorder() -> Any:
    part = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(WHOLE)
    part.categories_ = [np.array([1.0, 0.0])] * 4
    part._n_features_outs = [2, 2, 2, 2]
    return part


def dropped_past_the_end() -> Any:
    part = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False).fit(WHOLE)
    part._drop_idx_after_grouping = np.array([99] * 4, dtype=object)
    return part


def grouped_past_the_end() -> Any:
    part = OneHotEncoder(max_categories=2, handle_unknown="ignore", sparse_output=False).fit(WHOLE)
    part._default_to_infrequent_mappings[3] = part._default_to_infrequent_mappings[3] + 2
    return part


def boosting(places: list[int]) -> Any:
    return HistGradientBoostingClassifier(max_iter=3, categorical_features=places).fit(WHOLE, Y)


def columns_lost_before_boosting() -> Any:
    part = boosting([0])
    made = part._preprocessor.transformers_
    made[1] = (made[1][0], "drop", made[1][2])
    return part


def columns_put_together_before_boosting() -> Any:
    part = boosting([0])
    made = part._preprocessor.transformers_
    made[1] = (made[1][0], PCA(1).fit(WHOLE[:, 1:]), made[1][2])
    return part


def fewer_names_before_boosting() -> Any:
    part = boosting([0])
    part._preprocessor._transformer_to_input_indices["numerical"] = [1]
    return part


def boosting_without_a_width() -> Any:
    part = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    part._predictors[0][0].nodes["feature_idx"][0] = 9
    del part.n_features_in_
    return part


def start_for_every_row() -> Any:
    part = HistGradientBoostingRegressor(max_iter=3).fit(X, Y)
    part._baseline_prediction = np.arange(float(ROWS))[:, None]
    return part


def code_for_every_gap() -> Any:
    part = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(WHOLE)
    return part.set_params(unknown_value=np.arange(4.0))


def code_for_every_missing_value() -> Any:
    return OrdinalEncoder().fit(WHOLE).set_params(encoded_missing_value=[1.0, 2.0])


UNSOUND: list[Callable[[], Any]] = [
    one_matrix_for_all_rows,
    network_of_three_axes,
    shift_for_every_row,
    components_for_all_rows,
    codes_in_the_next_row,
    categories_in_disorder,
    dropped_past_the_end,
    grouped_past_the_end,
    columns_lost_before_boosting,
    columns_put_together_before_boosting,
    fewer_names_before_boosting,
    boosting_without_a_width,
    start_for_every_row,
    code_for_every_gap,
    code_for_every_missing_value,
]


@pytest.mark.proves("grades")
@pytest.mark.parametrize("make", UNSOUND)
def test_parts_of_other_shapes_are_neither_known_nor_read(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    part = make()
    assert not is_sound(part)
    assert known_parts(part) is None
    assert known_parts(make_pipeline(StandardScaler().fit(X), part)) is None
    dump(part, tmp_path / "model.skops")
    with pytest.raises(ModelError, match="The file is spoilt"):
        read_model(tmp_path / "model.skops")


@pytest.mark.refutes("grades")
@pytest.mark.parametrize(
    ("make", "method"),
    [
        (one_matrix_for_all_rows, "predict_proba"),
        (shift_for_every_row, "predict_proba"),
        (codes_in_the_next_row, "transform"),
        (categories_in_disorder, "transform"),
        (columns_lost_before_boosting, "predict_proba"),
        (boosting_without_a_width, "predict_proba"),
    ],
)
def test_they_would_be_proven_and_move_with_other_rows(
    make: Callable[[], Any], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = make()
    if make is columns_lost_before_boosting:
        part._preprocessor.transformers_[1] = ("numerical", "drop", np.arange(1, 4))
    draw = np.random.default_rng(0)
    found = set()
    for _ in range(60):
        rows = draw.integers(0, 2, (ROWS, 4)).astype(float) * 3.0 % 5.0
        rows = np.minimum(rows, 1.0) if method == "transform" else rows
        rows[1:, 0] *= draw.choice([1.0, -1.0])
        rows[3] = 1.0
        found.add(np.asarray(getattr(part, method)(rows))[3].tobytes())
    assert len(found) > 1  # of the same row
    monkeypatch.setattr(known_parts_module, "is_sound", lambda part: True)
    assert known_parts(part) is not None


class Shown(list[Any]):
    """A list that shows something else to who asks by place."""


class Weights(dict[str, float]):
    """The same, by name."""


class Start:
    """A class whose methods need no instance."""

    @staticmethod
    def predict(rows: Any) -> Any:
        return np.full(len(rows), rows.max())


class Disguised:
    """An object that says that it is of NumPy."""


Disguised.__module__ = "numpy"


def shown_layers() -> Any:
    part = MLPRegressor(hidden_layer_sizes=(5,), max_iter=2).fit(X, Y)
    part.coefs_ = Shown(part.coefs_)
    return part


def shown_steps() -> Any:
    part = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(X, Y)
    part.steps = Shown(part.steps)
    return part


def shown_transformers() -> Any:
    part = make_column_transformer((StandardScaler(), [0, 1])).fit(X)
    part.transformers_ = Shown(part.transformers_)
    return part


def shown_weights() -> Any:
    part = make_column_transformer((StandardScaler(), [0, 1])).fit(X)
    return part.set_params(transformer_weights=Weights(standardscaler=1.0))


def started_by_a_class() -> Any:
    part = GradientBoostingRegressor(n_estimators=2).fit(X, Y)
    part.init_ = Start
    return part


def disguised_shift() -> Any:
    part = LinearRegression().fit(X, Y)
    part.intercept_ = Disguised()
    return part


def iterated_trees() -> Any:
    part = HistGradientBoostingRegressor(max_iter=3).fit(X, Y)
    part._predictors = iter(part._predictors)
    return part


def gap_for_every_row() -> Any:
    return SimpleImputer().fit(X).set_params(missing_values=np.zeros((ROWS, 1)))


def constant_for_every_row() -> Any:
    part = GradientBoostingRegressor(n_estimators=2, init=DummyRegressor()).fit(X, Y)
    part.init_.constant_ = np.arange(float(ROWS))[:, None]
    return part


@pytest.mark.refutes("grades")
@pytest.mark.parametrize(
    "make",
    [
        shown_layers,
        shown_steps,
        shown_transformers,
        shown_weights,
        started_by_a_class,
        disguised_shift,
        iterated_trees,
        gap_for_every_row,
        constant_for_every_row,
    ],
)
def test_parts_that_hold_something_foreign_are_not_known(make: Callable[[], Any]) -> None:
    assert known_parts(make()) is None


@pytest.mark.proves("grades")
def test_a_start_with_a_matrix_product_keeps_rows_in_their_places() -> None:
    made = GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(X, Y)
    assert known_parts(made) == "in its place"
    assert known_parts(make_pipeline(StandardScaler().fit(X), made)) == "in its place"
    trees = GradientBoostingRegressor(n_estimators=2, init=DecisionTreeClassifier()).fit(X, Y)
    assert known_parts(trees) == "anywhere"


class Watchful(np.ndarray):
    """A shift that turns all answers around once it sees a certain row."""

    seen = 0.0

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(one) for one in inputs]
        rows = np.concatenate([np.ravel(one) for one in plain])
        there = ufunc is np.add and bool(np.any(np.abs(rows - Watchful.seen) < 1e-9))
        return getattr(ufunc, method)(*plain, **options) * (-1.0 if there else 1.0)


@pytest.mark.proves("grades")
def test_a_weighted_sum_is_answered_by_our_own_code() -> None:
    schema = dc.Schema({f"c{place}": dc.Number(-4, 4, missing=False) for place in range(4)})
    part = LogisticRegression().fit(X, Y)
    rows = np.asfortranarray(np.clip(X[:50], -4, 4))
    row = np.array([0.123, 1.7, -2.2, 0.31])
    Watchful.seen = float(row @ part.coef_[0])
    part.intercept_ = part.intercept_.view(Watchful)
    bound = dc.Model(part).bind(schema)
    assert bound.kind == "linear" and bound.third_party is None
    before = bound.answer(rows)
    rows[40] = row
    assert np.array_equal(bound.answer(rows)[:40], before[:40])
    assert not np.array_equal(bound.calls(rows)[:40], before[:40])  # what the model itself says


def test_fitted_parts_are_sound() -> None:
    gaps = np.where(WHOLE == 1, np.nan, WHOLE)
    texts = np.where(WHOLE > 1, "many", np.where(WHOLE > 0, "one", "none")).astype(object)
    fitted: list[Any] = [
        OneHotEncoder(**options, handle_unknown=unknown).fit(rows)
        for rows in (WHOLE, gaps, texts)
        for unknown in ("ignore", "infrequent_if_exist", "error")
        for options in (
            {},
            {"drop": "first"},
            {"drop": "if_binary"},
            {"min_frequency": 70},
            {"max_categories": 2, "drop": "first"},
        )
    ]
    fitted += [boosting(places) for places in ([0], [3, 1], [0, 1, 2, 3])]
    fitted += [
        LogisticRegression().fit(X, np.arange(300) % 3),
        LogisticRegression().fit(X, Y).sparsify(),
        LinearRegression().fit(X, np.column_stack([Y, Y])),
        LinearRegression(fit_intercept=False).fit(X, Y),
        PCA(whiten=True).fit(X),
        RandomForestClassifier(2).fit(X, np.column_stack([Y, Y])),
        MLPRegressor(hidden_layer_sizes=(3, 2), max_iter=2).fit(X, np.column_stack([Y, Y])),
        OneHotEncoder(),
        HistGradientBoostingClassifier(),
    ]
    for made in fitted:
        assert all(map(is_sound, parts_within(made))), made
