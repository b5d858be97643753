"""Bounded models in Alissaiei (2026): how far they predict, and what a range alone certifies."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

import numpy as np

from discreet.audit.claims.alissaiei.published import (
    at_mean,
    naive_bound,
    published_masks,
    singletons,
)
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.engines.shapley.coalitions import all_masks
from discreet.explain.shap.bounds.operator import bound_operator_range
from discreet.explain.shap.bounds.records import exact_l1, exact_l2
from discreet.models import TreeEnsemble, tree_ensemble
from discreet.privacy.certificate import Box
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import public_generator
from discreet.schema import FloatArray


def naive_range(twist: float) -> Evidence:
    """Compare 4 F_max sqrt(K) |R|_2 with the longest change of attributions that values allow."""
    masks = published_masks()
    published = twist * naive_bound(masks, 0.5)  # predictions in [-1/2, 1/2]: r = 1
    found = _longest_change(masks.operator[:, :-1])
    certified = bound_operator_range(masks, Box(-0.5, 0.5)).sensitivity("l2", REPLACE_ONE)
    shifted = naive_bound(masks, 10.0) / naive_bound(masks, 0.5)
    return Evidence(
        judged(published, found),
        f"published {published:.1f} r, certified {certified:.2f} r, attained {found:.2f} r at d = 20, "
        f"K = 400; for predictions in [9, 10] another {shifted:.0f} times",
        {
            "published": published,
            "certified": certified,
            "attained": found,
            "factor": published / found,
        },
    )


def naive_growth(twist: float) -> Evidence:
    """Compare the growth of the naive bound between K = 1600 and K = 12800 with sqrt(K)."""
    bounds = {number: naive_bound(published_masks(10, number), 0.5) for number in (1600, 12800)}
    exponent = math.log(bounds[12800] / bounds[1600]) / math.log(8)
    return Evidence(
        decided(exponent >= 0.5 * twist - 0.1),
        f"d = 10: 4 F_max sqrt(K) |R|_2 is {bounds[1600]:.2f} r at K = 1600 and {bounds[12800]:.2f} r "
        f"at K = 12800: it grows as K^{exponent:.2f}",
        {"K=1600": bounds[1600], "K=12800": bounds[12800], "exponent": exponent},
    )


def _longest_change(columns: FloatArray, restarts: int = 20) -> float:
    """Return the length of a far corner of the columns' zonotope, found by going uphill."""
    draw, best = public_generator(0), 0.0
    for _ in range(restarts):
        direction = draw.normal(size=len(columns))
        for _ in range(50):
            corner = columns @ np.sign(columns.T @ direction)
            direction = corner
        best = max(best, float(np.linalg.norm(corner)))
    return best


def no_certificate_for_trees(twist: float) -> Evidence:
    """Move the mean of one split by a record, with 50 and 5000 records, and compare both moves."""
    moved = {rows: _split_move(rows) for rows in (50, 5000)}
    share, attained = moved[5000] / moved[50], _interventional_moves()
    return Evidence(
        decided(share >= twist),
        f"f(u) = 1[u_1 > 0] at the mean: a replaced record moves an attribution by {moved[50]:.2f} r "
        f"with 50 records and by {moved[5000]:.2f} r with 5000; averaged over records no model moves "
        f"by more than {attained[0]:.3f} r/n in Linf, {attained[1]:.3f} in L1, {attained[2]:.3f} in L2 "
        f"at d = 3 (certified {2 - 1 / 3:.3f}, {exact_l1(3):.3f}, {exact_l2(3):.3f})",
        {"share left": share, "linf": attained[0], "l1": attained[1], "l2": attained[2]},
    )


def _split_move(rows: int) -> float:
    """Return how far one record takes an attribution of a split whose mean is just above it."""
    step = np.array([2.0 / rows, 0.0])

    def split(points: FloatArray) -> FloatArray:
        return np.asarray((points[:, 0] > 0).astype(np.float64))

    before, after = (at_mean(split, np.ones(2), mean, singletons(2)) for mean in (step / 2, -step / 2))
    return float(np.abs(after - before).max())


def _interventional_moves() -> list[float]:
    """Return the greatest moves times n / r over every corner of games of three features.

    A record's games are those of any model with predictions in [0, 1], trees included.
    """
    operator = all_masks(3).operator[:, :-1]  # the query's own prediction is public and stays
    corners = np.array(list(product((-1.0, 1.0), repeat=operator.shape[1]))) @ operator.T
    return [float(np.linalg.norm(corners, order, axis=1).max()) for order in (np.inf, 1, 2)]


def network_range(twist: float) -> Evidence:
    """Compare |W2|_1 + |b2| with the greatest prediction of a network that can be saturated."""
    draw = public_generator(0)
    inner, outer, shift = draw.normal(size=(4, 4)), draw.normal(size=4), 0.7
    far = np.linalg.solve(inner.T, 60.0 * np.sign(outer))
    found = abs(float(np.tanh(far @ inner) @ outer) + shift)
    claimed = twist * (float(np.abs(outer).sum()) + shift)
    return Evidence(
        judged(claimed, found),
        f"claimed {claimed:.4f}, attained {found:.4f} where every unit is saturated",
        {"claimed": claimed, "attained": found},
    )


