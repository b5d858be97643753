"""Compiled pieces of the H-statistic: answers from scores, means over tables, shares of variance.

A *table* of scores has a row per donor and a column per row that gets the donor's values. Everything
is computed subset by subset, in an order that depends on the sizes of the subset alone.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.schema import FloatArray

_LEAST, _MOST = -708.0, 709.0
_PER_LOG_2 = 1.4426950408889634
_LOG_2, _LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDS = 6755399441055744.0
"""1.5 * 2^52: adding it rounds to a whole number, which then stands in the lowest bits."""


@intrinsic
def _power_of_2(typing_context: Any, rounded: Any) -> Any:
    """Return 2^n, where n was made whole by adding ``_ROUNDS``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        exponent = builder.shl(builder.bitcast(arguments[0], whole), ir.Constant(whole, 52))
        bits = builder.add(exponent, ir.Constant(whole, 1023 << 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


@njit(cache=True, nogil=True, error_model="numpy")
def exponential(x: float) -> float:
    """Return exp(x) up to a few last bits; exponents out of range are brought to its ends.

    Unlike calls of a library it becomes vector instructions: 2^n is made of bits, and exp(r) for
    abs(r) <= log(2) / 2 is the Taylor polynomial of degree 13, which is 4e-18 off.
    """
    x = _LEAST if x < _LEAST else x  # NaN stays
    x = _MOST if x > _MOST else x
    rounded = x * _PER_LOG_2 + _ROUNDS
    whole = rounded - _ROUNDS
    r = (x - whole * _LOG_2) - whole * _LOG_2_REST
    r2 = r * r
    r4 = r2 * r2
    a = (r * (1 / 6227020800.0) + 1 / 479001600.0) * r2 + (r * (1 / 39916800.0) + 1 / 3628800.0)
    b = (r * (1 / 362880.0) + 1 / 40320.0) * r2 + (r * (1 / 5040.0) + 1 / 720.0)
    c = (r * (1 / 120.0) + 1 / 24.0) * r2 + (r * (1 / 6.0) + 0.5)
    power: float = _power_of_2(rounded)
    return (1.0 + (r + r2 * (c + r4 * (b + r4 * a)))) * power


@njit(cache=True, nogil=True, error_model="numpy")
def finish(scores: FloatArray, logistic: bool, terms: FloatArray) -> None:
    """Turn scores into answers within the bounds.

    ``terms`` are the least and the greatest answer, what NaN becomes, and the unit of means measured
    from there.
    """
    low, high, fill, _ = terms
    if logistic:
        for k in range(len(scores)):
            scores[k] = 1.0 / (1.0 + exponential(-scores[k]))
    for k in range(len(scores)):
        answer = scores[k]
        answer = fill if answer != answer else answer
        answer = low if answer < low else answer
        scores[k] = high if answer > high else answer


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def mean(values: FloatArray) -> float:
    """Return the mean, added up in an order that depends on the length alone."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


@njit(cache=True, nogil=True, error_model="numpy")
def in_units(values: FloatArray, terms: FloatArray) -> None:
    """Measure answers from the middle of their bounds, in half the width of these."""
    for k in range(len(values)):
        values[k] = (values[k] - terms[2]) * terms[3]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _squares(values: FloatArray) -> float:
    """Return the sum of squared distances from the mean."""
    centre, total = mean(values), 0.0
    for value in values:
        total += (value - centre) * (value - centre)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def score(
    wholes: FloatArray,
    parts: tuple[FloatArray, FloatArray],
    index: NDArray[np.int64],
    own: FloatArray,
    starts: NDArray[np.int64],
    least: tuple[float, float],
    out: FloatArray,
) -> None:
    """Write the share of every whole's variance that is not a sum of its two parts, subset by subset.

    ``index`` has a row for every share: the places of the whole and of either part. What is left counts
    as nothing if it is at most ``least[0]`` of the variance of ``own``, or ``least[1]`` of a row.
    """
    for b in range(len(starts) - 1):
        first, after = starts[b], starts[b + 1]
        left = np.empty(after - first)
        nothing = max(least[0] * _squares(own[first:after]), least[1] * len(left))
        for t in range(len(index)):
            whole = wholes[index[t, 0], first:after]
            one, two = parts[0][index[t, 1], first:after], parts[1][index[t, 2], first:after]
            for i in range(len(left)):
                left[i] = whole[i] - one[i] - two[i]
            squares = _squares(left)
            share = squares / max(_squares(whole), nothing)
            out[b, t] = share if squares > nothing else 0.0
        if after - first < 2:
            out[b] = np.nan
