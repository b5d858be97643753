"""Compiled pieces of the H-statistic: answers from scores, means over tables, shares of variance.

A *table* of scores has a row per donor and a column per row that gets the donor's values. Everything
is computed subset by subset, in an order that depends on the sizes of the subset alone.

*Networks.* A donor's value takes the place of a row's own, so the first layer moves along one row of
weights. Where the layer ends in a logistic curve sums become products of exponentials, which are taken
once per row and feature, not once per pair of rows. Vector instructions run along the rows.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.schema import FloatArray

_LEAST, _MOST = -708.0, 709.0
_PER_LOG_2 = 1.4426950408889634
_LOG_2, _LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDS = 6755399441055744.0
"""1.5 * 2^52: adding it rounds to a whole number, which then stands in the lowest bits."""

TANH, LOGISTIC, RELU = 0, 1, 2
_NEAR_LAYER, _NEAR_PART = 110.0, 60.0
"""Exponents up to here: two features moved there and back leave the layer's within 350, half the range
of floats, so that two units can share a division."""


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


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_layer(
    columns: FloatArray, weights: FloatArray, bias: FloatArray, parts: FloatArray, layer: FloatArray
) -> None:
    """Write every feature's part of the first layer (features x units x rows) and their sum."""
    width, units, size = parts.shape
    for u in range(units):
        total = layer[u]
        for i in range(size):
            total[i] = bias[u]
        for j in range(width):
            weight, column, part = weights[j, u], columns[j], parts[j, u]
            for i in range(size):
                part[i] = weight * column[i]
                total[i] += part[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _exponentials(values: FloatArray, rate: float, most: float, out: FloatArray) -> bool:
    """Write exp(-rate value) of every value; say whether no exponent is greater than ``most``."""
    far = 0
    for k in range(len(values)):
        far |= not abs(rate * values[k]) <= most
    for k in range(len(values)):
        out[k] = exponential(-rate * values[k])
    return far == 0


@njit(cache=True, nogil=True, error_model="numpy")
def _part(
    whole: FloatArray,
    parts: FloatArray,
    places: NDArray[np.int64],
    products: bool,
    rest: FloatArray,
    donors: FloatArray,
) -> None:
    """Part the first layer in what some features give (the second may be -1) and the rest.

    Where all are exponentials, ``products``, sums are products.
    """
    j, k = places
    for u in range(len(whole)):
        first, second, total = parts[j, u], parts[k, u], whole[u]
        given, left = donors[u], rest[u]
        if k < 0:
            for i in range(len(total)):
                given[i] = first[i]
        elif products:
            for i in range(len(total)):
                given[i] = first[i] * second[i]
        else:
            for i in range(len(total)):
                given[i] = first[i] + second[i]
        if products:
            for i in range(len(total)):
                left[i] = total[i] / given[i]
        else:
            for i in range(len(total)):
                left[i] = total[i] - given[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_curved(
    rest: FloatArray, donors: FloatArray, outer: FloatArray, shift: float, table: FloatArray
) -> None:
    """Write shift + the sum over units of outer / (1 + rest donor); two units share a division."""
    odd = len(outer) % 2
    for m in range(len(table)):
        out = table[m]
        if odd:
            top, donor, own = outer[0], donors[0, m], rest[0]
            for i in range(len(out)):
                out[i] = shift + top / (1.0 + own[i] * donor)
        else:
            for i in range(len(out)):
                out[i] = shift
        for u in range(odd, len(outer), 2):
            top, donor, own = outer[u], donors[u, m], rest[u]
            top_, donor_, own_ = outer[u + 1], donors[u + 1, m], rest[u + 1]
            for i in range(len(out)):
                a, b = 1.0 + own[i] * donor, 1.0 + own_[i] * donor_
                out[i] += (top * b + top_ * a) / (a * b)


@njit(cache=True, nogil=True, error_model="numpy")
def add_plain(
    rest: FloatArray,
    donors: FloatArray,
    outer: FloatArray,
    shift: float,
    activation: int,
    table: FloatArray,
) -> None:
    """Write shift + the sum over units of outer curve(rest + donor), whatever the curve."""
    for m in range(len(table)):
        out = table[m]
        for i in range(len(out)):
            out[i] = shift
        for u in range(len(outer)):
            top, donor, own = outer[u], donors[u, m], rest[u]
            if activation == TANH:
                for i in range(len(out)):
                    out[i] += top * np.tanh(own[i] + donor)
            elif activation == LOGISTIC:
                for i in range(len(out)):
                    out[i] += top / (1.0 + np.exp(-(own[i] + donor)))
            elif activation == RELU:
                for i in range(len(out)):
                    score = own[i] + donor
                    out[i] += top * (0.0 if score < 0.0 else score)
            else:
                for i in range(len(out)):
                    out[i] += top * (own[i] + donor)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _average(table: FloatArray, terms: FloatArray, given: FloatArray, others: FloatArray) -> None:
    """Write the mean of every donor's answers and of every row's."""
    size = len(others)
    for i in range(size):
        others[i] = 0.0
    for m in range(size):
        row, total = table[m], 0.0
        for i in range(size):
            total += row[i]
            others[i] += row[i]
        given[m] = total / size
    for i in range(size):
        others[i] /= size
    in_units(given, terms)
    in_units(others, terms)


@njit(cache=True, nogil=True, error_model="numpy")
def replace_in_network(
    columns: FloatArray,
    starts: NDArray[np.int64],
    sets: NDArray[np.int64],
    weights: FloatArray,
    bias: FloatArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    rate: float,
    logistic: bool,
    terms: FloatArray,
    own: FloatArray,
    given: FloatArray,
    others: FloatArray,
) -> None:
    """Write the answers, and the means over rows and over donors of every set of features.

    ``columns`` has a row per feature, ``starts`` tells subsets of rows apart, ``sets`` has two features
    in a row, the second -1 for one alone. ``rate`` is that of the curve's exponential, zero for curves
    without one.
    """
    width, units = weights.shape
    near = np.zeros(width, np.bool_)
    curved, shift = outer, outer_bias
    if activation == TANH:  # tanh(a) = 2 / (1 + exp(-2 a)) - 1
        curved = 2.0 * outer
        for u in range(units):
            shift -= outer[u]
    for b in range(len(starts) - 1):
        first, after = starts[b], starts[b + 1]
        size = after - first
        parts, layer = np.empty((width, units, size)), np.empty((units, size))
        rest, donors = np.empty((units, size)), np.empty((units, size))
        table = np.empty((size, size))
        _fill_layer(columns[:, first:after], weights, bias, parts, layer)
        factors, curves = parts, layer
        if rate > 0.0:
            factors, curves = np.empty(parts.shape), np.empty(layer.shape)
            alike = _exponentials(layer.reshape(-1), rate, _NEAR_LAYER, curves.reshape(-1))
            for j in range(width):
                part, factor = parts[j].reshape(-1), factors[j].reshape(-1)
                near[j] = _exponentials(part, rate, _NEAR_PART, factor) and alike
        for t in range(len(sets)):
            j, k = sets[t]
            if near[j] and (k < 0 or near[k]):
                _part(curves, factors, sets[t], True, rest, donors)
                add_curved(rest, donors, curved, shift, table)
            else:
                _part(layer, parts, sets[t], False, rest, donors)
                add_plain(rest, donors, outer, outer_bias, activation, table)
            finish(table.reshape(-1), logistic, terms)
            _average(table, terms, given[t, first:after], others[t, first:after])
            if t == 0:
                for i in range(size):
                    own[first + i] = table[i, i]
    in_units(own, terms)
