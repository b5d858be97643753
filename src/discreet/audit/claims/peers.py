"""Claims of libraries that we rely on or compare with, tried where they are installed.

Said of the versions named. A library that is not installed leaves its claim untried.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, Run, decided, judged
from discreet.engines.shapley import enumerate_values
from discreet.mechanisms.selection.basic import PermuteAndFlip
from discreet.randomness import public_generator

_SHAP = "shap 0.51.0, TreeExplainer with feature_perturbation='interventional'"


def claims() -> list[Claim]:
    """Return the claims of libraries."""
    return [*_of_shap(), *_of_privacy_libraries()]


def _of_shap() -> list[Claim]:
    return [
        Claim(
            "peers-shap-interventional",
            "peers",
            _SHAP,
            "Interventional values of tree ensembles are exact Shapley values.",
            "holds",
            "For scikit-learn's forests and gradient boosting, XGBoost and boosted LightGBM trees "
            "they agree with enumeration to 1e-6, on rows that single precision holds.",
            "Engines of our own with integer sums per record, which agree with enumeration to 1e-9.",
            needs("shap", _agreement),
            control=1e-4,
            statements=("tree-shapley",),
        ),
        Claim(
            "peers-shap-single-precision",
            "peers",
            f"{_SHAP}, HistGradientBoosting",
            "The same for scikit-learn's HistGradientBoosting on any rows.",
            "false",
            "Rows and thresholds are kept in single precision, while the model splits in double "
            "precision: a row within rounding of a threshold goes to the other side. A feature whose "
            "two values are 1e-10 apart loses its whole effect. The explainer's check of sums refuses "
            "to answer where this is above 1 % of the prediction; below it nothing is said. With rows "
            "rounded to single precision before fitting the values agree to 1e-8.",
            "Thresholds as the library that made them compares, in double precision.",
            needs("shap", _single_precision),
            control=1e12,
            statements=("tree-decisions",),
        ),
        Claim(
            "peers-shap-categories",
            "peers",
            f"{_SHAP}, HistGradientBoosting with categorical_features",
            "The same for HistGradientBoosting with categorical columns.",
            "false",
            "Sets of categories are read as thresholds on their codes: effects come out with the "
            "wrong sign. The check of sums does not notice, since it asks the trees as they were read. "
            "LightGBM's categories are read rightly.",
            "Trees with such splits are not read: the model is asked, and its values are those of "
            "its answers.",
            needs("shap", _categories),
            control=1e12,
            statements=("tree-decisions",),
        ),
        Claim(
            "peers-shap-random-forest-mode",
            "peers",
            f"{_SHAP}, LightGBM with boosting_type='rf'",
            "The same for LightGBM's random forests.",
            "false",
            "LightGBM averages the trees of a regression forest, the explainer adds them up: values "
            "are as many times too large as there are trees.",
            "Averaged boosters are not read as trees: the model is asked.",
            needs("shap", needs("lightgbm", _random_forest_mode)),
            control=100.0,
            statements=("tree-decisions",),
        ),
    ]


def _of_privacy_libraries() -> list[Claim]:
    return [
        Claim(
            "peers-diffprivlib-forest",
            "peers",
            "diffprivlib 0.6.6, RandomForestClassifier",
            "A forest with epsilon is epsilon-private; for which neighbours is not said.",
            "false",
            "For neither kind, by its source (the library is not run here). A leaf takes its label by "
            "permute-and-flip at epsilon for one row more or less, and a replaced row leaves one leaf "
            "and joins another: 2 epsilon. It would be epsilon for a removed row, but rows are dealt "
            "to trees in blocks by position, so that removing one moves others from tree to tree.",
            "Twice the noise under replace-one; rows are dealt by a keyed hash of their id.",
            _two_leaves,
            control=2.0,
            statements=("forest-disjoint", "tree-leaves"),
        ),
        Claim(
            "peers-dp-accounting-count",
            "peers",
            "dp-accounting 0.6.0, PLDAccountant.compose(event, count)",
            "Composing an event count times costs as much as composing it one by one.",
            "false",
            "Not for RandomizedResponseDpEvent, whose count is ignored: ten uses cost as much as one.",
            "Loss distributions are composed by themselves; a test compares the two.",
            _ignored_count,
            control=0.05,
            statements=("pld-batch",),
        ),
        Claim(
            "peers-opendp-laplace",
            "peers",
            "OpenDP 0.16.0, make_laplace on 64-bit integers",
            "Noise on integers follows the discrete Laplace law of its scale.",
            "holds",
            "60,000 draws fit the law and do not fit one with a scale 5 % off.",
            "",
            _opendp_law,
            control=1.05,
            statements=("laplace",),
        ),
        Claim(
            "peers-opendp-int",
            "peers",
            "OpenDP 0.16.0, make_laplace with T=int",
            "It puts out integers with discrete Laplace noise of the scale that was asked for.",
            "false",
            "T=int stands for 32-bit integers, and sums saturate there: with scale 2^40 they end at "
            "2^31, and nothing is said. This keeps privacy, not the law of the noise.",
            "T='i64' and scales up to 2^50.",
            _opendp_width,
            control=2.0**-12,
            statements=("laplace",),
        ),
    ]


def needs(library: str, run: Run) -> Run:
    """Return evidence that says so where a library is not installed."""

    def tried(twist: float) -> Evidence:
        from importlib.util import find_spec

        if find_spec(library) is None:
            return Evidence("not reproducible", f"{library} is not installed.", {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the libraries on trial, none of ours
            return run(twist)

    return tried


def _rows(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    draw = public_generator(51)
    rows = draw.normal(size=(count, 3)).astype(np.float32).astype(np.float64)
    return rows, rows[:, 0] + rows[:, 1] * rows[:, 2]


def _off(model: Any, predict: Callable[[Any], Any], rows: np.ndarray, asked: np.ndarray) -> float:
    """Return how far the explainer is from enumeration, beside the greatest value."""
    import shap

    background = rows[:20]
    explainer = shap.TreeExplainer(model, data=background, feature_perturbation="interventional")
    found = np.asarray(explainer.shap_values(asked))  # its own check of sums is left on

    def mean_with(row: np.ndarray, inside: np.ndarray) -> float:
        return float(np.mean(predict(np.where(inside, row, background))))

    exact = np.stack([enumerate_values(partial(mean_with, row), rows.shape[1]) for row in asked])
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def _agreement(twist: float) -> Evidence:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    rows, target = _rows()
    models = [
        RandomForestRegressor(5, max_depth=4, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ]
    off = max(_off(model.fit(rows, target), model.predict, rows, rows[20:23]) for model in models)
    said = f"Values differ from enumeration by {off:.1e} of the greatest; rounding explains 1e-6."
    return Evidence(decided(off <= 1e-6 * twist), said, {"off": off})


def _single_precision(twist: float) -> Evidence:
    from sklearn.ensemble import HistGradientBoostingRegressor

    near, other = np.tile(np.repeat([0.1, 0.1 + 1e-10], 10), 6), np.tile(np.repeat([0.0, 1.0], 20), 3)
    rows = np.column_stack([near, other])
    model = HistGradientBoostingRegressor(learning_rate=0.5, early_stopping=False)
    model.fit(rows, (near > 0.1) + 150.0 * other)  # off by less than the 1 % that its check lets pass
    off = _off(model, model.predict, np.vstack([rows[::2], rows]), rows[-1:])
    said = f"Of two values 1e-10 apart the effect is lost: off by {off:.2%} of the greatest value."
    return Evidence(decided(off <= 1e-6 * twist), said, {"off": off})


def _categories(twist: float) -> Evidence:
    from sklearn.ensemble import HistGradientBoostingRegressor

    codes = np.tile(np.arange(6.0), 20)[:, None]
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0], early_stopping=False)
    model.fit(codes, np.isin(codes[:, 0], [1, 4]).astype(float))
    off = _off(model, model.predict, codes, np.arange(6.0)[:, None])
    said = f"With two of six categories different the effects are off by {off:.0%}."
    return Evidence(decided(off <= 1e-6 * twist), said, {"off": off})


def _random_forest_mode(twist: float) -> Evidence:
    import lightgbm

    rows, target = _rows()
    model = lightgbm.LGBMRegressor(
        boosting_type="rf", n_estimators=8, subsample=0.6, subsample_freq=1, n_jobs=1, verbose=-1
    ).fit(rows, target)
    off = _off(model, model.predict, rows, rows[20:23])
    said = f"With 8 trees values are off by {off:.3f} times the greatest."
    return Evidence(decided(off <= 0.1 * twist), said, {"off": off})


def _two_leaves(twist: float) -> Evidence:
    """The labels of two leaves by permute-and-flip with scale 1 / epsilon, all counts up to four."""
    epsilon = 1.0
    pick = PermuteAndFlip(1, 2 * epsilon)
    laws = {c: pick.probabilities(np.array(c)) for c in itertools.product(range(6), repeat=2)}
    joins = max(
        float(np.max(np.abs(np.log(laws[counts] / laws[counts[0] + 1, counts[1]]))))
        for counts in itertools.product(range(5), repeat=2)
    )
    loss = 2 * joins
    said = f"One leaf loses {joins:.4f}, the two that a replaced row is in {loss:.4f}."
    return Evidence(judged(twist * epsilon, loss), said, {"loss": loss})


def _ignored_count(twist: float) -> Evidence:
    from dp_accounting import NeighboringRelation, RandomizedResponseDpEvent
    from dp_accounting.pld import PLDAccountant

    event, uses, delta = RandomizedResponseDpEvent(0.5, 2), 10, 1e-3
    relation = NeighboringRelation.REPLACE_ONE
    at_once, one_by_one = (PLDAccountant(neighboring_relation=relation) for _ in range(2))
    at_once.compose(event, uses)
    for _ in range(uses):
        one_by_one.compose(event)
    claimed, true = (account.get_epsilon(delta) for account in (at_once, one_by_one))
    said = f"Ten uses cost {claimed:.3f} at once and {true:.3f} one by one."
    return Evidence(decided(claimed >= twist * true), said, {"at once": claimed, "one by one": true})


def _opendp_noise(scale: float, kind: Any, draws: int) -> np.ndarray:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=kind)), dp.l1_distance(T=kind)
    return np.asarray(dp.m.make_laplace(*space, scale=scale)([0] * draws), dtype=np.int64)


def _opendp_law(twist: float) -> Evidence:
    from scipy.stats import chi2

    scale, draws, width = 5.0, 60_000, 30
    drawn = np.clip(_opendp_noise(scale, "i64", draws), -width, width)
    seen = np.bincount(drawn + width, minlength=2 * width + 1)
    stated = scale * twist
    law = math.tanh(0.5 / stated) * np.exp(-np.abs(np.arange(-width, width + 1)) / stated)
    tail = (1 - law.sum()) / 2
    law[[0, -1]] += tail
    statistic = float((((seen - draws * law) ** 2) / (draws * law)).sum())
    chance = float(chi2.sf(statistic, 2 * width))
    said = f"A worse fit to scale {stated:g} has probability {chance:.2g}."
    return Evidence(decided(chance > 1e-9), said, {"p": chance})


def _opendp_width(twist: float) -> Evidence:
    scale = 2.0**40 * twist
    widest = float(np.abs(_opendp_noise(scale, int, 200)).max())
    said = f"The widest of 200 draws is {widest / scale:.2g} scales; the mean of the widest is 5.9."
    return Evidence(decided(widest > scale), said, {"scales": widest / scale})
