"""Private partial dependence: the mean prediction as one feature is set to each grid point.

One record contributes its own curve of predictions, f(record with feature <- g_1), ..., f(... g_m),
a point of a box as wide as the model's output. The grid comes from the schema, the row ticks other
tools draw are replaced by a private histogram.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): the grid follows the
feature's step instead of equal distances, Gaussian noise in L2 where a delta is given, one release
for all grid points on an exact lattice, and smoothing that knows the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.certificates import Box
from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.explain.smoothing import smooth_curve
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel, Model, as_model
from discreet.numerics import check_choice, check_whole
from discreet.parts import (
    NoisyMean,
    build_histogram,
    count_stage,
    noisy_mean,
    partition,
    size_stage,
    sum_stage,
)
from discreet.plans import Curve, Plan, Program, Releaser, Setting, Stage, share_out
from discreet.schema import Bins, Category, FloatArray

_LEVEL = 0.95
_RUG_BINS = 20
_CALL_ROWS = 2**15
"""A model is called with at most about this many rows at once."""

_CURVE_SHARE, _SIZE_SHARE, _RUG_SHARE = 0.8, 0.1, 0.1


class PartialDependencePlan(Plan):
    """See ``partial_dependence``."""

    kind = "partial_dependence"

    def __init__(
        self,
        model: Model,
        feature: str,
        resolution: int,
        rug: bool,
        clip: bool,
        smooth: bool,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_whole("resolution", resolution, 2, 10_000)
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        self.model, self.feature, self.resolution = model, feature, resolution
        self.rug, self.clip, self.smooth, self.mechanism = rug, clip, smooth, mechanism

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "model": self.model.describe(),
            "feature": self.feature,
            "resolution": self.resolution,
            "rug": self.rug,
            "clip": self.clip,
            "smooth": self.smooth,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the model on public rows, lay out the grid and calibrate every stage."""
        model = self.model.bind(setting.schema)
        if self.feature not in model.columns:
            raise ArgumentError(
                f"feature must be one the model uses ({', '.join(model.columns)}), "
                f"got {self.feature!r}."
            )
        grid = setting.schema[self.feature].grid(self.resolution)
        stages = self._stages(setting, model, grid)
        release = _CurveRelease(self, setting, model.bounds, grid, stages)
        return Program(tuple(stages.values()), release.finish, release.expected_error)

    def _stages(self, setting: Setting, model: BoundModel, grid: FloatArray) -> dict[str, Stage[Noise]]:
        shares = {"curve": _CURVE_SHARE}
        if setting.rows is None:
            shares["size"] = _SIZE_SHARE
        if self.rug:
            shares["rug"] = _RUG_SHARE
        epsilons = dict(zip(shares, share_out(self.epsilon, tuple(shares.values())), strict=True))
        # The number of records is always Laplace, so its share of delta goes to the curve.
        deltas = share_out(self.delta, (1.0 - _RUG_SHARE, _RUG_SHARE)) if self.rug else [self.delta]
        curve = sum_stage(
            "curve",
            curve_contribution(model, self.feature, grid),
            setting,
            statement="pdp",
            epsilon=epsilons["curve"],
            delta=deltas[0],
            mechanism=self.mechanism,
        )
        stages = {"curve": curve}
        if "size" in epsilons:
            stages["size"] = size_stage(self.feature, setting, epsilon=epsilons["size"])
        if self.rug:
            stages["rug"] = count_stage(
                "rug",
                partition(setting, (self.feature,), _RUG_BINS),
                setting,
                epsilon=epsilons["rug"],
                delta=deltas[1],
                mechanism=self.mechanism,
            )
        return stages


