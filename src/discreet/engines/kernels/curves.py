"""Compiled answers over a grid, and curves split into level and centred curve.

*Trees.* A tree answers the same for all grid points between two of its thresholds, so a record meets
few of its leaves, each for a range of the grid (a rectangle of two grids). A leaf's value is added
where its range begins and taken away where it ends; sums along the grid then give the curve.

*Networks.* What features that are not varied give to the first layer is summed once per row; a point of
the grid adds its own part. Where the layer ends in a logistic curve, exponentials are taken once per
row and once per point, and the sum of both parts becomes their product.

Everything is added in one order for every row, so that a row's curve does not depend on the rows beside
it, to the last bit. In networks vector instructions run along the rows, none of which sees another, and
``exponential`` is made of sums and products, which round alike in every lane; tiles are always full:
the last one has rows of zeros at its end.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.engines.kernels.interact import LOGISTIC, RELU, TANH, add_curved, add_plain, exponential
from discreet.models.forms.tree_kernels import lowest_bit, open_leaves
from discreet.schema import FloatArray

IntArray = NDArray[np.int64]

_TREE_TILE = 512
"""Rows whose curves stay in the second cache."""

_NETWORK_TILE = 128
"""Rows whose first layer stays in the second cache."""

_NEAR = 170.0
"""Exponents up to here: two units with a product of two exponentials each can share a division."""

_OTHER, _LEAF = -1, -2
"""What a node's ``axis`` is if it splits on a feature that is not varied, and at a leaf."""


@njit(cache=True, nogil=True)
def add_curves_by_masks(
    columns: NDArray[Any],
    feature: NDArray[np.uint32],
    threshold: NDArray[Any],
    missing_left: NDArray[np.bool_],
    mask: NDArray[Any],
    first_split: IntArray,
    value: FloatArray,
    first_leaf: IntArray,
    pick: NDArray[Any],
    corner: IntArray,
    first_run: IntArray,
    width: int,
    out: FloatArray,
) -> None:
    """Add every row's leaf values to ``out``, which has a row per grid point.

    Splits are those on features that are not varied. ``pick`` holds the leaves a range of the grid
    leaves open, ``corner`` where the range begins and ends (-1: never); ``width`` is the length of the
    second grid.
    """
    size = columns.shape[1]
    splits = (feature, threshold, missing_left, mask)
    bits = np.empty(_TREE_TILE, mask.dtype)
    leaf = np.empty(_TREE_TILE)
    for start in range(0, size, _TREE_TILE):
        rows = min(size, start + _TREE_TILE) - start
        for tree in range(len(first_split) - 1):
            ends = first_split[tree], first_split[tree + 1]
            open_leaves(columns, start, rows, splits, ends[0], ends[1], bits)
            leaves = value[first_leaf[tree] : first_leaf[tree + 1]]
            for run in range(first_run[tree], first_run[tree + 1]):
                for i in range(rows):
                    leaf[i] = leaves[lowest_bit(bits[i] & pick[run])]
                for end in range(4):
                    if corner[run, end] >= 0:
                        cell = out[corner[run, end], start : start + rows]
                        sign = 1.0 if end == 0 or end == 3 else -1.0
                        for i in range(rows):
                            cell[i] += sign * leaf[i]
        _add_along(out[:, start : start + rows], width)


@njit(cache=True, nogil=True)
def _add_along(out: FloatArray, width: int) -> None:
    """Turn what begins and ends at grid points into what holds there, along both grids."""
    cells, rows = out.shape
    for cell in range(cells):
        if cell % width > 0:
            for i in range(rows):
                out[cell, i] += out[cell - 1, i]
    for cell in range(width, cells):
        for i in range(rows):
            out[cell, i] += out[cell - width, i]


