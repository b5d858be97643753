"""One factor for all scores, from how margins are spread: what sweeps that are cut short leave out.

Sweeps go only part of the way, so scores are too small where much can be seen. How far the target
goes with the scores is known from the counts that were released. How far it should go is a sum over
records of what the model itself says, which holds no label: counts of records by their margin, on a
grid made of released scores, tell it for every factor. The factor and the intercept at which both agree
are taken, as far as they can be told from noise and chance. All of this is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from discreet.additive.contrasts import Contrasts
from discreet.additive.fit import AdditiveFit
from discreet.schema import FloatArray

CELLS = 32
"""Into how many cells margins are counted."""

_FARTHEST = 2.5
"""The ends of the grid are sinh of this, six, of the margins' standard deviations away."""

_FACTOR, _SHIFT = 0.3, 0.25
"""Standard deviations of the logarithm of the factor and of what the intercept moves by, beforehand."""

_OWED = 0.7
"""The part of what scores owe to noise and chance that is taken off; with damping they owe less."""

_FLOOR, _ALIKE = 0.3, 2.0
"""How far counts may be from a normal law: as far again and part of an even share, some cells alike."""

_ROUNDS, _LONGEST = 30, 0.3
"""Steps towards the factor and the intercept, and how long one may be."""


def margin_ends(model: AdditiveFit) -> FloatArray:
    """Return the inner ends of cells of margins without the intercept: narrow in the middle."""
    places = np.sinh(np.linspace(-_FARTHEST, _FARTHEST, CELLS + 1))
    return np.asarray(_deviation(model) * places[1:-1])


def rescale(model: AdditiveFit, block: Contrasts, noisy: FloatArray, noise_std: float) -> None:
    """Scale all scores and move the intercept, to what is most likely by what was released.

    Args:
      model: the scores so far.
      block: contrasts of the cells of margins.
      noisy: what was released of them.
      noise_std: of the noise on it.
    """
    spread = MarginSpread.of(model, block.matrix, noisy, noise_std)
    (factor, shift), variance = most_likely(model, spread)
    model.intercept[0] += shift
    for place, scores in enumerate(model.scores):
        unknown = model.noise_std[place] ** 2 + variance * scores.T**2
        model.noise_std[place] = factor * np.sqrt(unknown)
        model.scores[place] = factor * scores


@dataclass(frozen=True)
class MarginSpread:
    """Margins of all records without the intercept: how many are about where.

    Attributes:
      places: of the cells' middles.
      counts: of records, as far as known.
      covariance: of what is not known of them.
    """

    places: FloatArray
    counts: FloatArray
    covariance: FloatArray

    @classmethod
    def of(
        cls, model: AdditiveFit, matrix: FloatArray, noisy: FloatArray, noise_std: float
    ) -> MarginSpread:
        """Return the posterior of counts, from noisy contrasts of them.

        Beforehand they are believed to be those of a normal law, as if features had nothing to do
        with each other.
        """
        ends, records = margin_ends(model), model.totals.records
        places = np.concatenate([ends[:1], (ends[1:] + ends[:-1]) / 2, ends[-1:]])
        law = NormalDist(0.0, _deviation(model))
        below = [0.0, *map(law.cdf, ends.tolist()), 1.0]
        start = records * np.array([high - low for low, high in pairwise(below)])
        prior = _prior(start + _FLOOR * records / CELLS)
        seen = matrix @ prior
        kept = np.linalg.solve(seen @ matrix.T + noise_std**2 * np.eye(len(matrix)), seen).T
        return cls(places, start + kept @ (noisy - matrix @ start), prior - kept @ seen)


def _prior(far: FloatArray) -> FloatArray:
    """Return the covariance of counts that are known to add up, and go with those beside them."""
    apart = np.arange(len(far))[:, None] - np.arange(len(far))
    free = far[:, None] * far * np.exp(-0.5 * (apart / _ALIKE) ** 2)
    whole = free.sum(axis=1)
    return np.asarray(free - np.outer(whole, whole) / whole.sum())


def most_likely(model: AdditiveFit, spread: MarginSpread) -> tuple[tuple[float, float], float]:
    """Return the factor, what the intercept moves by, and what noise adds to the factor's logarithm."""
    totals = model.totals
    agreed, noise = _agreement(model)
    target = np.array([agreed, 0.0])
    sums, parts, moved = _expected(model, spread, np.zeros(2))
    noisy = parts @ spread.covariance @ parts.T + np.diag([noise, totals.noise_std**2])
    precision = np.linalg.inv(noisy + totals.dispersion * moved)
    believed = np.diag([_FACTOR**-2, _SHIFT**-2 / totals.scale])
    at = np.zeros(2)
    for _ in range(_ROUNDS):
        kept = np.linalg.solve(moved.T @ precision @ moved + believed, moved.T @ precision)
        step = kept @ (target - sums + moved @ at) - at
        at = at + np.clip(step, -_LONGEST, _LONGEST)
        sums, _, moved = _expected(model, spread, at)
    return (float(np.exp(at[0])), float(at[1])), float((kept @ noisy @ kept.T)[0, 0])


def _expected(
    model: AdditiveFit, spread: MarginSpread, at: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far means go with scores and exceed the mean, all cells' parts, and how both move."""
    totals, factor = model.totals, np.exp(at[0])
    means = model.means((model.intercept[0] + at[1] + factor * spread.places)[:, None])[:, 0]
    rows = np.stack([spread.places, np.ones(CELLS)])
    parts = rows * (means - totals.mean[0])
    moved = (rows * (spread.counts * totals.curvature(means))) @ (rows * [[factor], [1.0]]).T
    return parts @ spread.counts, parts, moved


def _agreement(model: AdditiveFit) -> tuple[float, float]:
    """Return how far the target goes with the scores, less what they owe, and the noise's variance."""
    found = noise = 0.0
    centre = float(model.totals.mean[0])
    for one, scores, owed in zip(model.evidence, model.scores, model.owed, strict=True):
        own, flat = scores[:, 0], np.full(len(scores), centre)
        found += float(own @ one.residual(flat, 0)) - _OWED * owed
        noise += float(own @ one.noise(flat, model.totals) @ own)
    return found, noise


def _deviation(model: AdditiveFit) -> float:
    """Return the standard deviation of margins, as if features had nothing to do with each other."""
    variance = sum(float(one[0]) for one in model.variances)
    return float(max(variance, 1e-12) ** 0.5)
