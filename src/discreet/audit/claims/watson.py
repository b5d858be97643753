"""Claims of Watson, Andreeva, Yang and Sarkar (2022): layered and private Shapley values of records.

Games are small or symmetric, so that chances are sums and not samples.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.randomness import public_generator

_N, _ALPHA, _BETA, _EPSILON = 100, 0.05, 0.05, 1.0
"""The setting of the paper's appendix E."""


def claims() -> list[Claim]:
    """Return every numbered claim of the paper."""
    return [
        Claim(
            "watson-2022-section-2-1",
            "watson-2022",
            "Section 2.1.1, after Maleki et al. (2013)",
            "If marginal contributions are bounded by c, ln(2/beta) c^2 / (2 alpha^2) permutations "
            "give an estimate within alpha with probability 1 - beta.",
            "false",
            "Hoeffding's inequality asks for the length of the interval. Marginals between -c and c "
            "have length 2c and need four times as many; at alpha 0.3, beta 0.05 fair signs fail 19 "
            "% of the time.",
            "One Hoeffding bound on the weighted sum, with the interval 2c.",
            _permutations,
            control=4.0,
            statements=("hoeffding-weighted",),
        ),
        Claim(
            "watson-2022-theorem-2-3",
            "watson-2022",
            "Theorem 2.3",
            "Laplace noise of scale sensitivity / epsilon makes a vector epsilon-private.",
            "holds",
            "If the sensitivity is read as that in L1; the definition before it writes an absolute "
            "value.",
            "Discrete Laplace noise on an integer lattice, calibrated in L1.",
            _laplace,
            statements=("laplace",),
        ),
        Claim(
            "watson-2022-observation-3-1",
            "watson-2022",
            "Observation 3.1",
            "One more point changes the zero-one loss of the best model on m points by at most 1/m.",
            "holds",
            "1/(m + 1) is the greatest change: tried on all labellings of up to seven points by "
            "threshold models.",
            "Marginals are clipped, so that no property of the learner is needed.",
            _best_loss,
        ),
        Claim(
            "watson-2022-definition-3-2",
            "watson-2022",
            "Definition 3.2 and the bound after it",
            "Regularised learning on m points has stability L^2 kappa^2 / (2 lambda m), and so "
            "marginals and neighbouring databases move by no more.",
            "false",
            "The bound is for a point that is taken out. Databases are neighbours here if a point is "
            "replaced, which is twice as far: the ridge mean of two points attains it.",
            "The stability under replacement, twice that under removal, and clipping in any case.",
            _stability,
            control=2.0,
            statements=("stability-replace",),
        ),
        Claim(
            "watson-2022-theorem-3-3",
            "watson-2022",
            "Theorem 3.3, Lemma C.1 and Algorithm 1",
            "The layered estimate is within alpha of the Shapley value with probability 1 - beta.",
            "false",
            "The algorithm leaves out layer 0, the coalition of nobody. With two records of which each "
            "alone has value 1 the estimate is off by 1/2 for certain.",
            "Layer 0 is exact, every layer has a whole number of coalitions, all drawn beforehand.",
            _layer_zero,
            control=11.0,
            statements=("hoeffding-weighted",),
        ),
        Claim(
            "watson-2022-lemma-c-1",
            "watson-2022",
            "Lemma C.1, its first step",
            "In every layer the estimate is within alpha with probability 1 - beta / n.",
            "false",
            "Hoeffding's inequality is used with length c/k where marginals between -c/k and c/k "
            "have 2c/k. With 20,000 records and fair signs layer 1 fails 3,300 times as often as "
            "stated.",
            "One Hoeffding bound on the weighted sum, which needs a hundredth of the coalitions.",
            _one_layer,
            control=1e5,
            statements=("hoeffding-weighted",),
        ),
        Claim(
            "watson-2022-theorem-3-4",
            "watson-2022",
            "Theorem 3.4",
            "Record j is used with probability at most c^2 ln(n) ln(2n/beta) / (2 alpha^2 n).",
            "false",
            "A coalition of k of n - 1 others has j with probability k/(n-1), not k/n, and the sum "
            "of 1/k is above ln n. At n = 100 the chance is 1.13 times the bound, where the bound is "
            "below one.",
            "Nothing is claimed for secret coalitions: they are public and the noise follows from "
            "them.",
            _inclusion,
            control=1.2,
            statements=("amplification-cap",),
        ),
        Claim(
            "watson-2022-theorem-3-5",
            "watson-2022",
            "Theorem 3.5 and Algorithm 2",
            "Laplace noise of scale D / ln(1 + (e^epsilon - 1)/p), with D the sensitivity and p the "
            "chance that a record is used, is epsilon-private.",
            "false",
            "The valued record is in every marginal, so that no sampling hides it, and the proof "
            "leaves it out. Its loss is ln(1 + (e^epsilon - 1)/p): 2.9 instead of 1 where p is 0.1.",
            "Noise from the public coalitions; a value goes to its owner alone or pays for the record.",
            _valued_record,
            control=3.0,
            statements=("shapley-design", "joint-values", "amplification-cap"),
        ),
        Claim(
            "watson-2022-theorem-3-5-probability",
            "watson-2022",
            "Theorem 3.5, the probability p",
            "p = c^2 ln(n) ln(2n/beta) / (2 alpha^2 n) is a probability by which sampling amplifies "
            "privacy.",
            "false",
            "At the paper's own setting (n 100, alpha and beta 0.05, c 1) it is 76.",
            "Inclusion probabilities are capped at one, where they amplify nothing.",
            _probability,
            control=0.01,
            statements=("amplification-cap",),
        ),
        Claim(
            "watson-2022-figure-1",
            "watson-2022",
            "Figure 1 and the rank correlations of Section 4",
            "At epsilon 1 and n 100 private values keep the order of the others: Spearman's "
            "correlation 0.61 (Adult) and 0.89 (Diabetes).",
            "not reproducible",
            "The stated noise drowns any values that the stated bound allows: even values spread as "
            "far as they can be have a correlation below 0.1 with their private ones. The constant c "
            "is not given, and coalitions were left out by their value, which depends on the data.",
            "Prices tell beforehand how far noise will be above the values.",
            _figure_1,
            control=0.01,
        ),
    ]


