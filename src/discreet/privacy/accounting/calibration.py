"""The least noise that meets a target, rounded against ourselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_probability, up
from discreet.privacy.accounting.events import CountGaussianEvent, GaussianEvent, lattice_term


@lru_cache(maxsize=1024)
def gaussian_multiplier(epsilon: float, delta: float, slack: float = 0.0) -> float:
    """Return the least standard deviation, in L2 bounds, that keeps (epsilon, delta).

    Guarantees:
      - The returned multiplier itself meets the analytic condition. [gauss-analytic]
      - ``slack`` is paid for before delta is used. [gauss-lattice]
    """
    _check_target(epsilon, delta)
    if not up(lattice_term(epsilon, slack), 8) < delta:
        raise ArgumentError(f"delta must exceed the lattice's own share, got {delta!r}.")
    return _least_meeting(lambda sigma: GaussianEvent(sigma, slack).delta(epsilon) <= delta)


@lru_cache(maxsize=1024)
def count_gaussian_scale(epsilon: float, delta: float, moves: int) -> float:
    """Return the least discrete Gaussian scale that keeps (epsilon, delta) on counts.

    Guarantees:
      - The returned scale itself meets the exact sum. [gauss-counts]
    """
    _check_target(epsilon, delta)
    return _least_meeting(lambda s: CountGaussianEvent(s, moves).delta(epsilon) <= delta)


def _check_target(epsilon: float, delta: float) -> None:
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_positive("delta", delta, "Gaussian noise has no pure promise.")


def _least_meeting(enough: Callable[[float], bool]) -> float:
    """Bisect on a logarithmic scale; the returned value itself was tested."""
    high = 1.0
    while not enough(high):
        high *= 2
    low = high / 2
    while enough(low) and low > 1e-6:
        high, low = low, low / 2
    while high / low > 1 + 1e-10:
        middle = (low * high) ** 0.5
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
