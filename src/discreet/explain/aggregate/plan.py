"""Any explainer, made private: explain disjoint subsets, clip, average, add noise.

One record is in one subset and moves one explanation, whatever the explainer does inside. The price
is that noise is divided by the number of subsets, not by the number of records: where the library
has a plan of its own (``partial_dependence``, ``shap_values``), that one is far more precise.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): grid and bounds are public
and never read from rows; Gaussian noise in L2 where a delta is given; rankings by Borda points with
the exact sensitivity, or by selection (``mechanisms.selection.borda``); both neighbouring relations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from discreet.data.calls import Pulse
from discreet.errors import ArgumentError
from discreet.explain.aggregate.answers import (
    Grid,
    read_curve,
    read_explainer,
    read_grid,
    read_items,
    read_scores,
)
from discreet.explain.aggregate.release import CurveRelease, borda_program, check_places
from discreet.mechanisms import sum_noise
from discreet.mechanisms.selection.borda import BORDA_MECHANISMS, BordaMechanism, certify_points
from discreet.models.fingerprint import Kept
from discreet.plans import Program, Setting, Stage
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.expected import of_mean
from discreet.plans.held import Function, function_name, named_by_name
from discreet.plans.kinds import (
    UNSAID,
    Column,
    Delta,
    Epsilon,
    Interval,
    NoiseChoice,
    OneOf,
    Switch,
    Text,
    TextList,
    Values,
    Whole,
    checked_later,
)
from discreet.plans.stages.aggregate import (
    FRESH,
    MOST_SUBSETS,
    certify_vectors,
    find_frame,
    one_by_one,
    subsets_contribution,
    subsets_touched,
)
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray, Schema

_SEEN = "They are public: where the curve can lie, never where it was seen."

Explainer = Annotated[Callable[[Any], Any], Function(named_by_name, title="", by=read_explainer)]
Name = Annotated[str | None, Text(optional=True)]
Subsets = Annotated[int, Whole(1, MOST_SUBSETS)]


class any_curve(DeclaredPlan):
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
      smooth: remove curvature that noise explains (free; numeric grids).
      name: a stable name for the explainer, so that its releases can be found again. Without one
        every plan is a new question.
      repeatable: whether the same rows must get the same answer whenever they are explained, which is
        tried on public rows. False is for explainers that draw entropy from the system.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many grid points.
      mechanism: ``laplace``, ``gaussian``, ``linf`` (the K-norm mechanism for the L-infinity norm, on
        all points at once), or ``auto``: the least noise.

    Guarantees:
      - One record moves every point by at most range / subsets, under both relations: L1 m range / l
        and L2 sqrt(m) range / l over m points and l subsets. [generic-plots]

    Assumes: what the explainer says of a subset depends on that subset's rows alone (it keeps nothing
    from one call to the next).
    """

    explainer: Explainer
    _: KW_ONLY
    feature: Annotated[str | None, Column(optional=True)] = None
    grid: Annotated[Sequence[float] | None, Values(by=read_grid, optional=True)] = None
    resolution: Annotated[int, Whole(2, 10_000)] = 20
    bounds: Annotated[tuple[float, float], Interval(hint=_SEEN)]
    subsets: Subsets = 200
    smooth: Switch = False
    name: Name = None
    repeatable: Switch = True
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    whole_only: ClassVar = "Subsets of all records answer together; protect the part by itself."

    def settle(self) -> dict[str, Any]:
        """Check that the curve has points."""
        if self.grid is None and self.feature is None:
            raise ArgumentError(
                "feature must name a column whose grid the curve has, got none. "
                "Or give the points as grid."
            )
        return {}

    def prepare(self, setting: Setting) -> Program:
        """Try the explainer on public rows, lay out the grid and calibrate the noise."""
        grid, explainer = self._grid(setting.schema), cast(Kept, self.explainer)
        bounds: Any = self.bounds  # a box by now
        low, high = bounds.limits
        middle, half = low / 2 + high / 2, high / 2 - low / 2

        def read(answer: Any) -> FloatArray | None:
            curve = read_curve(answer, grid)
            return None if curve is None else curve - middle

        wanted = f"{len(grid)} numbers, an (x, y) pair or a Series over {grid.name!r}"
        make_frame = find_frame(
            explainer.value, read, setting.schema, wanted=wanted, repeatable=self.repeatable
        )
        region = Box(-half, half)
        contribution = subsets_contribution(
            one_by_one(explainer.value, read, make_frame, len(grid)),
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
            batch_rows=subsets_touched(setting.relation) - 1,
            joint=True,
        )
        quantity = f"{function_name(explainer)}, mean of {self.subsets} subsets"
        stage = Stage("curve", contribution, noise)
        release = CurveRelease(grid, stage, bounds, self.subsets, self.smooth, quantity)
        error = of_mean(noise.half_width, self.subsets, 2 * half, "the width of the bounds")
        return Program((release.stage,), release.finish, {"curve": error})

    def _grid(self, schema: Schema) -> Grid:
        if self.grid is not None:
            return Grid(self.feature or "x", np.array(self.grid, dtype=np.float64), None)
        assert self.feature is not None
        return Grid.of(schema, self.feature, self.resolution)


