"""What noisy cells of scores and outcomes say: rates, areas, losses, calibration, with their intervals.

Everything is a ratio of two weighted sums of cells, so that its noise is known exactly: a rate weighs
cells by how much of them is above a threshold, a loss by what it is at their knots. An area is a sum
over pairs of cells. Weighted sums of the noisy cells themselves are unbiased; counts that were made
non-negative first would add noise to every empty cell, always upwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.evaluation.binary.areas import average_precision, roc_area
from discreet.evaluation.binary.noise import CellNoise
from discreet.evaluation.bins import SplitBins
from discreet.evaluation.figures import Figure, mean_of, ratio_figure
from discreet.schema import FloatArray

LOG_CLIP = 0.01
"""Probabilities nearer to zero or one count as this far from them in a log loss."""

_WITHIN = 33


@dataclass(frozen=True)
class ShareAbove:
    """How much of every cell is above a threshold: what is likely, at least and at most."""

    likely: FloatArray
    least: FloatArray
    most: FloatArray


def above(bins: SplitBins, threshold: float) -> ShareAbove:
    """Return how much of every cell is at or above a threshold.

    At a knot all is known of cells that do not straddle it. Inside a bin scores are taken to be spread
    evenly; at least none and at most all of the bin's records are above.
    """
    low, high = bins.spans
    knots = np.asarray(bins.knots)
    top = (high > threshold) | ((high == knots[-1]) & (threshold >= knots[-1]))
    least, most = (low >= threshold).astype(float), top.astype(float)
    part = np.clip((threshold - knots[:-1]) / np.diff(knots), 0.0, 1.0)
    first, second = (1 - part) ** 2, 1 - part**2  # of a bin's cells, for even scores
    return ShareAbove(bins.by_cell(first, second), least, most)


@dataclass(frozen=True)
class Tally:
    """Noisy cells of one group, or of several added up.

    Args:
      bins: of the scores.
      cells: noisy, one row for the other outcome and one for the class in question.
      noise: on a cell of one group.
      groups: how many groups were added up.
      level: of intervals.
      whole: whether it holds all records, of a public number that the cells add up to.
    """

    bins: SplitBins
    cells: FloatArray
    noise: CellNoise
    groups: int
    level: float
    whole: bool = False

    @cached_property
    def counts(self) -> FloatArray:
        """The cells as they are shown: not negative, and with sums along scores as near as can be.

        The sums from the least score up to each knot are made to rise, which takes them nearer to the
        true ones in the sum of squares; what is between two of them is then no longer negative.
        """
        return np.array([_rising(row) for row in self.cells])

    @property
    def z(self) -> float:
        """How many deviations noise is out at the most."""
        return self.noise.quantile(self.level)

    @property
    def z_sampling(self) -> float:
        """The same of what the choice of records does, which is normal."""
        from scipy.special import ndtri

        return float(ndtri(0.5 + self.level / 2))

    def covariance(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance of the noise on two weighted sums of cells."""
        of, ones = self.noise.covariance, np.ones_like(self.cells)
        found, whole = of(first, second), of(ones, ones)
        if self.whole and whole > 0:  # the sum of all cells is known
            found -= of(first, ones) * of(second, ones) / whole
        return found * self.groups

    def share(
        self,
        top: FloatArray,
        whole: FloatArray,
        *,
        binning: tuple[float, float] = (0.0, 0.0),
        range_: tuple[float, float] = (0.0, 1.0),
    ) -> Figure:
        """Return the ratio of two weighted sums of cells.

        Args:
          top: weights of the numerator, one row per outcome.
          whole: weights of the denominator.
          binning: how far below and above it may be for what bins leave open.
          range_: that the ratio can lie in.
        """
        cells, counts = self.cells, self.counts
        pairs = ((top, top), (top, whole), (whole, whole))
        xx, xy, yy = (self.covariance(*pair) for pair in pairs)
        sums = [float(np.sum(counts * first * second)) for first, second in pairs]

        def sampling(r: float) -> float:
            return sums[0] - 2 * r * sums[1] + r * r * sums[2]

        return ratio_figure(
            float(np.sum(top * cells)),
            float(np.sum(whole * cells)),
            noise=(xx, xy, yy),
            sampling=sampling,
            z=self.z,
            z_sampling=self.z_sampling,
            binning=binning,
            range_=range_,
        )

    def metric(self, name: str, threshold: float) -> Figure:
        """Return one of ``METRICS`` at a threshold; inside a bin with all that it leaves open."""
        if name == "balanced_accuracy":
            return mean_of(
                self.metric("true_positive_rate", threshold),
                self.metric("true_negative_rate", threshold),
            ).within(0.0, 1.0)
        weigh, part = METRICS[name], above(self.bins, threshold)
        likely = self._plain(*weigh(part.likely, part.likely))
        corners = [(a, b) for a in (part.least, part.most) for b in (part.least, part.most)]
        ends = [self._plain(*weigh(*corner)) for corner in corners]
        binning = (max(likely - min(ends), 0.0), max(max(ends) - likely, 0.0))
        return self.share(*weigh(part.likely, part.likely), binning=binning)

    def _plain(self, top: FloatArray, whole: FloatArray) -> float:
        """Return a ratio of sums of the counts as they are shown."""
        over = float(np.sum(whole * self.counts))
        return float(np.sum(top * self.counts)) / over if over > 0 else 0.5

    def confusion(self, threshold: float) -> FloatArray:
        """Return noisy numbers of records: rows by outcome, columns by answer."""
        part = above(self.bins, threshold).likely
        return np.array([[np.sum(row * (1 - part)), np.sum(row * part)] for row in self.counts])

    @property
    def size(self) -> Figure:
        """The number of records."""
        return self.weighted_size(np.ones_like(self.cells))

    def weighted_size(self, weights: FloatArray) -> Figure:
        """Return the number of records in some of the cells; it knows of no sampling."""
        found = float(np.sum(weights * self.cells))
        half = self.z * math.sqrt(max(self.covariance(weights, weights), 0.0))
        high = max(found + half, 0.0)
        return Figure(max(found, 0.0), max(found - half, 0.0), high, half, 0.0, 0.0, self.level)

    @property
    def prevalence(self) -> Figure:
        """The share of records of the class in question."""
        return self.metric("prevalence", self.bins.knots[0])

    @property
    def mean_score(self) -> Figure:
        """The mean score, which cells keep exactly."""
        centres = np.tile(self.bins.centres, (2, 1))
        ends = self.bins.knots[0], self.bins.knots[-1]
        return self.share(centres, np.ones_like(centres), range_=ends)

    @cached_property
    def auc(self) -> Figure:
        """The area under the ROC curve: how often a record of the class has the higher score.

        Pairs of records in one bin may be in either order.
        """
        return roc_area(self)

    @cached_property
    def average_precision(self) -> Figure:
        """The mean precision at the scores of the class's records."""
        return average_precision(self)

    def loss(self, name: str) -> Figure:
        """Return the mean ``brier`` or ``log_loss`` of a probability."""
        of, most = LOSSES[name]
        rows = [_weights(self.bins, of, outcome) for outcome in (0, 1)]
        likely, least, greatest = (np.stack(pair) for pair in zip(*rows, strict=True))
        ones = np.ones_like(self.cells)
        found, low, high = (self._plain(w, ones) for w in (likely, least, greatest))
        binning = (max(found - low, 0.0), max(high - found, 0.0))
        return self.share(likely, ones, binning=binning, range_=(0.0, most))


