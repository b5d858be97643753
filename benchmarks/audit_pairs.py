"""Pairs of laws with a known epsilon, as scores on which two auditors can be compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.sampling.intervals import epsilon_of_mu
from discreet.randomness import public_generator

FloatArray = NDArray[np.float64]
Draw = Callable[[Generator, tuple[int, int], int], FloatArray]


@dataclass(frozen=True)
class Pair:
    """Two laws of a number.

    Args:
      name: of the mechanism.
      draw: returns so many numbers of side 0 or 1.
      epsilon: the truth at ``delta``.
      delta: of the promise.
    """

    name: str
    draw: Draw
    epsilon: float
    delta: float = 0.0

    def scores(self, repeats: int, size: int) -> tuple[FloatArray, FloatArray]:
        """Return repeats x size numbers of either side, the same whenever it is asked."""
        generator = public_generator(size)
        return self.draw(generator, (repeats, size), 0), self.draw(generator, (repeats, size), 1)


class Replay:
    """A mechanism whose runs were drawn before: hands out the numbers of each side in order."""

    def __init__(self) -> None:
        self.told: dict[int, int] = {}

    def __call__(self, numbers: Any, size: int) -> Any:
        """Return the next ``size`` numbers of a side."""
        start = self.told.get(id(numbers), 0)
        self.told[id(numbers)] = start + size
        return numbers[start : start + size]


def _laplace(generator: Generator, shape: tuple[int, int], side: int) -> FloatArray:
    return side + generator.laplace(0.0, 1.0, shape)


def _counts(generator: Generator, shape: tuple[int, int], side: int) -> FloatArray:
    success = -math.expm1(-1.0)
    drawn = generator.geometric(success, shape) - generator.geometric(success, shape)
    return np.asarray(side + drawn, dtype=np.float64)


def _gaussian(generator: Generator, shape: tuple[int, int], side: int) -> FloatArray:
    return side * _MU + generator.normal(0.0, 1.0, shape)


def _response(generator: Generator, shape: tuple[int, int], side: int) -> FloatArray:
    true = generator.random(shape) < math.e / (1 + math.e)
    return np.where(true, float(side), 1.0 - side)


def _mu_of(epsilon: float, delta: float) -> float:
    """Return the mu at which the Gaussian mechanism has this epsilon."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of_mu(middle, delta) < epsilon else (low, middle)
    return low


_DELTA = 0.01
_MU = _mu_of(1.0, _DELTA)

PAIRS = (
    Pair("Laplace", _laplace, 1.0),
    Pair("discrete Laplace", _counts, 1.0),
    Pair("Gaussian", _gaussian, 1.0, _DELTA),
    Pair("randomised response", _response, 1.0),
)
