"""The exact source of noise, drawn ahead, so that many small releases take little time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.randomness import IntArray, SystemNoise

_AHEAD = 2**12

Law = Callable[[float, int], IntArray]


class DrawnAhead(SystemNoise):
    """``SystemNoise`` whose Laplace and Gaussian noise comes from draws of many numbers at once.

    The numbers are those that the product's own samplers return, in their order, each used once; audits
    of mechanisms that draw a few numbers per release would else wait for the operating system.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, float], IntArray] = {}

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Laplace noise."""
        return self._taken("laplace", super().laplace, scale, size)

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Gaussian noise."""
        return self._taken("gaussian", super().gaussian, scale, size)

    def _taken(self, name: str, law: Law, scale: float, size: int) -> IntArray:
        if size >= _AHEAD:
            return law(scale, size)
        held = self._held.get((name, scale), np.zeros(0, dtype=np.int64))
        if len(held) < size:
            held = np.concatenate([held, law(scale, _AHEAD)])
        self._held[name, scale] = held[size:]
        return held[:size]
