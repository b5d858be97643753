"""Private mean curves: the average of records that are curves themselves.

The published way adds a random path of a Gaussian process to the shrunk mean. Noise alike on every
coefficient, shrunk together with the mean afterwards, is never more and mostly far less; it is the
default, and the published way is kept beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.arguments import as_list, as_names, check_text, shown
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.numerics import (
    check_choice,
    check_finite,
    check_positive,
    check_positive_or_auto,
    check_whole,
)
from discreet.plans import Curve, Perturbation, Plan, Program, Releaser, Setting, Stage, share_out
from discreet.plans.expected import of_mean
from discreet.plans.results.bands import at_once
from discreet.plans.stages import quotient_ends, size_stage, sum_stage
from discreet.privacy.accounting import gaussian_multiplier
from discreet.schema import FloatArray, Number, Schema
from discreet.tables.functional.kernels import (
    KERNELS,
    KernelName,
    NoiseShape,
    best_penalty,
    spectrum,
)
from discreet.tables.functional.question import Question

_LEVEL = 0.95
_SIZE_SHARE = 0.1
_TYPICAL = 0.5
"""A mean curve is taken to be half as long as the longest record's, where a penalty is chosen."""

_ROWS_UNKNOWN = 1_000


@dataclass(frozen=True)
class MeanCurve(Curve):
    """A private mean curve; the band speaks of noise, not of what shrinking takes away.

    Attributes:
      kernel: what the curve was taken to be like.
      rho: the penalty; coefficients are multiplied by lambda / (lambda + rho).
      terms: eigenpairs that were kept.
      truncation: the greatest length, in the unit of the curves, of what the other terms held.
    """

    kernel: str
    rho: float
    terms: int
    truncation: float


