"""What was released of a feature, and what is believed of its scores: post-processing alone.

Noise is known exactly, so scores are posterior means under it. How large and how smooth curves are is
learnt from all features together (empirical Bayes): features of which nothing can be told apart from
noise get scores near zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.additive.coding import Feature
from discreet.additive.contrasts import Contrasts, cosines
from discreet.schema import FloatArray

_SCALES = (1e-4, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_SPEEDS = (2.0, 4.0)
"""Variances of curves, and how fast those of their cosines fall; weights of all pairs are learnt."""

_ROUNDS = 30


@dataclass(frozen=True)
class Totals:
    """What is known of all records.

    Attributes:
      records: how many there are.
      mean: of every margin: the share of a class, or of a number its mean.
      spread: how fast a mean moves with its margin, at the mean.
      dispersion: the variance of a record's value in units of that.
      scale: the variance in which scores are measured: one for log-odds, that of a number.
      classes: how many there are, zero for a number.
      noise_std: of the noise on a total.
    """

    records: float
    mean: FloatArray
    spread: FloatArray
    dispersion: float
    scale: float
    classes: int
    noise_std: float

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return how fast means move with their margins."""
        return mean * (1 - mean) if self.classes else np.ones_like(mean)


@dataclass(eq=False)
class BinEvidence:
    """What was released of one feature, in bins.

    Attributes:
      feature: its bins.
      sums: records of every class, or the sum of a number, bins x margins.
      sizes: records, all classes together.
      covariance: of the noise on a channel of sums.
      noise_std: of the noise on a contrast.
    """

    feature: Feature
    sums: FloatArray
    sizes: FloatArray
    covariance: FloatArray
    noise_std: float

    def weights(self, totals: Totals) -> FloatArray:
        """Return records per bin, none below one, that add up to all."""
        kept = np.maximum(self.sizes, 1.0)
        return np.asarray(kept * (totals.records / kept.sum()))

    def residual(self, centre: FloatArray, margin: int) -> FloatArray:
        """Return the sums less what a centre gives every bin's records."""
        return np.asarray(self.sums[:, margin] - centre * self.sizes)

    def noise(self, centre: FloatArray, totals: Totals) -> FloatArray:
        """Return the covariance of the noise on ``residual``."""
        own = 1 - centre if totals.classes else np.ones_like(centre)
        others = max(totals.classes - 1, 1)
        parts = own[:, None] * own + others * centre[:, None] * centre
        return np.asarray(self.noise_std**2 * parts * self.covariance)


def read_evidence(
    feature: Feature,
    block: Contrasts,
    released: FloatArray,
    noise_std: float,
    totals: Totals,
    channel_totals: FloatArray,
) -> BinEvidence:
    """Return the sums of bins by least squares from contrasts and totals, of every channel."""
    ratio = (noise_std / totals.noise_std) ** 2
    precision = block.matrix.T @ block.matrix + ratio
    covariance = np.linalg.inv(
        precision + 1e-9 * np.trace(precision) / len(precision) * np.eye(len(precision))
    )
    channels = covariance @ (block.matrix.T @ released + ratio * channel_totals)
    if not totals.classes:
        return BinEvidence(feature, channels[:, 1:], channels[:, 0], covariance, noise_std)
    sums = channels[:, 1:] if totals.classes == 2 else channels
    return BinEvidence(feature, sums, channels.sum(axis=1), covariance, noise_std)


def smooth_kernels(feature: Feature) -> list[FloatArray]:
    """Return covariances of curves of variance one: rough ones and smooth ones."""
    found = []
    for speed in _SPEEDS:
        kernel = np.eye(feature.size)
        if feature.ordered > 1:
            power = np.maximum(np.arange(1, feature.ordered), 2.0) ** -speed
            rows = cosines(feature.ordered)
            kernel[: feature.ordered, : feature.ordered] = (rows.T * (power / power.sum())) @ rows
        found.append(kernel)
    return found


def learn_priors(evidence: Sequence[BinEvidence], totals: Totals) -> list[FloatArray]:
    """Return the covariance that is believed of every feature's scores, learnt from all of them."""
    kernels = [smooth_kernels(one.feature) for one in evidence]
    fits = np.array(
        [_log_likelihoods(one, own, totals) for one, own in zip(evidence, kernels, strict=True)]
    )
    fits -= fits.max(axis=1, keepdims=True)
    shares = np.full(fits.shape[1], 1 / fits.shape[1])
    for _ in range(_ROUNDS):
        chances = shares * np.exp(fits)
        chances /= chances.sum(axis=1, keepdims=True)
        shares = (chances.sum(axis=0) + 1 / len(shares)) / (len(fits) + 1)
    scales = np.array(_SCALES) * totals.scale
    believed = chances.reshape(len(fits), len(_SPEEDS), len(_SCALES)) @ scales
    return [
        sum(b * k for b, k in zip(row, own, strict=True))
        for row, own in zip(believed, kernels, strict=True)
    ]


def _log_likelihoods(one: BinEvidence, kernels: list[FloatArray], totals: Totals) -> FloatArray:
    """Return how likely what was released is, for every smoothness and scale, all margins together."""
    found = np.zeros((len(kernels), len(_SCALES)))
    scales = np.array(_SCALES)[:, None] * totals.scale
    for margin, mean in enumerate(totals.mean.tolist()):
        slope, rest = marginal_terms(one, totals, margin)
        lower = np.linalg.cholesky(rest)
        seen = np.linalg.solve(lower, one.residual(np.full(one.feature.size, mean), margin))
        moved = np.linalg.solve(lower, np.diag(slope))
        for place, kernel in enumerate(kernels):
            values, vectors = np.linalg.eigh(moved @ kernel @ moved.T)
            spread = 1 + scales * np.maximum(values, 0.0)
            squares = (vectors.T @ seen) ** 2
            found[place] += -0.5 * (squares / spread).sum(axis=1) - 0.5 * np.log(spread).sum(axis=1)
    return found.ravel()


def marginal_terms(one: BinEvidence, totals: Totals, margin: int) -> tuple[FloatArray, FloatArray]:
    """Return how sums move with scores at the mean, and the covariance of all else.

    Besides noise that is chance, and an intercept that is not known.
    """
    slope = one.weights(totals) * totals.spread[margin]
    centre = np.full(one.feature.size, totals.mean[margin])
    chance = totals.dispersion * slope
    rest = one.noise(centre, totals) + np.diag(chance) + totals.scale * np.outer(slope, slope)
    return slope, rest


def marginal_scores(one: BinEvidence, prior: FloatArray, totals: Totals, margin: int) -> FloatArray:
    """Return the scores of a feature as if there were no other."""
    slope, rest = marginal_terms(one, totals, margin)
    seen = one.residual(np.full(one.feature.size, totals.mean[margin]), margin)
    scores = prior @ (slope * np.linalg.solve(slope[:, None] * prior * slope + rest, seen))
    return np.asarray(scores - np.average(scores, weights=one.weights(totals)))
