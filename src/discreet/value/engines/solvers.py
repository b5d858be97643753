"""Compiled refits along chains: logistic regression by Newton's method, least squares in closed form.

Logistic regression minimises F(w) = sum log(1 + exp(-s x.w)) + r/2 sum_j p_j w_j^2, scikit-learn's
problem divided by C = 1/r. A chain goes on from the weights of the coalition before. The inverse of
the Hessian goes along: a record that joins is a rank-one update, every step corrects it by what it did
to the gradient (BFGS), and it serves as long as each step shrinks the gradient by a fifth. Then it is
made anew, and where a full step of Newton's does not help either, it is shortened until the objective
falls, so that the minimum is always reached.

F is r-strongly convex if no coefficient is free, so weights with a gradient of at most r t are within
t of the minimum.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math

import numpy as np

from discreet.compiling import njit
from discreet.randomness import IntArray
from discreet.schema import FloatArray

TOLERANCE = 1e-6
"""Distance of the weights from the minimum, at most, where every coefficient is penalised."""

ROUNDING = 1e-13
"""Gradients below this share of the sum of the rows are rounding."""

_MOST_STEPS = 200
_SHRINK = 0.8


@njit(cache=True, nogil=True, error_model="numpy")
def fit_logistic(
    rows: FloatArray,
    signs: FloatArray,
    members: IntArray,
    starts: IntArray,
    sizes: IntArray,
    marks: IntArray,
    penalty: FloatArray,
    terms: FloatArray,
    weights: FloatArray,
) -> None:
    """Write the weights of every coalition, NaN if it is empty.

    ``signs`` are the labels, -1 or 1. ``terms`` are the fixed part of r, its part per record, the
    tolerance, and whether a coalition whose labels are all alike is fitted too (1) or NaN (0).
    """
    width = rows.shape[1]
    longest = 0
    for c in range(len(starts) - 1):
        longest = max(longest, starts[c + 1] - starts[c])
    signed = np.empty((longest, width))
    hold = np.empty((3, longest))
    inverse = np.empty((width, width))
    for c in range(len(starts) - 1):
        w, inside, above, length, good = np.zeros(width), 0, 0, 0.0, False
        for e in range(marks[c], marks[c + 1]):
            joined = inside
            while inside < sizes[e]:
                player = members[starts[c] + inside]
                signed[inside] = signs[player] * rows[player]
                above += signs[player] > 0
                length += np.abs(rows[player]).sum()
                inside += 1
            if inside == 0 or (terms[3] == 0.0 and (above == 0 or above == inside)):
                weights[e] = np.nan
                continue
            r = terms[0] + terms[1] * inside
            if good:
                for j in range(joined, inside):
                    _join(inverse, signed[j], w)
            enough = max(terms[2] * r, ROUNDING * length)
            good = _descend(signed[:inside], w, r, penalty, enough, inverse, good, hold)
            weights[e] = w


@njit(cache=True, nogil=True, error_model="numpy")
def _join(inverse: FloatArray, row: FloatArray, w: FloatArray) -> None:
    """Add a row to the Hessian whose inverse is given (Sherman and Morrison)."""
    share = 1.0 / (1.0 + math.exp(-np.dot(row, w)))
    curved = share * (1.0 - share)
    moved = np.dot(inverse, row)
    scale = curved / (1.0 + curved * np.dot(row, moved))
    for a in range(len(moved)):
        factor = scale * moved[a]
        for b in range(len(moved)):
            inverse[a, b] -= factor * moved[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _learn(inverse: FloatArray, step: FloatArray, change: FloatArray) -> None:
    """Bring the inverse of the Hessian up to date with what a step did to the slope (BFGS)."""
    along = np.dot(step, change)
    if not along > 0.0:
        return
    moved = np.dot(inverse, change)
    scale = (1.0 + np.dot(change, moved) / along) / along
    for a in range(len(step)):
        own, other = scale * step[a] - moved[a] / along, step[a] / along
        for b in range(len(step)):
            inverse[a, b] += own * step[b] - other * moved[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(
    signed: FloatArray, w: FloatArray, r: float, penalty: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return the gradient; ``shares`` become the probabilities of the wrong labels."""
    np.dot(signed, w, shares)
    for j in range(len(shares)):
        shares[j] = 1.0 / (1.0 + math.exp(shares[j]))
    slope: FloatArray = r * penalty * w
    slope -= np.dot(shares, signed)
    return slope


