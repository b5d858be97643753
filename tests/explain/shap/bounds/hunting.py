"""Looking for the worst: every corner of small zonotopes, and ascents to far corners of large ones.

A zonotope is all sums of t_k g_k with abs(t_k) <= 1. Norms are convex, so the worst is at a corner:
every t_k is -1 or 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from discreet.privacy.certificate import NORMS, Bounds, Norm
from discreet.schema import FloatArray

ORDERS: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": np.inf}


def corners(generators: FloatArray) -> FloatArray:
    """Return every corner, one per row."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=generators.shape[1])))
    return signs @ generators.T


def ascend(generators: FloatArray, norm: Norm, restarts: int = 30, seed: int = 0) -> FloatArray:
    """Return the farthest corner found by going uphill: direction to corner to direction."""
    rng = np.random.default_rng(seed)
    best = np.zeros(len(generators))
    for _ in range(restarts):
        direction = rng.normal(size=len(generators))
        for _ in range(50):
            point = generators @ np.sign(generators.T @ direction)
            direction = _steepest(point, norm)
        if size(point, norm) > size(best, norm):
            best = point
    return best


def hunt(generators: FloatArray, seed: int = 0) -> FloatArray:
    """Return far corners: the best ascent in each norm, and the best corner of each coordinate."""
    ascents = [ascend(generators, norm, seed=seed) for norm in NORMS]
    coordinates = [generators @ np.sign(row) for row in generators]
    return np.array([*ascents, *coordinates])


def size(vector: FloatArray, norm: Norm) -> float:
    return float(np.linalg.norm(vector, ORDERS[norm]))


def keeps(bounds: Bounds, changes: Iterable[FloatArray]) -> bool:
    """Say whether every change is within the bounds in all three norms."""
    return all(size(change, norm) <= getattr(bounds, norm) for change in changes for norm in NORMS)


def tightness(bounds: Bounds, norm: Norm, changes: Iterable[FloatArray]) -> float:
    """Return the greatest change over the bound: 1 if it is attained."""
    return float(max(size(change, norm) for change in changes) / getattr(bounds, norm))


def _steepest(point: FloatArray, norm: Norm) -> FloatArray:
    if norm == "l1":
        return np.where(point < 0, -1.0, 1.0)
    if norm == "l2":
        return point / max(float(np.linalg.norm(point)), 1e-300)
    place = int(np.argmax(np.abs(point)))
    return np.sign(point[place]) * np.eye(len(point))[place]
