"""Utilities: the compiled solvers against scikit-learn, the general path, and what has no fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from discreet.errors import ArgumentError, ModelError
from discreet.value.engines.games import Chains
from discreet.value.engines.linear_fits import LinearFit, linear_fit
from discreet.value.engines.scores import custom_score, named_score
from discreet.value.engines.shapley import exact_shapley
from discreet.value.engines.solvers import TOLERANCE
from discreet.value.engines.utilities import Utility

WIDTH = 6


def make_rows(rows: int, seed: int = 0) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, WIDTH)) * [1, 2, 0.5, 1, 3, 1]
    return x, (draw.random(rows) < 1 / (1 + np.exp(-x[:, 0] - x[:, 1] + 0.4))).astype(int)


X, Y = make_rows(60)
TEST_X, TEST_Y = make_rows(80, seed=1)
TARGETS = X @ np.arange(WIDTH) + 2.0
TEST_TARGETS = TEST_X @ np.arange(WIDTH) + 2.0 + np.random.default_rng(2).normal(size=80)


def some_chains(players: int = 60) -> Chains:
    draw = np.random.default_rng(5)
    orders = [draw.permutation(players) for _ in range(3)] + [draw.permutation(players)[:9]]
    sizes = [np.arange(players + 1), np.array([3, 30, 31]), np.array([players]), np.array([8, 9])]
    return Chains.of(orders, sizes)


def weights_of(fit: LinearFit, targets: Any, chains: Chains) -> Any:
    return fit.weights(fit.widen(X), targets, chains)


def reference(model: Any, members: Any, targets: Any, constant: bool) -> Any:
    fitted = model.fit(X[members], targets[members])
    coefficients = np.ravel(fitted.coef_)
    return np.append(coefficients, fitted.intercept_) if constant else coefficients


def coalitions(chains: Chains) -> list[Any]:
    return [chains.order(c)[:size] for c in range(len(chains)) for size in chains.sizes_of(c)]


# Solvers.


@pytest.mark.parametrize("c", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_logistic_weights_are_those_of_scikit_learn(c: float, intercept: bool) -> None:
    chains, signs = some_chains(), np.where(Y == 1, 1.0, -1.0)
    model = LogisticRegression(C=c, fit_intercept=intercept, tol=1e-12, max_iter=100_000)
    fit = linear_fit(model, None)
    assert fit is not None
    found, compared = weights_of(fit, signs, chains), 0
    for place, members in enumerate(coalitions(chains)):
        if len(set(Y[members].tolist())) < 2:
            assert np.isnan(found[place]).all()
        elif place % 7 == 0 or place > 60:
            expected = reference(model, members, Y, intercept)
            np.testing.assert_allclose(found[place], expected, atol=2e-4 * max(1.0, c), rtol=1e-4)
            compared += 1
    assert compared > 10


def slope(w: Any, rows: Any, signs: Any, r: float) -> Any:
    wrong = 1 / (1 + np.exp(signs * (rows @ w)))
    return r * w - (wrong * signs) @ rows


def test_the_stated_tolerance_is_kept() -> None:
    """With every coefficient penalised a gradient of at most r t means weights within t."""
    signs, chains = np.where(Y == 1, 1.0, -1.0), some_chains()
    for c in (1e-3, 1.0, 1e3):
        fit = LinearFit("logistic", 1 / c, 0.0, 1.0, free=False, alike=True)
        rows = fit.widen(X)
        for w, members in zip(fit.weights(rows, signs, chains), coalitions(chains), strict=True):
            if len(members):
                length = np.linalg.norm(slope(w, rows[members], signs[members], 1 / c))
                assert length <= TOLERANCE / c * 1.001 + 1e-12


def test_liblinear_penalises_the_intercept() -> None:
    model = LogisticRegression(C=0.5, solver="liblinear", tol=1e-12, max_iter=10_000)
    fit, chains = linear_fit(model, None), some_chains()
    assert fit is not None and not fit.free
    found = weights_of(fit, np.where(Y == 1, 1.0, -1.0), chains)
    members = coalitions(chains)[40]
    np.testing.assert_allclose(found[40], reference(model, members, Y, True), atol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_weights_are_those_of_scikit_learn(intercept: bool) -> None:
    model, chains = Ridge(alpha=0.7, fit_intercept=intercept), some_chains()
    fit = linear_fit(model, None)
    assert fit is not None
    found = weights_of(fit, TARGETS, chains)
    for place, members in enumerate(coalitions(chains)):
        if len(members):
            np.testing.assert_allclose(
                found[place], reference(model, members, TARGETS, intercept), atol=1e-8
            )


def test_separable_labels_and_huge_rows_converge() -> None:
    x = np.array([[1e4, 1.0], [2e4, 1.0], [-1e4, 1.0], [-3e4, 2.0]])
    fit = LinearFit("logistic", 1e-4, 0.0, 1.0, free=True)
    chain = Chains.of([np.array([0, 2, 1, 3])], [np.arange(5)])
    found = fit.weights(fit.widen(x), np.array([1.0, 1.0, -1.0, -1.0]), chain)
    assert np.isnan(found[:2]).all() and np.isfinite(found[2:]).all()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        Ridge(alpha=0.0),
        Ridge(positive=True),
        LinearRegression(),
    ],
)
def test_what_the_solvers_do_not_know_is_left_to_scikit_learn(model: Any) -> None:
    assert linear_fit(model, None) is None


# Values.


@pytest.mark.parametrize("score", ["accuracy", "log-loss", "brier"])
def test_both_paths_give_the_same_values(score: str) -> None:
    model = LogisticRegression(tol=1e-10, max_iter=10_000)
    fast = Utility(model, TEST_X, TEST_Y, score=score, failed=named_score(score).low)
    slow = Utility(LikeLogistic(), TEST_X, TEST_Y, score=score, failed=named_score(score).low)
    chains = some_chains()
    found, expected = fast.on(X, Y).evaluate(chains), slow.on(X, Y).evaluate(chains)
    assert fast.on(X, Y).compiled and not slow.on(X, Y).compiled
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[0] == fast.empty and (found[1] == fast.low) == (len(set(Y[:0])) < 2)


class LikeLogistic(LogisticRegression):
    """The same model under a name the solvers do not know."""

    def __init__(self, tol: float = 1e-10, max_iter: int = 10_000) -> None:
        super().__init__(tol=tol, max_iter=max_iter)


def test_both_paths_give_the_same_values_of_ridge() -> None:
    class LikeRidge(Ridge):
        def __init__(self, alpha: float = 1.0) -> None:
            super().__init__(alpha=alpha)

    chains = some_chains()
    found, expected = (
        Utility(model, TEST_X, TEST_TARGETS, score="r2").on(X, TARGETS).evaluate(chains)
        for model in (Ridge(), LikeRidge())
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found.min() >= -1 and found.max() > 0.8


def test_labels_may_be_words() -> None:
    words = np.array(["no", "yes"])
    chains = some_chains()
    numbers = Utility(LogisticRegression(), TEST_X, TEST_Y).on(X, Y).evaluate(chains)
    texts = Utility(LogisticRegression(), TEST_X, words[TEST_Y]).on(X, words[Y]).evaluate(chains)
    assert numbers.tolist() == texts.tolist()
    with pytest.raises(ArgumentError, match="labels among classes"):
        Utility(LogisticRegression(), TEST_X, TEST_Y).on(X, Y + 1)


def test_more_classes_take_the_general_path() -> None:
    y, test_y = (X[:, 0] > 0) + 1 * (X[:, 1] > 1), (TEST_X[:, 0] > 0) + 1 * (TEST_X[:, 1] > 1)
    utility = Utility(LogisticRegression(), TEST_X, test_y, score="log-loss")
    assert utility.empty == pytest.approx(-np.log(3)) and not utility.on(X, y).compiled
    # The first coalition has two of three classes: the third has probability 0, clipped.
    two = np.flatnonzero(y < 2)[:20]
    (value,) = utility.on(X, y).evaluate(Chains.of([two], [np.array([20])]))
    assert -5 <= value < 0


@pytest.mark.parametrize("intercept", [False, True])
def test_strength_sets_the_penalty_by_size(intercept: bool) -> None:
    """The same minimum by the solvers (two classes) and by scikit-learn (three)."""
    l2_penalty, clip = 0.02, 2.0
    x, tests = (np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True)) for rows in (X, TEST_X))
    three, test_three = Y + (X[:, 1] > 1), TEST_Y + (TEST_X[:, 1] > 1)
    for y, truth, compiled in ((Y, TEST_Y, True), (three, test_three, False)):
        model = LogisticRegression(fit_intercept=intercept, tol=1e-10, max_iter=10_000)
        utility = Utility(model, tests, truth, score="brier", l2_penalty=l2_penalty, row_clip=clip)
        game = utility.on(x, y)
        found = game.evaluate(Chains.of([np.arange(60)], [np.array([25, 60])]))
        assert game.compiled == compiled
        for value, k in zip(found, (25, 60), strict=True):
            rows, asked = (
                np.column_stack([r, np.ones(len(r))]) if intercept else r for r in (x[:k], tests)
            )
            plain = LogisticRegression(
                C=1 / (2 * l2_penalty * k), fit_intercept=False, tol=1e-10, max_iter=10_000
            ).fit(rows, y[:k])
            said = plain.predict_proba(asked)[np.arange(80), truth]
            assert value == pytest.approx(1 - np.mean((1 - said) ** 2), abs=1e-5)


def test_long_rows_are_shortened() -> None:
    utility = Utility(LogisticRegression(), TEST_X * 100, TEST_Y, row_clip=1.0)
    assert np.linalg.norm(utility.test_x, axis=1) == pytest.approx(np.ones(80))
    same = Utility(LogisticRegression(), utility.test_x, TEST_Y, row_clip=1.0)
    chains = some_chains()
    shorter = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    assert utility.on(X, Y).evaluate(chains) == pytest.approx(same.on(shorter, Y).evaluate(chains))


# What has no fit.


class Moody(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Refuses coalitions of three, answers NaN for those of four."""

    def fit(self, x: Any, y: Any) -> Moody:
        if len(y) == 3:
            raise RuntimeError("three")
        self.size_ = len(y)
        return self

    def score(self, x: Any, y: Any) -> float:
        return float("nan") if self.size_ == 4 else 0.9


