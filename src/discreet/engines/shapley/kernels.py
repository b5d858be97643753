"""Compiled loops of the kernel engine.

A model whose first layer is a sum of columns needs no masked rows: for a coalition the sum splits into
the query's part (features in it) and the record's part (features outside). Features are cut into groups
of a few bits; per row and group a table holds the part of every pattern, and a coalition's part is one
look-up per group. Where the layer ends in a logistic curve the tables hold products of exponentials
instead of sums, so that no exponential is taken per coalition.

Every result for a record depends on its own row alone: sums run in a fixed order over public indices,
and a division by zero gives infinity, not an error (``error_model``).
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np

from discreet.compiling import njit
from discreet.engines.shapley.coalitions import BoolArray
from discreet.randomness import IntArray
from discreet.schema import FloatArray

NEAR = 300.0
"""Two exponentials of at most this size have a product inside the range of floats."""

TANH, LOGISTIC, RELU, IDENTITY = 0, 1, 2, 3


@njit(cache=True, nogil=True, error_model="numpy")
def fill_masked(
    queries: FloatArray,
    records: FloatArray,
    coalitions: BoolArray,
    first: int,
    out: FloatArray,
) -> None:
    """Write the masked rows of the pairs from ``first`` on: pair p is query p // n, record p % n."""
    pairs, count, width = out.shape
    for p in range(pairs):
        q, i = (first + p) // len(records), (first + p) % len(records)
        for k in range(count):
            for j in range(width):
                inside, outside = queries[q, j], records[i, j]
                out[p, k, j] = inside if coalitions[k, j] else outside


@njit(cache=True, nogil=True, error_model="numpy")
def fill_sums(parts: FloatArray, bits: int, table: FloatArray) -> None:
    """Write the sum of every pattern of every group of ``parts`` (features x units)."""
    groups, _, units = table.shape
    for g in range(groups):
        for u in range(units):
            table[g, 0, u] = 0.0
        for b in range(bits):
            j, size = g * bits + b, 1 << b
            for t in range(size):
                for u in range(units):
                    part = parts[j, u] if j < len(parts) else 0.0
                    table[g, size + t, u] = table[g, t, u] + part


@njit(cache=True, nogil=True, error_model="numpy")
def fill_products(parts: FloatArray, bits: int, table: FloatArray) -> None:
    """Write the product of every pattern of every group of ``parts`` (features x units)."""
    groups, _, units = table.shape
    for g in range(groups):
        for u in range(units):
            table[g, 0, u] = 1.0
        for b in range(bits):
            j, size = g * bits + b, 1 << b
            for t in range(size):
                for u in range(units):
                    part = parts[j, u] if j < len(parts) else 1.0
                    table[g, size + t, u] = table[g, t, u] * part


@njit(cache=True, nogil=True, error_model="numpy")
def look_up(table: FloatArray, codes: IntArray, multiply: bool, out: FloatArray) -> None:
    """Write every coalition's part (coalitions x units): its groups' entries, added or multiplied."""
    count, units = out.shape
    if units == 1:
        _look_up_one(table, codes, multiply, out)
        return
    for k in range(count):
        code = codes[0, k]
        for u in range(units):
            out[k, u] = table[0, code, u]
        for g in range(1, len(table)):
            code = codes[g, k]
            if multiply:
                for u in range(units):
                    out[k, u] *= table[g, code, u]
            else:
                for u in range(units):
                    out[k, u] += table[g, code, u]


@njit(cache=True, nogil=True, error_model="numpy")
def _look_up_one(table: FloatArray, codes: IntArray, multiply: bool, out: FloatArray) -> None:
    """Do the same for a single unit, coalition by coalition within a group."""
    for k in range(len(out)):
        out[k, 0] = table[0, codes[0, k], 0]
    for g in range(1, len(table)):
        if multiply:
            for k in range(len(out)):
                out[k, 0] *= table[g, codes[g, k], 0]
        else:
            for k in range(len(out)):
                out[k, 0] += table[g, codes[g, k], 0]


@njit(cache=True, nogil=True, error_model="numpy")
def first_layer(
    row: FloatArray,
    weights: FloatArray,
    bias: FloatArray,
    rate: float,
    bits: int,
    codes: IntArray,
    table: FloatArray,
    sums: FloatArray,
    products: FloatArray,
    want_sums: bool,
) -> bool:
    """Write a row's part of the first layer and say whether its exponentials are in range.

    ``rate`` is the curve's: products hold exp(-rate * sum); zero stands for curves without one.
    """
    width, units = weights.shape
    parts = np.empty((width, units))
    longest = 0.0
    for u in range(units):
        length = abs(bias[u])
        for j in range(width):
            parts[j, u] = row[j] * weights[j, u]
            length += abs(parts[j, u])
        longest = max(longest, length) if length == length else np.inf
    near = rate > 0.0 and rate * longest <= NEAR
    if want_sums or not near:
        fill_sums(parts, bits, table)
        look_up(table, codes, False, sums)
        for k in range(len(sums)):
            for u in range(units):
                sums[k, u] += bias[u]
    if near:
        for j in range(width):
            for u in range(units):
                parts[j, u] = np.exp(-rate * parts[j, u])
        fill_products(parts, bits, table)
        look_up(table, codes, True, products)
        for u in range(units):
            scale = np.exp(-rate * bias[u])
            if scale != 1.0:
                for k in range(len(products)):
                    products[k, u] *= scale
    return near


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _curved(
    query: FloatArray,
    record: FloatArray,
    outer: FloatArray,
    scale: float,
    shift: float,
    out: FloatArray,
) -> None:
    """Write shift + scale * sum_u outer_u / (1 + query_u record_u) of every coalition."""
    for k in range(len(out)):
        total = 0.0
        for u in range(len(outer)):
            total += outer[u] / (1.0 + query[k, u] * record[k, u])
        out[k] = shift + scale * total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _rectified(
    query: FloatArray, record: FloatArray, outer: FloatArray, shift: float, out: FloatArray
) -> None:
    """Write shift + sum_u outer_u max(0, query_u + record_u) of every coalition."""
    for k in range(len(out)):
        total = 0.0
        for u in range(len(outer)):
            score = query[k, u] + record[k, u]
            total += outer[u] * (0.0 if score < 0.0 else score)
        out[k] = shift + total


