"""Engines of permutation importance against plain predictions of permuted rows, and the losses."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, mean_squared_error
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC

import discreet as dc
from discreet.engines.permute import (
    CallEngine,
    EnsembleEngine,
    NetworkEngine,
)
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError, ModelError
from discreet.explain.permutation.losses import (
    Draws,
    choose_scorer,
    mean_losses,
    partners,
    permutation_losses,
)

D = 5
DRAW = np.random.default_rng(0)
ROWS = np.clip(DRAW.normal(size=(400, D)), -4, 4)
LABELS = (ROWS[:, 0] + ROWS[:, 1] * ROWS[:, 2] + 0.3 * DRAW.normal(size=400) > 0).astype(int)
NUMBERS = np.clip(2 * ROWS[:, 0] - ROWS[:, 1] ** 2, -20, 20)
FEATURES = {f"f{i}": dc.Number(-4, 4, missing=False) for i in range(D)}
TWO = dc.Schema({**FEATURES, "y": dc.Category(0, 1, missing=False, other=False)}, target="y")
REAL = dc.Schema({**FEATURES, "y": dc.Number(-20, 20, missing=False)}, target="y")


def network(kind: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = LABELS if kind is MLPClassifier else NUMBERS
        return kind(hidden_layer_sizes=(6,), max_iter=30, random_state=0, **options).fit(ROWS, target)


CASES: dict[str, tuple[type, dc.Schema, Any]] = {
    "logistic": (NetworkEngine, TWO, lambda: LogisticRegression().fit(ROWS, LABELS)),
    "linear": (
        NetworkEngine,
        REAL,
        lambda: dc.Model(LinearRegression().fit(ROWS, NUMBERS), bounds=(-5, 5)),
    ),
    "tanh": (NetworkEngine, TWO, lambda: network(MLPClassifier, activation="tanh")),
    "sigmoid": (NetworkEngine, TWO, lambda: network(MLPClassifier, activation="logistic")),
    "relu": (
        NetworkEngine,
        REAL,
        lambda: dc.Model(network(MLPRegressor), bounds=(-30, 30)),
    ),
    "forest": (
        EnsembleEngine,
        TWO,
        lambda: RandomForestClassifier(7, max_depth=4, random_state=0).fit(ROWS, LABELS),
    ),
    "deep forest": (
        EnsembleEngine,
        TWO,
        lambda: RandomForestClassifier(5, random_state=0).fit(
            np.round(DRAW.normal(size=(900, D)), 1), DRAW.integers(0, 2, 900)
        ),
    ),
    "boosting": (
        EnsembleEngine,
        TWO,
        lambda: GradientBoostingClassifier(n_estimators=12, random_state=0).fit(ROWS, LABELS),
    ),
    "boosted numbers": (
        EnsembleEngine,
        REAL,
        lambda: GradientBoostingRegressor(n_estimators=9, random_state=0).fit(ROWS, NUMBERS),
    ),
    "histograms": (
        EnsembleEngine,
        TWO,
        lambda: HistGradientBoostingClassifier(max_iter=9, random_state=0).fit(
            np.where(DRAW.random(ROWS.shape) < 0.2, np.nan, ROWS), LABELS
        ),
    ),
    "opaque": (CallEngine, TWO, lambda: SVC().fit(ROWS, LABELS)),
}


@cache
def bound_case(name: str) -> tuple[Any, dc.Schema, np.ndarray]:
    kind, schema, make = CASES[name]
    model = make()
    if name == "opaque":
        model = dc.Model(model, output="margin", bounds=(-3, 3))
    bound = (model if isinstance(model, dc.Model) else dc.Model(model)).bind(schema)
    assert isinstance(engine_for("permute", bound), kind)
    return bound, schema, NUMBERS if schema is REAL else LABELS.astype(float)


def by_hand(bound: Any, scorer: Any, rows: Any, target: Any, donors: Any, index: Any) -> np.ndarray:
    """Write out every permuted row and ask the model itself."""
    truth, columns = scorer.truth(target), []
    for place in range(rows.shape[1]):
        total = np.zeros(len(rows))
        for chosen in index:
            changed = rows.copy()
            changed[:, place] = donors[chosen, place]
            scorer.add(bound.predict(changed)[None, :], truth, False, total)
        columns.append(total / len(index))
    own = np.zeros(len(rows))
    scorer.add(bound.predict(rows)[None, :], truth, False, own)
    return np.column_stack([*columns, own])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", list(CASES))
def test_engines_agree_with_the_model(name: str, shared: bool) -> None:
    bound, schema, target = bound_case(name)
    scorer = choose_scorer(bound, schema)
    rows = np.asfortranarray(ROWS)
    if shared:
        donors, index = rows, partners(1, 0, len(rows), 3)
    else:
        draws = Draws.of(ROWS[:37], 2)
        donors, index = draws.donors, draws.index(rows, 3)
    engine = engine_for("permute", bound)
    found = mean_losses(engine, scorer, rows, scorer.truth(target), donors, index)
    exact = by_hand(bound, scorer, rows, target, donors, index)
    assert found == pytest.approx(exact, abs=1e-11 * scorer.most)
    assert found.min() >= 0 and found.max() <= scorer.most


@pytest.mark.parametrize("name", ["deep forest", "histograms", "forest"])
def test_missing_values_go_their_way(name: str) -> None:
    bound, schema, target = bound_case(name)
    scorer = choose_scorer(bound, schema)
    rows = np.where(np.random.default_rng(3).random(ROWS.shape) < 0.2, np.nan, ROWS)
    index = partners(1, 0, len(rows), 3)
    engine = engine_for("permute", bound)
    found = mean_losses(engine, scorer, rows, scorer.truth(target), rows, index)
    assert found == pytest.approx(by_hand(bound, scorer, rows, target, rows, index), abs=1e-11)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "logistic"])
def test_far_values_keep_their_precision(name: str) -> None:
    bound, schema, target = bound_case(name)
    scorer = choose_scorer(bound, schema)
    rows = ROWS.copy()
    rows[::7, 1] *= 300.0
    rows[::11, 2] = 1e5
    index = partners(1, 0, len(rows), 2)
    engine = engine_for("permute", bound)
    found = mean_losses(engine, scorer, rows, scorer.truth(target), rows, index)
    assert found == pytest.approx(by_hand(bound, scorer, rows, target, rows, index), abs=1e-10)


@pytest.mark.proves("pfi-rounding")
@pytest.mark.parametrize("name", [name for name in CASES if name != "opaque"])
def test_a_loss_depends_on_its_row_and_donor_alone(name: str) -> None:
    """The same row with the same donor, among others and elsewhere, to the last bit."""
    bound, schema, target = bound_case(name)
    scorer, engine = choose_scorer(bound, schema), engine_for("permute", bound)
    truth, index = scorer.truth(target), partners(0, 0, len(ROWS), 2)
    together = mean_losses(engine, scorer, ROWS, truth, ROWS, index)
    for row in (0, 17, 399):
        near = np.concatenate([[row], index[:, row], [5, 6]])
        few = ROWS[near]
        order = np.array([[1, 0, 0, 0, 0], [2, 0, 0, 0, 0]], dtype=np.uint32)
        alone = mean_losses(engine, scorer, few, truth[near], few, order)[0]
        assert alone.tolist() == together[row].tolist()


def test_repeats_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, schema, target = bound_case("forest")
    scorer = choose_scorer(bound, schema)
    whole = permutation_losses(bound, ROWS, target, scorer=scorer, repeats=7)
    monkeypatch.setattr("discreet.explain.permutation.losses._MOVED_CELLS", 2 * ROWS.size)
    parts = permutation_losses(bound, ROWS, target, scorer=scorer, repeats=7)
    assert (whole == parts).all()


def test_importances_are_those_of_scikit_learn() -> None:
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(ROWS, LABELS)
    bound = dc.Model(model).bind(TWO)
    losses = permutation_losses(bound, ROWS, LABELS, scorer=choose_scorer(bound, TWO), repeats=200)
    found = losses[:, :-1].mean(axis=0) - losses[:, -1].mean()
    other = permutation_importance(
        model, ROWS, LABELS, scoring="neg_brier_score", n_repeats=60, random_state=0
    )
    # A permutation there leaves one row in n as it is, on average.
    assert found * (1 - 1 / len(ROWS)) == pytest.approx(other.importances_mean, abs=2e-3)


def test_features_a_model_does_not_read_are_exact() -> None:
    model = GradientBoostingClassifier(n_estimators=1, max_depth=1).fit(ROWS, LABELS)
    bound = dc.Model(model).bind(TWO)
    engine = engine_for("permute", bound)
    assert len(engine.used) == 1
    losses = permutation_losses(bound, ROWS, LABELS, scorer=choose_scorer(bound, TWO))
    for place in set(range(D)) - set(engine.used):
        assert (losses[:, place] == losses[:, -1]).all()


METRICS = {
    "brier": lambda y, p: brier_score_loss(y, p),
    "log_loss": lambda y, p: log_loss(y, np.clip(p, 0.01, 0.99)),
    "zero_one": lambda y, p: np.mean((p > 0.5) != y),
    "squared_error": mean_squared_error,
    "absolute_error": mean_absolute_error,
}


@pytest.mark.parametrize("scoring", list(METRICS))
def test_losses_are_those_of_scikit_learn(scoring: str) -> None:
    numeric = scoring.endswith("_error")
    bound, schema, target = bound_case("relu" if numeric else "tanh")
    scorer = choose_scorer(bound, schema, scoring)
    found = permutation_losses(bound, ROWS, target, scorer=scorer, repeats=1)[:, -1].mean()
    assert found == pytest.approx(METRICS[scoring](target, bound.predict(ROWS)), rel=1e-6)


def test_greatest_losses_follow_from_public_bounds() -> None:
    bound, schema, _ = bound_case("linear")  # answers in [-5, 5], targets in [-20, 20]
    assert choose_scorer(bound, schema).most == 625.0
    assert choose_scorer(bound, schema, "absolute_error").most == 25.0
    assert choose_scorer(bound, schema, "squared_error", clip=9.0).most == 9.0
    assert choose_scorer(bound, schema, "squared_error", clip=9.0).steepness == pytest.approx(6.0)
    bound, schema, _ = bound_case("logistic")
    assert choose_scorer(bound, schema).most == 1.0
    assert choose_scorer(bound, schema, "log_loss").most == pytest.approx(math.log(100))
    assert choose_scorer(bound, schema, "log_loss", clip=1.0).steepness == pytest.approx(math.e)


@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (False, True)])
@pytest.mark.parametrize("class_", [0, 1])
def test_the_class_in_question_is_found_in_the_target(labels: tuple[Any, Any], class_: int) -> None:
    named = np.array(labels, dtype=object)[LABELS]
    model = dc.Model(
        LogisticRegression().fit(ROWS, named.astype(type(labels[0]))), class_=labels[class_]
    )
    for order in (labels, labels[::-1]):
        schema = dc.Schema(
            {**FEATURES, "y": dc.Category(*order, missing=False, other=False)}, target="y"
        )
        scorer = choose_scorer(model.bind(schema), schema)
        encoded = schema["y"].encode(named)
        assert scorer.truth(encoded).tolist() == (named == labels[class_]).astype(float).tolist()


def test_a_number_may_be_the_target_of_a_classifier() -> None:
    schema = dc.Schema({**FEATURES, "y": dc.Number(0, 1, step=1, missing=False)}, target="y")
    scorer = choose_scorer(dc.Model(LogisticRegression().fit(ROWS, LABELS)).bind(schema), schema)
    assert scorer.truth(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_what_does_not_fit_is_said() -> None:
    bound, _, _ = bound_case("logistic")
    plain = dc.Schema(FEATURES)
    with pytest.raises(ArgumentError, match="schema must name a target"):
        choose_scorer(bound, plain)
    with pytest.raises(ArgumentError, match="scoring must be one of auto, brier"):
        choose_scorer(bound, TWO, "squared_error")
    other = dc.Schema({**FEATURES, "y": dc.Category("a", "b", missing=False, other=False)}, target="y")
    with pytest.raises(
        ModelError, match="must predict a value of the schema's target, got the class 1"
    ):
        choose_scorer(bound, other)
    numbers, _, _ = bound_case("linear")
    with pytest.raises(ModelError, match="must have a probability as output"):
        choose_scorer(numbers, other)
    with pytest.raises(ArgumentError, match="clip must be a positive"):
        choose_scorer(bound, TWO, "brier", clip=-1.0)
