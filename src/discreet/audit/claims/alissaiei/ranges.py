"""Bounded models in Alissaiei (2026): how far they predict, and what a range alone certifies."""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np

from discreet.audit.claims.alissaiei.published import at_mean, naive_bound, published_masks
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.engines.shapley.coalitions import all_masks
from discreet.explain.shap.bounds.operator import bound_operator_range
from discreet.explain.shap.bounds.records import exact_l1, exact_l2
from discreet.privacy.certificate import Box
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import IntArray, public_generator
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


def _one_cut(rows: FloatArray) -> FloatArray:
    return np.where(rows[:, 0] > 0, 1.0, 0.0)


def trees_at_the_mean(twist: float) -> Evidence:
    """Compare what one of 50 and one of 5000 records move, at the mean and in the interventional form.

    At the mean a tree of one cut jumps. Interventional values are means over records: every corner of
    the games of a model with predictions in [0, 1] is tried for one record's part.
    """
    masks = all_masks(3)
    moved = {}
    for rows in (50, 5000):
        ends = [np.array([sign / rows, 0.0, 0.0]) for sign in (-1.0, 1.0)]  # all others are zero
        values = [at_mean(_one_cut, np.ones(3), end, masks) for end in ends]
        moved[rows] = float(np.abs(values[1] - values[0]).max())
    operator = masks.operator[:, :-1]  # the query's own prediction is public and stays
    corners = np.array(list(product((-1.0, 1.0), repeat=operator.shape[1]))) @ operator.T
    parts = [float(np.linalg.norm(corners, order, axis=1).max()) for order in (np.inf, 1, 2)]
    return Evidence(
        decided(abs(moved[50] / moved[5000] - twist) < 1e-9),
        f"one cut, at the mean: one of 50 records moves an attribution by {moved[50]:.2f} r, one of "
        f"5000 by {moved[5000]:.2f} r. Interventional, d = 3: by {parts[0]:.3f} r/n (Linf), "
        f"{parts[1]:.3f} r/n (L1), {parts[2]:.3f} r/n (L2); certified {2 - 1 / 3:.3f}, "
        f"{exact_l1(3):.3f}, {exact_l2(3):.3f} (d = 20: {2 - 1 / 20}, {exact_l1(20):.2f}, "
        f"{exact_l2(20):.2f})",
        {"n=50": moved[50], "n=5000": moved[5000], "linf": parts[0], "l1": parts[1], "l2": parts[2]},
    )


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


class _SmallTree(NamedTuple):
    """Two questions deep: which feature each of three nodes asks, where it cuts, and four leaves."""

    features: IntArray
    cuts: FloatArray
    leaves: FloatArray

    def cells(self, rows: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        right = np.asarray(rows[:, self.features[0]] > self.cuts[0], dtype=np.int64)
        node = 1 + right
        return 2 * right + (rows[np.arange(len(rows)), self.features[node]] > self.cuts[node])


def _grown(rows: FloatArray, target: FloatArray, draw: np.random.Generator) -> _SmallTree:
    """Return a tree with random questions whose leaves are the means of the target."""
    features = draw.integers(rows.shape[1], size=3)
    tree = _SmallTree(features, rows[draw.integers(len(rows), size=3), features], np.zeros(4))
    cells = tree.cells(rows)
    means = [target[cells == leaf].mean() if np.any(cells == leaf) else 0.0 for leaf in range(4)]
    return tree._replace(leaves=np.array(means))


def _one_row_per_cell(trees: list[_SmallTree]) -> FloatArray:
    """Return every combination of cuts, and of a value beyond all: a row at a cut goes left."""
    asked = np.concatenate([tree.features for tree in trees])
    cuts = np.concatenate([tree.cuts for tree in trees])
    return np.array(list(product(*(np.append(cuts[asked == feature], 9.0) for feature in range(3)))))


def _tree_range(twist: float, *, boosted: bool) -> Evidence:
    """Compare the sum of the trees' greatest leaves with the greatest prediction over all cells."""
    draw, count, rate = public_generator(0), 12, 0.3
    rows = draw.normal(size=(300, 3))
    target = rows @ np.array([2.0, -1.0, 0.5]) + rows[:, 0] * rows[:, 1]
    start, share = (float(target.mean()), rate) if boosted else (0.0, 1.0 / count)
    trees: list[_SmallTree] = []
    for _ in range(count):
        told = sum((share * tree.leaves[tree.cells(rows)] for tree in trees), np.full(300, start))
        trees.append(_grown(rows, target - told if boosted else target, draw))
    corners = _one_row_per_cell(trees)
    found = start + sum(share * tree.leaves[tree.cells(corners)] for tree in trees)
    claimed = abs(start) + share * sum(float(np.abs(tree.leaves).max()) for tree in trees)
    attained = float(np.abs(found).max())
    return Evidence(
        judged(twist * claimed, attained),
        f"12 trees: claimed {twist * claimed:.3f}, the greatest prediction is {attained:.3f}",
        {"claimed": twist * claimed, "attained": attained, "factor": twist * claimed / attained},
    )


def forest_range(twist: float) -> Evidence:
    """Compare the mean of the trees' greatest leaves with the greatest prediction."""
    return _tree_range(twist, boosted=False)


def boosting_range(twist: float) -> Evidence:
    """Compare |init| + eta times the sum of greatest leaves with the greatest prediction."""
    return _tree_range(twist, boosted=True)


def claims() -> list[Claim]:
    """Return what is claimed of bounded models."""
    return [
        Claim(
            id="alissaiei-2026-section-1",
            paper="alissaiei-2026",
            place="Section 1, Section 5.1",
            says=(
                "The noise that the certified Gaussian baseline needs grows as sqrt(K), which is "
                "why it is of no use."
            ),
            verdict="false",
            because=(
                "The values move by sqrt(K) and R shrinks what it averages: |R|_2 is at most "
                "sqrt(w_max / w_min) sqrt(d / K) / kappa. The product does not grow with K, nor do"
                " attributions."
            ),
            instead="Certificates of drawn masks fall towards those of all masks.",
            evidence=naive_growth,
            control=0.0,
            statements=("shap-masks", "shap-rank-condition"),
        ),
        Claim(
            id="alissaiei-2026-section-3-2",
            paper="alissaiei-2026",
            place="Section 3.2, open problem (v)",
            says=(
                "At the mean of the background, a certificate for discontinuous models such as "
                "trees either assumes a margin or does not shrink with n."
            ),
            verdict="holds",
            because=(
                "The mean crosses a cut and the prediction jumps, whatever n is. It is a fact of "
                "this value function and not of trees: the mean over records of f moves by at most"
                " (2 - 1/d) r / n in Linf for every bounded model, which is attained."
            ),
            instead=(
                "Interventional values by default, which avoid the open problem and do not solve it."
            ),
            evidence=trees_at_the_mean,
            control=100.0,
            statements=("shap-contribution", "shap-l1", "shap-l2"),
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
                "The base value is subtracted in common and not once per mask, the range r does "
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
