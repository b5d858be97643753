"""Scores of a pair from noisy sums of residuals: post-processing, rows are seen by nobody here.

What was released are contrasts of a pair's cells: of residuals, and of a count of records. The count
says how much a cell weighs; beforehand both features are believed to have nothing to do with each
other. Scores are the posterior mean under the noise, which is known, of products of smooth curves that
average to nothing over either feature, so that the curves of single features stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.additive.evidence import smooth_kernels
from discreet.additive.fit import AdditiveFit
from discreet.additive.pairs.cells import FeaturePair, PairSide
from discreet.schema import FloatArray

_SCALES = (1e-4, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Variances of what two features do together, beside that of a record's value; all alike beforehand."""

_LEFT = 0.01
"""The variance of what may be left in residuals of what either feature does alone."""

_APART, _FLOOR = 1.0, 0.02
"""How far counts may be from those of features that have nothing to do with each other, as a share;
and the least that is left of those."""

_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class PairScores:
    """What a pair adds.

    Attributes:
      pair: its features and cells.
      scores: cells x margins.
      noise_std: margins x cells, how far the scores of the fit without noise may be from these.
      counts: of records in cells, first x second.
    """

    pair: FeaturePair
    scores: FloatArray
    noise_std: FloatArray
    counts: FloatArray


def fit_pair(
    model: AdditiveFit,
    pair: FeaturePair,
    matrix: FloatArray,
    released: FloatArray,
    noise_std: FloatArray,
) -> PairScores:
    """Return the scores of a pair.

    Args:
      model: the scores of single features.
      pair: the cells.
      matrix: the contrasts that were released.
      released: contrasts x channels: residuals of every margin, then a count.
      noise_std: of the noise on every channel.
    """
    counts = cell_counts(pair, matrix, released[:, -1], float(noise_std[-1]))
    slopes = counts.reshape(-1, 1) * cell_slopes(model, pair).reshape(pair.size, -1)
    kernels = _kernels(pair, counts)
    seen = [
        _Seen.of(model, pair, matrix, released[:, margin], slopes[:, margin], float(noise_std[margin]))
        for margin in range(len(model.intercept))
    ]
    believed, possible = _learnt(seen, kernels, model.totals.scale)
    scores = np.column_stack([one.scores(believed) for one in seen])
    return PairScores(pair, scores, np.stack([one.unknown(possible) for one in seen]), counts)


def cell_counts(
    pair: FeaturePair, matrix: FloatArray, released: FloatArray, noise_std: float
) -> FloatArray:
    """Return the records of every cell: the posterior mean, brought to the counts of both features."""
    start = pair.alone.ravel()
    prior = (_APART * start) ** 2
    moved = matrix * prior
    kept = np.linalg.solve(moved @ matrix.T + noise_std**2 * np.eye(len(matrix)), moved)
    counts = start + (released - matrix @ start) @ kept
    table = np.maximum(counts, _FLOOR * start).reshape(pair.alone.shape)
    for _ in range(_ROUNDS):
        table = table * (pair.first.weights / table.sum(axis=1))[:, None]
        table = table * (pair.second.weights / table.sum(axis=0))
    return np.asarray(table)


def cell_slopes(model: AdditiveFit, pair: FeaturePair) -> FloatArray:
    """Return how fast the mean of a cell's records moves with their margins, first x second x margins.

    The other features spread margins, so that means move less: as if their scores were normal and had
    nothing to do with each other.
    """
    shrink, margins = _shrunk(model, pair)
    if not model.totals.classes:
        return np.ones_like(margins)
    means = model.means((shrink * margins).reshape(-1, margins.shape[-1]))
    return np.asarray(shrink * model.totals.curvature(means).reshape(margins.shape))


def cell_deviation(model: AdditiveFit, pair: FeaturePair) -> FloatArray:
    """Return the standard deviation of a record's residual in every cell, first x second x margins."""
    shrink, margins = _shrunk(model, pair)
    if not model.totals.classes:
        return np.full_like(margins, model.totals.dispersion**0.5)
    means = model.means((shrink * margins).reshape(-1, margins.shape[-1]))
    return np.asarray(np.sqrt(model.totals.curvature(means)).reshape(margins.shape))


