"""Inequalities over all integers and reals, settled by z3; a fault gives a counterexample.

Vectors of any length are known by their norms (``Vector``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

_WORK = 10**8
"""Steps a proof may take: seconds would depend on who else is at work."""


def proved(claim: Any, *given: Any) -> None:
    """Fail unless the claim follows from what is given, for all values of all variables.

    What is given must be possible: from a contradiction everything follows.
    """
    assert _found(*given) is not None, f"nothing fulfils {given}"
    model = _found(*given, z3.Not(claim))
    assert model is None, f"{claim} does not hold at {model}"


def counterexample(claim: Any, *given: Any) -> Any:
    """Return values with which the claim fails, or fail if there are none."""
    model = _found(*given, z3.Not(claim))
    assert model is not None, f"{claim} has no counterexample"
    return model


def exact(value: float | Fraction) -> Any:
    """Return a float as the rational number it is."""
    ratio = Fraction(value)
    return z3.Q(ratio.numerator, ratio.denominator)


def size_of(term: Any) -> Any:
    """Return the absolute value."""
    return z3.If(term >= 0, term, -term)


def greatest(*terms: Any) -> Any:
    """Return the greatest of some terms; plain numbers stay plain."""
    best = terms[0]
    for term in terms[1:]:
        above = term > best
        best = (term if above else best) if isinstance(above, bool) else z3.If(above, term, best)
    return best


def least(*terms: Any) -> Any:
    """Return the least of some terms."""
    return -greatest(*(-term for term in terms))


def rounded(real: Any, name: str) -> tuple[Any, Any]:
    """Return a whole number within half a step of a real one, and the fact that it is: rounding."""
    whole = z3.Int(name)
    return z3.ToReal(whole), size_of(z3.ToReal(whole) - real) <= z3.Q(1, 2)


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


def _found(*terms: Any) -> Any:
    solver = z3.Solver()
    solver.set("rlimit", _WORK)
    solver.add(*terms)
    answer = solver.check()
    assert answer != z3.unknown, f"the solver does not know: {solver.reason_unknown()}"
    return solver.model() if answer == z3.sat else None