@njit(cache=True, nogil=True, error_model="numpy")
def _plain(
    query: FloatArray,
    record: FloatArray,
    outer: FloatArray,
    shift: float,
    activation: int,
    out: FloatArray,
) -> None:
    """Write shift + sum_u outer_u curve(query_u + record_u), one exponential per unit."""
    for k in range(len(out)):
        total = shift
        for u in range(len(outer)):
            score = query[k, u] + record[k, u]
            if activation == TANH:
                score = np.tanh(score)
            elif activation == LOGISTIC:
                score = 1.0 / (1.0 + np.exp(-score))
            total += outer[u] * score
        out[k] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _finish(values: FloatArray, logistic: bool, low: float, high: float, fill: float) -> None:
    """Apply the output's link and the bounds; NaN becomes ``fill``."""
    if logistic:
        for k in range(len(values)):
            values[k] = 1.0 / (1.0 + np.exp(-values[k]))
    for k in range(len(values)):
        value = values[k]
        if value != value:
            value = fill
        if value < low:
            value = low
        elif value > high:
            value = high
        values[k] = value


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    query: FloatArray,
    record: FloatArray,
    fast: bool,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    out: FloatArray,
) -> None:
    """Write bias + outer . curve(query part + record part) of every coalition.

    Parts are products of exponentials if ``fast``, else sums.
    """
    if fast and len(outer) == 1 and activation == LOGISTIC:
        top = outer[0]
        for k in range(len(out)):
            out[k] = outer_bias + top / (1.0 + query[k, 0] * record[k, 0])
    elif fast and activation == TANH:  # tanh(a) = 2 / (1 + exp(-2 a)) - 1
        shift = outer_bias
        for u in range(len(outer)):
            shift -= outer[u]
        _curved(query, record, outer, 2.0, shift, out)
    elif fast:
        _curved(query, record, outer, 1.0, outer_bias, out)
    elif activation == RELU:
        _rectified(query, record, outer, outer_bias, out)
    else:
        _plain(query, record, outer, outer_bias, activation, out)


@njit(cache=True, nogil=True, error_model="numpy")
def attribute(values: FloatArray, operator: FloatArray, out: FloatArray) -> None:
    """Add the attributions of one game; ``operator`` has one row per coalition."""
    for k in range(len(values)):
        value = values[k]
        for j in range(len(out)):
            out[j] += operator[k, j] * value


@njit(cache=True, nogil=True, error_model="numpy")
def attribute_pairs(values: FloatArray, operator: FloatArray, out: FloatArray) -> None:
    """Add the attributions of many games, one after the other: no sum sees another's numbers."""
    for p in range(len(values)):
        attribute(values[p], operator, out[p])


@njit(cache=True, nogil=True, error_model="numpy")
def add_pairs(values: FloatArray, first: int, records: int, totals: FloatArray) -> None:
    """Add every pair's values to its query's totals, one after the other, wherever a block ends."""
    for p in range(len(values)):
        query = (first + p) // records
        for c in range(values.shape[1]):
            totals[query, c] += values[p, c]


@njit(cache=True, nogil=True, error_model="numpy")
def run_records(
    rows: FloatArray,
    weights: FloatArray,
    rate: float,
    bits: int,
    codes: IntArray,
    query_sums: FloatArray,
    query_products: FloatArray,
    query_near: BoolArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    logistic: bool,
    limits: tuple[float, float, float],
    operator: FloatArray,
    totals: FloatArray,
    out: FloatArray,
) -> None:
    """Evaluate every query against every record, all coalitions at once.

    Adds the values to ``totals`` (queries x coalitions) if ``out`` (queries x records x features) is
    empty, else writes each record's attributions to ``out``.
    """
    count, units = codes.shape[1], weights.shape[1]
    table = np.empty((len(codes), 1 << bits, units))
    sums, products = np.empty((count, units)), np.empty((count, units))
    values, bias = np.empty(count), np.zeros(units)
    want_sums = False
    for near in query_near:
        want_sums = want_sums or not near
    for i in range(len(rows)):
        near = first_layer(rows[i], weights, bias, rate, bits, codes, table, sums, products, want_sums)
        for q in range(len(query_near)):
            if near and query_near[q]:
                evaluate(query_products[q], products, True, outer, outer_bias, activation, values)
            else:
                evaluate(query_sums[q], sums, False, outer, outer_bias, activation, values)
            _finish(values, logistic, limits[0], limits[1], limits[2])
            if out.size:
                attribute(values, operator, out[q, i])
            else:
                for k in range(count):
                    totals[q, k] += values[k]
