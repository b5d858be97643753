"""Covariances and correlations of numeric columns, from one noisy vector of moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.arguments import as_names, shown
from discreet.errors import ArgumentError
from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Unknown
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.matrix import Matrix, Table
from discreet.schema import FloatArray
from discreet.statistics.bounds import Clips, boxes_of
from discreet.statistics.fiducial import ends_of, ends_of_all, plausible_sums
from discreet.statistics.moments import Moments, nearest_covariance

MOST_COLUMNS = 64


def some_columns(name: str, columns: Any) -> tuple[str, ...]:
    """Return two to 64 different names, or raise."""
    names = as_names(name, columns)
    if not 2 <= len(names) <= MOST_COLUMNS:
        raise ArgumentError(
            f"{name} must be 2 to {MOST_COLUMNS} different names, got {shown(columns)}."
        )
    return names


class MatrixPlan(PartPlan):
    """A matrix of numeric columns, over the records that have a value of all.

    Args:
      columns: two numeric columns or more.
      clip: clip values of a column to a (low, high), public and narrower than the schema's bounds, by
        a mapping from columns.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta noise is less for several columns.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.
    """

    columns: Annotated[Sequence[str], Columns(by=some_columns)]
    _: KW_ONLY
    clip: Clips = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)
    spread: ClassVar = 1.0
    """How many times as far off as a product of two columns an entry is."""

    def prepare_whole(self, setting: Setting) -> Program:
        """Calibrate noise on the moments."""
        terms = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        boxes = boxes_of(setting.schema, self.columns, self.clip)
        moments = Moments.of(self.columns, boxes, setting, terms)

        def finish(releaser: Releaser) -> Matrix:
            (noisy,) = releaser.answer(moments.stage)
            return self.of_moments(moments, noisy)

        error = _expected(moments, setting, self.spread)
        return Program((moments.stage,), finish, {self.plan_name: error}, sized=moments.sized)

    @abstractmethod
    def of_moments(self, moments: Moments, noisy: FloatArray) -> Matrix:
        """Return the result from noisy moments."""


class covariance(MatrixPlan):
    """Plan the covariance matrix of numeric columns, over the records that have a value in each.

    Covariances are means of products of deviations from the means (``ddof=0`` in numpy).

    Guarantees:
      - Means, squares and products are one vector with one bound. [moments]
      - The matrix is projected to the nearest positive semi-definite one. [nearest-psd]

    >>> covariance(["age", "income"], epsilon=1)
    covariance(columns=['age', 'income'], clip=None, mechanism='auto', epsilon=1)
    """

    def of_moments(self, moments: Moments, noisy: FloatArray) -> Matrix:
        """See ``MatrixPlan``."""
        factor = np.outer(moments.scales, moments.scales)
        matrix = _possible(nearest_covariance(_or_zero(moments.covariances(noisy[None, :])[0])))
        draws = moments.covariances(plausible_sums(noisy, moments.stage.noise))
        least = np.where(np.eye(len(self.columns), dtype=bool), 0.0, -1.0)
        return _matrix("covariance", moments, noisy, (matrix, draws), (least, 1.0), factor)


class correlation(MatrixPlan):
    """Plan the correlation matrix of numeric columns, over the records that have a value in each.

    Guarantees:
      - A function of a released covariance matrix. [moments] [nearest-psd]

    >>> correlation(["age", "income"], epsilon=1)
    correlation(columns=['age', 'income'], clip=None, mechanism='auto', epsilon=1)
    """

    spread = 9.0  # values spread over a third of the range have a ninth of its square

    def of_moments(self, moments: Moments, noisy: FloatArray) -> Matrix:
        """See ``MatrixPlan``."""
        noisy_covariance = _or_zero(moments.covariances(noisy[None, :])[0])
        matrix = correlations(nearest_covariance(noisy_covariance)[None])[0]
        known = np.where(np.isnan(matrix), np.eye(len(self.columns)), matrix)
        draws = correlations(moments.covariances(plausible_sums(noisy, moments.stage.noise)))
        least = np.where(np.eye(len(self.columns), dtype=bool), 1.0, -1.0)
        return _matrix("correlation", moments, noisy, (known, draws), (least, 1.0), np.ones_like(known))


def correlations(covariances: FloatArray) -> FloatArray:
    """Return the correlations of many covariance matrices; NaN where a variance is not positive.

    >>> correlations(np.array([[[4.0, 1.0], [1.0, 1.0]]])).tolist()
    [[[1.0, 0.5], [0.5, 1.0]]]
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    deviations = np.sqrt(np.where(variances > 0, variances, np.nan))
    found = covariances / (deviations[:, :, None] * deviations[:, None, :])
    size = covariances.shape[1]
    found[:, range(size), range(size)] = 1.0
    return np.asarray(np.clip(found, -1.0, 1.0))


def _or_zero(matrix: FloatArray) -> FloatArray:
    """Return a matrix with zeros where noise left nothing."""
    return np.where(np.isnan(matrix), 0.0, matrix)


def _possible(matrix: FloatArray) -> FloatArray:
    """Return a scaled covariance with no variance above one, the greatest there is."""
    shrunk = 1 / np.sqrt(np.maximum(np.diag(matrix), 1.0))
    return np.asarray(np.clip(matrix * np.outer(shrunk, shrunk), -1.0, 1.0))


def _expected(moments: Moments, setting: Setting, spread: float) -> Expected:
    unknown: Unknown = None if setting.rows else "noise"
    half = moments.stage.noise.half_width(LEVEL) / (setting.rows or 1)
    return Expected(spread * half, 1.0, GREATEST, unknown=unknown)


def _matrix(
    quantity: str,
    moments: Moments,
    noisy: FloatArray,
    found: tuple[FloatArray, FloatArray],
    limits: tuple[FloatArray, float],
    factor: FloatArray,
) -> Matrix:
    """Return the result: values and draws in units of ``factor``, between limits in such units."""
    values, draws = found
    known = np.where(np.isnan(draws), values, draws)
    each, together = ends_of(draws, LEVEL), ends_of_all_of(values, draws)
    low, high, low_all, high_all = (
        factor * np.clip(end, *limits)
        for end in (
            np.minimum(each[0], values),
            np.maximum(each[1], values),
            np.minimum(together[0], values),
            np.maximum(together[1], values),
        )
    )
    return Matrix(
        columns=moments.columns,
        values=_table(factor * values),
        low=_table(low),
        high=_table(high),
        level=LEVEL,
        noise_std=float(np.mean(factor * np.clip(known, *limits).std(axis=0))),
        quantity=quantity,
        records=float(np.nan_to_num(moments.records(noisy[None, :])[0])),
        ends_all=(_table(low_all), _table(high_all)),
    )


def ends_of_all_of(values: FloatArray, draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ends for all entries of matrices at once."""
    size = values.shape
    low, high = ends_of_all(values.ravel(), draws.reshape(len(draws), -1), LEVEL)
    return low.reshape(size), high.reshape(size)


def _table(matrix: FloatArray) -> Table:
    return tuple(tuple(row) for row in np.asarray(matrix).tolist())
