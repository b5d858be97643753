"""Vectors of any length, known by their norms: what a solver needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from tests.proofs.solver import greatest, size_of


@dataclass(frozen=True)
class Vector:
    """The number of coordinates, the L1 norm, the square of the L2 norm and the Linf norm."""

    size: Any
    l1: Any
    square: Any
    linf: Any

    @classmethod
    def any(cls, name: str) -> Vector:
        """Return a vector of which nothing is known yet."""
        return cls(*z3.Reals(f"{name}_size {name}_l1 {name}_square {name}_linf"))

    @classmethod
    def of(cls, *coordinates: Any) -> Vector:
        """Return the vector of these coordinates."""
        sizes = [size_of(x) for x in coordinates]
        squares = sum(x * x for x in coordinates)
        return cls(z3.RealVal(len(coordinates)), sum(sizes), squares, greatest(*sizes))

    def longer(self, coordinate: Any) -> Vector:
        """Return the vector with one coordinate more."""
        size = size_of(coordinate)
        linf = greatest(self.linf, size)
        return Vector(self.size + 1, self.l1 + size, self.square + coordinate * coordinate, linf)

    @property
    def norms(self) -> dict[str, Any]:
        """What holds of the norms of every vector, by name. [norms]"""
        return {
            "linf <= l2": self.linf * self.linf <= self.square,
            "l2 <= l1": self.square <= self.l1 * self.l1,
            "l1 <= m linf": self.l1 <= self.size * self.linf,
            "l2 <= sqrt(m) linf": self.square <= self.size * self.linf * self.linf,
            "l1 <= sqrt(m) l2": self.l1 * self.l1 <= self.size * self.square,
            "l2^2 <= l1 linf": self.square <= self.l1 * self.linf,
            "signs": z3.And(self.size >= 1, self.l1 >= 0, self.square >= 0, self.linf >= 0),
        }

    @property
    def facts(self) -> list[Any]:
        """The same, as assumptions."""
        return list(self.norms.values())

    def within(self, bounds: Any) -> Any:
        """Say that no norm exceeds the bounds."""
        return z3.And(*self.each_within(bounds))

    def each_within(self, bounds: Any) -> list[Any]:
        """Say the same norm by norm; the bound in L2 is compared by squares."""
        return [self.l1 <= bounds.l1, self.square <= bounds.l2 * bounds.l2, self.linf <= bounds.linf]