@lru_cache(maxsize=2)
def _small_trees(kind: str) -> tuple[TreeEnsemble, float]:
    """Return a small ensemble of three features and the greatest |prediction| over all its cells."""
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    draw = public_generator(0)
    rows = draw.normal(size=(300, 3))
    target = rows @ np.array([2.0, -1.0, 0.5]) + rows[:, 0] * rows[:, 1]
    makers = {"forest": RandomForestRegressor, "boosting": GradientBoostingRegressor}
    fitted = makers[kind](n_estimators=10, max_depth=2, random_state=0).fit(rows, target)
    trees = tree_ensemble(fitted, "value", 0)
    assert trees is not None
    inner = np.isfinite(trees.threshold)
    cuts = [np.unique(trees.threshold[inner & (trees.feature == j)]) for j in range(3)]
    places = [np.concatenate([cut, [cut.max() + 1.0 if len(cut) else 0.0]]) for cut in cuts]
    cells = np.array(list(product(*places)))  # a row at a threshold goes left: one row per cell
    return trees, float(np.abs(trees.predict(cells)).max())


def _tree_range(kind: str, twist: float) -> Evidence:
    trees, found = _small_trees(kind)
    leaves = np.maximum.reduceat(np.abs(trees.value), trees.roots)
    claimed = twist * (float(leaves.sum()) + abs(trees.base))
    return Evidence(
        judged(claimed, found),
        f"claimed {claimed:.3f}, the greatest prediction over all cells is {found:.3f}",
        {"claimed": claimed, "attained": found, "factor": claimed / found},
    )


def forest_range(twist: float) -> Evidence:
    """Compare the mean of the trees' greatest leaves with the greatest prediction."""
    return _tree_range("forest", twist)


def boosting_range(twist: float) -> Evidence:
    """Compare |init| + eta times the sum of greatest leaves with the greatest prediction."""
    return _tree_range("boosting", twist)


def claims() -> list[Claim]:
    """Return what is claimed of bounded models."""
    return [
        Claim(
            id="alissaiei-2026-section-1",
            paper="alissaiei-2026",
            place="Section 1, Section 5.1",
            says=(
                "The noise of the certified Gaussian baseline grows as sqrt(K), and this growth "
                "of its sensitivity is the source of its impractical scale."
            ),
            verdict="false",
            because=(
                "True of noise on the values y before the regression. The baseline of section 5.1 "
                "goes through R, which shrinks what it averages: |R|_2 is at most sqrt(w_max / "
                "w_min) sqrt(d / K) / kappa, so that even the published bound does not grow with "
                "K. Section 1 says of attributions itself that R cancels the growth."
            ),
            instead="Certificates of drawn masks fall towards those of all masks.",
            evidence=naive_growth,
            control=0.0,
            statements=("shap-masks", "shap-rank-condition"),
        ),
        Claim(
            id="alissaiei-2026-section-3-2",
            paper="alissaiei-2026",
            place="Section 3.2, trees",
            says=(
                "For discontinuous models such as trees a certificate either assumes a margin or "
                "does not shrink with n."
            ),
            verdict="holds",
            because=(
                "Of the value at the mean, which the paper takes: one split suffices, at any n. "
                "The interventional value function, the mean of f over records, avoids it: there "
                "every bounded model has a 1/n certificate, (2 - 1/d) r / n in Linf, attained."
            ),
            instead="Interventional values by default.",
            evidence=no_certificate_for_trees,
            control=2.0,
            statements=("stump-margin", "shap-contribution", "shap-l1", "shap-l2"),
        ),
        Claim(
            id="alissaiei-2026-lemma-20",
            paper="alissaiei-2026",
            place="Lemma 20, Equation 1",
            says=(
                "Attributions of a model with |f| at most F_max move by at most 4 F_max sqrt(K) "
                "|R|_2 in L2."
            ),
            verdict="loose",
            because=(
                "As its name, naive, says. The base value is subtracted in common and not once per "
                "mask, the range r does "
                "instead of 2 F_max, and all values cannot be worst for one direction: a factor "
                "above four even if r = 2 F_max, and without limit if it is less."
            ),
            instead=(
                "Takes the range once per value and once for the base value, through the operator "
                "in use."
            ),
            evidence=naive_range,
            control=0.1,
            statements=("shap-operator", "shap-masks"),
        ),
        Claim(
            id="alissaiei-2026-lemma-34",
            paper="alissaiei-2026",
            place="Lemma 34",
            says="A network with one hidden tanh layer predicts within |W2|_1 + |b2|.",
            verdict="holds",
            because="Attained in the limit where all units can be saturated at once.",
            instead="The same, as an interval with a low and a high end.",
            evidence=network_range,
            control=0.5,
            statements=("fmax",),
        ),
        Claim(
            id="alissaiei-2026-lemma-35",
            paper="alissaiei-2026",
            place="Lemma 35",
            says="A forest predicts within the mean over trees of the greatest absolute leaf.",
            verdict="holds",
            because=(
                "One row need not meet the greatest leaf of every tree, so it is not attained, but"
                " near."
            ),
            instead="The same, as an interval with a low and a high end.",
            evidence=forest_range,
            control=0.5,
            statements=("fmax",),
        ),
        Claim(
            id="alissaiei-2026-lemma-36",
            paper="alissaiei-2026",
            place="Lemma 36",
            says=(
                "Boosted trees predict within |init| + eta times the sum over trees of the "
                "greatest absolute leaf."
            ),
            verdict="holds",
            because=(
                "One row need not meet the greatest leaf of every tree; the paper reports a factor"
                " of 2.18 for 100 trees."
            ),
            instead="The same, as an interval with a low and a high end.",
            evidence=boosting_range,
            control=0.5,
            statements=("fmax",),
        ),
    ]
