"""One question for partial dependence: the grid, the form curves are summed in, and the noise.

Curves are summed whole, or as level and centred curve (``centred``). Which clip that has, and which
form has less error, is decided on rows drawn from the schema, which are public: the clip at which bias
and noise together are least there. No private row has a say, and records may be farther from flat
than most of these rows: half of the bias counted is that of the farthest rows that were found
(``extremes``), and bands are wider by all of it. Where n is private bias cannot be weighed, and no row
that was found is clipped. Where points are yet to be released, a clip is one that suffices for any
points: half the distance between a curve's extremes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.errors import ArgumentError
from discreet.explain.clipping import curve_size, public_rows
from discreet.explain.pdp.centred import BALLS, Shape, ShapeNorm
from discreet.explain.pdp.contribution import curve_contribution, record_curves
from discreet.explain.pdp.extremes import extreme_curves
from discreet.mechanisms import NOISES, Noise, NoiseName
from discreet.mechanisms.additive.noise import LawName
from discreet.mechanisms.additive.registry import laws_for
from discreet.models import BoundModel
from discreet.plans import Setting, Stage
from discreet.plans.expected import Expected, of_mean
from discreet.plans.stages import NoisyMean, noisy_mean, sum_stage
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

CurveForm = Literal["whole", "centred", "auto"]
CentredClip = float | Literal["auto"]
Grids = tuple[FloatArray, ...]

_QUANTILES = (0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 1.0)
_EXTREME_QUANTILES = (0.0, 0.5, 1.0)
_WHERE_IT_HURTS = 0.5
"""The part of a clip's bias that is measured on the rows whose curves are farthest from flat."""

_FINE = (129, 33)
"""Points of each grid on which extremes of public curves and surfaces are looked for."""

_LEAST_CLIP = 0.005
"""Of the output's range: a shorter shape lowers the noise no further."""


@dataclass(frozen=True)
class Form:
    """How curves are summed, and with which noise; ``shape`` is None for whole curves."""

    stage: Stage[Noise]
    shape: Shape | None

    @property
    def spread(self) -> float:
        """The noise on a point of the summed curve, in units of that on one released number."""
        return 1.0 if self.shape is None else self.shape.spread

    @property
    def point_std(self) -> float:
        """The noise on a point of the summed curve."""
        return self.stage.noise.std * self.spread

    def half_width(self, level: float) -> float:
        """Return half the width of the noise band of a point of the summed curve."""
        noise = self.stage.noise
        if self.shape is None:
            return noise.half_width(level)
        return noise.half_width_of_sums(level) * self.spread


