"""Noise on cells, some of whose sums were released by themselves, and what both say together.

A rate adds up many cells, and so their noise. The few sums that most questions are about, the records
on either side of the threshold where answers turn, are released beside the cells, with noise of their
own. Least squares makes one estimate of both: cells move so that their sums come nearer to those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.schema import FloatArray

_LEAST = 1e-3
"""Sums count as no better known than so many of a cell's deviations: less would be lost to rounding."""


@dataclass(frozen=True)
class CellNoise:
    """The noise on every cell: independent, of one deviation; and that on sums of them.

    Args:
      std: standard deviation of the noise on a cell as it was released.
      normal: whether it is normal; else it has Laplace's tails.
      above: whether a cell is above the threshold, for those that were added up on either side of it;
        none if there are no such sums.
      anchor_std: standard deviation of the noise on such a sum.
    """

    std: float
    normal: bool
    above: tuple[bool, ...] = ()
    anchor_std: float = math.inf

    def quantile(self, level: float) -> float:
        """Return how many deviations noise, or a weighted sum of noises, is out at the most.

        Of all sums of Laplace noises a single one is the farthest out.
        """
        from scipy.special import ndtri

        return float(ndtri(0.5 + level / 2)) if self.normal else -math.log1p(-level) / math.sqrt(2)

    @cached_property
    def sides(self) -> FloatArray:
        """Which cells are below and which above the threshold: two columns of zeros and ones."""
        above = np.asarray(self.above, dtype=bool)
        return np.column_stack([~above, above]).astype(np.float64)

    @cached_property
    def _pull(self) -> FloatArray:
        """How far every cell of a side moves per record that its sum is off."""
        ratio = max(self.anchor_std / self.std, _LEAST) if self.std > 0 else math.inf
        return np.asarray(1.0 / (self.sides.sum(axis=0) + ratio**2))

    def estimate(self, cells: FloatArray, anchors: FloatArray) -> FloatArray:
        """Return the cells that cells and sums agree on best, by their noise.

        Args:
          cells: noisy, scores along the last axis.
          anchors: noisy sums of the cells on either side.
        """
        off = anchors - cells @ self.sides
        return np.asarray(cells + (off * self._pull) @ self.sides.T)

    def over(
        self,
        groups: int,
        added: FloatArray,
        anchors: FloatArray,
        overall: FloatArray,
        overall_std: float,
    ) -> tuple[FloatArray, CellNoise]:
        """Return the cells of all records that everything which tells of them agrees on, by its noise.

        Args:
          groups: how many there are.
          added: noisy cells, added up over groups.
          anchors: noisy sums of the cells on either side, added up over groups.
          overall: noisy cells of all records.
          overall_std: standard deviation of the noise on one of these.
        """
        of_groups, own = groups * self.std**2, overall_std**2
        weight = of_groups / max(of_groups + own, math.ulp(0.0))
        noise = replace(
            self, std=math.sqrt(weight * own), anchor_std=self.anchor_std * math.sqrt(groups)
        )
        return noise.estimate(added + weight * (overall - added), anchors), noise

    def to_total(self, cells: FloatArray, total: float) -> FloatArray:
        """Return the cells moved to a public sum of all, those most that may be off most."""
        each = np.broadcast_to(self._alone(np.ones(cells.shape[-1])), cells.shape)
        return np.asarray(cells + (total - cells.sum()) * each / each.sum())

    def covariance(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance of two weighted sums of one group's cells."""
        return self.std**2 * float(np.sum(first * self._alone(second)))

    def _alone(self, weights: FloatArray) -> FloatArray:
        """Return weights less what the sums of their cells are known by."""
        if not self.above:
            return weights
        return np.asarray(weights - (weights @ self.sides * self._pull) @ self.sides.T)