class any_ranking(DeclaredPlan):
    """Plan the ranking of any explainer: every disjoint subset of the records ranks the items.

    Args:
      explainer: takes a frame as in ``any_curve``; returns scores of the items, greatest best (in
        their order, or by name as a mapping or Series), or names, best first. Items it leaves out
        share the last places; where it fails all items tie.
      items: the names of all candidates, public.
      k: how many of the best are wanted; all of them if left out.
      subsets: how many rankings are added up.
      name: see ``any_curve``.
      repeatable: see ``any_curve``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian`` or ``linf`` noise on the points of all items; ``exponential``
        or ``permute-and-flip`` to pick k by their points (better for few); ``auto``: what loses least.

    Guarantees:
      - One record moves one ranking, so M items' sums of points by L1 floor(M^2 / 2), L2
        sqrt(M (M^2 - 1) / 3), Linf M - 1. [borda]

    Assumes: as ``any_curve``.
    """

    explainer: Explainer
    _: KW_ONLY
    items: Annotated[Sequence[str], TextList(by=read_items)]
    k: Annotated[int | None, Whole(1, optional=True, by=checked_later)] = None
    subsets: Subsets = 200
    name: Name = None
    repeatable: Switch = True
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[BordaMechanism, OneOf(BORDA_MECHANISMS)] = "auto"

    whole_only: ClassVar = "Subsets of all records answer together; protect the part by itself."

    def settle(self) -> dict[str, Any]:
        """Check how many places there are."""
        check_places(len(self.items), self.k)
        return {"k": None if self.k is None else int(self.k)}

    def prepare(self, setting: Setting) -> Program:
        """Try the explainer on public rows and calibrate the choice."""
        items, explainer = tuple(self.items), cast(Kept, self.explainer).value

        def read(answer: Any) -> FloatArray | None:
            return read_scores(answer, items)

        wanted = "scores of the items, or their names in order,"
        make_frame = find_frame(
            explainer, read, setting.schema, wanted=wanted, repeatable=self.repeatable
        )
        return borda_program(
            one_by_one(explainer, read, make_frame, len(items)),
            setting,
            columns=tuple(setting.schema),
            items=items,
            k=self.k,
            subsets=self.subsets,
            proven=_drawing(certify_points(len(items)), self.repeatable),
            pulse=Pulse(),
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )


def _drawing(certificate: Certificate, repeatable: bool) -> Certificate:
    """Record what is taken on trust of an explainer that need not answer alike twice."""
    return certificate if repeatable else certificate.assume(FRESH)
