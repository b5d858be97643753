"""What the release mechanisms of Alissaiei (2026) do on given attributions: laws, not samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.engines.shapley.kernel import kernel_values
from discreet.mechanisms.selection.basic import AboveThreshold, ExponentialMechanism, NoisyMax

_FINE = 2**20
"""Lattice steps per sensitivity where the law is a formula."""

_COARSE = 64
"""The same where the law is a sum over the lattice."""

_NODES = 2_000


def measure_reach(
    predictor: Any,
    query: Any,
    background: Any,
    masks: MaskSet,
    *,
    moves: int,
    seed: int,
    bound: float = np.inf,
) -> tuple[Any, float]:
    """Return a query's attributions and the paper's empirical Delta: no bound, a diagnostic.

    The greatest Linf change of the attributions ("mean") over ``moves`` random coordinates of the query
    moved by +1 or -1, values kept in [-bound, bound]. Where none changes anything (trees), 1e-8 of the
    greatest attribution.
    """
    draw = np.random.default_rng(seed)
    moved = np.repeat(query[None, :], moves + 1, axis=0)
    places = draw.integers(len(query), size=moves)
    moved[np.arange(1, moves + 1), places] += draw.choice([-1.0, 1.0], moves)
    moved[1:] = np.clip(moved[1:], -bound, bound)
    values = kernel_values(predictor, moved, background, masks, value="mean")
    change = float(np.abs(values[1:] - values[0]).max())
    return values[0], max(change, 1e-8 * float(np.abs(values[0]).max()))


def gap(values: Any) -> float:
    """Return the gap between the greatest magnitude and the second."""
    second, first = np.sort(np.abs(values))[-2:]
    return float(first - second)


def top_1(values: Any, reach: float, epsilon: float) -> float:
    """Return the chance that the exponential mechanism picks the greatest magnitude."""
    law = ExponentialMechanism(_FINE, epsilon).probabilities(_steps(values, reach, _FINE))
    return float(law[np.argmax(np.abs(values))])


def noisy_max(values: Any, reach: float, epsilon: float) -> float:
    """Return the same for the noisy maximum with Laplace noise of scale 2 Delta / epsilon."""
    law = NoisyMax(_COARSE, epsilon).probabilities(_steps(values, reach, _COARSE))
    return float(law[np.argmax(np.abs(values))])


def above_threshold(values: Any, reach: float, epsilon: float, *, in_true_order: bool) -> float:
    """Return the chance that the first feature above the *true* second magnitude is the greatest.

    Neither the threshold nor, in its true order, the visit is private.
    """
    steps = _steps(values, reach, _COARSE)
    order = np.argsort(-steps) if in_true_order else np.arange(len(steps))
    law = AboveThreshold(_COARSE, epsilon).probabilities(steps[order], int(np.sort(steps)[-2]))
    return float(law[np.flatnonzero(order == np.argmax(np.abs(values)))[0]])


def top_k_overlap(values: Any, reach: float, epsilon: float, k: int = 5) -> float:
    """Return the expected share of the true k greatest among the k greatest after Laplace noise."""
    scale = 2.0 * reach / epsilon
    scores = np.abs(values) / scale
    best = np.argsort(-scores)[:k]
    level = (np.arange(_NODES) + 0.5) / _NODES
    noise = np.where(level < 0.5, np.log(2 * level), -np.log(2 * (1 - level)))
    total = 0.0
    for i in best:
        ahead = np.zeros((k, _NODES))  # chance that so many others are ahead
        ahead[0] = 1.0
        for j in np.delete(np.arange(len(scores)), i):
            gap = scores[i] + noise - scores[j]
            beaten = np.where(gap < 0, 0.5 * np.exp(-np.abs(gap)), 1 - 0.5 * np.exp(-np.abs(gap)))
            shifted = np.vstack([np.zeros(_NODES), ahead[:-1]])
            ahead = ahead * beaten + shifted * (1 - beaten)
        total += float(ahead.sum(axis=0).mean())
    return total / k


def kendall(values: Any, reach: float, epsilon: float) -> float:
    """Return the expected Kendall tau of the order of magnitudes before and after Laplace noise."""
    scores = np.abs(values) * epsilon / (2.0 * reach)
    first, second = np.triu_indices(len(scores), 1)
    gap = np.abs(scores[first] - scores[second])
    wrong = 0.5 * np.exp(-gap) * (1 + gap / 2)  # the difference of two Laplace variables
    return float(np.mean(np.where(gap > 0, 1 - 2 * wrong, 0.0)))


def gaussian_top_1(values: Any, sigma: float) -> float:
    """Return the chance that the greatest magnitude stays it after Gaussian noise."""
    from scipy.stats import norm

    magnitudes = np.sort(np.abs(values) / sigma)
    level = np.linspace(0.0, magnitudes[-1] + 10.0, 20_001)
    chances = norm.cdf(level[:, None] - magnitudes) - norm.cdf(-level[:, None] - magnitudes)
    density = norm.pdf(level - magnitudes[-1]) + norm.pdf(level + magnitudes[-1])
    return float(np.trapezoid(density * np.prod(chances[:, :-1], axis=1), level))


def gaussian_top_5(values: Any, sigma: float, draw: np.random.Generator, draws: int) -> float:
    """Return the sampled share of the five greatest magnitudes kept after Gaussian noise."""
    best = np.argsort(-np.abs(values))[:5]
    noisy = np.abs(values + sigma * draw.normal(size=(draws, len(values))))
    found = np.argpartition(-noisy, 4, axis=1)[:, :5]
    return float(np.isin(found, best).mean())


def _steps(values: Any, reach: float, per_reach: int) -> Any:
    """Return magnitudes as whole steps, the sensitivity being ``per_reach`` of them."""
    return np.rint(np.abs(values) / reach * per_reach).astype(np.int64)
