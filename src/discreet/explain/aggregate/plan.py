"""Any explainer, made private: explain disjoint subsets, clip, average, add noise.

One record is in one subset and moves one explanation, whatever the explainer does inside. The price
is that noise is divided by the number of subsets, not by the number of records: where the library
has a plan of its own (``partial_dependence``, ``shap_values``), that one is far more precise.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): grid and bounds are public
and never read from rows; Gaussian noise in L2 where a delta is given; rankings through ballots with
the exact sensitivity, or by selection (``mechanisms.selection.borda``); both neighbouring relations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import check_flag
from discreet.data.calls import Pulse
from discreet.explain.aggregate.answers import (
    Grid,
    identify,
    read_bounds,
    read_curve,
    read_grid,
    read_items,
    read_scores,
)
from discreet.explain.aggregate.borda import ballot_program, check_ballots
from discreet.explain.smoothing import smooth_curve
from discreet.mechanisms import Noise, NoiseName, sum_noise
from discreet.mechanisms.selection.borda import BallotMechanism, certify_ballots
from discreet.numerics import check_choice, check_whole
from discreet.plans import Curve, Plan, Program, Releaser, Setting, Stage
from discreet.plans.expected import of_mean
from discreet.plans.results.bands import at_once
from discreet.plans.stages.aggregate import (
    FRESH,
    MOST_SUBSETS,
    certify_vectors,
    find_frame,
    one_by_one,
    subsets_contribution,
)
from discreet.plans.stages.means import noisy_mean
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray, Schema

Explainer = Callable[[Any], Any]

_LEVEL = 0.95


class AnyCurvePlan(Plan):
    """See ``any_curve``."""

    kind = "any_curve"

    def __init__(
        self,
        explainer: Explainer,
        feature: str | None,
        grid: Any,
        resolution: int,
        bounds: Any,
        subsets: int,
        smooth: bool,
        name: str | None,
        repeatable: bool,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_flag(smooth=smooth)
        check_whole("resolution", resolution, 2, 10_000)
        check_whole("subsets", subsets, 1, MOST_SUBSETS)
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        self.explainer, self.identity = explainer, identify(explainer, name)
        self.feature, self.points = feature, read_grid(grid, feature)
        self.resolution, self.bounds = resolution, read_bounds(bounds)
        self.subsets, self.smooth, self.mechanism = subsets, smooth, mechanism
        self.repeatable = bool(repeatable)

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "explainer": self.identity.to_json(),
            "feature": self.feature,
            "grid": None if self.points is None else self.points.tolist(),
            "resolution": self.resolution,
            "bounds": list(self.bounds.limits),
            "subsets": self.subsets,
            "smooth": self.smooth,
            "repeatable": self.repeatable,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the explainer on public rows, lay out the grid and calibrate the noise."""
        grid = self._grid(setting.schema)
        low, high = self.bounds.limits
        middle, half = low / 2 + high / 2, high / 2 - low / 2

        def read(answer: Any) -> FloatArray | None:
            curve = read_curve(answer, grid)
            return None if curve is None else curve - middle

        wanted = f"{len(grid)} numbers, an (x, y) pair or a Series over {grid.name!r}"
        make_frame = find_frame(
            self.explainer, read, setting.schema, wanted=wanted, repeatable=self.repeatable
        )
        region = Box(-half, half)
        contribution = subsets_contribution(
            one_by_one(self.explainer, read, make_frame, len(grid)),
            setting,
            columns=tuple(setting.schema),
            subsets=self.subsets,
            region=region,
            fill=0.0,
            proven=_drawing(certify_vectors(len(grid), region), self.repeatable),
            pulse=Pulse(),
        )
        noise = sum_noise(
            contribution.proven,
            relation=setting.relation,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            largest_sum=self.subsets * half,
            joint=True,
        )
        release = _CurveRelease(self, grid, Stage("curve", contribution, noise))
        error = of_mean(noise.half_width, self.subsets, 2 * half, "the width of the bounds")
        return Program((release.stage,), release.finish, {"curve": error})

    def _grid(self, schema: Schema) -> Grid:
        if self.points is not None:
            return Grid(self.feature or "x", self.points, None)
        assert self.feature is not None
        return Grid.of(schema, self.feature, self.resolution)


