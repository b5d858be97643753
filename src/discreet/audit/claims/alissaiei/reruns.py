"""Experiments of Alissaiei (2026) that can be run again, as far as it says what was run."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.claims.alissaiei.published import (
    CLIP,
    FEATURES,
    RECORDS,
    Predict,
    additive_weights,
    in_ball,
    published_masks,
)
from discreet.audit.claims.alissaiei.ranking import COARSE, STEPS, greatest_loss
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.engines.shapley.kernel import kernel_values
from discreet.mechanisms.selection.basic import AboveThreshold, ExponentialMechanism
from discreet.models import LinearForm
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray

GAUSSIAN_SCALE = 437.6
"""sigma of the Gaussian baseline of Table 14."""


def _logistic_fit(rows: FloatArray, label: FloatArray) -> LinearForm:
    """Return the logistic regression with the L2 penalty |w|^2 / 2, by Newton's method."""
    columns = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.append(np.ones(rows.shape[1]), 0.0)
    weights = np.zeros(columns.shape[1])
    for _ in range(12):
        chance = 1.0 / (1.0 + np.exp(-columns @ weights))
        slope = columns.T @ (chance - label) + penalty * weights
        curve = (columns.T * (chance * (1 - chance))) @ columns + np.diag(penalty)
        weights -= np.linalg.solve(curve, slope)
    return LinearForm(weights[:-1].copy(), float(weights[-1]), True)


def _top_1(form: LinearForm, query: FloatArray, background: FloatArray, seed: int) -> FloatArray:
    """Return Delta/g of a query, 30 moves as in section 8.7, and the chances at epsilon 1 and 10."""
    draw = public_generator(seed)
    moved = np.repeat(query[None], 31, axis=0)
    moved[np.arange(1, 31), draw.integers(FEATURES, size=30)] += draw.choice([-1.0, 1.0], 30)
    moved[1:] = np.clip(moved[1:], -CLIP, CLIP)
    values = kernel_values(form, moved, background, published_masks(FEATURES, 200), value="mean")
    delta, sizes = float(np.abs(values[1:] - values[0]).max()), np.abs(values[0])
    second, first = np.sort(sizes)[-2:]
    steps = np.rint(sizes / delta * STEPS).astype(np.int64)
    laws = [ExponentialMechanism(STEPS, epsilon).probabilities(steps) for epsilon in (1.0, 10.0)]
    return np.array([delta / (first - second), *(law[sizes.argmax()] for law in laws)])


def logistic_row(twist: float) -> Evidence:
    """Run the additive task with a logistic model again, eight sets of eight queries."""
    draw, weights = public_generator(0), additive_weights()
    rows = in_ball(draw.normal(size=(5000, FEATURES)))
    target = rows @ weights + 0.2 * rows[:, 0] * rows[:, 1]
    form = _logistic_fit(rows, (target > np.median(target)).astype(np.float64))
    queries = in_ball(draw.normal(size=(64, FEATURES)))
    found = np.array([_top_1(form, query, rows[:RECORDS], i) for i, query in enumerate(queries)])
    sets = found.reshape(8, 8, 3).mean(axis=1)[:, 2]
    ratios = np.median(found.reshape(8, 8, 3)[:, :, 0], axis=1)
    inside = sets.min() <= 0.91 * twist <= sets.max()
    return Evidence(
        "holds" if inside else "not reproducible",
        f"top-1 at epsilon = 10 is {sets.min():.2f} to {sets.max():.2f} over eight sets of queries, "
        f"printed {0.91 * twist:.2f}; median Delta/g {ratios.min():.1f} to {ratios.max():.1f}, printed "
        "0.64",
        {"least": float(sets.min()), "greatest": float(sets.max()), "least ratio": float(ratios.min())},
    )


def interaction_target() -> Predict:
    """Return the target of the synthetic interaction task, with pairs of our own."""
    draw = public_generator(0)
    weights, pairs = draw.normal(0.0, 0.4, FEATURES), draw.permutation(FEATURES)[:10].reshape(5, 2)
    sizes = draw.uniform(0.4, 0.6, 5)

    def target(rows: FloatArray) -> FloatArray:
        products = rows[:, pairs[:, 0]] * rows[:, pairs[:, 1]]
        bounded = np.where(np.arange(5) < 2, products, np.tanh(products))
        return np.asarray(rows @ weights + bounded @ sizes)

    return target


def ranking_jitter(twist: float) -> Evidence:
    """Explain 64 queries of the interaction task with four draws of masks and compare the winners."""
    draw, stable = public_generator(1), {}
    background, queries = (in_ball(draw.normal(size=(size, FEATURES))) for size in (RECORDS, 64))
    for number in (100, 400, 1600):
        winners = []
        for seed in range(1, 5):
            masks = published_masks(FEATURES, number, seed)
            values = kernel_values(interaction_target(), queries, background, masks, value="mean")
            winners.append(np.abs(values).argmax(axis=1))
        stable[number] = float(np.mean((np.array(winners) == winners[0]).all(axis=0)))
    return Evidence(
        "holds" if min(stable.values()) >= twist else "not reproducible",
        f"four draws of masks agree on the first feature for {stable[100]:.0%} of queries at K = 100, "
        f"{stable[400]:.0%} at 400 and {stable[1600]:.0%} at 1600",
        {f"K={number}": share for number, share in stable.items()},
    )