def test_failing_fits_and_nan_scores_have_a_public_value() -> None:
    score = custom_score("own", lambda fitted, x, y: fitted.score(x, y), low=0, high=1)
    utility = Utility(Moody(), TEST_X, TEST_Y, score=score, empty=0.5, failed=0.25)
    chain = Chains.of([np.arange(6)], [np.arange(7)])
    assert utility.on(X, Y).evaluate(chain).tolist() == [0.5, 0.9, 0.9, 0.25, 0.25, 0.9, 0.9]


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
def test_one_class_has_a_public_value(model: Any) -> None:
    utility = Utility(model, TEST_X, TEST_Y, empty=0.4, failed=0.3)
    alike = np.flatnonzero(Y == 1)[:5]
    found = utility.on(X, Y).evaluate(Chains.of([alike], [np.arange(6)]))
    assert found.tolist() == [0.4, 0.3, 0.3, 0.3, 0.3, 0.3]


def test_scores_are_clipped_to_their_range() -> None:
    score = custom_score("wild", lambda fitted, x, y: 7.0, low=0, high=1)
    utility = Utility(LinearRegression(), TEST_X, TEST_TARGETS, score=score, empty=0.0)
    assert utility.on(X, TARGETS).evaluate(Chains.of([np.arange(5)], [np.array([5])])).tolist() == [1.0]