def _shrunk(model: AdditiveFit, pair: FeaturePair) -> tuple[FloatArray, FloatArray]:
    """Return what other features leave of a margin's effect, and the margins of cells."""
    spread = [
        one.weights(model.totals) @ scores**2 / model.totals.records
        for one, scores in zip(model.evidence, model.scores, strict=True)
    ]
    sides = pair.first, pair.second
    others = sum(spread) - sum(spread[side.place] for side in sides)
    first, second = (side.mean(model.scores[side.place]) for side in sides)
    margins = model.intercept + first[:, None] + second[None]
    return np.asarray(1 / np.sqrt(1 + np.pi / 8 * np.maximum(others, 0.0))), margins


def _kernels(pair: FeaturePair, counts: FloatArray) -> list[FloatArray]:
    """Return covariances of products of curves that average to nothing, of mean variance one."""
    weights = counts.sum(axis=1), counts.sum(axis=0)
    sides = [_centred(s, w) for s, w in zip((pair.first, pair.second), weights, strict=True)]
    return [np.kron(one, other) for one, other in zip(*sides, strict=True)]


def _centred(side: PairSide, weights: FloatArray) -> list[FloatArray]:
    shares = weights / weights.sum()
    centring = np.eye(side.size) - shares
    made = [centring @ kernel @ centring.T for kernel in smooth_kernels(side.cells)]
    return [kernel / max(float(np.diag(kernel) @ shares), 1e-9) for kernel in made]


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was released of a margin: how it moves with scores, chance and what may be left, noise."""

    seen: FloatArray
    moved: FloatArray
    clean: FloatArray
    noise: float

    @classmethod
    def of(
        cls,
        model: AdditiveFit,
        pair: FeaturePair,
        matrix: FloatArray,
        seen: FloatArray,
        slope: FloatArray,
        noise_std: float,
    ) -> _Seen:
        moved = matrix * slope
        single = _single(pair) * (_LEFT * model.totals.scale)
        clean = model.totals.dispersion * moved @ matrix.T + moved @ single @ moved.T
        return cls(seen, moved, clean, noise_std**2)

    def likelihood(self, prior: FloatArray) -> float:
        """Return how likely what was released is."""
        every = self.moved @ prior @ self.moved.T + self._rest
        lower = np.linalg.cholesky(every)
        return float(
            -0.5 * (np.linalg.solve(lower, self.seen) ** 2).sum() - np.log(np.diag(lower)).sum()
        )

    @property
    def _rest(self) -> FloatArray:
        return self.clean + self.noise * np.eye(len(self.clean))

    def scores(self, prior: FloatArray) -> FloatArray:
        """Return the posterior mean of scores."""
        spread = prior @ self.moved.T
        return np.asarray(spread @ np.linalg.solve(self.moved @ spread + self._rest, self.seen))

    def unknown(self, prior: FloatArray) -> FloatArray:
        """Return the standard deviations of the scores that the fit has without noise."""
        spread = prior @ self.moved.T
        exact = self.moved @ spread + self.clean
        noisy = np.linalg.inv(exact + self.noise * np.eye(len(exact)))
        apart = np.linalg.pinv(exact, rcond=1e-10, hermitian=True) - noisy
        unknown = np.einsum("ij,jk,ik->i", spread, apart, spread)
        return np.asarray(np.sqrt(np.maximum(unknown, 0.0)))


def _single(pair: FeaturePair) -> FloatArray:
    """Return the covariance of what either feature does alone, and of a constant."""
    first, second = (smooth_kernels(side.cells)[0] for side in (pair.first, pair.second))
    ones = [np.ones_like(first), np.ones_like(second)]
    return np.asarray(np.kron(first, ones[1]) + np.kron(ones[0], second) + np.kron(*ones))


def _learnt(
    seen: list[_Seen], kernels: list[FloatArray], scale: float
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance that is believed of scores: of all sizes and both speeds, as likely.

    And one for bands, in which large ones weigh more: where noise hides whether there is anything,
    the fit without noise may have found much.
    """
    sizes = np.array([size for _ in kernels for size in _SCALES]) * scale
    priors = [size * kernel for kernel in kernels for size in np.array(_SCALES) * scale]
    fits = np.array([sum(one.likelihood(prior) for one in seen) for prior in priors])
    chances = np.exp(fits - fits.max())
    return _mean(chances, priors), _mean(chances * sizes, priors)


def _mean(weights: FloatArray, priors: list[FloatArray]) -> FloatArray:
    return np.asarray(np.tensordot(weights / weights.sum(), priors, 1))
