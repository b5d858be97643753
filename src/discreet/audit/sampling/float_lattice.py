"""Do outputs of one table betray it by their last bits?

Floats are not evenly spaced: noise drawn as a float and added to a float leaves traces of both in the
last bits, so that some outputs of one table are impossible for its neighbour, and the loss is infinite
(Mironov 2012). Between two powers of two, outputs that are whole multiples of no coarser number than
any output of the other side are looked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.audit.sampling.drawing import Mechanism, MechanismRuns, Progress, draw
from discreet.audit.sampling.intervals import FloatArray
from discreet.audit.sampling.outcomes import outcomes_of
from discreet.errors import ArgumentError

_FEWEST = 30
"""Of so many outputs on one lattice all are even multiples of its step once in 2^30 times."""

_SPREAD = 8
"""Different values on either side: where noise is so small that nearly all outputs are one number, that
of the other side is rare, not impossible."""

_EXPONENTS = 53
"""Granularities that outputs between two powers of two may have."""

_ERROR = 1e-6


@dataclass(frozen=True)
class LatticeAudit:
    """How many outputs of one table its neighbour never produces.

    Args:
      share: of the outputs in ``band`` that are finer than all of the other side, the worse side.
      p_value: of so many on one side alone if both sides were on one lattice, corrected for all that
        was tried.
      side: the worse side.
      band: magnitudes, from and below.
      steps: the numbers of which all outputs there are whole multiples, on the first and second side.
      bands: how many bands of magnitudes were looked at.
      samples: runs per side.
      seconds: that it took.
      stopped: why there are fewer runs than were asked for, else empty.
    """

    share: float
    p_value: float
    side: str
    band: tuple[float, float]
    steps: tuple[float, float]
    bands: int
    samples: int
    seconds: float
    stopped: str = ""

    @property
    def held(self) -> bool:
        """Whether both sides may lie on one lattice."""
        return self.p_value > _ERROR

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "held": self.held}

    def __str__(self) -> str:
        if self.held:
            return (
                f"Outputs of {self.samples} runs per side may lie on one lattice, in {self.bands} "
                "bands of magnitudes."
            )
        low, high = self.band
        return (
            f"{self.share:.1%} of the {self.side} table's outputs from {low:g} to {high:g} never "
            f"occur on the other: they are multiples of {min(self.steps):g}, the other's are of "
            f"{max(self.steps):g}. The loss is infinite."
        )


def lattice(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    *,
    samples: int = 4_000,
    batched: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
    progress: Progress = None,
) -> LatticeAudit:
    """Return the share of outputs of one table that the other can never produce, by their last bits.

    It sees most between a table whose answer is zero and a neighbour's of about the scale of the noise:
    outputs that all lie far from zero are spaced alike on both sides, and tell nothing here.

    Args:
      mechanism: ``mechanism(table)`` returns a number or an array of them; with ``batched=True``,
        ``mechanism(table, size)`` returns ``size`` rows. All numbers of an output are looked at.
      first: one table, or whatever the mechanism takes.
      second: its neighbour.
      samples: runs per side.
      batched: whether one call answers for many runs.
      seconds: no run is begun after so many.
      seed: of the generators of mechanisms that take one.
      progress: None shows a bar on a terminal; a function is called with numbers of finished runs.

    Guarantees:
      - A mechanism both of whose tables have the same chance of fine outputs between two powers of
        two, as those on one fine lattice have, is blamed less than once in a million times.

    >>> noise = lambda value, size, generator: value + generator.laplace(0, 1, size)
    >>> lattice(noise, 0.0, 1.0, batched=True, seed=1).held
    False
    """
    start = time.perf_counter()
    trial = MechanismRuns(mechanism, (first, second), batched)
    drawn = draw(trial, samples, seconds=seconds, seed=seed, progress=progress)
    sides = [side.values for side in outcomes_of(drawn.side(0), drawn.side(1))]
    tried = [
        found
        for place in range(sides[0].shape[1])
        for found in _compared(sides[0][:, place], sides[1][:, place])
    ]
    if not tried:
        raise ArgumentError(
            f"mechanism must return {_FEWEST} numbers between the same two powers of two on both "
            "sides, got too few. Raise samples."
        )
    worst = min(tried, key=lambda found: found.chance)
    return LatticeAudit(
        share=worst.share,
        p_value=min(1.0, worst.chance * len(tried) * _EXPONENTS),
        side=worst.side,
        band=worst.band,
        steps=worst.steps,
        bands=len(tried) // 2,
        samples=drawn.runs,
        seconds=time.perf_counter() - start,
        stopped=drawn.stopped,
    )


def granularity(values: FloatArray) -> FloatArray:
    """Return, for every float, the greatest power of two of which it is a whole multiple.

    >>> granularity(np.array([3.0, 0.75, 12.0])).tolist()
    [1.0, 0.25, 4.0]
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    return np.asarray(np.ldexp((whole & -whole).astype(np.float64), exponent - 53))


@dataclass(frozen=True)
class _Compared:
    """Outputs of one side in a band beside those of the other."""

    side: str
    band: tuple[float, float]
    share: float
    chance: float
    steps: tuple[float, float]


def _compared(first: FloatArray, second: FloatArray) -> Iterator[_Compared]:
    """Yield every band with enough outputs on both sides, for either side."""
    for low, high in _bands(first, second):
        values = [_inside(numbers, low, high) for numbers in (first, second)]
        inside = [granularity(numbers) for numbers in values]
        if min(map(len, inside)) < _FEWEST:
            continue
        spread = all(len(np.unique(numbers)) >= _SPREAD for numbers in values)
        steps = float(inside[0].min()), float(inside[1].min())
        for place, side in enumerate(("first", "second")):
            finer = int(np.sum(inside[place] < steps[1 - place]))
            runs, others = len(inside[place]), len(inside[1 - place])
            chance = _chance_of_one_side(finer, runs, others) if spread else 1.0
            yield _Compared(side, (low, high), finer / runs, chance, steps)


def _chance_of_one_side(finer: int, runs: int, others: int) -> float:
    """Return how likely all fine outputs are among ``runs``, if any output is as likely fine."""
    places = np.arange(finer)
    return float(np.exp(np.sum(np.log(runs - places) - np.log(runs + others - places))))


def _inside(values: FloatArray, low: float, high: float) -> FloatArray:
    return values[(np.abs(values) >= low) & (np.abs(values) < high)]


def _bands(first: FloatArray, second: FloatArray) -> list[tuple[float, float]]:
    """Return pairs of neighbouring powers of two between which outputs of both sides are."""
    seen = [
        set(np.frexp(side[np.isfinite(side) & (side != 0)])[1].tolist()) for side in (first, second)
    ]
    return [(math.ldexp(0.5, power), math.ldexp(1.0, power)) for power in sorted(seen[0] & seen[1])]
