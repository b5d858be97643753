"""Compiled losses, and what models answer when one value of a row is replaced.

``index`` says, for every repeat and row, which donor is meant.

*Networks.* A donor's value takes the place of a row's own, so the first layer moves along one row of
weights. *Trees.* Only trees that split on the feature can answer otherwise, and only rows whose donor
goes another way at one of these splits.

Every score depends on a row and its donor alone: sums run in a fixed order, and a division by zero
gives infinity, not an error (``error_model``).
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.engines.kernels.interact import LOGISTIC, RELU, TANH
from discreet.models.forms.tree_kernels import lowest_bit, open_leaves
from discreet.schema import FloatArray

Index = NDArray[np.uint32]

SQUARED, ABSOLUTE, LOGARITHMIC, ZERO_ONE = 0, 1, 2, 3
_NEAR = 230.0
"""Three exponentials of at most this size have a product inside the range of floats."""

_ROUND = 4
"""Levels after which jobs that have reached their leaf are taken out."""


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
def _rectified(layer: FloatArray, weights: FloatArray, moved: float, outer: FloatArray) -> float:
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
                scores[repeat, i] = outer_bias + _rectified(layer[i], weights, moved, outer)
            elif activation < RELU and near[i] and near_own[i] and near_given[donor]:
                scores[repeat, i] = shift + scale * _curved(rest, given[donor], outer)
            else:
                scores[repeat, i] = outer_bias + _plain(layer[i], weights, moved, outer, activation)


@njit(cache=True, nogil=True)
def move_by_masks(
    columns: NDArray[Any],
    donors: NDArray[Any],
    shared: bool,
    index: Index,
    threshold: NDArray[Any],
    missing_left: NDArray[np.bool_],
    mask: NDArray[Any],
    looks_at: NDArray[np.uint32],
    first_split: NDArray[np.int64],
    feature: NDArray[np.int64],
    first_group: NDArray[np.int64],
    value: NDArray[np.float64],
    first_leaf: NDArray[np.int64],
    totals: FloatArray,
    moved: FloatArray,
) -> None:
    """Add leaf values to ``totals`` and, per feature, repeat and row, what donors change to ``moved``.

    Splits of a tree stand in groups, one per feature: a row keeps the masks of all groups but one.
    ``shared`` says that donors are the rows themselves.
    """
    size, repeats = columns.shape[1], len(index)
    splits = (looks_at, threshold, missing_left, mask)
    most = 0
    for tree in range(len(first_group) - 1):
        most = max(most, first_group[tree + 1] - first_group[tree])
    own = np.empty((most, size), mask.dtype)
    after = np.empty((most + 1, size), mask.dtype)
    given = np.empty(donors.shape[1], mask.dtype)
    before = np.empty(size, mask.dtype)
    leaf = np.empty(size)
    full = np.bitwise_not(np.zeros(1, mask.dtype))[0]
    for tree in range(len(first_group) - 1):
        start, groups = first_group[tree], first_group[tree + 1] - first_group[tree]
        leaves = value[first_leaf[tree] : first_leaf[tree + 1]]
        for i in range(size):
            after[groups, i] = full
            before[i] = full
        for group in range(groups - 1, -1, -1):
            ends = first_split[start + group], first_split[start + group + 1]
            open_leaves(columns, np.int64(0), size, splits, ends[0], ends[1], own[group])
            for i in range(size):
                after[group, i] = after[group + 1, i] & own[group, i]
        for i in range(size):
            leaf[i] = leaves[lowest_bit(after[0, i])]
            totals[i] += leaf[i]
        for group in range(groups):
            place = feature[start + group]
            if not shared:
                ends = first_split[start + group], first_split[start + group + 1]
                open_leaves(donors, np.int64(0), len(given), splits, ends[0], ends[1], given)
            theirs = own[group] if shared else given
            for repeat in range(repeats):
                chosen, change = index[repeat], moved[place, repeat]
                for i in range(size):
                    bits = before[i] & after[group + 1, i] & theirs[chosen[i]]
                    change[i] += leaves[lowest_bit(bits)] - leaf[i]
            for i in range(size):
                before[i] &= own[group, i]


@njit(cache=True, nogil=True)
def _go_down(
    nodes: NDArray[Any],
    missing_left: NDArray[np.bool_],
    rows: FloatArray,
    jobs: NDArray[Any],
    walking: int,
) -> None:
    """Let jobs go down some levels in step, so that one does not wait for another's memory."""
    for _ in range(_ROUND):
        for j in range(walking):
            node = nodes[jobs[j].at]
            here = rows[jobs[j].row, node.feature]
            here = jobs[j].given if node.feature == jobs[j].place else here
            right = here > node.threshold
            if here != here:
                right = not missing_left[jobs[j].at]
            jobs[j].at = node.left + np.uint32(right)


@njit(cache=True, nogil=True)
def _finish(
    nodes: NDArray[Any],
    missing_left: NDArray[np.bool_],
    value: FloatArray,
    rows: FloatArray,
    leaf: FloatArray,
    jobs: NDArray[Any],
    waiting: int,
    moved: FloatArray,
) -> None:
    """Take all jobs to their leaves and add what these change."""
    while waiting:
        _go_down(nodes, missing_left, rows, jobs, waiting)
        kept = 0
        for j in range(waiting):
            job = jobs[j]
            if nodes[job.at].left == job.at:
                moved[job.row, job.place, job.repeat] += value[job.at] - leaf[job.row]
            else:
                jobs[kept] = job
                kept += 1
        waiting = kept


@njit(cache=True, nogil=True)
def move_by_walk(
    rows: FloatArray,
    donors: FloatArray,
    index: Index,
    nodes: NDArray[Any],
    missing_left: NDArray[np.bool_],
    value: FloatArray,
    roots: NDArray[np.int64],
    jobs: NDArray[Any],
    totals: FloatArray,
    moved: FloatArray,
) -> None:
    """Do the same for trees of any size: a feature off a row's path changes nothing.

    On the path a donor's value between the same thresholds changes nothing either; any other goes down
    again from the first split on its feature, as a job beside others.
    """
    size, width = rows.shape
    met, first = np.empty(width, np.int64), np.full(width, -1)
    low, high, leaf = np.empty(width), np.empty(width), np.empty(size)
    for root in roots:
        waiting = 0
        for i in range(size):
            if waiting + width * len(index) > len(jobs):
                _finish(nodes, missing_left, value, rows, leaf, jobs, waiting, moved)
                waiting = 0
            at, count = np.uint32(root), 0
            node = nodes[at]
            while node.left != at:
                place = node.feature
                if first[place] < 0:
                    first[place], low[place], high[place] = at, -np.inf, np.inf
                    met[count] = place
                    count += 1
                here = rows[i, place]
                right = here > node.threshold
                if here != here:
                    right = not missing_left[at]
                    low[place] = np.inf  # whoever is not missing goes down again
                elif right:
                    low[place] = max(low[place], node.threshold)
                else:
                    high[place] = min(high[place], node.threshold)
                at = node.left + np.uint32(right)
                node = nodes[at]
            leaf[i] = value[at]
            totals[i] += leaf[i]
            for k in range(count):
                place = met[k]
                for repeat in range(len(index)):
                    given = donors[index[repeat, i], place]
                    jobs[waiting].given, jobs[waiting].at = given, first[place]
                    jobs[waiting].row, jobs[waiting].repeat = i, repeat
                    jobs[waiting].place = place
                    waiting += not (low[place] < given <= high[place])
                first[place] = -1
        _finish(nodes, missing_left, value, rows, leaf, jobs, waiting, moved)
