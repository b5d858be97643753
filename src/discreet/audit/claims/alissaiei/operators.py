"""The regression operator of Alissaiei (2026): what it attributes, and how much it amplifies."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.claims.alissaiei.published import (
    FEATURES,
    at_mean,
    published_masks,
    rank_bound,
    rank_constant,
    singletons,
)
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.engines.shapley.coalitions import (
    BoolArray,
    all_coalitions,
    all_masks,
    kernel_weights,
    mask_set,
    shapley_values,
)
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray


def kernel_twice(twist: float) -> Evidence:
    """Weight masks drawn by the kernel with its power ``twist``: one is published, zero is right."""
    errors = {}
    for features in (3, 4, 5):
        masks = all_coalitions(features)[1:-1]
        weights = kernel_weights(masks) ** (1.0 + twist)  # all masks stand for infinitely many draws
        limit = mask_set(masks, weights)
        game = public_generator(features).random(2**features)
        found = limit.solve(game[_places(limit.coalitions)])
        errors[features] = float(np.abs(found - shapley_values(game)).max())
    worst = max(errors.values())
    return Evidence(
        decided(worst <= 1e-9),
        f"with every mask in hand the values of games in [0, 1] are off by {errors[3]:.2g} at d = 3, "
        f"{errors[4]:.2g} at d = 4, {errors[5]:.2g} at d = 5",
        {f"error at d={features}": error for features, error in errors.items()},
    )


def _places(coalitions: BoolArray) -> IntArray:
    """Return the numbers of coalitions, feature j being bit j."""
    return np.asarray(coalitions @ (1 << np.arange(coalitions.shape[1])))


def column_cancellation(twist: float) -> Evidence:
    """Send c z_i through R for several K and compare its length with ``twist`` |c|."""
    lengths = []
    for number in (100, 400, 800):
        masks = published_masks(FEATURES, number)
        moves = masks.response @ (-3.0 * masks.masks.astype(np.float64))
        lengths.append(np.linalg.norm(moves, axis=0))
    off = float(np.abs(np.array(lengths) - 3.0 * twist).max())
    return Evidence(
        decided(off < 1e-6),
        f"over all columns and K = 100, 400, 800 the length differs from |c| by at most {off:.2g}",
        {"greatest difference": off},
    )


def rank_condition_bound(twist: float) -> Evidence:
    """Compare both inequalities of Theorem 12: |R|_(2 to inf) against the form with kappa."""
    masks = published_masks()
    rows = float(np.linalg.norm(masks.response, axis=1).max())  # attained by the row itself
    published = twist * rank_bound(masks, 1.0)
    return Evidence(
        judged(published, rows),
        f"published {published:.1f} L0, attained {rows:.3f} L0 at d = 20, K = 400",
        {"published": published, "attained": rows, "factor": published / rows},
    )


def weight_ratio(twist: float) -> Evidence:
    """Compare the growth of w_max / w_min between d = 10 and d = 20 with the order d^twist."""
    ratios = {}
    for features in (10, 20):
        weights = kernel_weights(np.tri(features, dtype=bool)[:-1])  # one mask of every size
        ratios[features] = float(weights.max() / weights.min())
    exponent = math.log2(ratios[20] / ratios[10])
    return Evidence(
        decided(exponent <= 1.2 * twist),
        f"w_max / w_min is {ratios[10]:.0f} at d = 10 and {ratios[20]:.0f} at d = 20: it grows as "
        f"d^{exponent:.1f} there",
        {"ratio at 10": ratios[10], "ratio at 20": ratios[20], "exponent": exponent},
    )


def clean_form(twist: float) -> Evidence:
    """Look for a change above ``twist`` L_0 / sqrt(d): the remark says that there is one."""
    masks = singletons(4)
    change = masks.masks[:, 0].astype(np.float64)  # Delta y = z_1
    moved = float(np.abs(masks.response @ change).max())
    claimed = twist * float(np.linalg.norm(change)) / math.sqrt(masks.features)
    kappa = rank_constant(masks)
    return Evidence(
        decided(moved > claimed * (1 + 1e-9)),
        f"d = 4, masks of one feature, kappa = {kappa:.2f}: a coordinate moves by {moved:.2f}, the "
        f"clean form says {claimed:.2f}",
        {"moved": moved, "clean form": claimed, "kappa": kappa},
    )


def rank_constants(twist: float) -> Evidence:
    """Draw masks at K = 8 d ln d and compare the least kappa with ``twist`` / 2."""
    least, limits = math.inf, []
    for features in (5, 20, 40):
        number = math.ceil(8 * features * math.log(features))
        found = [rank_constant(published_masks(features, number, seed)) for seed in range(4)]
        least = min(least, *found)
        limits.append(math.sqrt(features / (2 * sum(1 / k for k in range(1, features)))))
    return Evidence(
        judged(least, 0.5 * twist),
        f"least kappa over 12 draws {least:.2f} where 0.5 is claimed; for many masks it tends to "
        f"{limits[0]:.2f} at d = 5, {limits[1]:.2f} at d = 20, {limits[2]:.2f} at d = 40",
        {"least kappa": least, "limit at 20": limits[1], "limit at 40": limits[2]},
    )


def efficiency(twist: float) -> Evidence:
    """Compare the sum of unconstrained attributions with ``twist`` (f(x) - f(mu)) at d = 2 and 5."""

    def crossed(rows: FloatArray) -> FloatArray:
        return np.asarray(rows[:, 0] + rows.prod(axis=1))

    smallest = at_mean(crossed, np.ones(2), np.zeros(2), singletons(2)).sum()
    exact = all_masks(5)
    unconstrained = mask_set(exact.masks, exact.weights, constrained=False)
    game = public_generator(5).normal(size=32)
    values = game[_places(exact.coalitions)]
    lost = float(unconstrained.solve(values).sum() - exact.solve(values).sum())
    difference = float(smallest) - 2.0 * twist
    return Evidence(
        decided(abs(difference) < 1e-9),
        f"d = 2, f(u) = u_1 + u_1 u_2, x = (1, 1), mu = 0: the sum is {smallest:.2f}, claimed "
        f"{2 * twist:.2f}; with all masks of a random game of five features it is off by {lost:.2f}",
        {"sum": float(smallest), "off": difference, "off at d=5": lost},
    )


def claims() -> list[Claim]:
    """Return what is claimed of the operator."""
    return [
        Claim(
            id="alissaiei-2026-section-2-1",
            paper="alissaiei-2026",
            place="Section 2.1, Appendix D.2",
            says=(
                "Masks drawn by the Shapley kernel (Appendix D.2) and weighted by it in the "
                "regression (section 2.1) give kernel SHAP values."
            ),
            verdict="false",
            because=(
                "Read together, the kernel is applied twice. From four features on, where masks "
                "have different weights, the limit of infinitely many masks is not the Shapley value."
            ),
            instead="Drawn masks carry equal weights.",
            evidence=kernel_twice,
            control=0.0,
            statements=("kernel-operator",),
        ),
        Claim(
            id="alissaiei-2026-lemma-5",
            paper="alissaiei-2026",
            place="Lemma 5",
            says=(
                "A change of the values by c times a column of Z changes the attributions by c in "
                "one place, whatever K is."
            ),
            verdict="holds",
            because="R Z is the identity, for any masks of full rank and any weights.",
            evidence=column_cancellation,
            control=1.1,
            statements=("kernel-operator",),
        ),
        Claim(
            id="alissaiei-2026-theorem-12",
            paper="alissaiei-2026",
            place="Theorem 12",
            says=(
                "If the values move by at most L0 in L2, an attribution moves by at most L0 "
                "sqrt(w_max / w_min) / (kappa sqrt(K / d))."
            ),
            verdict="loose",
            because=(
                "Both inequalities hold, and the paper calls the second conservative. It loses the "
                "root of the ratio of weights, above 50 times at d = 20, K = 400."
            ),
            instead="Kept as a labelled conservative bound; the operator's own rows are used.",
            evidence=rank_condition_bound,
            control=0.01,
            statements=("shap-rank-condition",),
        ),
        Claim(
            id="alissaiei-2026-theorem-12-weights",
            paper="alissaiei-2026",
            place="Theorem 12, Appendix C step 3",
            says="The greatest Shapley-kernel weight is O(d) times the least.",
            verdict="false",
            because=(
                "The ratio is C(d, d/2) d / (4 (d - 1)) for even d, exponential in d: 48,620 at d "
                "= 20. So the order L0 d / (kappa sqrt(K)) does not follow. O(d) is the ratio of "
                "the chances of sizes, not that of the weights of masks."
            ),
            instead="Weights of drawn masks are equal.",
            evidence=weight_ratio,
            control=16.0,
            statements=("shap-rank-condition", "kernel-operator"),
        ),
        Claim(
            id="alissaiei-2026-remark-13",
            paper="alissaiei-2026",
            place="Remark 13",
            says="The clean form L0 / sqrt(d) does not follow from the rank condition.",
            verdict="holds",
            because=(
                "With one mask per feature kappa is 1 and an attribution moves by L0, sqrt(d) "
                "times the clean form."
            ),
            evidence=clean_form,
            control=2.5,
            statements=("shap-rank-condition",),
        ),
        Claim(
            id="alissaiei-2026-lemma-38",
            paper="alissaiei-2026",
            place="Definition 37, Lemma 38",
            says=(
                "With K at least 8 d ln d masks sigma_d(Z) is at least sqrt(K / d) / 2 with chance"
                " 1 - 1/d."
            ),
            verdict="loose",
            because=(
                "The paper calls its constants conservative. E z z' has the least eigenvalue 1 / "
                "(2 H_(d-1)), where 1 / (4 d) is used, so kappa tends to"
                " sqrt(d / (2 H_(d-1))), which grows as sqrt(d / ln d). Its open question whether "
                "kappa = 1 is possible: in the limit yes, for every d."
            ),
            instead="Takes the singular value of the masks in use.",
            evidence=rank_constants,
            control=3.0,
            statements=("shap-rank-condition",),
        ),
        Claim(
            id="alissaiei-2026-theorem-33",
            paper="alissaiei-2026",
            place="Theorem 33",
            says="The unprojected output sums to f(x) - f(mu) in expectation.",
            verdict="false",
            because=(
                "R is the unconstrained operator, whose attributions sum to it for additive games "
                "and not in general: two features suffice."
            ),
            instead="Always keeps the constraint.",
            evidence=efficiency,
            control=0.5,
            statements=("kernel-operator",),
        ),
    ]