@dataclass(frozen=True)
class _CurveRelease:
    """Builds the curve from the noisy sums of one prepared plan."""

    plan: PartialDependencePlan
    setting: Setting
    bounds: Box
    grid: FloatArray
    stages: dict[str, Stage[Noise]]

    @property
    def expected_error(self) -> dict[str, float]:
        """The noise on the curve, if the number of records is public."""
        if self.setting.rows is None:
            return {"curve times number of records": self.stages["curve"].noise.std}
        return {"curve": self.stages["curve"].noise.std / self.setting.rows}

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for all stages in one pass over the rows, then divide, clip and smooth."""
        answers = dict(zip(self.stages, releaser.answer(*self.stages.values()), strict=True))
        private_size = self.setting.rows is None
        mean = noisy_mean(
            answers["curve"],
            self.stages["curve"].noise,
            rows=self.setting.rows,
            noisy_size=float(answers["size"][0]) if private_size else None,
            size_noise=self.stages["size"].noise if private_size else None,
            region=self.bounds,
            level=_LEVEL,
        )
        return self._curve(self._processed(mean.values, mean.std), mean, answers)

    def _processed(self, noisy: FloatArray, std: float) -> FloatArray:
        column = self.setting.schema[self.plan.feature]
        if self.plan.smooth and not isinstance(column, Category):
            noisy = smooth_curve(self.grid, noisy, std)
        return np.clip(noisy, self.bounds.low, self.bounds.high) if self.plan.clip else noisy

    def _curve(
        self,
        y: FloatArray,
        mean: NoisyMean,
        answers: dict[str, FloatArray],
    ) -> Curve:
        column = self.setting.schema[self.plan.feature]
        return Curve(
            feature=self.plan.feature,
            x=tuple(self.grid.tolist()),
            labels=column.labels if isinstance(column, Category) else None,
            y=tuple(y.tolist()),
            low=tuple(mean.low.tolist()),
            high=tuple(mean.high.tolist()),
            level=_LEVEL,
            noise_std=mean.std,
            quantity=f"mean {self.plan.model.output}",
            rug=self._rug(answers),
        )

    def _rug(self, answers: dict[str, FloatArray]) -> Any:
        if "rug" not in self.stages:
            return None
        cells: dict[str, Bins] = partition(self.setting, (self.plan.feature,), _RUG_BINS)
        noise: Noise = self.stages["rug"].noise
        return build_histogram(cells, answers["rug"], noise, level=_LEVEL, clip=True)


def curve_contribution(model: BoundModel, feature: str, grid: FloatArray) -> VectorContribution:
    """Return what one record adds: its curve of predictions, measured from the middle of the bounds.

    Guarantees:
      - Every coordinate lies within half the output's range of zero. [pdp]
    """
    half = (model.bounds.high - model.bounds.low) / 2
    place = model.columns.index(feature)

    def fused(block: Block) -> FloatArray:
        assert model.linear is not None
        weight = model.linear.weights[place]
        rest = model.linear.scores(block.values) - weight * block[feature]
        vectors = model.linear.shifted(rest, weight * grid)
        vectors -= model.fill
        return vectors

    def opaque(block: Block) -> FloatArray:
        vectors = np.empty((len(block), len(grid)), order="F")
        points = max(1, min(len(grid), _CALL_ROWS // len(block)))
        rows = _stacked(block.values, points)
        for start in range(0, len(grid), points):
            values = grid[start : start + points]
            part = rows[: len(values) * len(block)]
            part[:, place] = np.repeat(values, len(block))
            answers = model.answer(part).reshape(len(values), len(block))
            np.subtract(answers.T, model.fill, out=vectors[:, start : start + points])
        return vectors

    return VectorContribution(
        columns=model.columns,
        size=len(grid),
        region=Box(-half, half),
        fill=0.0,
        compute=opaque if model.linear is None else fused,
        foreign=model.foreign,
        grain=model.grain,
    )


def _stacked(values: FloatArray, times: int) -> FloatArray:
    """Return the rows written below each other ``times`` times, column by column in memory."""
    rows = np.empty((times * len(values), values.shape[1]), order="F")
    for column in range(values.shape[1]):
        rows[:, column] = np.tile(values[:, column], times)
    return rows


def partial_dependence(
    model: Any,
    feature: str,
    *,
    resolution: int = 20,
    kind: str = "average",
    rug: bool = True,
    clip: bool = True,
    smooth: bool = False,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> PartialDependencePlan:
    """Plan how a model's mean prediction moves as one feature is set to each of its values.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      feature: the column to vary.
      resolution: number of grid points; a feature with a ``step`` gets points on it, a category all
        of its values.
      kind: only ``average``; scikit-learn's ``individual`` and ``both`` show records one by one.
      rug: release a private histogram of the feature beside the curve, for a tenth of epsilon.
      clip: keep the curve inside the model's bounds (free).
      smooth: remove bends that noise explains (free; numeric features).
      epsilon: the whole budget of the plan, rug and number of records included.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many grid points.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing one record moves every point of the curve by at most range / n, so L1 m range / n
        and L2 sqrt(m) range / n over m points. [pdp]
      - Under add-remove the sum and a noisy number of records are released; half the range per
        point. [pdp]
    """
    if not isinstance(feature, str):
        raise ArgumentError(f"feature must be the name of one column, got {feature!r}.")
    check_choice("kind", kind, ("average",), "A curve per record would show the records themselves.")
    return PartialDependencePlan(
        as_model(model), feature, resolution, rug, clip, smooth, epsilon, delta, mechanism
    )
