"""What Alissaiei (2026) computes, as it is published: masks, operator, bounds, calibrations.

Nothing here is a guarantee: these are the forms on trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet, kernel_weights, mask_set
from discreet.engines.shapley.kernel import kernel_values
from discreet.randomness import public_generator
from discreet.schema import FloatArray

Predict = Callable[[FloatArray], FloatArray]

FEATURES, MASKS, RECORDS, RESAMPLES = 20, 400, 100, 400
"""The paper's setting: d, K, n and B_boot."""

CLIP, DELTA, FAILURE = 3.0, 1e-5, 0.01
"""B_clip, delta_G and alpha."""

ADDITIVE_WEIGHTS = (2.0, 1.4, 1.0, 0.7, 0.5)
"""The first weights of its synthetic additive task; the others are N(0, 0.1^2)."""


@lru_cache(maxsize=16)
def published_masks(features: int = FEATURES, number: int = MASKS, seed: int = 0) -> MaskSet:
    """Return masks drawn by the Shapley kernel and weighted by it once more, without the constraint."""
    draw = public_generator(seed)
    sizes = np.arange(1, features)
    shares = 1.0 / (sizes * (features - sizes))
    size = draw.choice(sizes, number, p=shares / shares.sum())
    masks = draw.random((number, features)).argsort(axis=1).argsort(axis=1) < size[:, None]
    return mask_set(masks, kernel_weights(masks), constrained=False)


def singletons(features: int, copies: int = 1) -> MaskSet:
    """Return the masks of one feature, each so many times, for which R takes means."""
    masks = np.repeat(np.eye(features, dtype=bool), copies, axis=0)
    return mask_set(masks, np.ones(len(masks)), constrained=False)


def operator_norm(masks: MaskSet) -> float:
    """Return |R|_2."""
    return float(np.linalg.norm(masks.response, 2))


def rank_constant(masks: MaskSet) -> float:
    """Return kappa of Definition 37: sigma_d(Z) sqrt(d / K)."""
    members = masks.masks.astype(np.float64)
    weakest = float(np.linalg.eigvalsh(members.T @ members)[0])
    return math.sqrt(weakest * masks.features / len(masks))


def naive_bound(masks: MaskSet, magnitude: float) -> float:
    """Return 4 F_max sqrt(K) |R|_2, equation (1) and Lemma 20."""
    return 4.0 * magnitude * math.sqrt(len(masks)) * operator_norm(masks)


def lipschitz_bound(masks: MaskSet, lipschitz: float, clip: float, rows: int) -> float:
    """Return |R|_2 2 B L_f sqrt(K) / n, equation (2)."""
    return operator_norm(masks) * 2.0 * clip * lipschitz * math.sqrt(len(masks)) / rows


def rank_bound(masks: MaskSet, change: float) -> float:
    """Return L_0 sqrt(w_max / w_min) / (kappa sqrt(K / d)), Theorem 12."""
    ratio = math.sqrt(float(masks.weights.max() / masks.weights.min()))
    return change * ratio / (rank_constant(masks) * math.sqrt(len(masks) / masks.features))


def classical_multiplier(epsilon: float, delta: float = DELTA) -> float:
    """Return sqrt(2 ln(1.25 / delta)) / epsilon, sigma over the sensitivity."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def smoothing(epsilon: float, delta: float = DELTA) -> float:
    """Return beta = epsilon / (2 ln(1 / delta)) of Algorithm 1."""
    return epsilon / (2.0 * math.log(1.0 / delta))


def range_share(resamples: int = RESAMPLES, failure: float = FAILURE) -> float:
    """Return the factor on M_LS in the correction of Algorithm 1: 7 ln(2 / alpha) / (3 (B - 1))."""
    return 7.0 * math.log(2.0 / failure) / (3.0 * (resamples - 1))


def at_mean(predict: Predict, query: FloatArray, mean: FloatArray, masks: MaskSet) -> FloatArray:
    """Return the attributions of a query against a background's mean."""
    return np.asarray(kernel_values(predict, query[None], mean[None], masks, value="mean")[0])


def in_ball(rows: FloatArray, radius: float = CLIP) -> FloatArray:
    """Return rows projected onto the L2 ball."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(lengths, 1e-12)))


def additive_weights(features: int = FEATURES) -> FloatArray:
    """Return the weights of the synthetic additive task."""
    rest = public_generator(0).normal(0.0, 0.1, features - len(ADDITIVE_WEIGHTS))
    return np.concatenate([ADDITIVE_WEIGHTS, rest])
