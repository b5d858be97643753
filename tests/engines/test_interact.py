"""Means over mixed rows: every engine against calls of the model, and subsets that stay apart."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.engines import interact as h_statistic
from discreet.engines import interact_trees as h_trees
from discreet.engines.interact import (
    CalledDependences,
    Dependences,
    NetworkDependences,
    all_pairs,
    called_dependences,
    pair_scores,
    pairs_with,
    total_scores,
)
from discreet.engines.interact_trees import TreeDependences
from discreet.engines.kernels.interact import exponential
from discreet.engines.table import engine_for
from discreet.models import BoundModel

WIDTH = 5
SCHEMA = dc.Schema({f"f{i}": dc.Number(-3, 3, missing=False) for i in range(WIDTH)})
ROWS = np.random.default_rng(0).normal(size=(400, WIDTH)).clip(-3, 3).round(2)
VALUES = ROWS[:, 0] * ROWS[:, 1] + np.sin(2 * ROWS[:, 2]) + ROWS[:, 3] * (ROWS[:, 4] > 0)
PARTS = [ROWS[:30], ROWS[30:41], ROWS[41:43], ROWS[43:44], ROWS[:0], ROWS[100:150]]


def network(kind: Any, activation: str, units: int, scale: float = 1.0) -> Any:
    options = {"max_iter": 15, "random_state": 0, "solver": "lbfgs"}
    fitted = kind(hidden_layer_sizes=(units,), activation=activation, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not be a good network
        fitted.fit(ROWS, VALUES if kind is MLPRegressor else VALUES > 0)
    fitted.coefs_[0] *= scale
    return fitted


@cache
def models() -> dict[str, dc.Model]:
    forest = RandomForestRegressor(20, max_depth=5, random_state=0).fit(ROWS, VALUES)
    boosting = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(ROWS, VALUES > 0)
    scaler = StandardScaler().fit(3 * ROWS + 1)
    scaled = make_pipeline(scaler, network(MLPRegressor, "tanh", 3))
    constant = GradientBoostingClassifier(n_estimators=2, min_samples_leaf=300)
    return {
        "forest": dc.Model(forest),
        "cut forest": dc.Model(forest, bounds=(-0.5, 0.5)),
        "classes": dc.Model(RandomForestClassifier(9, max_depth=4).fit(ROWS, VALUES > 0)),
        "boosting": dc.Model(boosting),
        "margin": dc.Model(boosting, output="margin"),
        "histogram": dc.Model(HistGradientBoostingRegressor(max_iter=15).fit(ROWS, VALUES)),
        "no split": dc.Model(constant.fit(ROWS, VALUES > 0)),
        "deep": dc.Model(RandomForestRegressor(5, random_state=0).fit(ROWS, VALUES)),
        "logistic": dc.Model(LogisticRegression().fit(ROWS, VALUES > 0)),
        "linear": dc.Model(LinearRegression().fit(ROWS, VALUES), bounds=(-0.2, 9.0)),
        "tanh": dc.Model(network(MLPClassifier, "tanh", 8)),
        "odd": dc.Model(network(MLPClassifier, "logistic", 5)),
        "relu": dc.Model(network(MLPRegressor, "relu", 6), bounds=(-1, 2)),
        "steep": dc.Model(network(MLPClassifier, "tanh", 4, 40.0)),
        "scaled": dc.Model(scaled, bounds=(-5, 5)),
    }


TREES = ("forest", "cut forest", "classes", "boosting", "margin", "histogram", "no split")
LAYERS = ("logistic", "linear", "tanh", "odd", "relu", "steep", "scaled")
NAMES = (*TREES, "deep", *LAYERS)


@cache
def bind(name: str) -> BoundModel:
    return models()[name].bind(SCHEMA)


def scores(dependences: Dependences, parts: list[np.ndarray], which: str) -> np.ndarray:
    if which == "totals":
        return np.array(list(total_scores(dependences, parts)))
    pairs = all_pairs(WIDTH) if which == "all pairs" else pairs_with(2, WIDTH)
    return np.array(list(pair_scores(dependences, parts, pairs)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["totals", "one feature", "all pairs"])
def test_engines_find_what_calls_find(name: str, which: str) -> None:
    dependences = engine_for("interact", bind(name))
    ours, theirs = (scores(d, PARTS, which) for d in (dependences, called_dependences(bind(name))))
    assert np.isnan(ours[3:5]).all() and np.isnan(theirs[3:5]).all()
    assert np.isfinite(ours[2]).all()  # of two rows little is left of a ratio but rounding
    large = [0, 1, 5]
    assert np.allclose(ours[large], theirs[large], rtol=1e-7, atol=1e-9)
    assert (ours[large] == 0).all() == (name == "no split")


@pytest.mark.parametrize("name", NAMES)
def test_means_are_those_of_mixed_rows(name: str) -> None:
    rows, starts, pairs = ROWS[:40], np.array([0, 25, 40]), all_pairs(WIDTH)
    ours, theirs = engine_for("interact", bind(name)), called_dependences(bind(name))
    for mine, other in zip(ours.singles(rows, starts), theirs.singles(rows, starts), strict=True):
        assert np.allclose(mine, other, atol=1e-12)
    mine, other = ours.pairs(rows, starts, pairs), theirs.pairs(rows, starts, pairs)
    assert np.allclose(mine[1], other[1], atol=1e-12)
    constant = (mine[2] - other[2])[:, [0, 25]].repeat([25, 15], axis=1)  # from any zero
    assert np.allclose(mine[2] - constant, other[2], atol=1e-12)


def test_every_known_form_has_an_engine_that_calls_nothing() -> None:
    chosen = {name: engine_for("interact", bind(name)) for name in NAMES}
    trees = {name for name, engine in chosen.items() if isinstance(engine, TreeDependences)}
    layers = {name for name, engine in chosen.items() if isinstance(engine, NetworkDependences)}
    assert trees == {*TREES} and layers == {*LAYERS}
    assert isinstance(chosen["deep"], CalledDependences)
    assert all(engine.pulse is None for engine in chosen.values())
    function = dc.Model(lambda rows: rows[:, 0], bounds=(-3, 3), name="first")
    assert engine_for("interact", function.bind(SCHEMA)).pulse is not None


@pytest.mark.proves("generic-plots")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["totals", "one feature"])
def test_a_subset_never_feels_the_rows_of_another(
    name: str, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dependences = engine_for("interact", bind(name))
    together = scores(dependences, PARTS, which)
    apart = np.concatenate([scores(dependences, [part], which) for part in PARTS])
    assert np.array_equal(together, apart, equal_nan=True)
    others = [*PARTS[:1], *(-part[::-1] for part in PARTS[1:]), ROWS[200:203]]
    assert np.array_equal(scores(dependences, others, which)[0], apart[0])
    monkeypatch.setattr(h_statistic, "_CELLS", 400)  # other batches
    monkeypatch.setattr(h_trees, "_CELLS", 1)  # one feature or pair at a time
    assert np.array_equal(scores(dependences, PARTS, which), apart, equal_nan=True)


@pytest.mark.refutes("generic-plots")
def test_an_engine_that_mixes_subsets_is_caught() -> None:
    class Mixed(CalledDependences):
        def singles(self, rows: np.ndarray, starts: np.ndarray) -> Any:
            return super().singles(rows, np.array([0, len(rows)]))

    fair, mixed = (kind(bind("forest").predict) for kind in (CalledDependences, Mixed))
    assert np.array_equal(scores(fair, PARTS[:2], "totals")[0], scores(fair, PARTS[:1], "totals")[0])
    assert not np.allclose(
        scores(mixed, PARTS[:2], "totals")[0], scores(mixed, PARTS[:1], "totals")[0], rtol=1e-3
    )


def test_missing_values_go_where_the_trees_send_them() -> None:
    rows = ROWS.copy()
    rows[::7, 0] = rows[::5, 2] = np.nan
    trees = HistGradientBoostingRegressor(max_iter=10).fit(rows, VALUES)
    bound = dc.Model(trees).bind(SCHEMA)
    parts = [rows[:30], rows[30:50]]
    for which in ("totals", "all pairs"):
        ours = scores(engine_for("interact", bound), parts, which)
        assert np.allclose(ours, scores(called_dependences(bound), parts, which), rtol=1e-7, atol=1e-9)


def test_huge_and_tiny_answers_have_the_same_statistics() -> None:
    expected = scores(engine_for("interact", bind("linear")), PARTS[:1], "totals")
    assert expected.max() > 0.01  # the bounds cut
    for scale in (1e90, 1e-8):
        fitted = LinearRegression().fit(ROWS, VALUES)
        fitted.coef_, fitted.intercept_ = fitted.coef_ * scale, fitted.intercept_ * scale
        bound = dc.Model(fitted, bounds=(-0.2 * scale, 9.0 * scale)).bind(SCHEMA)
        for dependences in (engine_for("interact", bound), called_dependences(bound)):
            assert np.allclose(scores(dependences, PARTS[:1], "totals"), expected, rtol=1e-7)


def test_exponentials_are_right_to_the_last_bits() -> None:
    for x in np.concatenate([np.linspace(-707, 708, 5001), [0.0, 1e-300, -1e-17]]):
        assert exponential(x) == pytest.approx(np.exp(x), rel=1e-15)
    assert exponential(1e9) == exponential(709.0) < np.inf
    assert exponential(-np.inf) == exponential(-708.0) > 0
    assert np.isnan(exponential(np.nan))
