"""What is measured of a table of counts: entropies of any order, conditional ones, mutual information.

A ``Measure`` computes the number from counts (in nats), knows how far one record moves it and how far
floats can be from the true value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.numerics import up
from discreet.schema import FloatArray
from discreet.tables.entropy.bounds import (
    bound_entropy,
    bound_entropy_above,
    bound_information,
    bound_information_above,
)

Quantity = Literal["entropy", "conditional entropy", "mutual information"]

FLOAT_ERROR = 2.0**-44
"""Nats by which a computed entropy can be off; divided by the distance of the order from 1."""


@dataclass(frozen=True)
class Measure:
    """One quantity of a table with cells of this shape.

    Args:
      quantity: what is measured; a conditional entropy is that of the second axis given the first.
      shape: cells per axis; one axis for an entropy, however many columns make the cells.
      order: of the Rényi entropy; 1 is Shannon's, infinity the min-entropy.
    """

    quantity: Quantity
    shape: tuple[int, ...]
    order: float = 1.0

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def statements(self) -> tuple[str, ...]:
        """What the bounds rest on."""
        if self.quantity != "entropy":
            return ("entropy-joint",)
        return ("entropy-shannon",) if self.order == 1 else ("entropy-renyi",)

    @property
    def greatest(self) -> float:
        """The greatest value, in nats."""
        return math.log(max(2, *self.shape))

    @property
    def float_error(self) -> float:
        """How far a computed value can be from the true one."""
        entropies = 1 if self.quantity == "entropy" else 3
        return entropies * FLOAT_ERROR / min(1.0, abs(self.order - 1) or 1.0)

    def __call__(self, counts: FloatArray) -> FloatArray:
        """Return the quantity in nats; the cells are the last axis, and no count is negative."""
        if self.quantity == "entropy":
            return renyi_entropy(counts, self.order)
        tables = counts.reshape(*counts.shape[:-1], *self.shape)
        joint = renyi_entropy(counts, 1.0)
        first = renyi_entropy(tables.sum(axis=-1), 1.0)
        if self.quantity == "conditional entropy":
            return np.asarray(joint - first)
        return np.asarray(first + renyi_entropy(tables.sum(axis=-2), 1.0) - joint)

    def bound(self, rows: int) -> float:
        """Return how far replacing a record moves the computed value.

        Guarantees:
          - The exact bound, and twice what floats can be off. [entropy-shannon] [entropy-renyi]
            [entropy-joint]
        """
        if self.quantity == "mutual information":
            exact = bound_information(rows)
        else:  # a conditional entropy moves as far as an entropy
            exact = bound_entropy(rows, self.cells, self.order)
        return up(exact + 2 * self.float_error)

    def bound_above(self, floor: int) -> float:
        """Return how far a record that comes or goes moves the value of a table filled to ``floor``.

        Guarantees:
          - At least the change of any pair of neighbours. [entropy-add-remove] [entropy-joint]
        """
        if self.quantity == "mutual information":
            exact = bound_information_above(floor)
        else:
            exact = bound_entropy_above(floor, self.cells, self.order)
        return up(exact + 2 * self.float_error)


def renyi_entropy(counts: FloatArray, order: float) -> FloatArray:
    """Return the entropy of counts along the last axis, in nats; zero where there are none.

    >>> renyi_entropy(np.array([[4.0, 4.0], [8.0, 0.0]]), 2.0).round(6).tolist()
    [0.693147, 0.0]
    """
    totals = np.maximum(counts.sum(axis=-1), 1e-300)
    largest = np.maximum(counts.max(axis=-1), 1e-300)
    if order == 1:
        shares = counts / totals[..., None]
        logs = np.log(np.maximum(counts, 1e-300) / totals[..., None])
        found = -np.sum(np.where(counts > 0, shares * logs, 0.0), axis=-1)
    elif math.isinf(order):
        found = np.log(totals / largest)
    else:
        scaled = (counts / largest[..., None]) ** order
        power = np.log(np.maximum(np.sum(np.where(counts > 0, scaled, 0.0), axis=-1), 1e-300))
        found = (power - order * np.log(totals / largest)) / (1 - order)
    return np.asarray(np.maximum(np.where(totals > 1e-300, found, 0.0), 0.0))
