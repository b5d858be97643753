"""One run with many canaries: a lower bound on epsilon without running a mechanism again.

Each of m made-up records is included by a fair draw of its own; whoever sees the answer guesses which
were. If the mechanism is (epsilon, delta)-differentially private, the number of right guesses is hardly
ever above that of so many guesses that are each right with probability e^epsilon / (1 + e^epsilon)
(Steinke, Nasr and Jagielski 2023, Theorem 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.audit.sampling.intervals import FloatArray, check_confidence
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.randomness import entropy_words, public_generator

BoolArray = NDArray[np.bool_]

_SHARES = (1.0, 0.5, 0.2, 0.08, 0.03)
"""Shares of the canaries that are guessed at; the bound is corrected for trying all of them."""

_GREATEST = 50.0
_SURELY_UNFAIR = 1e-9


@dataclass(frozen=True)
class OneRunAudit:
    """What guesses at the canaries of one run prove of epsilon.

    Args:
      epsilon: the mechanism's epsilon at ``delta`` is at least this, at ``confidence``.
      delta: of the promise.
      confidence: of the bound.
      promised: what must not be exceeded; None if nothing was promised.
      canaries: how many there were.
      guesses: at how many of them was guessed.
      right: how many guesses were.
      tried: numbers of guesses that were tried, which the bound is corrected for.
    """

    epsilon: float
    delta: float
    confidence: float
    promised: float | None
    canaries: int
    guesses: int
    right: int
    tried: int

    @property
    def held(self) -> bool:
        """Whether the bound leaves the promise possible; without a promise it always does."""
        return self.promised is None or self.epsilon <= self.promised

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "held": self.held}

    def __str__(self) -> str:
        promise = "" if self.promised is None else f", promised {self.promised:g}"
        return (
            f"epsilon >= {self.epsilon:.3f} at delta {self.delta:g} with {self.confidence:.9g} "
            f"confidence{promise}: {self.right} of {self.guesses} guesses at {self.canaries} "
            f"canaries were right.{'' if self.held else ' The promise is broken.'}"
        )


def one_run(
    scores: FloatArray | Callable[[BoolArray], Any],
    included: Any = None,
    *,
    canaries: int | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    guesses: int | None = None,
    seed: int | None = None,
) -> OneRunAudit:
    """Return a lower bound on epsilon from one run with many canaries.

    Args:
      scores: a number per canary, larger for those that seem included; or a function that trains once,
        with the canaries of a mask, and returns these numbers.
      included: the mask, drawn by independent fair draws before the run; not given for a function.
      canaries: how many canaries a function is asked about.
      epsilon: what is promised if one record is added or removed, if anything is.
      delta: of the promise.
      confidence: the chance that the bound holds is at least this.
      guesses: at how many canaries is guessed: the half with the largest scores as included, the half
        with the smallest as not; the others are passed over. None tries several numbers.
      seed: of the mask for a function; None draws it from the operating system.

    Guarantees:
      - An epsilon below the bound is stated with probability at most 1 - ``confidence``, if the mask
        was drawn as it must be and scores depend on it through the mechanism's answer alone.

    >>> audit = one_run(lambda included: included * 1.0, canaries=1000, epsilon=1.0, seed=0)
    >>> audit.right, audit.held
    (500, False)
    """
    check_probability("delta", delta)
    check_confidence(confidence)
    if epsilon is not None:
        check_positive("epsilon", epsilon, "Use None where nothing is promised.")
    found, mask = _run(scores, included, canaries, seed)
    numbers = _numbers_of_guesses(len(mask), guesses)
    error = (1.0 - confidence) / len(numbers)
    rights = [_right_guesses(found, mask, number) for number in numbers]
    bounds = [
        least_epsilon(len(mask), number, right, delta=delta, error=error)
        for number, right in zip(numbers, rights, strict=True)
    ]
    best = int(np.argmax(bounds))
    return OneRunAudit(
        bounds[best], delta, confidence, epsilon, len(mask), numbers[best], rights[best], len(numbers)
    )


def least_epsilon(canaries: int, guesses: int, right: int, *, delta: float, error: float) -> float:
    """Return what epsilon exceeds, except with probability ``error``, after so many right guesses."""
    if chance_of_right(canaries, guesses, right, 0.0, delta) > error:
        return 0.0
    low, high = 0.0, _GREATEST
    for _ in range(60):
        middle = (low + high) / 2
        likely = chance_of_right(canaries, guesses, right, middle, delta) > error
        low, high = (low, middle) if likely else (middle, high)
    return low


def chance_of_right(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Return a bound on the chance of so many right guesses (Steinke et al. 2023, Theorem 5.2).

    >>> round(chance_of_right(10, 10, 10, 0.0, 0.0) * 1024, 9)
    1.0
    """
    from scipy.special import bdtrc

    share = 1.0 / (1.0 + math.exp(-epsilon))
    if right == 0:
        return 1.0
    at_least = float(bdtrc(right - 1, guesses, share))
    if delta == 0:
        return at_least
    fewer = np.arange(1, right + 1)
    # bdtrc(k, ...) is the chance of more than k; of more than -1 it is one.
    near = np.where(right - fewer > 0, bdtrc(np.maximum(right - fewer - 1, 0), guesses, share), 1.0)
    steepest = float(np.max((near - at_least) / fewer))
    return min(1.0, at_least + 2 * canaries * delta * steepest)


