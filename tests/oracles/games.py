"""Games with known Shapley values, and the definition itself by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.value.engines.games import FunctionGame


def by_definition(players: int, worth: Callable[[Any], float]) -> Any:
    """Return Shapley values as the mean over all orders."""
    values = np.zeros(players)
    for order in itertools.permutations(range(players)):
        for place, player in enumerate(order):
            before = np.array(sorted(order[:place]), dtype=np.int64)
            after = np.array(sorted(order[: place + 1]), dtype=np.int64)
            values[player] += worth(after) - worth(before)
    return values / math.factorial(players)


def voting() -> tuple[FunctionGame, Any]:
    """Return the three-party vote (2, 1, 1) that needs 3: the large party decides more."""
    weights = np.array([2, 1, 1])
    return FunctionGame(3, lambda c: float(weights[c].sum() >= 3)), np.array([2 / 3, 1 / 6, 1 / 6])


def airport(costs: Any) -> tuple[FunctionGame, Any]:
    """Return the airport game: a runway as long as the longest plane needs (Littlechild, Owen 1973)."""
    costs = np.sort(np.asarray(costs, dtype=float))
    n, steps = len(costs), np.diff(costs, prepend=0.0)
    shares = np.cumsum(steps / (n - np.arange(n)))
    return FunctionGame(n, lambda c: float(costs[c].max(initial=0.0))), shares


def gloves(left: int, right: int) -> tuple[FunctionGame, Any]:
    """Return the glove game: pairs are worth one; the first ``left`` players have left gloves."""
    n = left + right

    def worth(members: Any) -> float:
        lefts = int(np.sum(members < left))
        return float(min(lefts, len(members) - lefts))

    share = sum(
        math.comb(left - 1, a) * math.comb(right, b) / math.comb(n - 1, a + b) / n
        for a in range(left)
        for b in range(a + 1, right + 1)
    )
    other = (min(left, right) - left * share) / right
    return FunctionGame(n, worth), np.array([share] * left + [other] * right)


def random_game(players: int, seed: int) -> FunctionGame:
    """Return a game whose coalitions are worth uniform numbers."""
    table = np.random.default_rng(seed).random(2**players)
    return FunctionGame(players, lambda c: float(table[int(np.sum(1 << c))]))
