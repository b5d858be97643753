"""Smooth sensitivity and its bootstrap in Alissaiei (2026): Algorithm 1 and what it rests on."""

from __future__ import annotations

import itertools
import math

import numpy as np

from discreet.audit.claims.alissaiei.published import (
    CLIP,
    DELTA,
    FAILURE,
    RECORDS,
    RESAMPLES,
    at_mean,
    classical_multiplier,
    lipschitz_bound,
    naive_bound,
    singletons,
    smoothing,
)
from discreet.audit.claims.claim import Evidence, decided, judged
from discreet.engines.shapley.bootstrap import BootstrapSensitivity, bootstrap_sensitivity
from discreet.randomness import public_generator
from discreet.schema import FloatArray


def empirical_bernstein(twist: float) -> Evidence:
    """Compute, for 0/1 variables, how often the bound with ``twist`` its corrections fails."""
    worst, confidence = 0.0, math.log(2.0 / FAILURE)
    for size in (40, RESAMPLES):
        ones = np.arange(size + 1)
        mean = ones / size
        spread = np.sqrt(2 * mean * (1 - mean) * size / (size - 1) * confidence / size)
        bound = mean + twist * (spread + 7 * confidence / (3 * (size - 1)))
        factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
        choices = factorials[size] - factorials - factorials[::-1]
        for p in np.linspace(0.005, 0.995, 199):
            chances = np.exp(choices + ones * math.log(p) + (size - ones) * math.log1p(-p))
            worst = max(worst, float(chances[bound < p].sum()))
    return Evidence(
        decided(worst <= FAILURE),
        f"alpha = 0.01, B = 40 and 400: the bound fails with chance at most {worst:.2g}",
        {"greatest chance of failure": worst},
    )


def conditional_guarantee(twist: float) -> Evidence:
    """Compute delta between neighbours of a count whose steps shrink by exp(-beta) each.

    Its envelope of Lemma 23 is beta-smooth and no larger than need be. ``twist`` multiplies the noise.
    """
    figures = {}
    for epsilon in (1.0, 5.0):
        values, scales = _shrinking_chain(smoothing(epsilon))
        noise = twist * classical_multiplier(epsilon) * scales
        pairs = [(values[place], noise[place]) for place in (3, 4)]
        figures[epsilon] = max(_gaussian_delta(epsilon, *pairs), _gaussian_delta(epsilon, *pairs[::-1]))
    return Evidence(
        judged(DELTA, figures[1.0], loose_from=math.inf),
        f"one attribution, delta_G = 1e-5: the true delta is {figures[1.0]:.1e} at epsilon = 1 and "
        f"{figures[5.0]:.1e} at epsilon = 5",
        {f"delta at {epsilon:g}": delta for epsilon, delta in figures.items()},
    )


def constants_missing(twist: float) -> Evidence:
    """Ask whether the formula falls short of the guarantee, as Lemma 31 leaves open."""
    found = conditional_guarantee(twist)
    return Evidence(decided(found.verdict == "false"), found.said, found.figures)


def _shrinking_chain(beta: float, length: int = 9) -> tuple[FloatArray, FloatArray]:
    """Return the values of a function of a count, and its envelope at every count."""
    steps = np.exp(-beta * np.arange(length - 1))
    values = np.append(0.0, np.cumsum(steps))
    local = np.maximum(np.append(0.0, steps), np.append(steps, 0.0))
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return values, np.asarray((np.exp(-beta * apart) * local).max(axis=1))


