"""Stability of penalised fits: bounds hunted on real fits, and faults that the hunt catches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge

from discreet.errors import ArgumentError
from discreet.value.engines.games import Chains
from discreet.value.engines.linear_fits import linear_fit, stable_fits
from discreet.value.engines.utilities import Utility

CLIP = 1.0


def fitted(rows: Any, signs: Any, l2_penalty: float) -> Any:
    """Return the weights of all rows together, without an intercept."""
    fit = linear_fit(LogisticRegression(fit_intercept=False), l2_penalty)
    assert fit is not None
    chain = Chains.of([np.arange(len(rows))], [np.array([len(rows)])])
    return fit.weights(np.ascontiguousarray(rows), np.asarray(signs, dtype=float), chain)[0]


def shortened(row: Any) -> Any:
    return row * min(1.0, CLIP / max(float(np.linalg.norm(row)), 1e-12))


def replaced_share(crowd: Any, two: Any, copies: int, l2_penalty: float) -> float:
    """Return how much of the bound replacing the first row of ``two`` by the second uses up."""
    rows = np.repeat(np.array([shortened(row) for row in crowd]), copies, axis=0)
    before, after = (np.vstack([rows, shortened(row)]) for row in two)
    ones = np.ones(len(before))
    moved = np.linalg.norm(fitted(before, ones, l2_penalty) - fitted(after, ones, l2_penalty))
    return float(moved * l2_penalty * len(before) / CLIP)


def added_share(crowd: Any, row: Any, l2_penalty: float) -> float:
    """Return how much of the bound adding a row uses up."""
    rows = np.array([shortened(r) for r in crowd])
    more = np.vstack([rows, shortened(row)])
    moved = np.linalg.norm(
        fitted(rows, np.ones(len(rows)), l2_penalty) - fitted(more, np.ones(len(more)), l2_penalty)
    )
    return float(moved * l2_penalty * len(more) / CLIP)


def hunt_replacement() -> float:
    """Return the greatest share found: rows that oppose a large crowd from two sides, then a search."""
    l2_penalty, copies = 1e-3, 1500

    def share(point: Any) -> float:
        parts = point.reshape(3, 2)
        return -replaced_share(parts[:1], parts[1:], copies, l2_penalty)

    start = np.array([1.0, 0.0, -0.5, 0.85, -0.5, -0.85])
    return -float(minimize(share, start, method="Nelder-Mead", options={"maxfev": 80}).fun)


def hunt_addition() -> float:
    best = 0.0
    for seed in range(6):
        draw = np.random.default_rng(seed)
        l2_penalty, k = 10.0 ** draw.uniform(-3, 1), int(draw.integers(1, 8))

        def share(point: Any, k: int = k, l2_penalty: float = l2_penalty) -> float:
            parts = point.reshape(k + 1, 2)
            return -added_share(parts[:k], parts[k], l2_penalty)

        start = draw.normal(size=2 * (k + 1))
        best = max(
            best, -float(minimize(share, start, method="Nelder-Mead", options={"maxfev": 150}).fun)
        )
    return best


@pytest.fixture(scope="module")
def replacement_found() -> float:
    return hunt_replacement()


@pytest.mark.proves("stability-replace")
def test_no_search_moves_weights_beyond_the_bound(replacement_found: float) -> None:
    assert 0.5 < replacement_found <= 1.0
    assert 0.3 < hunt_addition() <= 1.0


@pytest.mark.refutes("stability-replace")
def test_half_the_bound_is_caught(replacement_found: float) -> None:
    """Bousquet and Elisseeff's removal keeps 1/m and is half; replacing a record costs more."""
    assert replacement_found > 0.55


@pytest.mark.refutes("stability-replace")
def test_a_fixed_c_is_caught() -> None:
    """scikit-learn's C held fixed: the penalty in the mean falls with k, and weights keep moving."""
    l2_penalty, k = 0.05, 640  # C = 1 would be right at k = 10
    x, y = np.tile([1.0, 0.0], (k, 1)), np.ones(k, dtype=int)
    x[0], y[0] = -x[0], 0
    other = x.copy()
    x[-1], other[-1] = (-0.5, 0.86), (-0.5, -0.86)  # against the crowd, from either side

    def moved(c: float) -> float:
        model = LogisticRegression(C=c, fit_intercept=False, tol=1e-12, max_iter=1_000)
        return float(np.linalg.norm(model.fit(x, y).coef_ - model.fit(other, y).coef_))

    bound = CLIP / (l2_penalty * k)
    assert moved(1 / (2 * l2_penalty * k)) <= bound < moved(1.0) / 10


