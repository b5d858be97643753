"""Compiled loops over rows and candidate splits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

_MAX, _GINI, _INFORMATION_GAIN, _NORM = 0, 1, 2, 3
KINDS = {"max": _MAX, "gini": _GINI, "gain": _INFORMATION_GAIN, "norm": _NORM}


@njit(cache=True, nogil=True)
def walk(
    values: NDArray[np.float64],
    start: NDArray[np.int64],
    feature: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    left: NDArray[np.int64],
    reached: NDArray[np.int64],
) -> None:
    """Write the leaf that every row falls into from its root; a row is a row of ``values``."""
    for i in range(len(reached)):
        node = start[i]
        while feature[node] >= 0:
            value = values[i, feature[node]]
            node = left[node] + (0 if low[node] < value <= high[node] else 1)
        reached[i] = node


@njit(cache=True, nogil=True)
def cells(
    values: NDArray[np.float64],
    classes: NDArray[np.int64],
    slots: NDArray[np.int64],
    flat: NDArray[np.float64],
    starts: NDArray[np.int64],
    bins: NDArray[np.int64],
    count: int,
    found: NDArray[np.int64],
) -> None:
    """Write the cell of every row in every feature's table of node slot, code and class.

    ``found`` has one row per feature; ``count`` is the number of classes.
    """
    rows, one = found.shape[1], np.uint64(1)
    for f in range(len(found)):
        begin, column, code = np.uint64(starts[f]), values[:, f], found[f]
        for i in range(rows):
            code[i] = 0
        # How many cuts are below the value, bit by bit for all rows: no branch to guess wrong, and
        # unsigned places, which need no look at their sign.
        bit = (np.uint64(starts[f + 1]) - begin + one) >> one
        while bit > np.uint64(0):
            for i in range(rows):
                place = np.uint64(code[i])
                above = flat[begin + place + bit - one] < column[i]
                code[i] = np.int64(place + (bit if above else np.uint64(0)))
            bit >>= one
        for i in range(rows):
            code[i] = (slots[i] * bins[f] + code[i]) * count + classes[i]


@njit(cache=True, nogil=True)
def utilities(
    counts: NDArray[np.int64],
    tables: NDArray[np.int64],
    bins: NDArray[np.int64],
    classes: int,
    feature: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    kind: int,
    cap: float,
    steps: float,
    found: NDArray[np.int64],
) -> None:
    """Write the utility of every split (by feature) in every node, in whole steps rounded down."""
    most = 0
    for count in bins:
        most = max(most, count)
    upto = np.zeros((most + 1, classes), dtype=np.int64)
    goes_left = np.zeros(classes, dtype=np.int64)
    goes_right = np.zeros(classes, dtype=np.int64)
    for slot in range(len(found)):
        current = -1
        for j in range(len(feature)):
            f = feature[j]
            if f != current:
                current = f
                place = tables[f] + slot * bins[f] * classes
                for code in range(bins[f]):
                    for c in range(classes):
                        upto[code + 1, c] = upto[code, c] + counts[place]
                        place += 1
            for c in range(classes):
                goes_left[c] = upto[last[j] + 1, c] - upto[first[j], c]
                goes_right[c] = upto[bins[f], c] - goes_left[c]
            gained = _purity(goes_left, kind, cap) + _purity(goes_right, kind, cap)
            found[slot, j] = int(np.floor(steps * gained))


@njit(cache=True, nogil=True)
def _purity(counts: NDArray[np.int64], kind: int, cap: float) -> float:
    """Return how pure one side is: see ``scores``."""
    total, most, squares, cubes, logs = 0.0, 0.0, 0.0, 0.0, 0.0
    for count in counts:
        total += count
        most = max(most, count)
        squares += float(count) * float(count)
        cubes += float(count) * float(count) * float(count)
        if kind == _INFORMATION_GAIN:
            logs += _capped_log(float(count), cap)
    if kind == _MAX:
        return float(most)
    if kind == _NORM:
        return float(np.cbrt(cubes))
    if kind == _GINI:
        return float(squares / total) if total > 0 else 0.0
    return float(logs - _capped_log(total, cap))


@njit(cache=True, nogil=True)
def _capped_log(count: float, cap: float) -> float:
    """Return x log2 x, continued beyond the cap in steps as large as the last one below it."""
    if count <= 1:
        return 0.0
    if count <= cap:
        return float(count * np.log2(count))
    top = cap * np.log2(cap)
    return float(top + (count - cap) * (top - (cap - 1) * np.log2(cap - 1)))
