"""Selection mechanisms by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.laws.of_scores import winner_and_gap as audited
from discreet.randomness import IntArray, SelectionLaw

FloatArray = NDArray[np.float64]


def permute_and_flip(scores: tuple[int, ...], scale: float) -> list[float]:
    """Return the law by walking through every order of the candidates."""
    accept = [math.exp((s - max(scores)) / scale) for s in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0 / len(orders)
        for i in order:
            law[i] += reached * accept[i]
            reached *= 1.0 - accept[i]
    return law


def winner_and_gap(scores: tuple[int, ...], scale: float) -> dict[object, float]:
    """Return the law of (winner, gap) of a noisy maximum by outcome."""
    gaps = math.ceil(36 * scale) + 12
    law = audited(scores, scale, gaps)
    return {(i, gap): float(law[i, gap]) for i in range(len(scores)) for gap in range(gaps)}


class ScriptedNoise:
    """A source that says exactly what it is told: every draw is taken from a script."""

    simulation = True

    def __init__(self, draws: tuple[int, ...], choices: tuple[int, ...] = ()) -> None:
        self.draws = list(draws)
        self.choices = list(choices)
        self.asked: list[int] = []
        self.scales: list[float] = []

    def laplace(self, scale: float, size: int) -> IntArray:
        self.scales += [scale] * size
        taken, self.draws = self.draws[:size], self.draws[size:]
        return np.array(taken, dtype=np.int64)

    def gaussian(self, scale: float, size: int) -> IntArray:
        return self.laplace(scale, size)

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        self.scales.append(scale)
        return self.draws[:k]

    def below(self, count: int) -> int:
        self.asked.append(count)
        return self.choices.pop(0) if self.choices else 0


def released_law(release: Callable[[ScriptedNoise], Any], draws: int, reach: int) -> dict[Any, float]:
    """Return the law of a release by running it on every noise vector and every choice."""
    law: dict[Any, float] = {}
    for noise in itertools.product(range(-reach, reach + 1), repeat=draws):
        for outcome, share, scales in _branches(release, noise):
            for z, scale in zip(noise, scales, strict=True):
                share *= math.tanh(0.5 / scale) * math.exp(-abs(z) / scale)
            law[outcome] = law.get(outcome, 0.0) + share
    return law


def _branches(
    release: Callable[[ScriptedNoise], Any], noise: tuple[int, ...]
) -> Iterator[tuple[Any, float, list[float]]]:
    """Run a release once for every sequence of answers its uniform choices can have."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        choices = waiting.pop()
        source = ScriptedNoise(noise, choices)
        outcome = release(source)
        known = len(choices)
        if len(source.asked) > known:
            waiting += [(*choices, answer) for answer in range(source.asked[known])]
        else:
            yield outcome, 1.0 / math.prod(source.asked), source.scales
