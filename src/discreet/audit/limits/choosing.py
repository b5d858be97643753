"""Selections: how far ahead the best must be before any private choice can find it.

The worlds are histograms: n records, each in one of m cells or in none, and a replaced record moves one
unit from one cell to another. In world S the cells of S hold g records more than all others, so that
g |S - T| replacements take it to world T. A mechanism that is right in every world must be alike in all
of them. n must be so large that these worlds exist: k g, or as many as an order takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from discreet.audit.limits.groups import group_delta, least_count_error
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_probability, check_whole

_MOST_PLACES = 12
"""Orders are summed over subsets of places."""


def least_miss(candidates: int, gap: int, epsilon: float, delta: float = 0.0, k: int = 1) -> float:
    """Return the least chance to miss the set of the k best that are ``gap`` ahead, in the worst world.

    Let every world have its set with chance s = 1 - beta or more. World S gives the answer T with
    chance at least e^(-j g eps) (s - delta_jg), j = |S - T|, and different answers exclude each other:

        beta >= sum over j from 1 to k of C(k, j) C(m - k, j) e^(-j g eps) (1 - beta - delta_jg)

    which is solved for beta. For k = 1 and delta = 0 it is (m - 1) / (m - 1 + e^(g eps)).

    >>> round(least_miss(10, 4, 1.0), 4)
    0.1415
    """
    _check(candidates, k, epsilon, delta)
    check_whole("gap", gap, 0)
    weights = [_answers(candidates, k, j) * math.exp(-j * gap * epsilon) for j in range(1, k + 1)]
    lost = [
        weight * group_delta(epsilon, delta, j * gap) if weight > 0 else 0.0
        for j, weight in enumerate(weights, start=1)
    ]
    kept = [(w, lose) for w, lose in zip(weights, lost, strict=True) if lose < w]
    total, slack = math.fsum(w for w, _ in kept), math.fsum(lose for _, lose in kept)
    return max(0.0, (total - slack) / (1.0 + total))


def least_disorder(candidates: int, gap: int, epsilon: float, k: int) -> float:
    """Return the least chance to miss the *order* of the k best, each ``gap`` ahead of the next.

    Scores are k g, ..., 2 g, g and 0 for all others; half the L1 distance of two worlds is how many
    replacements they are apart. As in ``least_miss``, for pure promises: beta / (1 - beta) is at least
    the sum of e^(-eps distance) over all other worlds, here added up over all of them.
    """
    _check(candidates, k, epsilon, 0.0)
    check_whole("gap", gap, 0)
    if k > _MOST_PLACES:
        raise ArgumentError(f"k must be at most {_MOST_PLACES} for an order, got {k}. Ask for sets.")
    others = _all_orders(candidates, k, gap * epsilon / 2.0) - 1.0
    return max(0.0, others / (1.0 + others))


def least_gap(
    candidates: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    k: int = 1,
    level: float = 0.9,
    ordered: bool = False,
) -> int:
    """Return the least whole gap at which being right with chance ``level`` is not excluded."""
    check_probability("level", level)

    def misses(gap: int) -> float:
        if ordered:
            return least_disorder(candidates, gap, epsilon, k)
        return least_miss(candidates, gap, epsilon, delta, k)

    return first_gap(lambda gap: misses(gap) <= 1.0 - level)


def first_gap(enough: Callable[[int], bool]) -> int:
    """Return the least whole gap that is enough, where every greater one is."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return 0 if high == 1 and enough(0) else high


def least_farthest_count(cells: int, rows: int, epsilon: float) -> float:
    """Return the least mean of the greatest error among all counts of a histogram, pure promises.

    In world i, cell i holds k records that in world 0 another cell holds. An answer that is off by less
    than k / 2 everywhere tells the worlds apart, so that as in ``least_miss`` some world errs by k / 2
    or more with chance (m - 1) / (m - 1 + e^(k eps)); the best k up to n is taken. And no cell can be
    counted better than one count alone.
    """
    _check(cells, 1, epsilon, 0.0)
    check_whole("rows", rows, 1)
    most = min(rows, math.ceil((math.log(cells) + 10.0) / epsilon))
    packed = max(0.5 * k * least_miss(cells, k, epsilon) for k in range(1, most + 1))
    return max(packed, least_count_error(rows, epsilon))


def _answers(candidates: int, k: int, replaced: int) -> float:
    return float(math.comb(k, replaced) * math.comb(candidates - k, replaced))


@lru_cache(maxsize=512)
def _all_orders(candidates: int, k: int, half: float) -> float:
    """Return the sum of e^(-half |s - s'|_1 / g) over all worlds s', place by place.

    ``sums`` has, by the set of the old best that have a new place, the sum over all that fill the
    places so far; the rest of the places went to candidates from outside.
    """
    outside, sums = candidates - k, {0: 1.0}
    for place in range(k):
        score, grown = k - place, dict[int, float]()
        for used, total in sums.items():
            left = outside - (place - used.bit_count())
            if left > 0:
                grown[used] = grown.get(used, 0.0) + total * left * math.exp(-half * score)
            for old in range(k):
                if not used >> old & 1:
                    moved = used | 1 << old
                    share = total * math.exp(-half * abs(score - (k - old)))
                    grown[moved] = grown.get(moved, 0.0) + share
        sums = grown
    return math.fsum(
        total * math.exp(-half * sum(k - old for old in range(k) if not used >> old & 1))
        for used, total in sums.items()
    )


def _check(candidates: int, k: int, epsilon: float, delta: float) -> None:
    check_whole("candidates", candidates, 2)
    check_whole("k", k, 1, candidates - 1)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
