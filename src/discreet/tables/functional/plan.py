"""Private mean curves: the average of records that are curves themselves.

The published way adds a random path of a Gaussian process to the shrunk mean. Noise alike on every
coefficient, shrunk together with the mean afterwards, is never more and mostly far less; it is the
default, and the published way is kept beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from discreet.arguments import as_list, as_names, shown
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.numerics import check_finite
from discreet.plans import Perturbation, Program, Releaser, Setting, Stage, share_out
from discreet.plans.expected import of_mean
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, OneOf, Positive, Text, Values, Whole
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.result import MeanCurve
from discreet.plans.stages import quotient_ends, size_stage, sum_stage
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.plans.stages.parts import may_lack, part_stage
from discreet.privacy.accounting import gaussian_multiplier
from discreet.schema import FloatArray, Number, Schema
from discreet.tables.functional.contribution import MeanCurveForm
from discreet.tables.functional.kernels import (
    KERNELS,
    KernelName,
    NoiseShape,
    Spectrum,
    best_penalty,
    spectrum,
)

_SPAN = "It is a share of the span of the points."
_TYPICAL = 0.5
"""A mean curve is taken to be half as long as the longest record's, where a penalty is chosen."""

_ROWS_UNKNOWN = 1_000


def _curve_columns(name: str, columns: Any) -> tuple[str, ...]:
    names = as_names(name, columns)
    if len(names) < 2:
        raise ArgumentError(f"{name} must be two or more different names, got {shown(columns)}.")
    return names


def _places(name: str, points: Any) -> tuple[float, ...]:
    given = as_list(name, points)
    for place in given:
        check_finite(name, place)
    return tuple(float(place) for place in given)


