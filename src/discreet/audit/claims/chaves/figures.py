"""What the abstract and figures 2 to 5 conclude, tried in reduced form: laws instead of data sets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.audit.claims.chaves.errors import exponential_miss, flip_miss
from discreet.audit.claims.chaves.laws import winner_chance
from discreet.audit.claims.claim import Claim, Evidence, decided
from discreet.mechanisms.selection.dampening import LocalDampening
from discreet.mechanisms.smooth.densities import FloatArray, SmoothNoiseName
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax
from discreet.privacy.relation import ADD_REMOVE

_NOISES: tuple[SmoothNoiseName, ...] = ("student-t", "laplace", "laplace-log-normal")
_BEST = "Scores by counts or by exact distances, with permute-and-flip or the exponential mechanism."


def smooth_beats_counts(twist: float = 1.0) -> Evidence:
    """Compare chances of the more frequent of two labels, 20 records ahead, epsilon .1."""
    epsilon, ahead = 0.1, 20
    smooth: dict[str, float] = {n: winner_chance(n, 2, epsilon, twist * ahead) for n in _NOISES[:2]}
    behind = np.array(epsilon * ahead)
    rivals = {
        "exponential": 1 - float(exponential_miss(2, behind)),
        "permute-and-flip": 1 - float(flip_miss(2, behind)),
        "best by stability": float(SmoothNoisyMax(2, epsilon).probabilities(0, ahead - 1)[0]),
    }
    return Evidence(
        decided(min(smooth.values()) >= max(rivals.values())),
        f"Smooth noisy max: {smooth['student-t']:.3f} with Student's T, {smooth['laplace']:.3f} with "
        f"Laplace noise; on counts the exponential mechanism {rivals['exponential']:.3f}, permute-and-"
        f"flip {rivals['permute-and-flip']:.3f}; the best law by stability "
        f"{rivals['best by stability']:.3f}.",
        {**smooth, **rivals},
    )


def smooth_beats_for_all_budgets(twist: float = 1.0) -> Evidence:
    """Give all mechanisms the paper's 0/1 utility on 4,096 candidates, for j = 0, 2 and 10."""
    candidates, worse, cases, last = 4_096, 0, 0, 0.0
    for j in (0, 2, 10):
        for epsilon in np.logspace(-1, 2, 13):
            rival = 1 - float(flip_miss(candidates, np.array(epsilon / 2)))
            found = [
                winner_chance(noise, candidates, epsilon, twist * (2 * j + 1)) for noise in _NOISES[:2]
            ]
            if rival < 1 - 1e-6:
                cases += 1
                worse += min(found) < rival
                last = max(last, float(epsilon) if min(found) < rival else 0.0)
    return Evidence(
        decided(not worse),
        f"One of the two noises gives the percentile a smaller chance than permute-and-flip in {worse} "
        f"of {cases} cases, up to epsilon {last:.3g}.",
        {"worse": float(worse), "cases": float(cases), "up to epsilon": last},
    )


def low_error_by_chance(twist: float = 1.0) -> Evidence:
    """Follow local dampening over budgets, by |x_k - E(answer)| and by E|x_k - answer|."""
    from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities

    counts = np.concatenate([np.ones(21), [20], np.zeros(42)]).astype(np.int64)
    values = np.concatenate([20 - 1.5 * np.arange(20, 0, -1), 20 + np.arange(44)])
    measure = PercentileDistances(Fraction(50), ADD_REMOVE)
    right = measure.standing(counts).winner
    table = value_sensitivities(counts, measure, len(counts))
    off = values - values[right]
    laws = [
        LocalDampening(float(e), len(counts) - 1).probabilities(-np.abs(np.arange(64) - right), table)
        for e in np.logspace(-1, 1, 41)
    ]
    published = np.array([abs(float(law @ off)) for law in laws])
    at = int(np.argmax(np.diff(published) > 1e-3))
    later = float(published[at:].max())
    chance, mean = float(laws[at][right]), float(laws[at] @ np.abs(off))
    return Evidence(
        decided(published[at] < 0.5 * later and chance < 0.5 * twist),
        f"The published error falls to {published[at]:.2f} where the median's chance is {chance:.2f} "
        f"and the mean error {mean:.1f}, and rises to {later:.2f} with more budget.",
        {"published error": float(published[at]), "later": later, "chance": chance, "mean error": mean},
    )


