"""Private SHAP dependence: the mean SHAP value of one feature over the records, by its value.

Every record adds its own SHAP value to the cell of its own feature value, and one to the count of
that cell; the curve is the ratio of two noisy sums. The counts are the rug as well. As with SHAP
importance the background must be public or released, so that a record enters once.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024), which explains 200 subsets
and averages: there a record moves every point of a curve, by the range over 200; here it moves two
points at most, by twice the bound on one value, over the records of a cell. With 20 cells and 20,000
records that is more than fifty times less noise, and nothing is interpolated.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.explain.clipping import moved_by_clip
from discreet.explain.features import check_used
from discreet.explain.shap.bounds.records import PUBLIC_BACKGROUND
from discreet.explain.shap.engines import ShapEngine, choose_engine
from discreet.explain.shap.parts import Coalitions, Seed, need_background
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.plans import Curve, Program, Releaser, Setting, Stage, share_out
from discreet.plans.expected import OUTPUT, Expected, of_mean
from discreet.plans.held import FittedModel, Rows
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice, Positive, Whole
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.result import MissingPoint
from discreet.plans.stages import build_histogram, count_stage, noisy_mean, partition, sum_stage
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import Bins, Category, FloatArray

_SUMS_SHARE, _COUNTS_SHARE = 0.75, 0.25
_CLIPPED = "It bounds the SHAP value of one record."


class shap_dependence(PartPlan):
    """Plan how the SHAP value of a feature depends on the feature's value.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      feature: the column on the horizontal axis, whose SHAP values are averaged.
      background: public rows, or a released ``dc.background(...)``, which records are explained
        against. The table itself cannot be its own background: a record would enter twice.
      bins: cells of a numeric feature; a category has one per value.
      clip: bound on one record's SHAP value; smaller means less noise and a bias where records exceed
        it. Left out, the proven bound is used.
      coalitions: see ``shap_values``.
      seed: of the public coalitions.
      epsilon: the whole budget of the plan, counts included.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing a record moves the sums of all cells together by at most twice the bound on one SHAP
        value, however many cells there are. [shap-dependence]

    Assumes: the background is public or was released before; a release from a simulation leaves its
    stamp on the answer.
    """

    model: FittedModel
    feature: Annotated[str, Column()]
    _: KW_ONLY
    background: Annotated[Any, Rows(need_background)]
    bins: Annotated[int, Whole(1, 10_000)] = 20
    clip: Annotated[float | None, Positive(optional=True, hint=_CLIPPED)] = None
    coalitions: Coalitions = None
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose an engine, lay out the cells and calibrate sums and counts."""
        model = self.model.bind(setting.schema)
        check_used("feature", self.feature, model.columns)
        engine = choose_engine(model, setting.schema, coalitions=self.coalitions, seed=self.seed)
        background = self.background.encode(setting.schema, model.columns, check=False)
        cells = partition(setting, (self.feature,), self.bins)
        epsilons = share_out(self.epsilon, (_SUMS_SHARE, _COUNTS_SHARE))
        deltas = share_out(self.delta, (_SUMS_SHARE, _COUNTS_SHARE))
        sums = sum_stage(
            "sums",
            dependence_contribution(
                engine, background, self.feature, cells[self.feature], clip=self.clip
            ),
            setting,
            statement="shap-dependence",
            epsilon=epsilons[0],
            delta=deltas[0],
            mechanism=self.mechanism,
        )
        counts = count_stage(
            "counts",
            cells,
            setting,
            epsilon=epsilons[1],
            delta=deltas[1],
            mechanism=self.mechanism,
        )
        release = _DependenceRelease(self.feature, setting, engine.name, cells, sums, counts)
        error = self._expect(engine, background, cells, sums, setting)
        return Program((sums, counts), release.finish, {"SHAP value, records spread evenly": error})

    def _expect(
        self,
        engine: ShapEngine,
        background: FloatArray,
        cells: dict[str, Bins],
        sums: Stage[Noise],
        setting: Setting,
    ) -> Expected:
        """Return how far a cell with an even share of the records is off."""
        bins, bias = cells[self.feature], 0.0
        if self.clip is not None:
            whole = dependence_contribution(engine, background, self.feature, bins)
            assert isinstance(sums.contribution, VectorContribution)
            bias = len(bins) * moved_by_clip(whole, sums.contribution, setting.schema)

        def band(level: float) -> float:
            return len(bins) * sums.noise.half_width(0.5 + level / 2)  # counts take the other half

        return of_mean(band, setting.rows, engine.model.bounds.width, OUTPUT, bias=bias)