def threshold_from_data(twist: float) -> Evidence:
    """Compute the loss of AboveThreshold whose threshold is the true second magnitude."""
    mechanism = AboveThreshold(COARSE, 1.0)

    def law(scores: IntArray) -> FloatArray:
        return mechanism.probabilities(scores, int(np.sort(scores)[-2]))

    start = np.zeros(FEATURES, int)
    moved = np.where(np.arange(FEATURES) < FEATURES - 2, -COARSE, COARSE)
    worst = greatest_loss(law(start), law(moved))
    return Evidence(
        judged(twist * 1.0, worst),
        f"epsilon = 1, d = 20: two neighbours differ by {worst:.2f}",
        {"greatest loss": worst},
    )


def gaussian_then_argmax(twist: float) -> Evidence:
    """Compute the chance that the greatest magnitude stays it, against 0.063 / 0.075 of a guess."""
    from scipy.special import ndtr

    magnitudes = np.append(np.linspace(0.0, 0.5, FEATURES - 1), 1.0) / GAUSSIAN_SCALE
    level = np.linspace(0.0, 10.0, 20_001)
    chances = ndtr(level[:, None] - magnitudes) - ndtr(-level[:, None] - magnitudes)
    best = (level[:, None] + np.array([-1.0, 1.0]) * magnitudes[-1]) ** 2
    density = np.exp(-0.5 * best).sum(axis=1) / math.sqrt(2 * math.pi)
    chance = float(np.trapezoid(density * np.prod(chances[:, :-1], axis=1), level))
    return Evidence(
        decided(chance <= twist * 0.063 / 0.075 / FEATURES),
        f"sigma = 437.6, d = 20: the chance is {chance:.6f}, a guess has {1 / FEATURES:.6f}",
        {"chance": chance, "guess": 1 / FEATURES},
    )


def claims() -> list[Claim]:
    """Return what is claimed of experiments that can be run again, and of those that cannot."""
    return [
        Claim(
            id="alissaiei-2026-table-11-logistic",
            paper="alissaiei-2026",
            place="Table 11, first row",
            says=(
                "On the additive task a logistic model has Delta_inf / g = 0.64 and top-1 accuracy"
                " 0.91 at epsilon = 10."
            ),
            verdict="not reproducible",
            because=(
                "Rerun with the label that the target is above its median, the usual penalty, and "
                "exact laws: both figures are out of the range of eight sets of queries. How label"
                " and model were made is not said, so this is no refutation."
            ),
            evidence=logistic_row,
            control=0.6,
            statements=("exponential",),
        ),
        Claim(
            id="alissaiei-2026-table-13",
            paper="alissaiei-2026",
            place="Table 13",
            says=(
                "On the interaction task with a network four fresh draws of masks never change the"
                " first feature, from 100 masks on: estimation noise is not what limits."
            ),
            verdict="not reproducible",
            because=(
                "Neither the network nor the pairs of the task nor the queries are given. With the"
                " target itself as the model and pairs of our own four draws disagree at K = 100 "
                "for almost half of 64 queries, at K = 1600 for one in twelve. For a model that is"
                " nearly additive there is no jitter at any K (Lemma 5), so it may be so of the "
                "network that was run, and does not follow for others."
            ),
            instead="One public set of masks, paired, with whole layers where they fit.",
            evidence=ranking_jitter,
            control=0.4,
            statements=("kernel-operator",),
        ),
        Claim(
            id="alissaiei-2026-table-14-threshold",
            paper="alissaiei-2026",
            place="Table 14, above threshold",
            says=(
                "At epsilon = 1 a rough AboveThreshold with the second magnitude as its threshold "
                "is the strongest alternative, right in 51 % of cases where others are in 10 %."
            ),
            verdict="false",
            because=(
                "It is not a release at epsilon = 1: the threshold is read from the data and moves"
                " against the scores, so that the loss is 1.5 epsilon, and its accuracy cannot be "
                "compared. With a public threshold it would be private."
            ),
            instead="The threshold must be public.",
            evidence=threshold_from_data,
            control=1.6,
            statements=("above-threshold",),
        ),
        Claim(
            id="alissaiei-2026-table-14-gaussian",
            paper="alissaiei-2026",
            place="Table 14, Gaussian, then top-1",
            says="Gaussian noise on the whole vector, then the argmax, is worse than random.",
            verdict="false",
            because=(
                "With this noise it is a guess, to six digits, and no worse: 0.063 against 0.075 "
                "is sampling error of 240 trials (a guess among 20 has 0.05). That the noise "
                "destroys the ranking is right."
            ),
            evidence=gaussian_then_argmax,
            control=2.0,
        ),
        Claim(
            id="alissaiei-2026-table-16",
            paper="alissaiei-2026",
            place="Table 16, Appendix D.7",
            says=(
                "All hyperparameters, preprocessing choices and seeds of the experiments are given,"
                " or are in the scripts that are released."
            ),
            verdict="not reproducible",
            because=(
                "The scripts could not be looked at: in the copy that we have their address is "
                "blanked. The text alone leaves out the target of the synthetic Gaussian task, the"
                " pairs of the interaction task, how many rows models are trained on, the label of"
                " the logistic model, details of the encodings with d = 96 and d = 24, and the "
                "model and query of Table 8."
            ),
            instead="Benchmarks name what they had to choose.",
        ),
    ]
