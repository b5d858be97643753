"""From noisy sums over subsets to a mean curve, or to a ranking.

Rankings are by Borda points: every subset of the rows ranks the items, and the sum of points decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.calls import Pulse
from discreet.explain.aggregate.answers import Grid
from discreet.explain.smoothing import smooth_curve
from discreet.mechanisms import Noise, RankingNoise
from discreet.mechanisms.selection.borda import (
    MOST_ITEMS,
    BordaMechanism,
    borda_noise,
    borda_points,
    certify_points,
    expected_loss,
    points_region,
)
from discreet.numerics import check_whole
from discreet.plans import Curve, Program, Ranking, Releaser, Setting, Stage
from discreet.plans.expected import of_choice
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages.aggregate import ExplainMany, subsets_contribution
from discreet.plans.stages.means import noisy_mean
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray


@dataclass(frozen=True)
class CurveRelease:
    """Builds the curve from the noisy sum of one prepared plan.

    Args:
      grid: its points.
      stage: of the sum over subsets.
      bounds: where the curve lies.
      subsets: how many were added up.
      smooth: remove curvature that noise explains.
      quantity: what the curve measures.
    """

    grid: Grid
    stage: Stage[Noise]
    bounds: Box
    subsets: int
    smooth: bool
    quantity: str

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for the sum over subsets, then divide, smooth and clip."""
        (noisy,) = releaser.answer(self.stage)
        bounds = self.bounds
        mean, wide = (
            noisy_mean(noisy, self.stage.noise, rows=self.subsets, region=bounds, level=level)
            for level in (LEVEL, at_once(LEVEL, len(noisy)))
        )
        y = mean.values
        if self.smooth and self.grid.values is None:
            y = smooth_curve(self.grid.x, y, mean.std)
        return Curve(
            feature=self.grid.name,
            x=tuple(self.grid.x.tolist()),
            labels=self.grid.labels,
            y=tuple(np.clip(y, bounds.low, bounds.high).tolist()),
            low=tuple(mean.low.tolist()),
            high=tuple(mean.high.tolist()),
            level=LEVEL,
            noise_std=mean.std,
            quantity=self.quantity,
            rug=None,
            ends_all=wide.ends,
        )


def check_places(items: int, k: int | None) -> None:
    """Raise unless so many items can be ranked, and k of them be wanted."""
    check_whole("number of items", items, 2, MOST_ITEMS, "One item needs no ranking.")
    if k is not None:
        check_whole("k", k, 1, items, "There are no more items.")


def borda_program(
    score_many: ExplainMany,
    setting: Setting,
    *,
    columns: tuple[str, ...],
    items: tuple[str, ...],
    k: int | None,
    subsets: int,
    proven: Certificate | None = None,
    epsilon: float,
    delta: float,
    mechanism: BordaMechanism,
    pulse: Pulse | None,
) -> Program:
    """Return the program that ranks items by the Borda points of all subsets.

    Args:
      score_many: the scores of the items in every subset; NaN where there are none.
      setting: of the table.
      columns: what ``score_many`` reads.
      items: what is ranked.
      k: how many are wanted; all if None.
      subsets: how many rankings are added up.
      proven: a certificate of the points that records more than ``certify_points`` does.
      epsilon: the whole budget.
      delta: zero for a pure guarantee.
      mechanism: see ``borda_noise``.
      pulse: of third-party code that is called; None if there is none.

    Guarantees:
      - One record moves one ranking. [borda]
      - A subset without scores ties all items. [borda]
    """
    check_places(len(items), k)

    def points_of_many(parts: list[FloatArray]) -> Iterator[FloatArray]:
        return (borda_points(scores) for scores in score_many(parts))

    contribution = subsets_contribution(
        points_of_many,
        setting,
        columns=columns,
        subsets=subsets,
        region=points_region(len(items)),
        fill=(len(items) - 1) / 2,
        proven=certify_points(len(items)) if proven is None else proven,
        pulse=pulse,
    )
    noise = borda_noise(
        contribution.proven,
        rankings=subsets,
        k=k or len(items),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )
    release = _BordaRelease(items, k or len(items), subsets, Stage("points", contribution, noise))
    lost = of_choice(release.loss, len(items) - 1.0, "the points of a first place")
    return Program((release.stage,), release.finish, {"mean points lost by a wrong choice": lost})


@dataclass(frozen=True)
class _BordaRelease:
    """Builds a ranking from noisy points or from picks."""

    items: tuple[str, ...]
    k: int
    subsets: int
    stage: Stage[Noise | RankingNoise]

    @property
    def loss(self) -> float:
        """How many mean points a choice loses on average, near the worst case."""
        return expected_loss(self.stage.noise, len(self.items)) / self.subsets

    def finish(self, releaser: Releaser) -> Ranking:
        """Ask for the points; with noise on all points the order is read from them, for free."""
        (answer,) = releaser.answer(self.stage)
        noise = self.stage.noise
        if isinstance(noise, RankingNoise):
            return self._ranking(answer[0, :, 0].astype(int), None, None)
        points = answer / self.subsets
        order = np.argsort(-points, kind="stable")[: self.k]
        band = noise.half_width(at_once(LEVEL, len(points))) / self.subsets
        found = self._ranking(order, (tuple(points[order].tolist()),), band)
        return replace(found, half_width_each=noise.half_width(LEVEL) / self.subsets)

    def _ranking(
        self,
        order: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
        values: tuple[tuple[float, ...], ...] | None,
        band: float | None,
    ) -> Ranking:
        return Ranking(
            features=self.items,
            order=(tuple(self.items[i] for i in order),),
            gaps=None,
            values=values,
            half_width=band,
            level=LEVEL,
            expected_loss=self.loss,
            mechanism=self.stage.noise.name,
        )