@njit(cache=True, nogil=True, error_model="numpy")
def _objective(signed: FloatArray, w: FloatArray, r: float, penalty: FloatArray) -> float:
    total = 0.0
    for margin in np.dot(signed, w):
        total += max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))
    return total + r / 2 * float(np.sum(penalty * w * w))


@njit(cache=True, nogil=True, error_model="numpy")
def _invert(matrix: FloatArray) -> None:
    """Invert a positive definite matrix in place (Gauss and Jordan, which needs no pivots for these).

    A few lines instead of a library: compiling a call of LAPACK takes numba several seconds.
    """
    for k in range(len(matrix)):
        pivot = 1.0 / matrix[k, k]
        matrix[k, k] = 1.0
        for j in range(len(matrix)):
            matrix[k, j] *= pivot
        for i in range(len(matrix)):
            factor = matrix[i, k]
            if i != k:
                matrix[i, k] = 0.0
                for j in range(len(matrix)):
                    matrix[i, j] -= factor * matrix[k, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_inverse(
    signed: FloatArray, r: float, penalty: FloatArray, shares: FloatArray, inverse: FloatArray
) -> None:
    """Write the inverse of the Hessian where the wrong labels have these probabilities."""
    curved = np.empty(signed.shape)
    for j in range(len(signed)):
        curved[j] = shares[j] * (1.0 - shares[j]) * signed[j]
    np.dot(curved.T, signed, inverse)
    for a in range(len(penalty)):
        # Where all probabilities are 0 or 1 a free coefficient would leave the Hessian singular.
        inverse[a, a] += r * penalty[a] + 1e-12
    _invert(inverse)


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(
    signed: FloatArray,
    w: FloatArray,
    r: float,
    penalty: FloatArray,
    enough: float,
    inverse: FloatArray,
    good: bool,
    hold: FloatArray,
) -> bool:
    """Move ``w`` to the minimum; return whether ``inverse`` is still of use."""
    shares, tried = hold[0, : len(signed)], hold[1, : len(signed)]
    slope = _slope(signed, w, r, penalty, shares)
    norm = math.sqrt(np.dot(slope, slope))
    for _ in range(_MOST_STEPS):
        if norm <= enough:
            return good
        fresh = not good
        if fresh:
            _fill_inverse(signed, r, penalty, shares, inverse)
            good = True
        step = np.dot(inverse, slope)
        trial = w - step
        after = _slope(signed, trial, r, penalty, tried)
        length = math.sqrt(np.dot(after, after))
        if not length <= _SHRINK * norm:
            good = False
            if not fresh:
                continue
            before, share = _objective(signed, w, r, penalty), 1.0
            decrease = 1e-4 * np.dot(slope, step)
            while not _objective(signed, trial, r, penalty) <= before - share * decrease:
                share /= 2
                if share < 1e-9:  # nothing is left but rounding
                    return False
                trial = w - share * step
            after = _slope(signed, trial, r, penalty, tried)
            length = math.sqrt(np.dot(after, after))
        elif length > enough:
            _learn(inverse, trial - w, after - slope)
        for j in range(len(w)):  # to assign a whole array takes longest to compile
            w[j] = trial[j]
        for j in range(len(shares)):
            shares[j] = tried[j]
        slope, norm = after, length
    w[:] = np.nan
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def fit_ridge(
    rows: FloatArray,
    targets: FloatArray,
    members: IntArray,
    starts: IntArray,
    sizes: IntArray,
    marks: IntArray,
    penalty: FloatArray,
    terms: FloatArray,
    weights: FloatArray,
) -> None:
    """Write the minimum of sum (x.w - y)^2 + r sum_j p_j w_j^2 for every coalition, NaN if empty.

    ``terms`` are the fixed part of r and its part per record.
    """
    width = rows.shape[1]
    for c in range(len(starts) - 1):
        squares, products, inside = np.zeros((width, width)), np.zeros(width), 0
        for e in range(marks[c], marks[c + 1]):
            while inside < sizes[e]:
                player = members[starts[c] + inside]
                row = rows[player]
                for a in range(width):
                    for b in range(width):
                        squares[a, b] += row[a] * row[b]
                    products[a] += row[a] * targets[player]
                inside += 1
            if inside == 0:
                weights[e] = np.nan
                continue
            system = squares.copy()
            for a in range(width):
                system[a, a] += (terms[0] + terms[1] * inside) * penalty[a]
            _invert(system)
            weights[e] = np.dot(system, products)