def splits_are_better(twist: float = 1.0) -> Evidence:
    """Compare the expected accuracy of the first of d + 1 levels, on a table of NLTCS's size."""
    rows = 21_574
    right = np.linspace(0.8, 0.575, 16)  # attributes agree with the class so often
    behind = np.rint(rows * (right[0] - right))
    entropy = -right * np.log2(right) - (1 - right) * np.log2(1 - right)
    priced = {
        "max operator": behind,
        "information gain": rows * (entropy - entropy[0]) / _constant(rows),
    }
    better, informed, cases, worst = 0, 0, 0, 0.0
    for epsilon in (
        total / (2 * (d + 1)) for total in (0.01, 0.05, 0.1, 0.5, 1.0, 2.0) for d in (2, 5)
    ):
        smooth = min(
            _expected(_smooth_law(noise, epsilon, twist * behind[1]), right) for noise in _NOISES
        )
        rivals = [_expected(np.exp(-epsilon / 2 * utility), right) for utility in priced.values()]
        better += smooth >= max(rivals) - 1e-12
        informed += smooth >= rivals[1] - 1e-12
        cases += 1
        worst = max(worst, max(rivals) - smooth)
    return Evidence(
        decided(better == cases),
        f"Of {cases} cases all three noises are as accurate as the exponential mechanism in {informed} "
        f"with information gain and in {better} with the max operator; one is up to {worst:.3f} below.",
        {
            "against information gain": float(informed),
            "against the best": float(better),
            "below": worst,
        },
    )


def _constant(rows: int) -> float:
    """Return the sensitivity of information gain that rivals were run with."""
    return math.log2(rows + 1) + 1 / math.log(2)


def _smooth_law(noise: SmoothNoiseName, epsilon: float, gap: float) -> FloatArray:
    """Return the chances of 16 attributes, the first of which is ahead by a gap."""
    top = min(winner_chance(noise, 16, epsilon, gap), 1.0)
    return np.append(top, np.full(15, (1 - top) / 15))


def _expected(weights: FloatArray, right: FloatArray) -> float:
    return float(weights @ right / weights.sum())


def forests_keep_accuracy(twist: float = 1.0) -> Evidence:
    """Let 32 trees vote on a region whose leaves all have one label, at Adult's size and depth."""
    trees, rows, depth = 32, 48_842 * 0.8, 9
    ahead = math.ceil(rows / trees / 2**depth)
    right = {}
    for epsilon in (0.01, 0.1):
        chance = max(winner_chance(noise, 2, epsilon, twist * ahead) for noise in _NOISES)
        right[epsilon] = _majority(trees, chance)
    return Evidence(
        decided(min(right.values()) > 0.99),
        f"A leaf has about {ahead} records; if they all agree, the forest says so with chance "
        f"{right[0.01]:.3f} at epsilon .01 and {right[0.1]:.3f} at .1, the plain forest always.",
        {"at .01": right[0.01], "at .1": right[0.1], "records of a leaf": float(ahead)},
    )