@dataclass(frozen=True)
class _CurveRelease:
    """Builds the curve from the noisy sum of one prepared plan."""

    plan: AnyCurvePlan
    grid: Grid
    stage: Stage[Noise]

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for the sum over subsets, then divide, smooth and clip."""
        (noisy,) = releaser.answer(self.stage)
        bounds = self.plan.bounds
        mean, wide = (
            noisy_mean(noisy, self.stage.noise, rows=self.plan.subsets, region=bounds, level=level)
            for level in (_LEVEL, at_once(_LEVEL, len(noisy)))
        )
        y = mean.values
        if self.plan.smooth and self.grid.values is None:
            y = smooth_curve(self.grid.x, y, mean.std)
        return Curve(
            feature=self.grid.name,
            x=tuple(self.grid.x.tolist()),
            labels=self.grid.labels,
            y=tuple(np.clip(y, bounds.low, bounds.high).tolist()),
            low=tuple(mean.low.tolist()),
            high=tuple(mean.high.tolist()),
            level=_LEVEL,
            noise_std=mean.std,
            quantity=f"{self.plan.identity.kind}, mean of {self.plan.subsets} subsets",
            rug=None,
            ends_all=wide.ends,
        )


class AnyRankingPlan(Plan):
    """See ``any_ranking``."""

    kind = "any_ranking"

    def __init__(
        self,
        explainer: Explainer,
        items: Sequence[str],
        k: int | None,
        subsets: int,
        name: str | None,
        repeatable: bool,
        epsilon: float,
        delta: float,
        mechanism: BallotMechanism,
    ) -> None:
        super().__init__(epsilon, delta)
        self.items = read_items(items)
        check_ballots(len(self.items), k, subsets, mechanism)
        self.explainer, self.identity = explainer, identify(explainer, name)
        self.k, self.subsets, self.mechanism = k, subsets, mechanism
        self.repeatable = bool(repeatable)

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "explainer": self.identity.to_json(),
            "items": list(self.items),
            "k": self.k,
            "subsets": self.subsets,
            "repeatable": self.repeatable,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the explainer on public rows and calibrate the choice."""

        def read(answer: Any) -> FloatArray | None:
            return read_scores(answer, self.items)

        wanted = "scores of the items, or their names in order,"
        make_frame = find_frame(
            self.explainer, read, setting.schema, wanted=wanted, repeatable=self.repeatable
        )
        return ballot_program(
            one_by_one(self.explainer, read, make_frame, len(self.items)),
            setting,
            columns=tuple(setting.schema),
            items=self.items,
            k=self.k,
            subsets=self.subsets,
            proven=_drawing(certify_ballots(len(self.items)), self.repeatable),
            pulse=Pulse(),
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )


def _drawing(certificate: Certificate, repeatable: bool) -> Certificate:
    """Record what is taken on trust of an explainer that need not answer alike twice."""
    return certificate if repeatable else certificate.assume(FRESH)


def any_curve(
    explainer: Explainer,
    *,
    feature: str | None = None,
    grid: Sequence[float] | None = None,
    resolution: int = 20,
    bounds: tuple[float, float],
    subsets: int = 200,
    smooth: bool = False,
    name: str | None = None,
    repeatable: bool = True,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> AnyCurvePlan:
    """Plan the curve of any explainer: the mean over disjoint subsets of the records.

    Args:
      explainer: takes a pandas frame with the schema's columns, the target included, and original
        values; returns one number per grid point, or pairs that are interpolated onto the grid: a
        tuple ``(x, y)``, an array with two columns, a Series or a mapping from x to y. It runs
        silently; where it fails or returns nonsense, the middle of the bounds stands for its answer.
      feature: the column on the horizontal axis; its grid comes from the schema.
      grid: public points instead of the schema's; ``feature`` then only names the axis.
      resolution: number of grid points; see ``partial_dependence``.
      bounds: where the curve can lie; answers are clipped to them. Narrow bounds mean little noise.
      subsets: how many; more mean less noise, and fewer records for each explanation.
      smooth: remove bends that noise explains (free; numeric grids).
      name: a stable name for the explainer, so that its releases can be found again. Without one
        every plan is a new question.
      repeatable: whether the same rows must get the same answer whenever they are explained, which is
        tried on public rows. False is for explainers that draw entropy from the system.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many grid points.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the least noise; with a pure guarantee that is
        noise in the shape of a box, on all points at once.

    Guarantees:
      - One record moves every point by at most range / subsets, under both relations: L1 m range / l
        and L2 sqrt(m) range / l over m points and l subsets. [generic-plots]

    Assumes: what the explainer says of a subset depends on that subset's rows alone (it keeps nothing
    from one call to the next).
    """
    shape = (feature, grid, resolution, bounds)
    promise = (epsilon, delta, mechanism)
    return AnyCurvePlan(explainer, *shape, subsets, smooth, name, repeatable, *promise)


def any_ranking(
    explainer: Explainer,
    *,
    items: Sequence[str],
    k: int | None = None,
    subsets: int = 200,
    name: str | None = None,
    repeatable: bool = True,
    epsilon: float,
    delta: float = 0.0,
    mechanism: BallotMechanism = "auto",
) -> AnyRankingPlan:
    """Plan the ranking of any explainer: every disjoint subset of the records casts a ballot.

    Args:
      explainer: takes a frame as in ``any_curve``; returns scores of the items, greatest best (in
        their order, or by name as a mapping or Series), or names, best first. Items it leaves out
        share the last places; where it fails all items tie.
      items: the names of all candidates, public.
      k: how many of the best are wanted; all of them if left out.
      subsets: how many ballots.
      name: see ``any_curve``.
      repeatable: see ``any_curve``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace`` or ``gaussian`` noise on the points of all items; ``exponential`` or
        ``permute-and-flip`` to pick k by their points (better for few); ``auto``: what loses least.

    Guarantees:
      - One record moves one ballot, so M items' sums of points by L1 floor(M^2 / 2), L2
        sqrt(M (M^2 - 1) / 3), Linf M - 1. [borda]

    Assumes: as ``any_curve``.
    """
    promise = (epsilon, delta, mechanism)
    return AnyRankingPlan(explainer, items, k, subsets, name, repeatable, *promise)
