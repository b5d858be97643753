"""Compiled answers of networks with one hidden layer, over a grid and around a row's own value.

What features that are not varied give to the first layer is summed once per row; a point of the grid
adds its own part. Where the layer ends in a logistic curve, exponentials are taken once per row and
once per point, and the sum of both parts becomes their product.

A row's answers are a function of the row alone, to the last bit: everything is added unit by unit and
feature by feature in one order, vector instructions run along the rows, none of which sees another, and
``exponential`` is made of sums and products, which round alike in every lane. Tiles are always full:
the last one has rows of zeros at its end.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.engines.kernels.interact import exponential
from discreet.engines.kernels.interact_network import LOGISTIC, RELU, TANH, add_curved, add_plain
from discreet.schema import FloatArray

_TILE = 128
"""Rows whose first layer stays in the second cache."""

NEAR = 170.0
"""Exponents up to here: two units with a product of two exponentials each can share a division."""


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_rest(
    columns: FloatArray,
    start: int,
    weights: FloatArray,
    bias: FloatArray,
    varied: NDArray[np.bool_],
    rest: FloatArray,
) -> None:
    """Write what features that are not varied give to the first layer (units x rows of a tile)."""
    rows = min(columns.shape[1] - start, rest.shape[1])
    for u in range(len(bias)):
        total = rest[u]
        for i in range(len(total)):
            total[i] = bias[u]
        for j in range(len(weights)):
            if not varied[j]:
                weight, column = weights[j, u], columns[j, start : start + rows]
                for i in range(rows):
                    total[i] += weight * column[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_unit(scores: FloatArray, top: float, activation: int, answers: FloatArray) -> None:
    """Add a unit's activations, weighted with ``top``, to the answers."""
    if activation == TANH:
        for i in range(len(scores)):
            answers[i] += top * (2.0 / (1.0 + exponential(-2.0 * scores[i])) - 1.0)
    elif activation == LOGISTIC:
        for i in range(len(scores)):
            answers[i] += top / (1.0 + exponential(-scores[i]))
    else:
        for i in range(len(scores)):
            zero = activation == RELU and scores[i] < 0.0
            answers[i] += top * (0.0 if zero else scores[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _copy(answers: FloatArray, start: int, logistic: bool, out: FloatArray) -> None:
    """Copy the answers of a tile to their place, through the last curve if there is one."""
    rows = min(out.shape[1] - start, answers.shape[1])
    for cell in range(len(out)):
        said, here = answers[cell], out[cell, start : start + rows]
        for i in range(rows):
            here[i] = 1.0 / (1.0 + exponential(-said[i])) if logistic else said[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _far_rows(
    rest: FloatArray,
    near: NDArray[np.bool_],
    given: FloatArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    answers: FloatArray,
) -> None:
    """Write the answers of rows whose exponentials may leave the range of floats, unit by unit."""
    scores, own = np.empty(len(answers)), np.empty(len(answers))
    for i in range(len(near)):
        if not near[i]:
            own[:] = outer_bias
            for u in range(len(outer)):
                for cell in range(len(scores)):
                    scores[cell] = rest[u, i] + given[u, cell]
                _add_unit(scores, outer[u], activation, own)
            answers[:, i] = own


@njit(cache=True, nogil=True, error_model="numpy")
def fill_network_curves(
    columns: FloatArray,
    varied: NDArray[np.bool_],
    given: FloatArray,
    weights: FloatArray,
    bias: FloatArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    rate: float,
    logistic: bool,
    out: FloatArray,
) -> None:
    """Write every row's answers over a grid; ``columns`` has a row per feature, ``out`` one per cell.

    ``given`` is what a cell gives to the first layer (units x cells). ``rate`` is that of the
    activation's exponential, zero for one without.
    """
    units, cells = given.shape
    rest, answers = np.empty((units, _TILE)), np.empty((cells, _TILE))
    factors, factors_given = np.empty(rest.shape), np.empty(given.shape)
    near, all_near = np.empty(_TILE, np.bool_), True
    curved, shift = outer, outer_bias
    if activation == TANH:  # tanh(a) = 2 / (1 + exp(-2 a)) - 1
        curved = 2.0 * outer
        for u in range(units):
            shift -= outer[u]
    for u in range(units):
        for cell in range(cells):
            all_near = all_near and abs(rate * given[u, cell]) <= NEAR
            factors_given[u, cell] = exponential(-rate * given[u, cell])
    for start in range(0, columns.shape[1], _TILE):
        _fill_rest(columns, start, weights, bias, varied, rest)
        if rate == 0.0:
            add_plain(rest, given, outer, outer_bias, activation, answers)
        else:
            near[:] = all_near
            for u in range(units):
                for i in range(_TILE):
                    near[i] = near[i] and abs(rate * rest[u, i]) <= NEAR
                    factors[u, i] = exponential(-rate * rest[u, i])
            if all_near:
                add_curved(factors, factors_given, curved, shift, answers)
            _far_rows(rest, near, given, outer, outer_bias, activation, answers)
        _copy(answers, start, logistic, out)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_network_steps(
    columns: FloatArray,
    place: int,
    values: FloatArray,
    weights: FloatArray,
    bias: FloatArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    logistic: bool,
    out: FloatArray,
) -> None:
    """Write every row's answers with one feature set to values of its own (``out``: values x rows)."""
    rest, answers = np.empty((len(bias), _TILE)), np.empty((len(values), _TILE))
    scores = np.zeros(_TILE)
    varied = np.zeros(len(weights), np.bool_)
    varied[place] = True
    for start in range(0, columns.shape[1], _TILE):
        rows = min(columns.shape[1] - start, _TILE)
        _fill_rest(columns, start, weights, bias, varied, rest)
        for k in range(len(values)):
            value, answer = values[k, start : start + rows], answers[k]
            answer[:] = outer_bias
            for u in range(len(bias)):
                weight, layer = weights[place, u], rest[u]
                for i in range(rows):
                    scores[i] = layer[i] + weight * value[i]
                _add_unit(scores, outer[u], activation, answer)
        _copy(answers, start, logistic, out)