def _majority(voters: int, chance: float) -> float:
    """Return the chance that more than half of the votes are right, ties counted by half."""
    chance = min(chance, 1.0)
    shares = [
        math.comb(voters, k) * chance**k * (1 - chance) ** (voters - k) for k in range(voters + 1)
    ]
    return sum(shares[voters // 2 + 1 :]) + shares[voters // 2] / 2


def claims() -> list[Claim]:
    """Return what is concluded from figures."""
    return [
        Claim(
            id="chaves-2025-abstract",
            paper="chaves-2025",
            place="Abstract, contributions iii and iv",
            says="Smooth noisy max is more accurate than selection by global sensitivity, the "
            "exponential mechanism and permute-and-flip.",
            verdict="false",
            because="The rivals were given the same 0/1 utility, which throws the counts away. On "
            "the counts, whose sensitivity is one, they are far ahead; so is the best law that knows "
            "the winner and its stability alone: it is the noise that loses.",
            instead=_BEST,
            evidence=smooth_beats_counts,
            control=100.0,
            statements=("inverse-sensitivity", "choose", "stability-ladder"),
        ),
        Claim(
            id="chaves-2025-figure-2",
            paper="chaves-2025",
            place="Figure 2",
            says="SNM-LAP and SNM-T have lower expected errors than all other methods for every "
            "epsilon.",
            verdict="false",
            because="Even on the 0/1 utility, with 4,096 candidates as in the data: at small "
            "budgets, and for j = 0 (seven of nine panels) up to epsilon 10, permute-and-flip is "
            "right more often. The text itself excepts LD2 on PATENT.",
            instead=_BEST,
            evidence=smooth_beats_for_all_budgets,
            control=1_000.0,
            statements=("percentile-distance", "signed-distance", "snm-exact"),
        ),
        Claim(
            id="chaves-2025-section-5-3-savings",
            paper="chaves-2025",
            place="Section 5.3, savings of budget",
            says="SNM-T needs 69 % and 85 % less budget than LD and LD2 on HEPTH, and up to 70 % on "
            "PATENT.",
            verdict="not reproducible",
            because="The tables are not part of the paper, the PATENT file that goes by the name has "
            "28 million tuples and 6 % zeros instead of 32,558 and 98 %, the tolerance of 5 is "
            "measured in |x_k - E|, and the authors' code floors S at .01, which the paper does not "
            "say.",
            instead="benchmarks.selection_paper reruns it on the files, with and without the "
            "repaired distances.",
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-figure-3",
            paper="chaves-2025",
            place="Figure 3",
            says="LD2's error |x_k - E| can be very low at a small budget by chance, and rise with "
            "more budget.",
            verdict="holds",
            because="Answers too high and too low cancel in E. It is a defect of the paper's measure "
            "of error, which is used for all methods of Figure 2.",
            instead="Reports E|x_k - answer|.",
            evidence=low_error_by_chance,
            control=0.1,
            statements=("dampening", "value-sensitivity"),
        ),
        Claim(
            id="chaves-2025-figure-4",
            paper="chaves-2025",
            place="Figure 4",
            says="In greedy trees all variants of SNM are consistently more accurate than their "
            "rivals.",
            verdict="false",
            because="As described, with S of the node's own table, the exponential mechanism's first "
            "split is more accurate at every budget, on information gain at the price the paper "
            "gives it and more so on the max operator, which only SNM was given. The authors' code "
            "has one S from the whole table. The text itself excepts Adult at depth 2. Accuracies of "
            "whole trees need NLTCS and ACS, which we do not have.",
            instead="Chooses splits by the criterion's own scores.",
            evidence=splits_are_better,
            control=1e6,
            statements=("tree-utility", "tree-splits"),
        ),
        Claim(
            id="chaves-2025-figure-5",
            paper="chaves-2025",
            place="Figure 5",
            says="With 32 random trees SNM is as accurate as the forest without privacy, down to "
            "epsilon .01.",
            verdict="false",
            because="At Adult's size a leaf holds about three records, and no noise as described "
            "lets three records speak at epsilon .01. The authors' code takes the gap of the whole "
            "table for every leaf (25,468), so that no noise is left; at that gap the evidence "
            "reproduces the figure.",
            instead="Releases noisy counts of leaves, shrunk towards their parents.",
            evidence=forests_keep_accuracy,
            control=8_000.0,
            statements=("tree-leaves", "forest-disjoint"),
        ),
    ]