@njit(cache=True, nogil=True)
def add_curves_by_walk(
    rows: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    missing_left: NDArray[np.bool_],
    left: IntArray,
    value: FloatArray,
    axis: NDArray[np.int8],
    cut: IntArray,
    roots: IntArray,
    depth: int,
    lengths: IntArray,
    out: FloatArray,
) -> None:
    """Add every row's leaf values to ``out``, which has a row per grid point, for trees of any size.

    A row takes the whole grid down a tree and parts it at splits on a varied feature: the first
    ``cut`` points of that grid go left.
    """
    waiting = np.empty((depth + 2, 5), np.int64)
    width = lengths[1]
    for i in range(len(rows)):
        for root in roots:
            waiting[0, 0], waiting[0, 1], waiting[0, 2] = root, 0, lengths[0]
            waiting[0, 3], waiting[0, 4] = 0, lengths[1]
            count = 1
            while count > 0:
                count -= 1
                node = waiting[count, 0]
                begin0, end0 = waiting[count, 1], waiting[count, 2]
                begin1, end1 = waiting[count, 3], waiting[count, 4]
                while axis[node] != _LEAF:
                    child = left[node]
                    if axis[node] == _OTHER:
                        here = rows[i, feature[node]]
                        goes_left = here <= threshold[node] or (here != here and missing_left[node])
                        node = child if goes_left else child + 1
                        continue
                    begin, end = (begin0, end0) if axis[node] == 0 else (begin1, end1)
                    middle = min(max(cut[node], begin), end)
                    if begin < middle < end:
                        waiting[count, 0] = child + 1
                        waiting[count, 1], waiting[count, 2] = begin0, end0
                        waiting[count, 3], waiting[count, 4] = begin1, end1
                        waiting[count, 1 + 2 * axis[node]] = middle
                        count += 1
                        if axis[node] == 0:
                            end0 = middle
                        else:
                            end1 = middle
                    node = child if middle > begin else child + 1
                leaf = value[node]
                out[begin0 * width + begin1, i] += leaf
                if end0 < lengths[0]:
                    out[end0 * width + begin1, i] -= leaf
                if end1 < width:
                    out[begin0 * width + end1, i] -= leaf
                    if end0 < lengths[0]:
                        out[end0 * width + end1, i] += leaf
    _add_along(out, width)


@njit(cache=True, nogil=True)
def split_level(
    curves: FloatArray, half: float, weight: float, radius: float, absolute: bool, out: FloatArray
) -> None:
    """Write every row's weighted mean, then its distances from it, shrunk into a ball.

    NaN becomes zero and everything is clipped to ``half`` first. ``radius`` is that of the ball, of
    sums of absolute values or of squares; lengths are taken in units of ``half``, so that no square is
    too large or too small.
    """
    rows, size = curves.shape
    level, length = np.zeros(rows), np.zeros(rows)
    for t in range(size):
        for i in range(rows):
            value = curves[i, t]
            value = 0.0 if value != value else min(max(value, -half), half) / half
            out[i, t + 1] = value
            level[i] += value
    for i in range(rows):
        level[i] = min(max(level[i] / size, -1.0), 1.0)
        out[i, 0] = weight * half * level[i]
    for t in range(size):
        for i in range(rows):
            away = out[i, t + 1] - level[i]
            out[i, t + 1] = away
            length[i] += abs(away) if absolute else away * away
    # A hair below the radius, so that a float length rounded down cannot let a row stick out.
    room = radius / half * (1 - 1e-12)
    for i in range(rows):
        found = length[i] if absolute else np.sqrt(length[i])
        length[i] = half if found <= room else half * (room / found)
    for t in range(size):
        for i in range(rows):
            out[i, t + 1] *= length[i]


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
            for cell in range(len(own)):  # to assign a whole array takes longest to compile
                answers[cell, i] = own[cell]


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
    rest, answers = np.empty((units, _NETWORK_TILE)), np.empty((cells, _NETWORK_TILE))
    factors, factors_given = np.empty(rest.shape), np.empty(given.shape)
    near, all_near = np.empty(_NETWORK_TILE, np.bool_), True
    curved, shift = outer, outer_bias
    if activation == TANH:  # tanh(a) = 2 / (1 + exp(-2 a)) - 1
        curved = 2.0 * outer
        for u in range(units):
            shift -= outer[u]
    for u in range(units):
        for cell in range(cells):
            all_near = all_near and abs(rate * given[u, cell]) <= _NEAR
            factors_given[u, cell] = exponential(-rate * given[u, cell])
    for start in range(0, columns.shape[1], _NETWORK_TILE):
        _fill_rest(columns, start, weights, bias, varied, rest)
        if rate == 0.0:
            add_plain(rest, given, outer, outer_bias, activation, answers)
        else:
            near[:] = all_near
            for u in range(units):
                for i in range(_NETWORK_TILE):
                    near[i] = near[i] and abs(rate * rest[u, i]) <= _NEAR
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
    rest, answers = np.empty((len(bias), _NETWORK_TILE)), np.empty((len(values), _NETWORK_TILE))
    scores = np.zeros(_NETWORK_TILE)
    varied = np.zeros(len(weights), np.bool_)
    varied[place] = True
    for start in range(0, columns.shape[1], _NETWORK_TILE):
        rows = min(columns.shape[1] - start, _NETWORK_TILE)
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
