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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.explain.ale.question import EffectsQuestion, Layout, Promise
from discreet.explain.clipping import Clip
from discreet.mechanisms import Noise
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.plans import Curve, Histogram, Perturbation, Releaser, Stage
from discreet.plans.expected import Expected
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages import NoisyMean, build_histogram, partition
from discreet.schema import FloatArray

RUG_BINS = 20
_WEIGHTS = np.concatenate([[0.0], np.geomspace(1e-4, 1e14, 109)])
_STANDS_OUT = 2.0
"""A noisy count is taken for a count from so many standard deviations of its noise on."""


@dataclass(frozen=True)
class NoisySteps:
    """Released sums of moves and counts of cells, the noise on a sum, and the weight of a count."""

    sums: FloatArray
    counts: FloatArray
    noise: Noise
    weight: float
    radius: float

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
        moves = np.clip(moves, -noisy.radius, noisy.radius)
    low, high, std = _band(noisy, layout, shares, level)
    values = layout.centred(_even(noisy) if shares is None else shares) @ moves
    return NoisyMean(np.clip(values, low, high), low, high, std)


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
    return np.asarray((counts > _STANDS_OUT * spread) & (counts * noisy.radius > noisy.noise.std))


def _fitted(noisy: NoisySteps, layout: Layout, smooth: bool) -> FloatArray:
    """Return moves shrunk to zero, or to their neighbours, as far as the noise explains them."""
    widths = layout.widths if smooth else np.ones(len(layout.widths))
    rates = np.where(_known(noisy, layout), layout.answering @ noisy.counts, 0.0) * widths
    penalty = np.eye(len(widths))
    if smooth and len(widths) > 1:
        distance = (widths[1:] + widths[:-1]) / 2
        differences = np.diff(np.eye(len(widths)), axis=0) / np.sqrt(distance)[:, None]
        penalty = differences.T @ differences
    floor = (noisy.noise.std / noisy.radius * widths) ** 2
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
    steps, radius = len(layout.widths), noisy.radius
    if shares is None:
        limit = np.full(steps + 1, steps * radius)
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
    unknown = np.abs(to_curve) @ (~known * radius)
    half = noisy.noise.half_width_of_sums(level) * length + unknown
    middle = to_curve @ moves
    return middle - half, middle + half, float(noisy.noise.std * length.max())


@dataclass(frozen=True)
class EffectsRelease:
    """Builds the curve from the noisy answers of one prepared plan.

    Args:
      question: with its points, unless they are yet to be released.
      effects: the stage of moves and counts.
      promise: what the effects may cost, by which law.
      edges: the stage of the points; None if they are public.
      rug: the stage of a histogram of its own; None if the counts at hand serve, or none is shown.
      expected: how far the curve is off.
      limit: what moves are clipped to, for a question whose points are private quantiles.
      with_rug: whether a histogram is shown.
      smooth: let steps borrow from their neighbours.
      clip: keep every step inside what the model can do.
      quantity: what the curve measures.
    """

    question: EffectsQuestion
    effects: Stage[Noise]
    promise: Promise
    edges: Stage[QuantileNoise] | None
    rug: Stage[Noise] | None
    expected: Expected
    limit: Clip
    with_rug: bool
    smooth: bool
    clip: bool
    quantity: str

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """All stages there are."""
        found: list[Stage[Perturbation] | None] = [self.effects, self.edges, self.rug]
        return tuple(stage for stage in found if stage is not None)

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for edges and rug, then for the effects between these edges; divide and accumulate."""
        early: list[Stage[Perturbation]] = [s for s in (self.edges, self.rug) if s is not None]
        answers = releaser.answer(*early) if early else []
        question, stage, points, counts = self.question, self.effects, self.question.points, None
        if points is None:
            ends = question.column.grid(2)
            points = np.unique(np.concatenate([ends, answers[0]]))
            # The edges are public now: moves between them are clipped where public rows say, and the
            # stage keeps its promise, with no more noise than it has stated.
            # The law stays the one that was priced: another would spend a delta nobody reserved.
            promise = (*self.promise[:2], stage.noise.name)
            question = replace(question, points=points).limited(self.limit, promise)
            stage = question.stage(*promise)
            counts = answers[1] if self.rug is not None else None
        noisy = _steps(question, stage.noise, releaser.answer(stage)[0])
        layout, smooth = question.layout(points), self.smooth and not question.categories
        curve, wide = (
            accumulate(noisy, layout, level=level, smooth=smooth, clip=self.clip)
            for level in (LEVEL, at_once(LEVEL, len(points)))
        )
        return self._curve(points, curve, wide, self._histogram(points, noisy, counts))

    def _histogram(
        self, points: FloatArray, noisy: NoisySteps, counts: FloatArray | None
    ) -> Histogram | None:
        """Return the histogram released beside, or, where cells are public, the counts at hand."""
        if not self.with_rug:
            return None
        if self.rug is not None:
            assert counts is not None
            cells = partition(self.question.setting, (self.question.feature,), RUG_BINS)
            return build_histogram(cells, counts, self.rug.noise, level=LEVEL, clip=True)
        return Histogram(
            columns=(self.question.feature,),
            labels=(self.question.cell_names(points),),
            edges=(None if self.question.categories else tuple(points.tolist()),),
            counts=tuple(np.maximum(noisy.counts, 0.0).tolist()),
            noise_std=noisy.count_std,
            half_width=noisy.noise.half_width(LEVEL) / noisy.weight,
            level=LEVEL,
            half_width_all=noisy.noise.half_width(at_once(LEVEL, len(noisy.counts))) / noisy.weight,
        )

    def _curve(
        self, points: FloatArray, curve: NoisyMean, wide: NoisyMean, rug: Histogram | None
    ) -> Curve:
        return Curve(
            feature=self.question.feature,
            x=tuple(points.tolist()),
            labels=self.question.cell_names(points) if self.question.categories else None,
            y=tuple(curve.values.tolist()),
            low=tuple(curve.low.tolist()),
            high=tuple(curve.high.tolist()),
            level=LEVEL,
            noise_std=curve.std,
            quantity=self.quantity,
            rug=rug,
            ends_all=wide.ends,
        )


def _steps(question: EffectsQuestion, noise: Noise, answer: FloatArray) -> NoisySteps:
    """Take the vector apart: sums of moves, and weighted counts."""
    weight = question.weight(noise.norm)
    return NoisySteps(
        sums=answer[: question.steps],
        counts=answer[question.steps :] / weight,
        noise=noise,
        weight=weight,
        radius=question.radius,
    )
