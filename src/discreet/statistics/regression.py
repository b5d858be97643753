"""Linear regression from noisy moments, with errors that know of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Unknown
from discreet.plans.kinds import UNSAID, Column, Columns, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.matrix import Coefficients
from discreet.schema import FloatArray
from discreet.statistics.bounds import Clips, boxes_of
from discreet.statistics.fiducial import ends_of, plausible_sums
from discreet.statistics.moments import Moments, nearest_covariance

INTERCEPT = "(intercept)"


class linear_regression(PartPlan):
    """Plan a linear regression of a numeric column on others, over the records without missing values.

    Args:
      target: the column to explain.
      features: the numeric columns to explain it with.
      clip: clip values of a column to a (low, high), public and narrower than the schema's bounds, by
        a mapping from columns.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta noise is less.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Means, squares and products are one vector with one bound. [moments]
      - Coefficients, intervals and standard errors are functions of it, and the matrix of the features
        is the nearest positive semi-definite one. [nearest-psd]

    >>> linear_regression("income", ["age"], epsilon=1)
    linear_regression(target='income', features=['age'], clip=None, mechanism='auto', epsilon=1)
    """

    target: Annotated[str, Column()]
    features: Annotated[str | Sequence[str], Columns()]
    _: KW_ONLY
    clip: Clips = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def settle(self) -> dict[str, Any]:
        """Check that the target is none of the features."""
        if self.target in self.features:
            raise ArgumentError(f"features must not hold the target, got {self.target!r} among them.")
        return {}

    def prepare_whole(self, setting: Setting) -> Program:
        """Calibrate noise on the moments of features and target."""
        columns = (*self.features, self.target)
        terms = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        boxes = boxes_of(setting.schema, columns, self.clip, "target and features")
        moments = Moments.of(columns, boxes, setting, terms)

        def finish(releaser: Releaser) -> Coefficients:
            (noisy,) = releaser.answer(moments.stage)
            return fitted(moments, noisy)

        unknown: Unknown = None if setting.rows else "noise"
        half = 9 * moments.stage.noise.half_width(LEVEL) / (setting.rows or 1)
        error = Expected(half, 1.0, GREATEST, unknown=unknown)
        errors = {"slope, in units of the ranges": error}
        return Program((moments.stage,), finish, errors, sized=moments.sized)


def fitted(moments: Moments, noisy: FloatArray) -> Coefficients:
    """Return the regression of the last column on the others."""
    sums = noisy[None, :]
    records = float(np.nan_to_num(moments.records(sums)[0]))
    covariance = np.nan_to_num(moments.covariances(sums)[0])
    means = np.nan_to_num(moments.means(sums)[0])
    # Directions along which the features vary by less than noise are told by noise alone: they are
    # taken to vary by as much as that, which shrinks what is read along them.
    least = moments.stage.noise.std / max(records, 1.0)
    features = raised(nearest_covariance(covariance)[:-1, :-1], least)
    slopes = np.linalg.solve(features, covariance[:-1, -1])
    values = in_units(moments, slopes[None], means[None])[0]
    draws = plausible_coefficients(moments, noisy)
    low, high = ends_of(draws, LEVEL)
    noise = np.where(np.isinf(high), np.inf, _middle_spread(draws))
    left = max(covariance[-1, -1] - 2 * slopes @ covariance[:-1, -1] + slopes @ features @ slopes, 0.0)
    sampling = _sampling(moments, features, means, left, records)
    explained = 1 - left / covariance[-1, -1] if covariance[-1, -1] > 0 else 0.0
    return Coefficients(
        target=moments.columns[-1],
        names=(INTERCEPT, *moments.columns[:-1]),
        values=tuple(values.tolist()),
        low=_told(np.minimum(low, values)),
        high=_told(np.maximum(high, values)),
        level=LEVEL,
        noise_std=_told(noise),
        standard_errors=_told(np.hypot(noise, sampling)),
        r_squared=float(min(max(explained, 0.0), 1.0)),
        records=records,
    )


def raised(matrix: FloatArray, least: float) -> FloatArray:
    """Return a symmetric matrix with no eigenvalue below a positive number."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(eigenvalues, max(least, 1e-12))) @ vectors.T)


def plausible_coefficients(moments: Moments, noisy: FloatArray) -> FloatArray:
    """Return intercepts and slopes of sums that may be the exact ones; NaN where there are none."""
    draws = plausible_sums(noisy, moments.stage.noise)
    covariances, means = moments.covariances(draws), moments.means(draws)
    lost = np.asarray(np.isnan(covariances).any(axis=(1, 2)))
    safe = np.where(lost[:, None, None], np.eye(covariances.shape[1]), covariances)
    lost |= np.linalg.eigvalsh(safe[:, :-1, :-1])[:, 0] <= 0
    safe = np.where(lost[:, None, None], np.eye(covariances.shape[1]), safe)
    slopes = np.linalg.solve(safe[:, :-1, :-1], safe[:, :-1, -1:])[:, :, 0]
    found = in_units(moments, slopes, np.nan_to_num(means))
    return np.where(lost[:, None], np.nan, found)


def in_units(moments: Moments, slopes: FloatArray, means: FloatArray) -> FloatArray:
    """Return intercepts and slopes in the columns' own units, one row each."""
    scales, middles = moments.scales, moments.middles
    real = slopes * scales[-1] / scales[:-1]
    centres = middles + means * scales
    intercepts = centres[:, -1] - np.sum(real * centres[:, :-1], axis=1)
    return np.column_stack([intercepts, real])


def _sampling(
    moments: Moments, features: FloatArray, means: FloatArray, left: float, records: float
) -> FloatArray:
    """Return the standard errors that least squares has without noise, from noisy moments."""
    scales, middles = moments.scales, moments.middles
    inverse = np.linalg.inv(features)
    free = max(records - len(features) - 1, 1.0)
    slopes = scales[-1] * np.sqrt(left * np.diag(inverse) / free) / scales[:-1]
    centre = (middles + means * scales)[:-1] / scales[:-1]
    intercept = scales[-1] * math.sqrt(left * (1 + max(float(centre @ inverse @ centre), 0.0)) / free)
    return np.concatenate([[intercept], slopes])


def _middle_spread(draws: FloatArray) -> FloatArray:
    """Return standard deviations by the middle two thirds of the draws: tails of quotients are long."""
    known = np.where(np.isnan(draws), 0.0, draws)
    return np.asarray(np.diff(np.quantile(known, [0.1587, 0.8413], axis=0), axis=0)[0] / 2)


def _told(numbers: FloatArray) -> tuple[float | None, ...]:
    return tuple(one if math.isfinite(one) else None for one in numbers.tolist())