@pytest.mark.refutes("stability-replace")
def test_a_free_intercept_is_caught() -> None:
    """Strong penalty, four labels alike but one: the intercept alone exceeds the bound."""
    l2_penalty, k = 50.0, 4
    x = np.full((k, 1), 1e-3)
    model = LogisticRegression(C=1 / (2 * l2_penalty * k), tol=1e-10, max_iter=1_000)
    first = model.fit(x, [1, 1, 1, 0]).intercept_[0]
    second = model.fit(x, [1, 1, 0, 0]).intercept_[0]
    reach = np.hypot(1e-3, 1.0)
    assert abs(first - second) > 10 * reach / (l2_penalty * k)
    utility = Utility(model, x, [1, 0, 1, 0], score="log-loss", l2_penalty=l2_penalty, row_clip=1e-3)
    assert utility.fast is not None and not utility.fast.free


def scored_moves(utility: Utility, x: Any, y: Any, k: int, seed: int) -> tuple[float, float]:
    """Return how far adding and replacing one record moves the value of k others, at most."""
    draw, n = np.random.default_rng(seed), len(x)
    game, added, replaced = utility.on(x, y), 0.0, 0.0
    for _ in range(20):
        order = draw.permutation(n)[: k + 2]
        first = Chains.of(
            [order[: k + 1], order[[*range(k - 1), k]]], [np.array([k, k + 1]), np.array([k])]
        )
        without, with_one, other = game.evaluate(first)
        added, replaced = max(added, abs(with_one - without)), max(replaced, abs(other - without))
    return added, replaced


@pytest.mark.parametrize("score", ["log-loss", "brier"])
@pytest.mark.proves("stability-replace")
def test_scores_of_logistic_fits_keep_the_certificate(score: str) -> None:
    draw = np.random.default_rng(3)
    x, y = draw.normal(size=(60, 3)) * 5, draw.integers(0, 2, 60)
    model = LogisticRegression()
    for l2_penalty in (1e-3, 0.1, 3.0):
        utility = Utility(model, x[:30], y[:30], score=score, l2_penalty=l2_penalty, row_clip=2.0)
        bound = utility.certificate()
        assert bound is not None
        for k in (1, 2, 10, 25):
            added, replaced = scored_moves(utility, x[30:], y[30:], k, k)
            assert added <= bound.removal(k) and replaced <= bound.replacement(k)


@pytest.mark.proves("stability-replace")
def test_scores_of_ridge_fits_keep_the_certificate() -> None:
    draw = np.random.default_rng(4)
    x = draw.normal(size=(60, 3))
    y = x @ [1.0, -1.0, 0.5] + draw.normal(size=60) * 3
    for l2_penalty in (0.3, 3.0, 30.0):
        utility = Utility(
            Ridge(), x[:30], y[:30], score="r2", l2_penalty=l2_penalty, row_clip=1.0, target_clip=2.0
        )
        bound = utility.certificate()
        assert bound is not None
        for k in (1, 5, 25):
            added, replaced = scored_moves(utility, x[30:], y[30:], k, k)
            assert added <= bound.removal(k) and replaced <= bound.replacement(k)
    # Strong penalties make it say more than the range.
    assert bound.removal(25) < utility.width


def test_bounds_by_size() -> None:
    bound = stable_fits(l2_penalty=0.5, lipschitz=1.0, row_clip=2.0, score_lipschitz=1.0, width=5.0)
    assert bound.removal([0, 1, 3, 7]).tolist() == pytest.approx([5.0, 4.0, 2.0, 1.0])
    assert bound.replacement([0, 1, 2, 8]).tolist() == pytest.approx([0.0, 5.0, 4.0, 1.0])
    assert not bound.claimed
    with pytest.raises(ArgumentError, match="l2_penalty must be"):
        stable_fits(l2_penalty=0.0, lipschitz=1.0, row_clip=2.0, score_lipschitz=1.0, width=5.0)


def test_where_nothing_is_known_there_is_no_certificate() -> None:
    x, y = np.eye(4), np.array([0, 1, 0, 1])
    assert Utility(LogisticRegression(), x, y, score="log-loss").certificate() is None
    assert Utility(LogisticRegression(), x, y, l2_penalty=1.0, row_clip=1.0).certificate() is None
    assert Utility(LogisticRegression(), x, y, score="log-loss", l2_penalty=1.0).certificate() is None
    ridge = Utility(Ridge(), x, y, score="r2", l2_penalty=1.0, row_clip=1.0)
    assert ridge.certificate() is None  # targets without a bound


def test_labels_all_alike_are_fitted_where_a_certificate_is_given() -> None:
    x, y = np.random.default_rng(0).normal(size=(8, 2)), np.ones(8, dtype=int)
    utility = Utility(
        LogisticRegression(), x, [0, 1] * 4, score="log-loss", l2_penalty=0.1, row_clip=1.0, failed=-5.0
    )
    found = utility.on(x, y).evaluate(Chains.of([np.arange(8)], [np.arange(1, 9)]))
    assert (found > -5).all()
