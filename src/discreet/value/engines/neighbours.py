"""Closed-form values for nearest-neighbour classifiers: no refits, no sampling.

*k nearest*: the utility of a coalition is the share of right labels among the k nearest of its records,
the sum divided by k even where there are fewer (Jia et al. 2019, Theorem 1). *Threshold*: the share of
right labels among its records within a radius, and 1/classes if there is none; a record's value then
depends on the others through two counts per test row (Wang et al. 2023), which is what a private
release uses.

References: Jia et al. (2019), "Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms";
Wang, Zhu, Wang, Jia, Mittal (2023), "Threshold KNN-Shapley". Ties in distance go to the lower index.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.running import Estimates

BoolArray = NDArray[np.bool_]

_BATCH_CELLS = 2**22
"""Distances held at a time: 32 MB."""


def knn_shapley(x: Any, y: Any, test_x: Any, test_y: Any, *, k: int = 5) -> Estimates:
    """Return the exact Shapley values for the k-nearest-neighbour classifier.

    Args:
      x: training rows.
      y: their labels.
      test_x: test rows.
      test_y: their labels.
      k: how many neighbours vote.
    """
    check_whole("k", k, 1)
    rows, labels, tests, truth = _checked(x, y, test_x, test_y)
    total = np.zeros(len(rows))
    step = max(1, _BATCH_CELLS // len(rows))
    for first in range(0, len(tests), step):
        part = slice(first, first + step)
        orders = np.argsort(_squared_distances(tests[part], rows), axis=1, kind="stable")
        _add_nearest(orders, labels, truth[part], k, total)
    return _exact(total / len(tests), f"{k}-nearest-neighbour")


def threshold_knn_shapley(
    x: Any, y: Any, test_x: Any, test_y: Any, *, radius: float, classes: int
) -> Estimates:
    """Return the exact Shapley values for neighbours within a radius.

    Args:
      x: training rows.
      y: their labels.
      test_x: test rows.
      test_y: their labels.
      radius: Euclidean distance up to which records are neighbours.
      classes: how many labels there can be; a coalition of nobody has the utility of a guess among
        them.
    """
    check_whole("classes", classes, 2)
    near, right = near_and_right(x, y, test_x, test_y, radius)
    both = near & right
    others_near = near.sum(axis=0) - near
    others_right = both.sum(axis=0) - both
    values = np.where(near, value_from_counts(others_near, others_right, right, classes), 0.0)
    return _exact(values.mean(axis=1), "threshold neighbours")


def near_and_right(
    x: Any, y: Any, test_x: Any, test_y: Any, radius: float
) -> tuple[BoolArray, BoolArray]:
    """Return, for every record and test row, whether it is near and whether its label is right."""
    check_positive("radius", radius)
    rows, labels, tests, truth = _checked(x, y, test_x, test_y)
    near = np.empty((len(rows), len(tests)), dtype=bool)
    step = max(1, _BATCH_CELLS // len(tests))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        near[part] = _squared_distances(rows[part], tests) <= radius**2
    return near, labels[:, None] == truth[None, :]


def threshold_counts(
    x: Any, y: Any, test_x: Any, test_y: Any, radius: float
) -> tuple[IntArray, IntArray]:
    """Return, for every test row, how many records are near and how many of these are right."""
    near, right = near_and_right(x, y, test_x, test_y, radius)
    return near.sum(axis=0), (near & right).sum(axis=0)


def value_from_counts(others_near: Any, others_right: Any, own_right: Any, classes: int) -> FloatArray:
    """Return the value of a near record for a test row, given counts of the other records.

    With c near records, the owner's included, a right ones among the c - 1 others and e = 1 if its own
    label is right: (e - 1/classes + (e - a/(c - 1)) (H_c - 1)) / c. Counts may be noisy: they are
    rounded and clipped to 0 <= right <= near.
    """
    near = np.maximum(np.rint(np.asarray(others_near, dtype=np.float64)), 0.0)
    right = np.clip(np.rint(np.asarray(others_right, dtype=np.float64)), 0.0, near)
    own = np.asarray(own_right, dtype=np.float64)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, near.max(initial=0) + 2))])
    later = harmonic[near.astype(np.intp) + 1] - 1
    share = right / np.maximum(near, 1.0)  # without others ``later`` is 0
    return np.asarray((own - 1 / classes + (own - share) * later) / (near + 1))


@njit(cache=True, nogil=True, error_model="numpy")
def _add_nearest(
    orders: IntArray, labels: IntArray, truth: IntArray, k: int, total: FloatArray
) -> None:
    """Add every record's value for every test row, from the farthest record to the nearest.

    ``orders`` has the records for each test row, the nearest first.
    """
    n = len(labels)
    for t in range(len(truth)):
        order = orders[t]
        right = 1.0 if labels[order[n - 1]] == truth[t] else 0.0
        value = right * min(k, n) / (k * n)
        total[order[n - 1]] += value
        for place in range(n - 2, -1, -1):
            nearer = 1.0 if labels[order[place]] == truth[t] else 0.0
            value += (nearer - right) / k * min(k, place + 1) / (place + 1)
            total[order[place]] += value
            right = nearer


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _squared_distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return squared distances, each from its own two rows alone, so that equal rows are ties."""
    found = np.empty((len(first), len(second)))
    for a in range(len(first)):
        for b in range(len(second)):
            total = 0.0
            for column in range(first.shape[1]):
                apart = first[a, column] - second[b, column]
                total += apart * apart
            found[a, b] = total
    return found


def _checked(
    x: Any, y: Any, test_x: Any, test_y: Any
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return rows as floats and labels as whole numbers."""
    rows, tests = np.asarray(x, dtype=np.float64), np.asarray(test_x, dtype=np.float64)
    fits = rows.ndim == 2 and tests.ndim == 2 and rows.shape[1] == tests.shape[1]
    if not fits or not len(rows) or not len(tests) or not _finite(rows, tests):
        raise ArgumentError(
            "x and test_x must be tables of finite numbers with equal columns and at least one row, "
            f"got shapes {rows.shape} and {tests.shape}."
        )
    labels, truth = np.asarray(y), np.asarray(test_y)
    if labels.shape != (len(rows),) or truth.shape != (len(tests),):
        raise ArgumentError(
            f"y and test_y must have one label per row, got shapes {labels.shape} and {truth.shape}."
        )
    codes = np.unique(np.concatenate([labels, truth]), return_inverse=True)[1].astype(np.int64)
    rows, tests = np.ascontiguousarray(rows), np.ascontiguousarray(tests)
    return rows, codes[: len(rows)], tests, codes[len(rows) :]


def _finite(*tables: FloatArray) -> bool:
    return all(bool(np.isfinite(table).all()) for table in tables)


def _exact(values: FloatArray, method: str) -> Estimates:
    n = len(values)
    return Estimates(np.arange(n), values, np.zeros(n), 0, method)