class FunctionalMeanPlan(Plan):
    """See ``functional_mean``."""

    kind = "functional_mean"
    clips = (("clip", None),)

    def __init__(
        self,
        columns: tuple[str, ...],
        points: tuple[float, ...],
        axis: str,
        kernel: KernelName,
        lengthscale: float,
        smoothness: float,
        rho: float | Literal["auto"],
        clip: float | None,
        terms: int | None,
        noise: NoiseShape,
        epsilon: float,
        delta: float,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("kernel", kernel, KERNELS)
        check_choice("noise", noise, ("white", "process"))
        if self.delta == 0:
            raise ArgumentError("delta must be above zero, got 0. The noise is Gaussian.")
        check_positive_or_auto("rho", rho)
        if clip is not None:
            check_positive("clip", clip)
        self.columns, self.points, self.axis = columns, points, axis
        self.kernel, self.lengthscale, self.smoothness = kernel, lengthscale, smoothness
        self.rho, self.clip, self.terms, self.noise = rho, clip, terms, noise
        self.spectrum = spectrum(points, kernel, lengthscale, smoothness)
        if terms is not None:
            check_whole("terms", terms, 1)

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "columns": list(self.columns),
            "points": list(self.points),
            "axis": self.axis,
            "kernel": self.kernel,
            "lengthscale": self.lengthscale,
            "smoothness": self.smoothness,
            "rho": self.rho,
            "clip": self.clip,
            "terms": self.terms,
            "noise": self.noise,
        }

    def prepare(self, setting: Setting) -> Program:
        """Choose the penalty from public facts and calibrate the noise."""
        question = self._question(setting)
        share = 0.0 if setting.rows is not None else _SIZE_SHARE
        epsilon, for_size = share_out(self.epsilon, (1 - share, share))
        stage = sum_stage(
            "curve",
            question.contribution,
            setting,
            statement="rkhs-mean",
            epsilon=epsilon,
            delta=self.delta,
            mechanism="gaussian",
        )
        size = size_stage(self.columns[0], setting, epsilon=for_size) if for_size else None
        stages: tuple[Stage[Perturbation], ...] = (stage,) if size is None else (stage, size)

        def finish(releaser: Releaser) -> MeanCurve:
            answers = releaser.answer(*stages)
            rows = float(setting.rows or answers[1][0])
            unsure = None if size is None else size.noise
            return self._curve(question, answers[0], stage.noise, rows, unsure)

        typical = stage.noise.std * np.linalg.norm(question.to_points) / math.sqrt(len(self.points))
        widest = max(n.high - n.low for n in (self._number(setting.schema, c) for c in self.columns))

        def band(level: float) -> float:
            return float(typical) * _quantile(level)

        bias = 0.0 if self.clip is None else question.clip_bias(setting.schema)
        error = of_mean(band, setting.rows, widest, "the widest column's range", bias=bias)
        return Program(stages, finish, {"curve": error})

    def _question(self, setting: Setting) -> Question:
        numbers = [self._number(setting.schema, name) for name in self.columns]
        middle = np.array([number.low / 2 + number.high / 2 for number in numbers])
        reach = np.array([number.high / 2 - number.low / 2 for number in numbers])
        longest = float(np.linalg.norm(reach * self.spectrum.roots))
        longest = longest if self.clip is None else min(self.clip, longest)
        terms = min(self.terms or len(self.points), len(self.spectrum.eigenvalues))
        kept, rho = self.spectrum.keep(terms), self.rho
        if rho == "auto":
            noise = setting.relation.edits * longest * gaussian_multiplier(self.epsilon, self.delta)
            size = _TYPICAL * longest
            rho = best_penalty(kept, self.noise, noise / (setting.rows or _ROWS_UNKNOWN), size)
        return Question(self.columns, middle, longest, kept, float(rho), self.noise)

    def _number(self, schema: Schema, name: str) -> Number:
        column = schema[name]
        if not isinstance(column, Number):
            raise ArgumentError(f"columns must be numbers, got the category {name!r}.")
        return column

    def _curve(
        self, question: Question, sums: FloatArray, noise: Noise, rows: float, unsure: Noise | None
    ) -> MeanCurve:
        """Return the curve of noisy sums; ``unsure`` is the noise on ``rows``, if they are private."""
        back = question.to_points
        curve_sums, stds = back @ sums, noise.std * np.linalg.norm(back, axis=1)
        values, middle = curve_sums / max(rows, 1.0), question.middle

        def ends(level: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
            held = level if unsure is None else 0.5 + level / 2
            band = 0.0 if unsure is None else unsure.half_width(held)
            if rows > band:
                low, high = quotient_ends(curve_sums, stds * _quantile(held), rows, band)
            else:
                high = question.longest / question.spectrum.roots
                low = -high
            return tuple((middle + low).tolist()), tuple((middle + high).tolist())

        low, high = ends(_LEVEL)
        return MeanCurve(
            feature=self.axis,
            x=self.points,
            labels=None,
            y=tuple((middle + values).tolist()),
            low=low,
            high=high,
            ends_all=ends(at_once(_LEVEL, len(self.points))),
            level=_LEVEL,
            noise_std=float(stds.mean()) / max(rows, 1.0),
            quantity="mean curve, shrunk",
            rug=None,
            kernel=self.kernel,
            rho=question.rho,
            terms=len(question.spectrum.eigenvalues),
            truncation=question.truncation(self.spectrum),
        )


def functional_mean(
    columns: Sequence[str],
    *,
    points: Sequence[float] | None = None,
    axis: str = "position",
    kernel: KernelName = "matern",
    lengthscale: float = 0.3,
    smoothness: float = 1.5,
    rho: float | Literal["auto"] = "auto",
    clip: float | None = None,
    terms: int | None = None,
    noise: NoiseShape = "white",
    epsilon: float,
    delta: float,
) -> FunctionalMeanPlan:
    """Plan the mean of records that are curves, each observed at the same public points.

    Args:
      columns: the numeric columns that hold a record's curve, in order.
      points: where they were observed, ascending; 0, 1, 2 ... if left out.
      axis: what the points are called.
      kernel: what curves are like: ``wiener``, ``exponential``, ``matern`` or ``gaussian``, from rough
        to smooth. The smoother, the less noise, and the more of a rough curve is lost.
      lengthscale: over which share of the span a curve stays alike (not for ``wiener``).
      smoothness: of the Matern kernel, 1.5 or 2.5.
      rho: the penalty. A greater one means less noise and more shrinking towards the middle of the
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

    >>> functional_mean(["jan", "feb", "mar"], epsilon=1, delta=1e-6)
    functional_mean(columns=['jan', 'feb', 'mar'], points=[0.0, 1.0, 2.0], axis='position', \
kernel='matern', lengthscale=0.3, smoothness=1.5, rho='auto', clip=None, terms=None, \
noise='white', epsilon=1, delta=1e-06)
    """
    names = as_names("columns", columns)
    if len(names) < 2:
        raise ArgumentError(f"columns must be two or more different names, got {shown(columns)}.")
    check_text("axis", axis)
    given = range(len(names)) if points is None else as_list("points", points)
    for place in given:
        check_finite("points", place)
    places = tuple(float(place) for place in given)
    if len(places) != len(names) or any(b <= a for a, b in itertools.pairwise(places)):
        raise ArgumentError(f"points must be {len(names)} ascending numbers, got {points!r}.")
    return FunctionalMeanPlan(
        names, places, axis, kernel, lengthscale, smoothness, rho, clip, terms, noise, epsilon, delta
    )


def _quantile(level: float) -> float:
    """Return how many standard deviations hold Gaussian noise with a probability."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))
