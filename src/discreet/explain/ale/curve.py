"""From noisy sums and counts to an accumulated curve with bands: post-processing, free of cost.

Let a step's exact sum of moves be S, its count D, its mean move u = S / D, and z, z' the noise on
them. Then S~ / D~ - u = (z - u z') / D~ holds exactly, with the *released* count below the line. So
the error of the whole curve is a weighted sum of noise whose weights are known but for u, for which
the noisy u stands, too large on average. A step whose noisy count does not stand out of its noise has
no quotient: there the band pays for every move the model can make.

The curve itself does not use the quotients but shrinks them: it minimises, over moves u,
``sum (S~ - D~ u)^2 + weight * (what the moves cost)``, with D~ zero where it does not stand out.
Moves cost their squares, which pulls steps with few records to zero, or, if smoothed, the squares of
their changes, which gives such a step the slope of its neighbours. Read as a prior on the moves, the
weight is the one under which the noisy sums are likeliest, and at least that of a prior as wide as
the model's range: nothing can explode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Noise
from discreet.plans.stages import NoisyMean
from discreet.schema import FloatArray

_WEIGHTS = np.concatenate([[0.0], np.geomspace(1e-4, 1e14, 109)])
_STANDS_OUT = 2.0
"""A noisy count is taken for a count from so many standard deviations of its noise on."""


@dataclass(frozen=True)
class Layout:
    """How steps, cells and points of a feature belong together.

    Attributes:
      widths: the length of every step, as a share of the feature's range.
      answering: steps x cells; one where a cell's records answer for a step.
      level: cells x points; where on the curve a cell's records are, for centring.
    """

    widths: FloatArray
    answering: FloatArray
    level: FloatArray

    @classmethod
    def of_intervals(cls, edges: FloatArray) -> Layout:
        """Return the layout of intervals: a record is in the middle of its own."""
        steps = len(edges) - 1
        middle = np.eye(steps, steps + 1) / 2 + np.eye(steps, steps + 1, 1) / 2
        return cls(np.diff(edges) / (edges[-1] - edges[0]), np.eye(steps), middle)

    @classmethod
    def of_categories(cls, count: int) -> Layout:
        """Return the layout of categories: both neighbours answer for a step."""
        both = np.eye(count - 1, count) + np.eye(count - 1, count, 1)
        return cls(np.full(count - 1, 1.0 / (count - 1)), both, np.eye(count))

    @property
    def sums_up(self) -> FloatArray:
        """Points x steps: one where a step comes before a point."""
        points = len(self.widths) + 1
        return np.tril(np.ones((points, points - 1)), -1)

    def centred(self, shares: FloatArray) -> FloatArray:
        """Points x steps: from moves to the curve whose mean over cells with these shares is zero."""
        up_to = self.sums_up
        return up_to - (shares @ self.level @ up_to)[None, :]


@dataclass(frozen=True)
class NoisySteps:
    """Released sums of moves and counts of cells, the noise on a sum, and the weight of a count."""

    sums: FloatArray
    counts: FloatArray
    noise: Noise
    weight: float
    reach: float

    @property
    def count_std(self) -> float:
        """The standard deviation of a count."""
        return self.noise.std / self.weight


def accumulate(
    noisy: NoisySteps, layout: Layout, *, level: float, smooth: bool, clip: bool
) -> NoisyMean:
    """Return the centred curve and, for every point, a band that holds the exact one.

    Args:
      noisy: what was released.
      layout: which cells answer for which step.
      level: every exact value is inside its band with this probability.
      smooth: let steps borrow from their neighbours.
      clip: keep every step inside what the model can do.
    """
    shares = _shares(noisy)
    moves = _fitted(noisy, layout, smooth)
    if clip:
        moves = np.clip(moves, -noisy.reach, noisy.reach)
    low, high, std = _band(noisy, layout, shares, level)
    values = layout.centred(_even(noisy) if shares is None else shares) @ moves
    return NoisyMean(np.clip(values, low, high), low, high, std)


def even_error(layout: Layout, noise: float) -> float:
    """Return the greatest noise on a point, times n, if all cells held as many records; for prices."""
    cells = layout.level.shape[0]
    shares = np.full(cells, 1.0 / cells)
    weights = layout.centred(shares) / (layout.answering @ shares)
    return float(noise * np.linalg.norm(weights, axis=1).max())


def _shares(noisy: NoisySteps) -> FloatArray | None:
    """Return every cell's noisy share of all records; None if nothing stands out of the noise."""
    total = float(noisy.counts.sum())
    enough = total > _STANDS_OUT * noisy.count_std * np.sqrt(len(noisy.counts))
    # Negative shares stay: cut off, they would shift the centre to one side.
    return noisy.counts / total if enough else None