def _run(
    scores: Any, included: Any, canaries: int | None, seed: int | None
) -> tuple[FloatArray, BoolArray]:
    """Return a score per canary and the mask, of which both must make sense."""
    if callable(scores):
        if included is not None or canaries is None:
            raise ArgumentError("canaries must be given, and included not, where scores is a function.")
        check_whole("canaries", canaries, 1)
        mask = _fair_draws(canaries, seed)
        scores = _trained(scores, mask)
    else:
        mask = _mask(included)
    found = np.asarray(scores)
    if found.shape != mask.shape or found.dtype.kind not in "iufb" or np.isnan(found).any():
        told = f"an array of shape {found.shape}" if found.dtype.kind in "iufb" else shown(scores)
        missing = ", NaN among them" if found.dtype.kind == "f" and np.isnan(found).any() else ""
        raise ArgumentError(
            f"scores must be {len(mask)} numbers, one per canary and none NaN, got {told}{missing}."
        )
    return found.astype(np.float64), mask


def _trained(train: Callable[[BoolArray], Any], mask: BoolArray) -> Any:
    """Return the scores of the one run, or say what it raised."""
    try:
        return train(mask.copy())
    except Exception as error:
        raise ArgumentError(
            f"scores must be a function that answers for a mask, and raised {type(error).__name__}: "
            f"{error}. Call it by hand with a mask of {len(mask)} entries first."
        ) from error


def _mask(included: Any) -> BoolArray:
    mask = np.asarray(included)
    if mask.ndim != 1 or not len(mask) or not np.isin(mask, (0, 1)).all():
        raise ArgumentError(
            "included must say true or false for every canary, got "
            f"{shown(included)}. Draw it before the run, each entry by itself."
        )
    from scipy.special import bdtr

    ones, size = int(mask.sum()), len(mask)
    if 2 * float(bdtr(min(ones, size - ones), size, 0.5)) < _SURELY_UNFAIR:
        raise ArgumentError(
            f"included must come from independent fair draws, got {ones} of {size}. "
            "The bound holds for such canaries alone."
        )
    return mask.astype(np.bool_)


def _fair_draws(canaries: int, seed: int | None) -> BoolArray:
    if seed is None:
        return np.asarray(entropy_words(canaries, np.uint8) >= 128)
    check_whole("seed", seed, 0)
    return np.asarray(public_generator(seed).integers(0, 2, canaries) == 1)


def _numbers_of_guesses(canaries: int, guesses: int | None) -> list[int]:
    if guesses is not None:
        check_whole("guesses", guesses, 1, canaries, "There is one guess per canary at most.")
        return [guesses]
    return sorted({max(1, round(share * canaries)) for share in _SHARES}, reverse=True)


def _right_guesses(scores: FloatArray, mask: BoolArray, guesses: int) -> int:
    """Return how many guesses are right: both ends of the order of scores, whatever the mask is."""
    order = np.argsort(scores, kind="stable")
    out, into = order[: guesses // 2], order[len(order) - (guesses - guesses // 2) :]
    return int(np.sum(~mask[out]) + np.sum(mask[into]))
