"""The selections of Alissaiei (2026): is the chosen feature private, and is it the right one?

All laws are exact. A vector of scores is what the mechanism sees, in units of the sensitivity.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.mechanisms.selection.basic import ExponentialMechanism, NoisyMax, TopK
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray

STEPS = 2**20
"""Lattice steps per sensitivity where a law is a formula."""

COARSE = 16
"""The same where it is a sum over the lattice."""


def greatest_loss(first: FloatArray, second: FloatArray) -> float:
    """Return the greatest absolute log ratio of two laws."""
    return float(np.abs(np.log(first) - np.log(second)).max())


def exponential_loss(twist: float) -> Evidence:
    """Search neighbouring scores of 2 to 200 features for the greatest loss of the exponential law."""
    mechanism, worst = ExponentialMechanism(STEPS, 1.0), 0.0
    for features in (2, 10, 200):
        for start in (np.zeros(features, int), np.arange(features) % 3 * STEPS):
            for up in (np.arange(features) == 0, np.arange(features) % 2 == 0):
                moved = start + np.where(up, STEPS, -STEPS)
                laws = mechanism.probabilities(start), mechanism.probabilities(moved)
                worst = max(worst, greatest_loss(*laws))
    return Evidence(
        judged(twist * 1.0, worst),
        f"epsilon = 1: the greatest loss found is {worst:.4f}",
        {"greatest loss": worst},
    )


def noisy_max_loss(twist: float) -> Evidence:
    """Do so for the maximum after Laplace noise of scale 2 D / epsilon."""
    mechanism, worst = NoisyMax(COARSE, 1.0), 0.0
    for features in (2, 5, 12):
        start = np.zeros(features, int)
        for up in (np.arange(features) == 0, np.arange(features) % 2 == 0):
            moved = start + np.where(up, COARSE, -COARSE)
            for behind in (0, 6 * COARSE):
                late = np.where(np.arange(features) == 0, -behind, 0)
                laws = mechanism.probabilities(start + late), mechanism.probabilities(moved + late)
                worst = max(worst, greatest_loss(*laws))
    return Evidence(
        judged(twist * 1.0, worst),
        f"epsilon = 1: the greatest loss found is {worst:.4f}",
        {"greatest loss": worst},
    )


def top_k_loss(twist: float) -> Evidence:
    """Search the law of the *set* of two features out of up to 40 for its greatest loss."""
    epsilon, worst = 2.0, 0.0
    mechanism = TopK(STEPS, epsilon, 2)
    for features in (4, 40):
        start = np.zeros(features, int)
        moved = np.where(np.arange(features) < 2, STEPS, -STEPS)
        for pair in ((0, 1), (0, 2), (2, 3)):
            chances = [
                sum(mechanism.probability(scores, order) for order in itertools.permutations(pair))
                for scores in (start, moved)
            ]
            worst = max(worst, abs(math.log(chances[0] / chances[1])))
    return Evidence(
        judged(twist * epsilon, worst),
        f"k = 2, epsilon = 2: the greatest loss of the set found is {worst:.4f}",
        {"greatest loss": worst},
    )


def chance_right(gaps: FloatArray, epsilon: float, ratio: float) -> float:
    """Return the chance of the best feature, the others being ``gaps`` times g behind it."""
    scores = np.append(0.0, -np.asarray(gaps) / ratio)
    steps = np.rint(scores * STEPS).astype(np.int64)
    return float(ExponentialMechanism(STEPS, epsilon).probabilities(steps)[0])


def top_1_bound(twist: float) -> Evidence:
    """Compare d exp(-x) with the worst chance of a wrong feature, x = epsilon g / (2 Delta)."""
    features, worst, draw = 20, 0.0, public_generator(0)
    for x in (4.0, 6.0, 9.0):
        shapes = [np.ones(features - 1), *(1.0 + draw.exponential(size=(20, features - 1)))]
        wrong = max(1.0 - chance_right(gaps, 2 * x, 1.0) for gaps in shapes)
        worst = max(worst, wrong / (features * math.exp(-x)))
    return Evidence(
        judged(twist, worst),
        f"d = 20: the greatest chance of a wrong feature is {worst:.3f} of d exp(-x)",
        {"share of the bound": worst},
    )


def one_ratio_governs(twist: float) -> Evidence:
    """Compare chances at one Delta/g = 0.33, epsilon = 1, d = 105: all rivals near, or one alone."""
    near = chance_right(np.ones(104), 1.0, 0.33)
    alone = chance_right(np.append(1.0, np.full(103, 40.0)), 1.0, 0.33)
    return Evidence(
        decided(alone / near <= 1.05 * twist),
        f"at Delta/g = 0.33, epsilon = 1 and d = 105 the chance is {near:.3f} if all others are "
        f"equally near and {alone:.3f} if one is: {alone / near:.0f} times",
        {"all near": near, "one near": alone, "factor": alone / near},
    )


def top_k_chance(twist: float) -> Evidence:
    """Compare the chance that a step errs, after right ones, with d exp(-epsilon g / (2 k Delta))."""
    features, k, worst = 20, 3, 0.0
    for gap, epsilon in ((8.0, 6.0), (12.0, 5.0), (5.0, 12.0)):
        step = TopK(STEPS, epsilon, k).step
        for taken in range(k):  # all that are left but one are tied behind it
            left = np.append(0, np.full(features - taken - 1, -round(gap * STEPS)))
            wrong = 1.0 - float(step.probabilities(left)[0])
            worst = max(worst, wrong / (features * math.exp(-epsilon * gap / (2 * k))))
    return Evidence(
        judged(twist, worst),
        f"d = 20, k = 3: the greatest chance of a wrong step is {worst:.3f} of the bound",
        {"share of the bound": worst},
    )


def tie_advice(twist: float) -> Evidence:
    """Compare top-1 and top-3 of three near features at Delta/g = 5, epsilon = 1, d = 20.

    The others are ``twist`` times 40 sensitivities behind, or as near as the three are.
    """
    near, even = np.array([0.0, -0.2, -0.4]), -0.2 * np.arange(20.0)
    tied = np.append(near, np.full(17, -0.4 - 40.0 * twist))
    single, three = _found(tied)
    single_even, three_even = _found(even)
    return Evidence(
        decided(three >= 0.9),
        f"d = 20: of three tied features top-1 is right with chance {single:.2f} and top-3 finds "
        f"{three:.2f}; if all gaps are equal top-1 is right with {single_even:.2f} and top-3 finds "
        f"{three_even:.2f}, where guesses have 0.05 and 0.15",
        {"top-1": single, "top-3": three, "top-1, even": single_even, "top-3, even": three_even},
    )


def _found(scores: FloatArray) -> tuple[float, float]:
    """Return the chance of the first feature and the share of the first three, at epsilon = 1."""
    steps = np.rint(scores * STEPS).astype(np.int64)
    single = float(ExponentialMechanism(STEPS, 1.0).probabilities(steps)[0])
    peel, orders = TopK(STEPS, 1.0, 3), itertools.permutations(range(len(scores)), 3)
    return single, sum(len({0, 1, 2} & set(o)) * _peeled(peel, steps, o) for o in orders) / 3


def _peeled(mechanism: TopK, scores: IntArray, order: tuple[int, ...]) -> float:
    """Return the probability of one order, without checks: there are thousands."""
    weights = np.exp((scores - scores.max()) / mechanism.step.scale)
    left, chance = float(weights.sum()), 1.0
    for place in order:
        chance *= float(weights[place]) / left
        left -= float(weights[place])
    return chance


def composed_loss(twist: float) -> Evidence:
    """Add up the greatest losses of T selections at epsilon / T each, for the same neighbours."""
    totals = {}
    for queries in (1, 5, 10, 50):
        mechanism = ExponentialMechanism(STEPS, 1.0 / queries)
        start = np.zeros(2000, int)
        moved = np.where(np.arange(2000) == 0, STEPS, -STEPS)
        laws = mechanism.probabilities(start), mechanism.probabilities(moved)
        totals[queries] = queries * greatest_loss(*laws)
    worst = max(totals.values())
    return Evidence(
        judged(twist, worst),
        f"total epsilon = 1: T = 1, 5, 10, 50 selections lose up to {worst:.4f} together",
        {f"T={queries}": total for queries, total in totals.items()},
    )


def claims() -> list[Claim]:
    """Return what is claimed of the selections."""
    return [
        Claim(
            id="alissaiei-2026-theorem-14",
            paper="alissaiei-2026",
            place="Theorem 14",
            says="The exponential mechanism on |phi_j| with a valid Delta_inf is epsilon-private.",
            verdict="holds",
            because="The reverse triangle inequality keeps Delta_inf. Tight for many features.",
            evidence=exponential_loss,
            control=0.5,
            statements=("exponential",),
        ),
        Claim(
            id="alissaiei-2026-section-4-2",
            paper="alissaiei-2026",
            place="Section 4.2, report noisy max",
            says=("The maximum after Laplace noise of scale 2 Delta_inf / epsilon is epsilon-private."),
            verdict="holds",
            because=(
                "The earlier drafts' scale Delta_inf / epsilon is not enough for scores that move "
                "both up and down: the control."
            ),
            instead="Releases the noisy gap with it, at no cost.",
            evidence=noisy_max_loss,
            control=0.5,
            statements=("free-gap",),
        ),
        Claim(
            id="alissaiei-2026-corollary-15",
            paper="alissaiei-2026",
            place="Corollary 15",
            says=(
                "The exponential mechanism is right with chance at least 1 - d exp(-epsilon g / (2"
                " Delta_inf))."
            ),
            verdict="holds",
            because=(
                "With d - 1 for d it would be sharp: all others as near as the gap. It says "
                "nothing below epsilon g / (2 Delta_inf) = ln d."
            ),
            instead="Permute-and-flip is there too, which is never less often right in one shot.",
            evidence=top_1_bound,
            control=0.5,
            statements=("exponential", "permute-and-flip"),
        ),
        Claim(
            id="alissaiei-2026-corollary-15-reading",
            paper="alissaiei-2026",
            place="Corollary 15, reading of the law",
            says="Accuracy is governed entirely by Delta_inf / g (and epsilon).",
            verdict="false",
            because=(
                "The corollary is a lower bound, and has d in it. At the same ratio the chance "
                "lies anywhere between 1 / (1 + (d - 1) e^-x) and 1 / (1 + e^-x), depending on "
                "how many others are near."
            ),
            instead="Predicts accuracy from all scores, for the curator alone.",
            evidence=one_ratio_governs,
            control=50.0,
            statements=("exponential",),
        ),
        Claim(
            id="alissaiei-2026-theorem-16",
            paper="alissaiei-2026",
            place="Theorem 16",
            says="Peeling k features with epsilon / k each is epsilon-private.",
            verdict="holds",
            because="Hiding the order, as the statement does, saves next to nothing.",
            instead="One Gumbel variable per candidate, which has the same law.",
            evidence=top_k_loss,
            control=0.5,
            statements=("top-k",),
        ),
        Claim(
            id="alissaiei-2026-remark-17",
            paper="alissaiei-2026",
            place="Remark 17",
            says=(
                "Each of the k steps errs with chance at most d exp(-epsilon g_l / (2 k Delta_inf))."
            ),
            verdict="holds",
            because="Corollary 15 at epsilon / k, for what is left after the steps before.",
            instead=(
                "Counts the loss of k steps as bounded range, which is cheaper over many releases."
            ),
            evidence=top_k_chance,
            control=0.5,
            statements=("top-k",),
        ),
        Claim(
            id="alissaiei-2026-remark-18",
            paper="alissaiei-2026",
            place="Remark 18",
            says=(
                "A large Delta_inf / g is a near tie or a high sensitivity and does not tell "
                "which; configurations above 5 should be run again with the top 3 or more."
            ),
            verdict="holds",
            because=(
                "For a near tie, which it is about: of three tied features top-3 finds almost all "
                "where top-1 is a guess among them. For a high sensitivity it is no remedy, as the"
                " budget is divided by k: if all gaps are equal top-3 finds little more than a "
                "guess."
            ),
            instead=(
                "Lowers the sensitivity: it is r (2 - 1/d) / n in the interventional value function."
            ),
            evidence=tie_advice,
            control=0.01,
            statements=("top-k", "shap-contribution"),
        ),
        Claim(
            id="alissaiei-2026-table-4",
            paper="alissaiei-2026",
            place="Table 4",
            says="T selections at epsilon / T each cost epsilon together.",
            verdict="holds",
            because=(
                "Sums of epsilons, and no less is true of pure privacy. A zCDP account charges T ="
                " 50 about a quarter of it at delta = 1e-5."
            ),
            instead="Charges zCDP where the owner asked for it.",
            evidence=composed_loss,
            control=0.5,
            statements=("filter-basic", "exponential-zcdp"),
        ),
    ]
