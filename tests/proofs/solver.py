"""Inequalities over all integers and reals, settled by z3; a fault gives a counterexample."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

_MILLISECONDS = 10_000


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


def _found(*terms: Any) -> Any:
    solver = z3.Solver()
    solver.set("timeout", _MILLISECONDS)
    solver.add(*terms)
    answer = solver.check()
    assert answer != z3.unknown, f"the solver does not know: {solver.reason_unknown()}"
    return solver.model() if answer == z3.sat else None