@dataclass(frozen=True)
class _DependenceRelease:
    """Builds the curve from the noisy sums and counts of one prepared plan."""

    feature: str
    setting: Setting
    engine: str
    cells: dict[str, Bins]
    sums: Stage[Noise]
    counts: Stage[Noise]

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for sums and counts in one pass over the rows, then divide."""
        noisy_sums, noisy_counts = releaser.answer(self.sums, self.counts)
        bound = self.sums.contribution.certificate.sensitivity("linf", ADD_REMOVE)
        (low, high), (low_all, high_all) = (
            self._bands(noisy_sums, noisy_counts, bound, level)
            for level in (LEVEL, at_once(LEVEL, len(noisy_sums)))
        )
        # Divided by no less than what noise alone makes of an empty cell, which shrinks such cells
        # towards zero; their bands say how little is known.
        sizes = np.maximum(noisy_counts, max(1.0, self.counts.noise.half_width(LEVEL)))
        column, bins = self.setting.schema[self.feature], self.cells[self.feature]
        y, x = tuple(np.clip(noisy_sums / sizes, -bound, bound).tolist()), _middles(bins)
        points = len(x)
        missing = MissingPoint(y[-1], low[-1], high[-1], (low_all[-1], high_all[-1]))
        return Curve(
            feature=self.feature,
            x=x,
            labels=bins.labels if isinstance(column, Category) else None,
            y=y[:points],
            low=low[:points],
            high=high[:points],
            level=LEVEL,
            noise_std=float(np.median(self.sums.noise.std / sizes)),
            quantity=f"mean SHAP value of {self.feature} ({self.engine} engine)",
            rug=build_histogram(self.cells, noisy_counts, self.counts.noise, level=LEVEL, clip=True),
            ends_all=(low_all[:points], high_all[:points]),
            missing=missing if len(y) > points else None,
        )

    def _bands(
        self, noisy_sums: FloatArray, noisy_counts: FloatArray, bound: float, level: float
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the ends of every cell's band, inside what is possible."""
        means = [
            noisy_mean(
                np.array([total]),
                self.sums.noise,
                rows=None,
                noisy_size=float(count),
                size_noise=self.counts.noise,
                region=Box(-bound, bound),
                level=level,
            ).within(-bound, bound)
            for total, count in zip(noisy_sums, noisy_counts, strict=True)
        ]
        return tuple(float(m.low[0]) for m in means), tuple(float(m.high[0]) for m in means)


def dependence_contribution(
    engine: ShapEngine, background: FloatArray, feature: str, bins: Bins, *, clip: float | None = None
) -> VectorContribution:
    """Return what one record adds: its SHAP value of the feature, at the cell of its own value.

    Guarantees:
      - One cell per record, and a value within ``bound`` of zero there. [shap-dependence]
    """
    place = engine.model.columns.index(feature)
    bound = _value_bound(engine, background, place)
    bound = bound if clip is None else min(clip, bound)
    explain = engine.against(background)

    def compute(block: Block) -> FloatArray:
        values = explain(np.ascontiguousarray(block.values))[:, place]
        vectors = np.zeros((len(block), len(bins)), order="F")
        cells = np.clip(bins.index(block[feature]), 0, len(bins) - 1)
        vectors[np.arange(len(block)), cells] = values
        return vectors

    return VectorContribution(
        columns=engine.model.columns,
        size=len(bins),
        region=Box(-bound, bound),
        fill=0.0,
        compute=compute,
        proven=certify_one_cell(len(bins), bound).assume(PUBLIC_BACKGROUND),
        calls=ModelCalls(engine.third_party, lipschitz=engine.lipschitz),
    )


def certify_one_cell(size: int, bound: float) -> Certificate:
    """Certify sums in cells to one of which every record adds a number within ``bound`` of zero.

    Guarantees:
      - Replacing a record moves one cell by 2 bound or two cells by bound each: 2 bound in every norm;
        adding or removing one moves one cell by bound. [shap-dependence]
    """
    twice = 2.0 * bound  # exact
    return Certificate(
        ("shap-dependence",),
        size,
        {
            REPLACE_ONE: Bounds(twice, twice, twice),
            ADD_REMOVE: Bounds(bound, bound, bound),
        },
    )


def _value_bound(engine: ShapEngine, background: FloatArray, place: int) -> float:
    """Return how far a record's SHAP value of one feature can be from zero; never zero itself."""
    return up(max(float(engine.value_bound(background, place)), 1e-300))


def _middles(bins: Bins) -> tuple[float, ...]:
    """Return the middle of every cell that has edges; a category's codes."""
    if bins.edges is None:
        return tuple(float(code) for code in range(len(bins)))
    edges = np.asarray(bins.edges)
    return tuple((edges[:-1] / 2 + edges[1:] / 2).tolist())
