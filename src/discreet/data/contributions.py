"""What one record adds to an answer: a bounded vector, or one cell of a count.

Nearly every answer is a sum over records of something one record contributes. Saying what that is,
and where it lies, is all a plan has to do; summing, rounding and noise are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.certificates import Ball, Box, Certificate, certify_cells
from discreet.data.blocks import Block
from discreet.schema import FloatArray


@dataclass(frozen=True)
class VectorContribution:
    """Every record adds a vector of ``size`` numbers inside ``region``.

    Args:
      columns: the columns ``compute`` reads.
      size: length of the vector.
      region: the box or ball each vector is clipped to.
      fill: what NaN becomes before clipping; public.
      compute: a block's vectors, one row each.
      foreign: whether ``compute`` calls code that is not ours (a model). Then it may answer
        differently in the last bits with other rows in the block, may warn and may print; it runs
        alone, on one thread, with its output dropped, and the certificate pays for the last bits.
      grain: how far an answer may move with other rows in the block, if more than one lattice step.
      proven: a certificate of the exact sum that says more than the region does; clipping to the
        region moves no two vectors apart, so it stays true.
    """

    columns: tuple[str, ...]
    size: int
    region: Box | Ball
    fill: float
    compute: Callable[[Block], FloatArray]
    foreign: bool = False
    grain: float = 0.0
    proven: Certificate | None = None

    @property
    def certificate(self) -> Certificate:
        """The certificate of the exact sum."""
        return self.region.certify(self.size) if self.proven is None else self.proven


@dataclass(frozen=True)
class CellContribution:
    """Every record adds one to exactly one of ``size`` cells.

    Guarantees:
      - Whole numbers throughout: no rounding, whatever the order of rows. [pattern-counts]
    """

    columns: tuple[str, ...]
    size: int
    index: Callable[[Block], NDArray[np.int64]]

    foreign = False

    @property
    def certificate(self) -> Certificate:
        """The certificate of the counts."""
        return certify_cells(self.size)


@dataclass(frozen=True)
class SealedContribution:
    """One vector made from a sealed query; no row of the table is read.

    ``proven`` is for neighbouring *queries*, under the relation's name "replace-one".
    """

    size: int
    region: Box
    fill: float
    compute: Callable[[], FloatArray]
    proven: Certificate

    columns = ()
    foreign = False

    @property
    def certificate(self) -> Certificate:
        """The certificate of the vector."""
        return self.proven


Contribution = VectorContribution | CellContribution | SealedContribution