class functional_mean(PartPlan):
    """Plan the mean of records that are curves, each observed at the same public points.

    Args:
      columns: the numeric columns that hold a record's curve, in order. The mean is that of the records
        in which none of them is missing; where one may be, a tenth of epsilon counts these records.
      points: where they were observed, ascending; 0, 1, 2 ... if left out.
      axis: what the points are called.
      kernel: what curves are like: ``wiener``, ``exponential``, ``matern`` or ``gaussian``, from rough
        to smooth. The smoother, the less noise, and the more of a rough curve is lost.
      lengthscale: over which share of the span a curve stays alike (not for ``wiener``).
      smoothness: of the Matern kernel, 1.5 or 2.5.
      penalty: on roughness. More means less noise and more shrinking towards the middle of the
        bounds; ``auto`` weighs the two for a curve that is as smooth as the kernel, from public facts.
      clip: shorten curves to this length, measured from the middle of the bounds as a root mean square
        over the points; by default as long as the schema allows.
      terms: keep so many eigenpairs of the kernel; all by default. What the others held is stated.
      noise: ``white``, alike on every coefficient and shrunk with the mean; or ``process``, the
        published way: a random path with the kernel as its covariance, added to the shrunk mean.
      epsilon: the whole budget of the plan.
      delta: above zero; the noise is Gaussian.

    Guarantees:
      - With curves no longer than tau, one record moves the mean by at most 2 tau / n in the norm of
        white noise, times the greatest sqrt(lambda) / (lambda + rho) in that of a process; under
        add-remove the sum by tau, times the same. [rkhs-mean]
      - Records with a missing point add nothing; how many have none is private. [part]

    >>> functional_mean(["jan", "feb", "mar"], epsilon=1, delta=1e-6)
    functional_mean(columns=['jan', 'feb', 'mar'], points=[0.0, 1.0, 2.0], axis='position', \
kernel='matern', lengthscale=0.3, smoothness=1.5, penalty='auto', clip=None, terms=None, \
noise='white', epsilon=1, delta=1e-06)
    """

    columns: Annotated[Sequence[str], Columns(by=_curve_columns)]
    _: KW_ONLY
    points: Annotated[Sequence[float] | None, Values(by=_places, optional=True)] = None
    axis: Annotated[str, Text()] = "position"
    kernel: Annotated[KernelName, OneOf(KERNELS)] = "matern"
    lengthscale: Annotated[float, Positive(hint=_SPAN)] = 0.3
    smoothness: Annotated[float, Positive()] = 1.5
    penalty: Annotated[float | Literal["auto"], Positive(auto=True)] = "auto"
    clip: Annotated[float | None, Positive(optional=True)] = None
    terms: Annotated[int | None, Whole(1, optional=True)] = None
    noise: Annotated[NoiseShape, OneOf(get_args(NoiseShape))] = "white"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    clips: ClassVar = (("clip", None),)

    def settle(self) -> dict[str, Any]:
        """Place the curves' points, and check that the kernel can be laid on them."""
        if self.delta == 0:
            raise ArgumentError("delta must be above zero, got 0. The noise is Gaussian.")
        places = self.places
        if len(places) != len(self.columns) or any(b <= a for a, b in itertools.pairwise(places)):
            raise ArgumentError(
                f"points must be {len(self.columns)} ascending numbers, got {list(places)!r}."
            )
        self.spectrum  # noqa: B018  # raises where distances between the points are not finite
        return {"points": places}

    @cached_property
    def places(self) -> tuple[float, ...]:
        """Where the curves were observed."""
        return tuple(map(float, range(len(self.columns)) if self.points is None else self.points))

    @cached_property
    def spectrum(self) -> Spectrum:
        """The kernel on these points."""
        return spectrum(self.places, self.kernel, self.lengthscale, self.smoothness)

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose the penalty from public facts and calibrate the noise."""
        form = self._form(setting)
        parted = any(may_lack(setting.schema[name]) for name in self.columns)
        public_rows = None if parted else setting.rows
        share = 0.0 if public_rows is not None else SIZE_SHARE
        epsilon, for_size = share_out(self.epsilon, (1 - share, share))
        stage = sum_stage(
            "curve",
            form.contribution,
            setting,
            statement="rkhs-mean",
            epsilon=epsilon,
            delta=self.delta,
            mechanism="gaussian",
        )
        size = _size(self.columns, setting, parted, for_size) if for_size else None
        stages: tuple[Stage[Perturbation], ...] = (stage,) if size is None else (stage, size)

        def finish(releaser: Releaser) -> MeanCurve:
            answers = releaser.answer(*stages)
            rows = float(public_rows or answers[1][0])
            unsure = None if size is None else size.noise
            return self._curve(form, answers[0], stage.noise, rows, unsure)

        typical = stage.noise.std * np.linalg.norm(form.to_points) / math.sqrt(len(self.places))
        widest = max(n.high - n.low for n in (self._number(setting.schema, c) for c in self.columns))

        def band(level: float) -> float:
            return float(typical) * _quantile(level)

        bias = 0.0 if self.clip is None else form.clip_bias(setting.schema)
        error = of_mean(band, public_rows, widest, "the widest column's range", bias=bias)
        return Program(stages, finish, {"curve": error})

    def _form(self, setting: Setting) -> MeanCurveForm:
        numbers = [self._number(setting.schema, name) for name in self.columns]
        middle = np.array([number.low / 2 + number.high / 2 for number in numbers])
        half_widths = np.array([number.high / 2 - number.low / 2 for number in numbers])
        longest = float(np.linalg.norm(half_widths * self.spectrum.roots))
        longest = longest if self.clip is None else min(self.clip, longest)
        terms = min(self.terms or len(self.places), len(self.spectrum.eigenvalues))
        kept, rho = self.spectrum.keep(terms), self.penalty
        if rho == "auto":
            noise = setting.relation.edits * longest * gaussian_multiplier(self.epsilon, self.delta)
            size = _TYPICAL * longest
            rho = best_penalty(kept, self.noise, noise / (setting.rows or _ROWS_UNKNOWN), size)
        return MeanCurveForm(tuple(self.columns), middle, longest, kept, float(rho), self.noise)

    def _number(self, schema: Schema, name: str) -> Number:
        column = schema[name]
        if not isinstance(column, Number):
            raise ArgumentError(f"columns must be numbers, got the category {name!r}.")
        return column

    def _curve(
        self, form: MeanCurveForm, sums: FloatArray, noise: Noise, rows: float, unsure: Noise | None
    ) -> MeanCurve:
        """Return the curve of noisy sums; ``unsure`` is the noise on ``rows``, if they are private."""
        back = form.to_points
        curve_sums, stds = back @ sums, noise.std * np.linalg.norm(back, axis=1)
        values, middle = curve_sums / max(rows, 1.0), form.middle

        def ends(level: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
            held = level if unsure is None else 0.5 + level / 2
            band = 0.0 if unsure is None else unsure.half_width(held)
            if rows > band:
                low, high = quotient_ends(curve_sums, stds * _quantile(held), rows, band)
            else:
                high = form.longest / form.spectrum.roots
                low = -high
            return tuple((middle + low).tolist()), tuple((middle + high).tolist())

        low, high = ends(LEVEL)
        return MeanCurve(
            feature=self.axis,
            x=self.places,
            labels=None,
            y=tuple((middle + values).tolist()),
            low=low,
            high=high,
            ends_all=ends(at_once(LEVEL, len(self.places))),
            level=LEVEL,
            noise_std=float(stds.mean()) / max(rows, 1.0),
            quantity="mean curve, shrunk",
            rug=None,
            kernel=self.kernel,
            rho=form.rho,
            terms=len(form.spectrum.eigenvalues),
            truncation=form.truncation(self.spectrum),
        )


def _size(columns: Sequence[str], setting: Setting, parted: bool, epsilon: float) -> Stage[Noise]:
    """Return the stage that counts the records, or those with a value at every point."""
    if parted:
        return part_stage(columns, setting, epsilon=epsilon)
    return size_stage(columns[0], setting, epsilon=epsilon)


def _quantile(level: float) -> float:
    """Return how many standard deviations hold Gaussian noise with a probability."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))
