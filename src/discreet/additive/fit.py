"""One feature at a time: scores from what was released once, corrected for what others explain.

The label is paid for once, with the counts of bins. What a sweep needs besides is how the model's own
means add up in a feature's bins, which holds no label; how far those can be from each other follows
from released scores. All of this is post-processing: rows are seen by nobody here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.additive.evidence import BinEvidence, Totals, marginal_scores
from discreet.schema import FloatArray

DAMPING = (0.7, 0.5, 0.4)
"""How far scores go to what a sweep finds, sweep by sweep."""

_INTERCEPT = 0.25
"""The variance of what a feature's update may move the intercept by."""

_NARROW = 1e-6


@dataclass(eq=False)
class AdditiveFit:
    """Scores so far, and what noise does to them.

    Attributes:
      totals: of all records.
      evidence: of every feature.
      priors: what is believed of every feature's scores.
      intercept: of every margin.
      scores: of every feature, bins x margins.
      noise_std: per feature, margins x bins, how far the scores of the fit without noise may be from
        these: the posterior standard deviation of those scores, given what was released.
      left: how much of where it started damping has left of every feature.
      alone: scores of every feature as if there were no other, bins x margins.
      owed: by how much every feature's scores, of the last margin, agree with its sums by noise and
        chance alone.
      variances: of every feature's scores over records, of every margin.
    """

    totals: Totals
    evidence: list[BinEvidence]
    priors: list[FloatArray]
    intercept: FloatArray
    scores: list[FloatArray]
    noise_std: list[FloatArray]
    left: list[float]
    alone: list[FloatArray]
    owed: list[float]
    variances: list[FloatArray]

    @classmethod
    def start(
        cls, totals: Totals, evidence: list[BinEvidence], priors: list[FloatArray]
    ) -> AdditiveFit:
        """Return the model of the totals alone."""
        margins = len(totals.mean)
        sizes = [one.feature.size for one in evidence]
        scores = [np.zeros((size, margins)) for size in sizes]
        still = [np.zeros((margins, size)) for size in sizes]
        alone = [
            np.column_stack([marginal_scores(one, prior, totals, margin) for margin in range(margins)])
            for one, prior in zip(evidence, priors, strict=True)
        ]
        left, owed = [1.0] * len(sizes), [0.0] * len(sizes)
        first = first_intercept(totals)
        flat = [np.zeros(margins) for _ in sizes]
        return cls(totals, evidence, priors, first, scores, still, left, alone, owed, flat)

    def means(self, margins: FloatArray) -> FloatArray:
        """Return the means of margins, rows x margins."""
        if not self.totals.classes:
            return np.clip(margins, -1.0, 1.0)
        if margins.shape[1] == 1:
            return np.asarray(1 / (1 + np.exp(-np.clip(margins, -30, 30))))
        powers = np.exp(margins - margins.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def ranges(self, place: int, widest: float) -> tuple[FloatArray, FloatArray]:
        """Return the centre and half the range of what other terms can make of every bin's mean.

        Ranges follow from released scores alone; beyond ``widest`` of a bin's own mean they are cut.
        """
        others = [scores for n, scores in enumerate(self.scores) if n != place]
        low = sum((scores.min(axis=0) for scores in others), np.zeros_like(self.intercept))
        high = sum((scores.max(axis=0) for scores in others), np.zeros_like(self.intercept))
        own = self.intercept + self.scores[place]
        mean = self.means(own)
        least, most = self._ends(own, low, high)
        least, most = np.maximum(least, mean - widest), np.minimum(most, mean + widest)
        return (least + most) / 2, np.maximum(most - least, 0.0) / 2

    def uncorrected(self, place: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return centre, sums and noise of a feature before any other explains something."""
        centre = self.means(self.intercept + self.scores[place])
        return centre, np.zeros_like(centre), np.zeros((len(centre), len(centre)))

    def _ends(
        self, own: FloatArray, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        if own.shape[1] == 1:
            return self.means(own + low), self.means(own + high)
        least, most = np.empty_like(own), np.empty_like(own)
        for margin in range(own.shape[1]):
            one = np.arange(own.shape[1]) == margin
            least[:, margin] = self.means(own + np.where(one, low, high))[:, margin]
            most[:, margin] = self.means(own + np.where(one, high, low))[:, margin]
        return least, most

    def update(
        self,
        place: int,
        centre: FloatArray,
        seen: FloatArray,
        covariance: FloatArray,
        damping: float,
    ) -> None:
        """Move the scores of a feature towards their posterior mean, and the intercept with them.

        Args:
          place: of the feature.
          centre: from which the model's means were measured, bins x margins.
          seen: the sums of the model's means less the centre, bins x margins.
          covariance: of the noise on each of them.
          damping: how far scores go.
        """
        one, totals = self.evidence[place], self.totals
        weights = one.weights(totals)
        slopes = weights[:, None] * self._slope(place)
        centring = np.eye(len(weights)) - weights / weights.sum()
        self.left[place] *= 1 - damping
        for margin in range(len(self.intercept)):
            slope = slopes[:, margin]
            prior = self.priors[place] + _INTERCEPT * totals.scale
            noise = one.noise(centre[:, margin], totals)
            rest = noise + covariance + totals.dispersion * np.diag(slope)
            kept = (prior * slope) @ np.linalg.inv(slope[:, None] * prior * slope + rest)
            old = self.scores[place][:, margin]
            found = kept @ (one.residual(centre[:, margin], margin) - seen[:, margin] + slope * old)
            shift = float(np.clip(np.average(found, weights=weights), -1, 1))
            self.scores[place][:, margin] = old + damping * (centring @ found - old)
            self.intercept[margin] += shift
            self.variances[place][margin] = weights @ self.scores[place][:, margin] ** 2 / weights.sum()
            self.owed[place] = (1 - self.left[place]) * self._owed(one, margin, slope, centring @ kept)
            clean = slope[:, None] * prior * slope + totals.dispersion * np.diag(slope)
            moved = (1 - self.left[place]) * centring @ (prior * slope)
            self.noise_std[place][margin] = _unknown(moved, clean, noise + covariance)

    def _owed(self, one: BinEvidence, margin: int, slope: FloatArray, moved: FloatArray) -> float:
        """Return how far scores agree with the sums they were made of by noise and chance."""
        flat = np.full(len(slope), self.totals.mean[margin])
        chance = one.noise(flat, self.totals) + self.totals.dispersion * np.diag(slope)
        return float((moved * chance).sum())

    def _slope(self, place: int) -> FloatArray:
        """Return how fast means move with margins: between the model's and what counts alone say.

        The other features spread the margins of a bin's records, so that means move less than at the
        bin's own margin: by as much as if their scores were normal and had nothing to do with each
        other.
        """
        totals, own = self.totals, self.scores[place]
        if not totals.classes:
            return np.ones_like(own)
        others = sum(self.variances) - self.variances[place]
        shrink = 1 / np.sqrt(1 + np.pi / 8 * others)
        mean = self.means(shrink * (self.intercept + own))
        alone = totals.mean + totals.spread * self.alone[place]
        alone = np.clip(alone, 0.1 * totals.mean, 1 - 0.1 * (1 - totals.mean))
        return np.asarray(shrink * (totals.curvature(mean) + totals.curvature(alone)) / 2)

    def importance(self, place: int) -> float:
        """Return how much a feature explains by itself, as a share."""
        weights = self.evidence[place].weights(self.totals)
        return float((weights @ self.alone[place] ** 2) @ self.totals.spread)


def _unknown(moved: FloatArray, clean: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the standard deviations of scores without noise, once those with noise are known.

    Without noise, sums u of covariance ``clean`` give the scores moved inv(clean) u. What is not
    known of them, given u plus noise, has the covariance
    moved (inv(clean) - inv(clean + noise)) moved'.
    """
    apart = np.linalg.inv(clean) - np.linalg.inv(clean + noise)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", moved, apart, moved), 0.0)))


def first_intercept(totals: Totals) -> FloatArray:
    """Return the intercept of a model that knows the totals alone."""
    mean = totals.mean
    if not totals.classes:
        return np.array(mean)
    if len(mean) == 1:
        return np.log(mean / (1 - mean))
    return np.asarray(np.log(mean) - np.log(mean).mean())


def width_of(half: FloatArray, norm: str) -> FloatArray:
    """Return one width per bin, so that all margins' ranges fit into a ball of it."""
    width = half.sum(axis=1) if norm == "l1" else np.sqrt((half**2).sum(axis=1))
    return np.asarray(np.maximum(width, _NARROW * max(float(width.max()), _NARROW)))