def _even(noisy: NoisySteps) -> FloatArray:
    return np.full(len(noisy.counts), 1.0 / len(noisy.counts))


def _known(noisy: NoisySteps, layout: Layout) -> NDArray[np.bool_]:
    """Say which steps have a count that stands out, and a quotient that says more than the range."""
    counts = layout.answering @ noisy.counts
    spread = noisy.count_std * np.sqrt(layout.answering.sum(axis=1))
    return np.asarray((counts > _STANDS_OUT * spread) & (counts * noisy.reach > noisy.noise.std))


def _fitted(noisy: NoisySteps, layout: Layout, smooth: bool) -> FloatArray:
    """Return moves shrunk to zero, or to their neighbours, as far as the noise explains them."""
    widths = layout.widths if smooth else np.ones(len(layout.widths))
    rates = np.where(_known(noisy, layout), layout.answering @ noisy.counts, 0.0) * widths
    penalty = np.eye(len(widths))
    if smooth and len(widths) > 1:
        distance = (widths[1:] + widths[:-1]) / 2
        bends = np.diff(np.eye(len(widths)), axis=0) / np.sqrt(distance)[:, None]
        penalty = bends.T @ bends
    floor = (noisy.noise.std / noisy.reach * widths) ** 2
    return widths * _likeliest(noisy.sums, rates, penalty, floor, noisy.noise.std)


def _likeliest(
    sums: FloatArray, rates: FloatArray, penalty: FloatArray, floor: FloatArray, std: float
) -> FloatArray:
    """Minimise ``|sums - rates s|^2 + floor s^2 + weight s' penalty s`` at the likeliest weight.

    With noise of this standard deviation the penalty is a Gaussian prior on s, and the sums have the
    likelihood of a Gaussian vector; both are diagonalised once, in the scale of the other terms.
    """
    scale = 1.0 / np.sqrt(rates**2 + floor)
    after, basis = np.linalg.eigh(penalty * scale[:, None] * scale[None, :])
    before = np.linalg.eigvalsh(penalty / np.sqrt(floor[:, None] * floor[None, :]))
    after, before = np.maximum(after, 0.0), np.maximum(before, 0.0)
    weights = _WEIGHTS / np.median(before)
    kept = 1.0 / (1.0 + weights[:, None] * after[None, :])
    parts = kept * (basis.T @ (scale * rates * sums))[None, :]
    slopes = parts @ (basis * scale[:, None]).T
    misfit = np.sum((sums - slopes * rates) ** 2, axis=1) + slopes**2 @ floor
    misfit += weights * (parts**2 @ after)
    room = np.sum(np.log1p(weights[:, None] * before[None, :]), axis=1)
    room += np.sum(np.log(kept), axis=1)
    return np.asarray(slopes[np.argmin(misfit / std**2 - room)])


def _band(
    noisy: NoisySteps, layout: Layout, shares: FloatArray | None, level: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the ends of every point's band and the greatest standard deviation of the quotients."""
    steps, reach = len(layout.widths), noisy.reach
    if shares is None:
        limit = np.full(steps + 1, steps * reach)
        return -limit, limit, float(noisy.noise.std)
    counts, known = layout.answering @ noisy.counts, _known(noisy, layout)
    inverse = np.where(known, 1.0 / np.where(known, counts, 1.0), 0.0)
    moves = noisy.sums * inverse
    to_curve = layout.centred(shares)
    of_sums = to_curve * inverse[None, :]
    centre = layout.level @ layout.sums_up @ moves
    centre -= shares @ centre
    of_counts = (of_sums * moves) @ layout.answering + centre[None, :] / noisy.counts.sum()
    length = np.sqrt(np.sum(of_sums**2, axis=1) + np.sum((of_counts / noisy.weight) ** 2, axis=1))
    unknown = np.abs(to_curve) @ (~known * reach)
    half = noisy.noise.half_width_of_sums(level) * length + unknown
    middle = to_curve @ moves
    return middle - half, middle + half, float(noisy.noise.std * length.max())