def test_a_scikit_learn_scorer_is_a_score() -> None:
    area = custom_score("auc", make_scorer(roc_auc_score), low=0, high=1)
    utility = Utility(LogisticRegression(), TEST_X, TEST_Y, score=area, empty=0.5)
    (value,) = utility.on(X, Y).evaluate(Chains.of([np.arange(60)], [np.array([60])]))
    assert 0.6 < value < 1


def test_nobody_is_worth_a_guess() -> None:
    assert Utility(LogisticRegression(), TEST_X, TEST_Y).empty == max(TEST_Y.mean(), 1 - TEST_Y.mean())
    assert Utility(Ridge(), TEST_X, TEST_TARGETS, score="r2").empty == 0
    brier = Utility(LogisticRegression(), TEST_X, TEST_Y, score="brier")
    assert brier.empty == 0.75 and brier.failed == 0.75


def test_values_add_up_to_what_all_are_worth() -> None:
    utility = Utility(LogisticRegression(), TEST_X, TEST_Y)
    values = exact_shapley(utility.on(X[:8], Y[:8])).values
    whole = utility.on(X[:8], Y[:8]).evaluate(Chains.of([np.arange(8)], [np.array([0, 8])]))
    assert values.sum() == pytest.approx(whole[1] - whole[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": "f1"}, "score must be one of"),
        ({"empty": 2.0}, "empty must be within"),
        ({"failed": -1.0}, "failed must be within"),
        ({"row_clip": 0.0}, "row_clip must be"),
        ({"test_y": TEST_Y[:3]}, "test_y must have"),
        ({"test_x": TEST_X[0]}, "test_x must be a table"),
        ({"model": DecisionTreeClassifier(), "l2_penalty": 0.1}, "l2_penalty must be None unless"),
        ({"score": custom_score("s", len, low=0, high=1)}, "empty must be given"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, Any], said: str) -> None:
    given = {"model": LogisticRegression(), "test_x": TEST_X, "test_y": TEST_Y} | change
    with pytest.raises(ArgumentError, match=said):
        Utility(given.pop("model"), given.pop("test_x"), given.pop("test_y"), **given)


def test_wrong_scores_and_shapes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="low must be below high"):
        custom_score("s", len, low=1, high=1)
    with pytest.raises(ArgumentError, match="test_y must be one-dimensional"):
        Utility(LogisticRegression(), TEST_X, TEST_X)


def test_equal_test_targets_have_no_r2() -> None:
    utility = Utility(
        Ridge(),
        TEST_X,
        np.ones(80),
        score="r2",
        failed=-1.0,
        l2_penalty=1.0,
        row_clip=1.0,
        target_clip=1.0,
    )
    assert utility.certificate() is None
    assert utility.on(X, TARGETS).evaluate(Chains.of([np.arange(9)], [np.array([9])])).tolist() == [
        -1.0
    ]


def test_a_model_must_be_an_estimator() -> None:
    with pytest.raises(ModelError, match="unfitted scikit-learn estimator"):
        Utility(len, TEST_X, TEST_Y)
    with pytest.raises(ArgumentError, match="x must have 6 columns"):
        Utility(LogisticRegression(), TEST_X, TEST_Y).on(X[:, :2], Y)
