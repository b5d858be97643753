"""Compiled losses, and scores of networks of which one value is exchanged.

A donor's value takes the place of a row's own, so the first layer moves along one row of weights.
``index`` says, for every repeat and row, which donor is meant.

Every score depends on a row and its donor alone: sums run in a fixed order, and a division by zero
gives infinity, not an error (``error_model``).
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.schema import FloatArray

Index = NDArray[np.uint32]

SQUARED, ABSOLUTE, LOGARITHMIC, ZERO_ONE = 0, 1, 2, 3
TANH, LOGISTIC, RELU = 0, 1, 2
_NEAR = 230.0
"""Three exponentials of at most this size have a product inside the range of floats."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_losses(
    scores: FloatArray,
    truth: FloatArray,
    logistic: bool,
    kind: int,
    terms: FloatArray,
    totals: FloatArray,
) -> None:
    """Add the loss of every repeat (rows of ``scores``) to every record's total.

    ``terms`` are the least and the greatest answer, what NaN becomes, the greatest loss, and where and
    how steeply a zero-one loss turns.
    """
    low, high, fill, most, middle, steepness = terms
    for repeat in range(len(scores)):
        for i in range(len(totals)):
            answer = scores[repeat, i]
            if logistic:
                answer = 1.0 / (1.0 + np.exp(-answer))
            if answer != answer:
                answer = fill
            answer = min(max(answer, low), high)
            if kind == SQUARED:
                loss = (answer - truth[i]) ** 2
            elif kind == ABSOLUTE:
                loss = abs(answer - truth[i])
            elif kind == LOGARITHMIC:
                chance = answer if truth[i] == 1.0 else 1.0 - answer
                loss = -np.log(chance) if chance > 0.0 else most
            else:
                against = (middle - answer) * steepness
                loss = 0.5 + (against if truth[i] == 1.0 else -against)
            totals[i] += min(max(loss, 0.0), most)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_exponentials(
    column: FloatArray, weights: FloatArray, rate: float, out: FloatArray, near: NDArray[np.bool_]
) -> None:
    """Write exp(-rate value weight) of every value and unit, and which values are in range."""
    for i in range(len(column)):
        near[i] = True
        for unit in range(len(weights)):
            exponent = -rate * column[i] * weights[unit]
            near[i] = near[i] and abs(exponent) <= _NEAR
            out[i, unit] = np.exp(min(max(exponent, -_NEAR), _NEAR))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _curved(rest: FloatArray, donor: FloatArray, outer: FloatArray) -> float:
    """Return the sum over units of outer / (1 + rest donor)."""
    total = 0.0
    for unit in range(len(outer)):
        total += outer[unit] / (1.0 + rest[unit] * donor[unit])
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _bent(layer: FloatArray, weights: FloatArray, moved: float, outer: FloatArray) -> float:
    """Return the sum over units of outer max(0, layer + moved weight)."""
    total = 0.0
    for unit in range(len(outer)):
        score = layer[unit] + moved * weights[unit]
        total += outer[unit] * (0.0 if score < 0.0 else score)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _plain(
    layer: FloatArray, weights: FloatArray, moved: float, outer: FloatArray, activation: int
) -> float:
    """Return the sum over units of outer curve(layer + moved weight), whatever the curve."""
    total = 0.0
    for unit in range(len(outer)):
        score = layer[unit] + moved * weights[unit]
        if activation == TANH:
            score = np.tanh(score)
        elif activation == LOGISTIC:
            score = 1.0 / (1.0 + np.exp(-score))
        total += outer[unit] * score
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def fill_layer(
    columns: FloatArray,
    weights: FloatArray,
    bias: FloatArray,
    rate: float,
    layer: FloatArray,
    curves: FloatArray,
    near: NDArray[np.bool_],
) -> None:
    """Write the first layer of every row, exp(-rate layer), and whether all of a row are in range."""
    for i in range(len(columns)):
        near[i] = True
        for unit in range(len(bias)):
            layer[i, unit] = bias[unit]
        for j in range(columns.shape[1]):
            for unit in range(len(bias)):
                layer[i, unit] += columns[i, j] * weights[j, unit]
        for unit in range(len(bias)):
            exponent = -rate * layer[i, unit]
            near[i] = near[i] and abs(exponent) <= _NEAR
            curves[i, unit] = np.exp(min(max(exponent, -_NEAR), _NEAR))


@njit(cache=True, nogil=True, error_model="numpy")
def fill_moved(
    column: FloatArray,
    donors: FloatArray,
    index: Index,
    layer: FloatArray,
    curves: FloatArray,
    near: NDArray[np.bool_],
    own: FloatArray,
    near_own: NDArray[np.bool_],
    given: FloatArray,
    near_given: NDArray[np.bool_],
    weights: FloatArray,
    outer: FloatArray,
    outer_bias: float,
    activation: int,
    scores: FloatArray,
) -> None:
    """Write a network's scores with one feature taken from donors.

    Where all exponentials are in range a unit costs a product and a division.
    """
    shift, scale = outer_bias, 1.0
    if activation == TANH:  # tanh(a) = 2 / (1 + exp(-2 a)) - 1
        scale = 2.0
        for unit in range(len(outer)):
            shift -= outer[unit]
    rest = np.empty(len(outer))
    for i in range(len(column)):
        for unit in range(len(outer)):
            rest[unit] = curves[i, unit] / own[i, unit]
        for repeat in range(len(index)):
            donor = index[repeat, i]
            moved = donors[donor] - column[i]
            if activation == RELU:
                scores[repeat, i] = outer_bias + _bent(layer[i], weights, moved, outer)
            elif activation < RELU and near[i] and near_own[i] and near_given[donor]:
                scores[repeat, i] = shift + scale * _curved(rest, given[donor], outer)
            else:
                scores[repeat, i] = outer_bias + _plain(layer[i], weights, moved, outer, activation)