def _rising(row: FloatArray) -> FloatArray:
    """Return cells whose sums from the first on are the nearest rising ones, from zero on."""
    from scipy.optimize import isotonic_regression

    sums = np.maximum(isotonic_regression(np.cumsum(row)).x, 0.0)
    return np.diff(sums, prepend=0.0)


def _weights(
    bins: SplitBins, of: Callable[[FloatArray, int], FloatArray], outcome: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a loss by cells: as for even scores, at least and at most.

    A record that is shared between two knots has the chord of the loss between them, not the loss.
    """
    knots = np.asarray(bins.knots)
    inside = (np.arange(_WITHIN) + 0.5) / _WITHIN
    scores = knots[:-1, None] + np.diff(knots)[:, None] * inside
    ends = of(knots, outcome)[:, None]
    off = ends[:-1] * (1 - inside) + ends[1:] * inside - of(scores, outcome)
    first, second = 2 * (off * (1 - inside)).mean(axis=1), 2 * (off * inside).mean(axis=1)
    most, least = np.maximum(off.max(axis=1), 0.0), np.minimum(off.min(axis=1), 0.0)
    base = of(bins.centres, outcome)
    likely = base - bins.by_cell(first, second)
    if not bins.shared:
        return likely, base - np.repeat(most, 2), base - np.repeat(least, 2)
    far = np.maximum(np.append(most, 0.0), np.append(0.0, most))
    near = np.minimum(np.append(least, 0.0), np.append(0.0, least))
    return likely, base - far, base - near


def _brier(scores: FloatArray, outcome: int) -> FloatArray:
    return np.asarray((scores - outcome) ** 2)


def _log_loss(scores: FloatArray, outcome: int) -> FloatArray:
    inside = np.clip(scores, LOG_CLIP, 1 - LOG_CLIP)
    return np.asarray(-np.log(inside if outcome else 1 - inside))


LOSSES = {"brier": (_brier, 1.0), "log_loss": (_log_loss, -math.log(LOG_CLIP))}

Weigh = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def _pair(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([first, second])


def _weigh(top: Weigh, whole: Weigh) -> Weigh:
    return lambda a, b: (_pair(*top(a, b)), _pair(*whole(a, b)))


_ALL: Weigh = lambda a, b: (np.ones_like(a), np.ones_like(b))  # noqa: E731
_POSITIVES: Weigh = lambda a, b: (np.zeros_like(a), np.ones_like(b))  # noqa: E731
_NEGATIVES: Weigh = lambda a, b: (np.ones_like(a), np.zeros_like(b))  # noqa: E731

METRICS: dict[str, Weigh] = {
    "selection_rate": _weigh(lambda a, b: (a, b), _ALL),
    "true_positive_rate": _weigh(lambda a, b: (0 * a, b), _POSITIVES),
    "false_positive_rate": _weigh(lambda a, b: (a, 0 * b), _NEGATIVES),
    "true_negative_rate": _weigh(lambda a, b: (1 - a, 0 * b), _NEGATIVES),
    "false_negative_rate": _weigh(lambda a, b: (0 * a, 1 - b), _POSITIVES),
    "precision": _weigh(lambda a, b: (0 * a, b), lambda a, b: (a, b)),
    "negative_predictive_value": _weigh(lambda a, b: (1 - a, 0 * b), lambda a, b: (1 - a, 1 - b)),
    "accuracy": _weigh(lambda a, b: (1 - a, b), _ALL),
    "f1": _weigh(lambda a, b: (0 * a, 2 * b), lambda a, b: (a, 1 + b)),
    "prevalence": _weigh(_POSITIVES, _ALL),
}
"""Shares of records by what is above a threshold: of the others (a) and of the class (b)."""
