"""The figures of Lange et al. (2024) that ours stand beside: means of ten runs of the authors' code.

Every entry is (generic, specific) for epsilon 0.5, 1, 2, 5, 10; 20 points, 200 subsets. Curves are
measured by MISE, rankings by the share of pairs in the right order. Bounds were read from the rows.
Their results list the exact order that rankings were compared with: the same one in every repetition.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)

CURVES: dict[tuple[str, str, str], tuple[tuple[float, float], ...]] = {
    ("ALE", "census", "age"): (
        (0.307, 2.67e-4),
        (0.0647, 1.63e-4),
        (0.0157, 1.11e-4),
        (2.98e-3, 1.15e-4),
        (8.7e-4, 1.01e-4),
    ),
    ("ALE", "census", "capital-gain"): (
        (0.318, 0.079),
        (0.103, 0.090),
        (0.071, 0.083),
        (0.042, 0.062),
        (0.041, 0.059),
    ),
    ("ALE", "bike", "hr"): ((2.9e5, 3889), (6.6e4, 742), (1.35e4, 242), (3030, 209), (1166, 222)),
    ("PDP", "census", "age"): (
        (0.077, 3.76e-5),
        (0.016, 3.64e-5),
        (4.1e-3, 3.55e-5),
        (6.9e-4, 3.57e-5),
        (2.2e-4, 3.56e-5),
    ),
    ("PDP", "census", "capital-gain"): (
        (0.073, 2.25e-3),
        (0.017, 2.25e-3),
        (7.9e-3, 2.25e-3),
        (2.47e-3, 2.25e-3),
        (1.94e-3, 2.25e-3),
    ),
    ("PDP", "bike", "hr"): ((7.3e4, 53.2), (1.6e4, 45.6), (3268, 42.5), (731, 42.6), (257, 42.2)),
}
CONCORDANCE: dict[str, tuple[tuple[float, float], ...]] = {
    "census": ((0.864, 0.978), (0.914, 0.987), (0.972, 0.997), (0.986, 0.996), (0.994, 1.00)),
    "bike": ((0.842, 0.811), (0.911, 0.860), (0.913, 0.884), (0.958, 0.911), (0.953, 0.920)),
}
_CENSUS_ORDER = """age occupation marital-status hours-per-week education-num capital-gain workclass
relationship education sex capital-loss race native-country"""
_BIKE_ORDER = "hr workingday atemp yr weekday mnth weathersit hum holiday windspeed"
EXACT_ORDER = {"census": tuple(_CENSUS_ORDER.split()), "bike": tuple(_BIKE_ORDER.split())}
"""Of the authors' own run, most important first."""

REFERENCE_FEATURES = {"census": ("age", "capital-gain"), "bike": ("hr",)}


def published_curve(
    explainer: str, task: str, feature: str, epsilon: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the authors' generic and specific MISE, if they are known."""
    found = CURVES.get((explainer, task, feature))
    return (None, None) if found is None else found[EPSILONS.index(epsilon)]


def published_concordance(task: str, epsilon: float) -> tuple[float, float]:
    """Return the authors' generic and specific concordance."""
    return CONCORDANCE[task][EPSILONS.index(epsilon)]


def authors_order(values: Any) -> Any:
    """Return the order in which the authors' sort leaves rows with equal values.

    They call ``numpy.argsort``, which was an introspective sort without vector instructions in all
    versions for the Python they used (3.8): median of three, insertion sort for 16 rows or fewer. It is
    not stable, and their accumulated effects hang on it where many values are equal.
    """
    return _introsort(np.ascontiguousarray(values, dtype=np.float64))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _introsort(values: Any) -> Any:
    order, waiting = np.arange(len(values)), [(0, len(values) - 1)]
    while len(waiting) > 0:
        low, high = waiting.pop()
        while high - low > 15:
            middle = low + (high - low) // 2
            for a, b in ((low, middle), (middle, high), (low, middle)):
                if values[order[b]] < values[order[a]]:
                    order[a], order[b] = order[b], order[a]
            pivot, left, right = values[order[middle]], low, high - 1
            order[middle], order[right] = order[right], order[middle]
            while True:
                left += 1
                while values[order[left]] < pivot:
                    left += 1
                right -= 1
                while pivot < values[order[right]]:
                    right -= 1
                if left >= right:
                    break
                order[left], order[right] = order[right], order[left]
            order[left], order[high - 1] = order[high - 1], order[left]
            waiting.append((left + 1, high))
            high = left - 1
        for place in range(low + 1, high + 1):
            row, at = order[place], place
            while at > low and values[row] < values[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
    return order
