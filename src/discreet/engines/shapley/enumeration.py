"""Exact Shapley values by enumeration: every coalition of a few features.

A game v gives every coalition S of the features 1..d a number. The Shapley value of feature j is

    phi_j = sum over S without j of w(|S|) (v(S + j) - v(S)),    w(k) = 1 / (d C(d - 1, k)),

so it is linear in the 2^d numbers: v(S) enters phi_j with w(|S| - 1) if j is in S and with -w(|S|) if
not. Coalitions are numbered by their bits: coalition number s holds feature j if bit j of s is set;
0 is the empty coalition, 2^d - 1 the full one.

Reference: Shapley (1953), "A Value for n-Person Games".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.schema import FloatArray

BoolArray = NDArray[np.bool_]

LARGEST = 20
"""More features than this have too many coalitions to write down."""


def all_coalitions(features: int) -> BoolArray:
    """Return every coalition as a row of membership, in the order of their numbers.

    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    check_whole("features", features, 1, LARGEST)
    numbers = np.arange(2**features)
    return np.asarray((numbers[:, None] >> np.arange(features)) & 1 == 1)


def exact_operator(features: int) -> FloatArray:
    """Return the matrix that takes the values of all coalitions to the Shapley values.

    Guarantees:
      - ``exact_operator(d) @ v`` are the Shapley values of the game v, to rounding; every row sums to
        zero, and the full coalition enters with 1/d. [kernel-operator]
    """
    members = all_coalitions(features)
    sizes = members.sum(axis=1)
    weights = marginal_weights(features)
    inside = np.append(0.0, weights)[sizes]  # w(|S| - 1)
    outside = np.append(weights, 0.0)[sizes]  # w(|S|)
    return np.asarray(np.where(members, inside[:, None], -outside[:, None]).T)


def marginal_weights(features: int) -> FloatArray:
    """Return w(k), the weight of adding a feature to a coalition of k others, for k = 0..d-1."""
    d = features
    return np.array([1.0 / (d * math.comb(d - 1, k)) for k in range(d)])


def shapley_values(values: FloatArray) -> FloatArray:
    """Return the Shapley values of games given by the values of all their coalitions.

    Args:
      values: the last axis runs over the 2^d coalitions in the order of their numbers.

    >>> shapley_values(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    games = np.asarray(values, dtype=np.float64)
    count = games.shape[-1]
    features = count.bit_length() - 1
    if count != 2**features or not 1 <= features <= LARGEST:
        raise ArgumentError(f"values must have 2^d entries for 1 to {LARGEST} features, got {count}.")
    sizes = all_coalitions(features).sum(axis=1)
    weights = np.append(marginal_weights(features), 0.0)[sizes]
    numbers = np.arange(count)
    phi = [
        np.sum((games[..., without + (1 << j)] - games[..., without]) * weights[without], axis=-1)
        for j in range(features)
        for without in [numbers[(numbers >> j) & 1 == 0]]
    ]
    return np.stack(phi, axis=-1)


def enumerate_values(value: Callable[[BoolArray], float], features: int) -> FloatArray:
    """Return the Shapley values of a game given as a function of a coalition."""
    members = all_coalitions(features)
    return shapley_values(np.array([float(value(row)) for row in members]))