def _gaussian_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the integral of (p - exp(epsilon) q)_+ of two normal densities of mean and deviation."""
    span = 14.0 * max(first[1], second[1])
    level = np.linspace(first[0] - span, first[0] + span, 200_001)
    densities = [
        np.exp(-0.5 * ((level - mean) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))
        for mean, scale in (first, second)
    ]
    excess = np.maximum(densities[0] - math.exp(epsilon) * densities[1], 0.0)
    return float(excess.sum() * (level[1] - level[0]))


def _bootstrap(background: FloatArray, factor: float = 1.0) -> BootstrapSensitivity:
    """Run Algorithm 1 on f(u) = u_1 with two features, the masks (1,0) and (0,1)."""
    masks = singletons(2)
    return bootstrap_sensitivity(
        lambda rows: np.asarray(rows[:, 0]),
        np.zeros(2),
        background,
        masks,
        greatest=factor * lipschitz_bound(masks, 1.0, CLIP, len(background)),
        resamples=RESAMPLES,
        failure=FAILURE,
    )


def _equal_and_outlier() -> tuple[FloatArray, FloatArray]:
    """Return a background of equal records, and its neighbour with one at the end of the ball."""
    equal = np.zeros((RECORDS, 2))
    outlier = equal.copy()
    outlier[0, 0] = CLIP
    return equal, outlier


def dominance(twist: float) -> Evidence:
    """Compare what Algorithm 1 finds on equal records with the move of one replaced record."""
    found = _bootstrap(_equal_and_outlier()[0]).sensitivity(1.0, DELTA)
    true = CLIP / RECORDS  # one record moves from 0 to the ball's end
    return Evidence(
        decided(twist * found < true),
        f"100 equal records, f(u) = u_1: one replaced record moves an attribution by {true:.4f}, the "
        f"bootstrap says {found:.5f}",
        {"bootstrap": found, "true": true, "factor": true / found},
    )


def smoothness(twist: float) -> Evidence:
    """Compare what Algorithm 1 finds on two neighbours with the ratio exp(twist beta)."""
    first, second = (_bootstrap(rows).sensitivity(1.0, DELTA) for rows in _equal_and_outlier())
    allowed = math.exp(twist * smoothing(1.0))
    return Evidence(
        decided(second / first > allowed),
        f"100 equal records and a neighbour with one outlier: the scales differ {second / first:.1f} "
        f"times, exp(beta) is {allowed:.3f}",
        {"ratio": second / first, "exp(beta)": allowed},
    )


def _outlier_shows(factor: float) -> float:
    """Return a lower bound on delta at epsilon = 1 of Algorithm 1, from the event |x_1| <= 3 sigma."""
    from scipy.special import ndtr

    near, far = (_bootstrap(rows, factor).noise_scale(1.0, DELTA) for rows in _equal_and_outlier())
    shift, edge = CLIP / RECORDS, 3 * near
    inside = float(ndtr((edge + shift) / far) - ndtr((shift - edge) / far))
    return float(2 * ndtr(3.0) - 1) - math.e * inside


def algorithm_not_private(twist: float) -> Evidence:
    """Bound the true delta of Algorithm 1 from below, its range bound taken times ``twist``."""
    delta = _outlier_shows(twist)
    return Evidence(
        decided(delta > DELTA),
        f"epsilon = 1, two backgrounds of 100 records: the true delta is at least {delta:.3f}",
        {"delta at least": delta},
    )


def summed_delta(twist: float) -> Evidence:
    """Compare the true delta of Algorithm 1 with delta_G + alpha."""
    delta, summed = _outlier_shows(1.0), twist * (DELTA + FAILURE)
    return Evidence(
        decided(delta > summed),
        f"epsilon = 1: the true delta is at least {delta:.3f}, delta_G + alpha is {summed:.5f}",
        {"delta at least": delta, "delta_G + alpha": summed},
    )


def envelope(twist: float) -> Evidence:
    """Compute the envelope on all tables of three records of five kinds, and its greatest ratio."""
    beta, kinds, records = 0.5, 5, 3
    tables = np.array(list(itertools.product(range(kinds), repeat=records)))
    apart = (tables[:, None] != tables[None]).sum(axis=2)
    value = np.exp(3.0 * public_generator(0).normal(size=len(tables)))
    local = np.where(apart == 1, np.abs(value[:, None] - value), 0.0).max(axis=1)
    smooth = (np.exp(-beta * apart) * local[None]).max(axis=1)
    ratio = np.where(apart == 1, np.log(smooth[:, None] / smooth), 0.0).max()
    return Evidence(
        judged(twist * beta, float(ratio)),
        f"beta = 0.5, 125 tables: the greatest log ratio between neighbours is {ratio:.3f}",
        {"greatest log ratio": float(ratio)},
    )


def projection(twist: float) -> Evidence:
    """Project a noisy vector the share ``twist`` of the distance to the private hyperplane."""

    def model(rows: FloatArray) -> FloatArray:
        return np.asarray(np.tanh(rows.sum(axis=1)))

    query, mean = np.array([0.5, 0.2]), np.array([0.1, -0.3])
    values = at_mean(model, query, mean, singletons(2))
    noisy = values + 10.0 * public_generator(0).normal(size=(1000, 2))
    total = float(model(query[None])[0] - model(mean[None])[0])
    projected = noisy + twist * (total - noisy.sum(axis=1, keepdims=True)) / 2
    told = float(model(query[None])[0]) - projected.sum(axis=1)
    error = float(np.abs(told - model(mean[None])[0]).max())
    return Evidence(
        decided(error < 1e-9),
        f"noise of deviation 10: f(mu) follows from the projected sum with an error of {error:.1g}",
        {"greatest error": error},
    )


def no_hops(twist: float) -> Evidence:
    """Run Algorithm 1 with hops on a stump whose mean lies 2.5 records above its threshold."""
    masks = singletons(2)
    rows = np.where(np.arange(20)[:, None] < 10, 1.0, -1.0) * np.ones((20, 2)) + 0.25

    def stump(points: FloatArray) -> FloatArray:
        return np.asarray((points[:, 0] > 0).astype(np.float64))

    found = bootstrap_sensitivity(
        stump,
        np.ones(2),
        rows,
        masks,
        greatest=naive_bound(masks, 1.0),
        resamples=RESAMPLES,
        failure=FAILURE,
        hops=4,
    )
    envelopes = found.envelopes * np.exp(-twist * smoothing(1.0) * np.arange(5))
    best = int(envelopes.argmax())
    return Evidence(
        decided(best == 0),
        f"f(u) = 1[u_1 > 0], 20 records: the maximum is at hop {best}, {envelopes[best]:.2f} against "
        f"{envelopes[0]:.2f} at hop 0",
        {"hop": float(best), "maximum": float(envelopes[best]), "at hop 0": float(envelopes[0])},
    )


def printed_beta(twist: float) -> Evidence:
    """Compare beta as appendix B.2 prints it, 0.028, with its own formula."""
    beta, printed = smoothing(1.0), 0.028 * twist
    return Evidence(
        decided(abs(printed / beta - 1) < 0.02),
        f"epsilon / (2 ln(1 / delta_G)) is {beta:.4f} at epsilon = 1, delta_G = 1e-5; printed "
        f"{printed:.4f}",
        {"beta": beta, "printed": printed},
    )