@dataclass(frozen=True)
class CurveQuestion:
    """What is asked of the model; ``grids`` that are ``private`` are stood in for by even ones."""

    setting: Setting
    model: BoundModel
    features: tuple[str, ...]
    grids: Grids
    private: bool = False

    @property
    def half(self) -> float:
        """Half the output's range."""
        return (self.model.bounds.high - self.model.bounds.low) / 2

    @property
    def points(self) -> int:
        """The number of cells of the grid."""
        return int(np.prod([len(grid) for grid in self.grids]))

    def choose(
        self, curve: CurveForm, clip: CentredClip, *, epsilon: float, delta: float, mechanism: NoiseName
    ) -> Form:
        """Return the form with the least expected error among those that are allowed.

        Args:
          curve: whole curves, level and centred curve, or whichever is better.
          clip: of a centred curve, or ``auto``.
          epsilon: the promise.
          delta: zero for a pure promise.
          mechanism: of the noise.
        """
        terms = {"epsilon": epsilon, "delta": delta}
        forms: list[Form] = []
        if curve != "centred":
            contribution = curve_contribution(self.model, self.features, *self.grids)
            stage = sum_stage(
                "curve",
                contribution,
                self.setting,
                statement="pdp",
                mechanism=mechanism,
                joint=True,
                **terms,
            )
            forms.append(Form(stage, None))
        if curve != "whole":
            for kind in laws_for(mechanism, delta):
                forms += self._centred(kind, clip, forms, **terms)
        return min(forms, key=self.expected_error)

    def expected_error(self, form: Form) -> float:
        """Return the noise on a point, with what clipping does to public rows if it can be weighed."""
        if self.setting.rows is None:
            return form.point_std
        typical = math.sqrt(np.mean(self.lost(form) ** 2))
        return math.hypot(typical, form.point_std / self.setting.rows)

    def expect(self, form: Form) -> Expected:
        """Return how far a point will be off, beside the curve of public rows."""
        size, of = curve_size(self._public_curves.mean(axis=0), 2 * self.half)
        bias = float(self.lost(form).max())
        return of_mean(form.half_width, self.setting.rows, size, of, bias=bias)

    def mean(
        self, form: Form, noisy: FloatArray, size: float | None, size_noise: Noise | None, level: float
    ) -> NoisyMean:
        """Return the mean curve and its band from noisy sums, wider by what clipping changes."""
        middle, spread = self.model.fill, 1.0
        if form.shape is not None:
            noisy, spread = form.shape.join(noisy), form.shape.spread
        # In units in which a point has the noise of one released number.
        mean = noisy_mean(
            noisy / spread,
            form.stage.noise,
            rows=self.setting.rows,
            noisy_size=size,
            size_noise=size_noise,
            region=Box(-self.half / spread, self.half / spread),
            level=level,
            summed=form.shape is not None,
        )
        values, low, high = (middle + spread * part for part in (mean.values, mean.low, mean.high))
        lost = self.lost(form)
        return NoisyMean(values, low - lost, high + lost, mean.std * spread)

    def contribution_on(self, grids: Grids, form: Form) -> Stage[Noise]:
        """Return the form's stage over other points; its bounds and its noise do not depend on them."""
        if form.shape is None:
            contribution = curve_contribution(self.model, self.features, *grids)
        else:
            curves = record_curves(self.model, self.features, grids)
            contribution = form.shape.contribution(self.model, curves)
        return Stage(form.stage.name, contribution, form.stage.noise)

    def _centred(
        self, kind: LawName, clip: CentredClip, found: list[Form], *, epsilon: float, delta: float
    ) -> list[Form]:
        norm = BALLS[NOISES[kind].norm]
        curves, forms = record_curves(self.model, self.features, self.grids), []
        for wanted in self._clips(norm) if clip == "auto" else [clip]:
            shape = Shape(self.points, self.half, wanted, norm)
            contribution = shape.contribution(self.model, curves)
            try:
                stage = sum_stage(
                    "curve",
                    contribution,
                    self.setting,
                    statement="pdp-centred",
                    epsilon=epsilon,
                    delta=delta,
                    mechanism=kind,
                )
            except ArgumentError:  # a delta too small for Gaussian noise, where the choice is ours
                if not found:
                    raise
                return []
            forms.append(Form(stage, shape))
        return forms

    def _clips(self, norm: ShapeNorm) -> list[float]:
        """Return radii to try: quantiles of public rows' own, the greatest if n is private."""
        extreme = self._distances(self._extreme_curves, norm)
        found = [float(extreme.max())]
        if self.setting.rows is not None:
            found += np.quantile(self._distances(self._public_curves, norm), _QUANTILES).tolist()
            found += np.quantile(extreme, _EXTREME_QUANTILES).tolist()
        return sorted({max(_LEAST_CLIP * 2 * self.half, clip) for clip in found})

    def _distances(self, curves: FloatArray, norm: ShapeNorm) -> FloatArray:
        """Return how far curves are from their means."""
        if self.private:  # no mean of distances from a mean exceeds half the range
            return np.asarray(np.ptp(curves, axis=1) / 2)
        apart = np.abs(curves - curves.mean(axis=1, keepdims=True))
        return np.asarray(apart.mean(axis=1) if norm == "l1" else np.sqrt((apart**2).mean(axis=1)))

    def lost(self, form: Form) -> FloatArray:
        """Return what clipping changes at every point, half of it where it hurts.

        Absolute values on public rows, as losses need not cancel.
        """
        if form.shape is None:
            return np.zeros(self.points)
        usual, extreme = (
            self._lost_by(form.shape, c) for c in (self._public_curves, self._extreme_curves)
        )
        return (1 - _WHERE_IT_HURTS) * usual + _WHERE_IT_HURTS * extreme

    def _lost_by(self, shape: Shape, curves: FloatArray) -> FloatArray:
        if self.private:
            missing = np.maximum(self._distances(curves, shape.norm) - shape.clip, 0.0)
            return np.full(self.points, missing.mean())
        return np.asarray(np.mean(np.abs(shape.join(shape.split(curves)) - curves), axis=0))

    @cached_property
    def _public_rows(self) -> FloatArray:
        return public_rows(self.setting.schema, self.model.columns)

    @cached_property
    def _public_curves(self) -> FloatArray:
        return self._curves_of(self._public_rows)

    @cached_property
    def _extreme_curves(self) -> FloatArray:
        return extreme_curves(
            self._public_rows, self._curves_of, lambda curves: self._distances(curves, "l1")
        )

    def _curves_of(self, rows: FloatArray) -> FloatArray:
        """Return the curves of public rows; over fine grids if points are yet to be released."""
        grids = self.grids
        if self.private:
            fine = _FINE[len(self.features) - 1]
            grids = tuple(self.setting.schema[name].grid(fine) for name in self.features)
        curves = record_curves(self.model, self.features, grids)
        with quietly(self.model.pulse is not None):
            answers = curves(Block(0, self.model.columns, np.asfortranarray(rows)))
        return np.clip(np.nan_to_num(answers, nan=0.0), -self.half, self.half)
