"""One question for partial dependence: the grid, the form curves are summed in, and the noise.

Curves are summed whole, or as level and shape (``pdp_centred``). How far a shape may reach, and which
form has less error, is decided on rows drawn from the schema, which are public: the reach at which bias
and noise together are least there. No private row has a say, and records may bend farther than these
rows: where whole curves have harmless noise, nothing is clipped. Where points have yet to be bought, a
reach is one that suffices for any points: half the distance between a curve's extremes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.certificates import Box
from discreet.data.blocks import Block
from discreet.data.foreign import foreign_code
from discreet.errors import ArgumentError
from discreet.explain.pdp_centred import Shape, ShapeNorm
from discreet.explain.pdp_contributions import curve_contribution, record_curves
from discreet.explain.shap_clipping import curve_size, public_rows
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel
from discreet.parts import NoisyMean, noisy_mean, sum_stage
from discreet.plans import Setting, Stage
from discreet.plans.expected import Expected, of_mean
from discreet.schema import FloatArray

CurveForm = Literal["whole", "centred", "auto"]
Reach = float | Literal["auto"]
Grids = tuple[FloatArray, ...]

_QUANTILES = (0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 1.0)
_USUAL = 0.9
_FINE = (129, 33)
"""Points of each grid on which extremes of public curves and surfaces are looked for."""

_HARMLESS = 0.01
"""Of the output's range: noise on a point of whole curves that is no reason to clip shapes."""

_LEAST_REACH = 0.005
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
        return self.stage.noise.half_width(level) * self.spread


@dataclass(frozen=True)
class Question:
    """What is asked of the model; ``grids`` that must be ``bought`` are stood in for by even ones."""

    setting: Setting
    model: BoundModel
    features: tuple[str, ...]
    grids: Grids
    bought: bool = False

    @property
    def half(self) -> float:
        """Half the output's range."""
        return (self.model.bounds.high - self.model.bounds.low) / 2

    @property
    def points(self) -> int:
        """The number of cells of the grid."""
        return int(np.prod([len(grid) for grid in self.grids]))

    def choose(
        self, curve: CurveForm, reach: Reach, *, epsilon: float, delta: float, mechanism: NoiseName
    ) -> Form:
        """Return the form with the least expected error among those that are allowed.

        Args:
          curve: whole curves, level and shape, or whichever is better.
          reach: of a shape, or ``auto``.
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
        if curve == "auto" and self._harmless(forms[0]):
            return forms[0]
        if curve != "whole":
            kinds: tuple[NoiseName, ...] = (mechanism,)
            if mechanism == "auto":
                kinds = ("laplace", "gaussian") if delta > 0 else ("laplace",)
            for kind in kinds:
                forms += self._centred(kind, reach, forms, **terms)
        return min(forms, key=self.expected_error)

    def _harmless(self, whole: Form) -> bool:
        rows = self.setting.rows
        return rows is not None and whole.point_std / rows < _HARMLESS * 2 * self.half

    def expected_error(self, form: Form) -> float:
        """Return the noise on a point, with what clipping does to public rows if it can be weighed."""
        if self.setting.rows is None:
            return form.point_std
        lost = 0.0 if form.shape is None else self._bias(form.shape)
        return math.hypot(lost, form.point_std / self.setting.rows)

    def expect(self, form: Form) -> Expected:
        """Return how far a point will be off, beside the curve of public rows."""
        size, of = curve_size(self._public_curves.mean(axis=0), 2 * self.half)
        bias = 0.0 if form.shape is None else self._bias(form.shape)
        return of_mean(form.half_width, self.setting.rows, size, of, bias=bias)

    def mean(
        self, form: Form, noisy: FloatArray, size: float | None, size_noise: Noise | None, level: float
    ) -> NoisyMean:
        """Return the mean curve and its band from noisy sums."""
        middle, spread = self.model.fill, 1.0
        if form.shape is not None:
            noisy, spread = form.shape.join(noisy), form.shape.spread
        # In units in which a point has the noise of one released number. Of all weighted sums of noise
        # with one length, a single term is the farthest out, so that the band is wide enough.
        mean = noisy_mean(
            noisy / spread,
            form.stage.noise,
            rows=self.setting.rows,
            noisy_size=size,
            size_noise=size_noise,
            region=Box(-self.half / spread, self.half / spread),
            level=level,
        )
        values, low, high = (middle + spread * part for part in (mean.values, mean.low, mean.high))
        return NoisyMean(values, low, high, mean.std * spread)

    def contribution_on(self, grids: Grids, form: Form) -> Stage[Noise]:
        """Return the form's stage over other points; its bounds and its noise do not depend on them."""
        if form.shape is None:
            contribution = curve_contribution(self.model, self.features, *grids)
        else:
            curves = record_curves(self.model, self.features, grids)
            contribution = form.shape.contribution(self.model, curves)
        return Stage(form.stage.name, contribution, form.stage.noise)

    def _centred(
        self, kind: NoiseName, reach: Reach, found: list[Form], *, epsilon: float, delta: float
    ) -> list[Form]:
        norm: ShapeNorm = "l1" if kind == "laplace" else "l2"
        curves, forms = record_curves(self.model, self.features, self.grids), []
        for wanted in self._reaches(norm) if reach == "auto" else [reach]:
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

    def _reaches(self, norm: ShapeNorm) -> list[float]:
        """Return reaches worth trying: quantiles of those of public rows, one if n is private."""
        shares = (_USUAL,) if self.setting.rows is None else _QUANTILES
        found = np.quantile(self._public_reaches(norm), shares)
        return sorted({max(_LEAST_REACH * 2 * self.half, float(reach)) for reach in found})

    def _public_reaches(self, norm: ShapeNorm) -> FloatArray:
        """Return how far public rows' curves are from their means."""
        if self.bought:  # no mean of distances from a mean exceeds half the range
            return np.asarray(np.ptp(self._public_curves, axis=1) / 2)
        apart = np.abs(self._public_curves - self._public_curves.mean(axis=1, keepdims=True))
        return np.asarray(apart.mean(axis=1) if norm == "l1" else np.sqrt((apart**2).mean(axis=1)))

    def _bias(self, shape: Shape) -> float:
        """Return what clipping changes on public rows; absolute values, as losses need not cancel."""
        if self.bought:
            return float(np.mean(np.maximum(self._public_reaches(shape.norm) - shape.reach, 0.0)))
        kept = shape.join(shape.split(self._public_curves))
        lost = np.mean(np.abs(kept - self._public_curves), axis=0)
        return float(np.sqrt(np.mean(lost**2)))

    @cached_property
    def _public_curves(self) -> FloatArray:
        grids = self.grids
        if self.bought:
            fine = _FINE[len(self.features) - 1]
            grids = tuple(self.setting.schema[name].grid(fine) for name in self.features)
        rows = np.asfortranarray(public_rows(self.setting.schema, self.model.columns))
        curves = record_curves(self.model, self.features, grids)
        with foreign_code(self.model.foreign):
            answers = curves(Block(0, self.model.columns, rows))
        return np.clip(np.nan_to_num(answers, nan=0.0), -self.half, self.half)