def _permutations(twist: float) -> Evidence:
    alpha, beta = 0.3, 0.05
    draws = math.ceil(twist * math.log(2 / beta) / (2 * alpha**2))
    heads = np.arange(draws + 1)
    chances = _binomial(draws, 0.5)
    failed = float(chances[np.abs(2 * heads / draws - 1) >= alpha].sum())
    said = f"{draws} fair signs are off by {alpha} with probability {failed:.3f}; {beta} is claimed."
    return Evidence(decided(failed <= beta), said, {"failed": failed})


def _binomial(trials: int, chance: float) -> np.ndarray:
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(trials + 1), trials, chance))


def _laplace(twist: float) -> Evidence:
    """Two coordinates that move by 1/2 each: L1 sensitivity 1, on a lattice of step 1/200."""
    steps, claimed = 200, _EPSILON * twist
    scale = steps / _EPSILON
    noise = np.arange(-2000, 2001)
    log_law = -np.abs(noise) / scale
    moved = -np.abs(noise - steps // 2) / scale
    loss = 2 * float(np.max(np.abs(log_law - moved)))
    said = f"The greatest log-ratio over all pairs of outputs is {loss:.6f}; {claimed:g} is claimed."
    return Evidence(judged(claimed, loss), said, {"loss": loss})


def _best_loss(twist: float) -> Evidence:
    worst = 0.0
    for m in range(1, 7):
        for labels in range(2 ** (m + 1)):
            seen = [(labels >> i) & 1 for i in range(m + 1)]
            for new in range(m + 1):  # the place of the new point among the others
                rest = seen[:new] + seen[new + 1 :]
                change = abs(_threshold_errors(seen) / (m + 1) - _threshold_errors(rest) / m)
                worst = max(worst, change * m)
    said = f"Over all labellings of 2 to 7 points the greatest change times m is {worst:.4f}."
    return Evidence(judged(twist, worst, loose_from=1.5), said, {"change times m": worst})


def _threshold_errors(labels: list[int]) -> int:
    """Return the fewest errors of a threshold on ordered points, either side being positive."""
    size, ones = len(labels), sum(labels)
    errors = [sum(labels[:cut]) + (size - cut) - (ones - sum(labels[:cut])) for cut in range(size + 1)]
    return min(*errors, *(size - wrong for wrong in errors))


def _stability(twist: float) -> Evidence:
    """Ridge estimate of a constant with absolute loss on points at -1 and 1; L = kappa = 1.

    Minimise mean abs(w - z) / 1 + lambda w^2 over w for points at +1 or -1. With lambda 1 and m points,
    a of them at +1, w = (2a - m)/(2m) as long as it is inside (-1, 1).
    """
    lam, worst = 1.0, 0.0
    for m in range(1, 9):
        for a in range(m):
            first, second = (_ridge_sign_mean(m, count, lam) for count in (a, a + 1))
            worst = max(worst, abs(first - second) / (twist / (2 * lam * m)))
    said = f"Replacing a point moves the loss by {worst:.3f} times the bound."
    return Evidence(judged(1.0, worst), said, {"times the bound": worst})


def _ridge_sign_mean(points: int, positive: int, lam: float) -> float:
    """Return w that minimises the mean of abs(w - z) plus lambda w^2, for z of -1 and 1."""
    slope = (2 * positive - points) / points
    return slope / (2 * lam)


def _layer_zero(twist: float) -> Evidence:
    """Two records: nobody has value 0, one alone 1, both together 1."""
    alpha = _ALPHA * twist
    value = {0: 0.0, 1: 1.0, 2: 1.0}
    marginals = [value[size + 1] - value[size] for size in (0, 1)]
    shapley, estimate = sum(marginals) / 2, sum(marginals[1:]) / 2
    failed = float(abs(estimate - shapley) >= alpha)
    said = f"The estimate is {estimate}, the Shapley value {shapley}; alpha is {alpha:g}."
    return Evidence(decided(failed <= _BETA), said, {"failed": failed})


def _one_layer(twist: float) -> Evidence:
    """Layer 1: singletons, half of them with marginal c and half with -c, each drawn by itself."""
    n, alpha = 20_001, 0.1
    draws = math.log(2 * n / _BETA) / (2 * alpha**2)
    half = (n - 1) // 2
    chances = _binomial(half, draws / (n - 1))
    kept = np.flatnonzero(chances > 1e-18)
    difference = np.abs(kept[:, None] - kept[None, :]) >= alpha * draws
    failed = float((chances[kept][:, None] * chances[kept][None, :])[difference].sum())
    claimed = twist * _BETA / n
    said = f"Layer 1 fails with probability {failed:.2e}; {claimed:.2e} is claimed."
    figures = {"failed": failed, "claimed": claimed}
    return Evidence(decided(failed <= claimed), said, figures)


def _claimed_probability(c: float) -> float:
    return c**2 * math.log(_N) / (2 * _ALPHA**2 * _N) * math.log(2 * _N / _BETA)


def _inclusion(twist: float) -> Evidence:
    c = 0.005
    unused = 0.0
    for k in range(1, _N):
        sampled = c**2 / (2 * _ALPHA**2 * k**2) * math.log(2 * _N / _BETA)
        # Each of C(n-2, k-1) coalitions with j is drawn with probability sampled / C(n-1, k).
        number = math.comb(_N - 2, k - 1)
        unused += number * math.log1p(-sampled / math.comb(_N - 1, k))
    used, claimed = -math.expm1(unused), twist * _claimed_probability(c)
    said = f"A record is used with probability {used:.6f}; {claimed:.6f} is claimed."
    return Evidence(judged(claimed, used), said, {"used": used, "claimed": claimed})


def _valued_record(twist: float) -> Evidence:
    """Two records: v({j}) = 0 and v({i, j}) = g or -g, whoever i is; stability g at size 1."""
    p, g, n = 0.1, 1.0, 2
    sensitivity = 2 / n * g
    scale = twist * sensitivity / math.log1p(math.expm1(_EPSILON) / p)
    moved = (g - (-g)) / n
    loss = moved / scale
    said = f"The loss of the valued record is {loss:.3f}; {_EPSILON:g} is claimed."
    return Evidence(judged(_EPSILON, loss), said, {"loss": loss})


def _probability(twist: float) -> Evidence:
    p = twist * _claimed_probability(1.0)
    said = f"At the paper's setting p is {p:.1f}."
    return Evidence(decided(p <= 1), said, {"p": p})


def _figure_1(twist: float) -> Evidence:
    """The stated noise with c = L = kappa = lambda = 1 on values spread as far as the bound allows."""
    from scipy.stats import spearmanr

    generator = public_generator(20_220)
    harmonic = float(np.sum(1 / np.arange(1, _N)))
    scale = harmonic / _N / math.log1p(math.expm1(_EPSILON) / _claimed_probability(1.0))
    values = np.linspace(-1, 1, _N) * (1 + harmonic) / _N
    found = [
        float(spearmanr(values, values + generator.laplace(0.0, scale, _N)).statistic)
        for _ in range(200)
    ]
    mean, claimed = float(np.mean(found)), 0.61 * twist
    said = f"Values as far apart as the bound allows keep a rank correlation of {mean:.3f} on average."
    return Evidence("holds" if mean >= claimed else "not reproducible", said, {"correlation": mean})
