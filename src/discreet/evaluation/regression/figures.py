"""From the noisy sums of a group to its errors, each with an interval.

Every error is a function of a ratio of two noisy sums: of residuals over records, of squared residuals
over the target's squared distances from its mean. Squared residuals vary by their fourth moment, which
the table of residuals bounds, squared distances by what the target's range allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.evaluation.figures import FAR, Figure, ratio_figure
from discreet.evaluation.regression.result import CellResiduals, ErrorReport
from discreet.evaluation.regression.sums import CENTRES, ErrorSums
from discreet.mechanisms import Noise
from discreet.schema import Bins, FloatArray

BIAS, ABSOLUTE, SQUARE, FIRST, SECOND = range(5)


@dataclass(frozen=True)
class GroupSums:
    """What was released of a group, or of several added up.

    Args:
      layout: of the vector.
      sums: with noise, every number in its own unit.
      noise: on them, before they were divided by their weights.
      blocks: how many groups were added up.
      rows: the public number of records, None if it is private.
      level: of intervals.
    """

    layout: ErrorSums
    sums: FloatArray
    noise: Noise
    blocks: int
    rows: int | None
    level: float

    def report(self, group: tuple[str, ...]) -> ErrorReport:
        """Return the errors of the group, in the unit of the target."""
        mae, rmse, r2, bias = self.errors()
        return ErrorReport(
            group=group,
            records=self.records,
            mae=mae,
            rmse=rmse,
            r2=r2,
            bias=bias,
            counts=tuple(self.sums[self.layout.parts["distribution"]].tolist()),
            residuals=tuple(self._cells(*feature) for feature in self.layout.features.items()),
        )

    def errors(self) -> tuple[Figure, Figure, Figure, Figure]:
        """Return mean absolute error, root of the mean square, R2 and bias."""
        length, half = self.layout.length, self.layout.scale[1]
        square = self._mean(SQUARE, self._fourth - self._shares[SQUARE] ** 2)
        spread = max(square.high - self._shares[BIAS] ** 2, 0.0)
        absolute = self._mean(ABSOLUTE, max(square.high - self._shares[ABSOLUTE] ** 2, 0.0))
        return (
            _through(absolute, lambda share: share * length),
            _through(square, lambda share: math.sqrt(max(share, 0.0)) * length),
            _through(self._unexplained(), lambda share: 1 - share * (length / half) ** 2),
            _through(self._mean(BIAS, spread), lambda share: share * length),
        )

    @property
    def records(self) -> Figure:
        """The number of records, with the noise on it."""
        radius = 0.0 if self.rows is not None else self._z * math.sqrt(self._variance(self._own(0)))
        count = float(self.rows if self.rows is not None else self.sums[0])
        return Figure(count, count - radius, count + radius, radius, 0.0, 0.0, self.level).within(
            0.0, math.inf
        )

    @cached_property
    def _size(self) -> float:
        return max(float(self.rows if self.rows is not None else self.sums[0]), 1.0)

    @cached_property
    def _z(self) -> float:
        return self.noise.half_width_of_sums(self.level) / self.noise.std

    @cached_property
    def _sums(self) -> FloatArray:
        """The five sums, no longer measured from their centres."""
        return self.sums[self.layout.parts["moments"]] + self._size * np.asarray(CENTRES)

    @cached_property
    def _shares(self) -> FloatArray:
        """The five means, brought to where they can be."""
        least = np.array([-1.0, 0.0, 0.0, -1.0, 0.0])
        return np.clip(self._sums / self._size, least, 1.0)

    def _own(self, place: int, weight: float = 1.0) -> FloatArray:
        """Return the weights that pick one number of a block."""
        found = np.zeros(self.layout.block)
        found[place] = weight
        return found

    def _moment(self, *weights: float) -> FloatArray:
        """Return the weights of a sum of moments; a private number of records has a part in it."""
        found = np.zeros(self.layout.block)
        found[self.layout.parts["moments"]] = weights
        if self.rows is None:
            found[0] = float(np.asarray(weights) @ np.asarray(CENTRES))
        return found

    def _variance(self, weights: FloatArray, others: FloatArray | None = None) -> float:
        """Return the variance of the noise on a sum of numbers of the block, or a covariance."""
        both = weights * (weights if others is None else others)
        return float((both / self.layout.scales**2).sum()) * self.blocks * self.noise.std**2

    def _ratio(
        self,
        top: FloatArray,
        below: FloatArray,
        values: tuple[float, float],
        sampling: Callable[[float], float],
        ends: tuple[float, float],
    ) -> Figure:
        from scipy.special import ndtri

        noise = self._variance(top), self._variance(top, below), self._variance(below)
        figure = ratio_figure(
            *values,
            noise=noise,
            sampling=sampling,
            z=self._z,
            z_sampling=float(ndtri(0.5 + self.level / 2)),
            range_=ends,
        )
        return replace(figure, level=self.level)

    def _mean(self, place: int, variance: float) -> Figure:
        """Return a scaled mean, of numbers that vary by this much among records."""
        top = self._moment(*np.eye(5)[place])
        below = self._own(0, float(self.rows is None)) if self.layout.counted else 0 * top
        ends = (-1.0 if place in (BIAS, FIRST) else 0.0, 1.0)
        spread = self._size * max(variance, 0.0)
        values = float(self._sums[place]), self._size
        return self._ratio(top, below, values, lambda _: spread, ends)

    @cached_property
    def _fourth(self) -> float:
        """The fourth moment of scaled residuals, at most: cells at their farther ends."""
        edges = np.abs(np.asarray(self.layout.edges)) / self.layout.length
        far = edges if self.layout.soft else np.maximum(edges[:-1], edges[1:])
        counts = np.maximum(self.sums[self.layout.parts["distribution"]], 0.0)
        found = float(counts @ far**4) / max(float(counts.sum()), 1.0)
        radius = self._z * math.sqrt(self._variance(self._moment(*np.eye(5)[SQUARE]))) / self._size
        return min(found, float(self._shares[SQUARE]) + radius)

    def _unexplained(self) -> Figure:
        """Return the ratio of squared residuals and the target's squared distances from its mean."""
        first = float(self._shares[FIRST])
        top, below = self._moment(*np.eye(5)[SQUARE]), self._moment(0, 0, 0, -2 * first, 1)
        if self.rows is None:
            below[0] += first**2
        distances = max(float(self._sums[SECOND]) - self._size * first**2, 0.0)
        own = max(self._fourth - float(self._shares[SQUARE]) ** 2, 0.0)
        # No scaled target is farther from the mean than this, which bounds its fourth moment.
        share = distances / self._size
        other = max((1 + abs(first)) ** 2 * share - share**2, 0.0)

        def sampling(ratio: float) -> float:
            return self._size * (math.sqrt(own) + ratio * math.sqrt(other)) ** 2

        values = float(self._sums[SQUARE]), distances
        found = self._ratio(top, below, values, sampling, (0.0, FAR))
        # A target that may not vary at all explains nothing, and nothing is known of the rest.
        even = (self.layout.scale[1] / self.layout.length) ** 2
        return found if found.high < FAR else replace(found, value=min(even, found.value))

    def _cells(self, name: str, cells: Bins) -> CellResiduals:
        start, count = self.layout.parts[f"residuals of {name}"].start, len(cells)
        sizes, sums, squares = self.sums[start : start + 3 * count].reshape(3, count).tolist()
        length, figures = self.layout.length, []
        for place, (size, total, square) in enumerate(zip(sizes, sums, squares, strict=True)):
            # At most: where squares are mostly noise, so is the mean.
            radius = self._z * math.sqrt(self._variance(self._own(start + 2 * count + place)))
            most = min(max(square, 0.0) + radius, max(size, 1.0))

            def sampling(
                r: float, size: float = size, total: float = total, most: float = most
            ) -> float:
                return most - 2 * r * total + r * r * size

            top, below = self._own(start + count + place), self._own(start + place)
            figure = self._ratio(top, below, (total, size), sampling, (-1.0, 1.0))
            figures.append(_through(figure, lambda share: share * length))
        return CellResiduals(name, cells.labels, cells.edges, tuple(sizes), tuple(figures))


def _through(figure: Figure, change: Callable[[float], float]) -> Figure:
    """Return a monotone function of a figure: its ends go where the function takes them."""
    ends = sorted((change(figure.low), change(figure.high)))

    def radius(half: float) -> float:
        return abs(change(figure.value + half) - change(figure.value - half)) / 2

    value, noise, sampling = change(figure.value), radius(figure.noise), radius(figure.sampling)
    return Figure(value, ends[0], ends[1], noise, sampling, 0.0, figure.level)
