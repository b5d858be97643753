"""Selections by scores: the exact law of what is chosen, over vectors whose scores move apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from discreet.audit.laws.divergence import FloatArray
from discreet.audit.laws.neighbours import FAR, Scores, corner_scores, level_vectors, pairs_of_scores
from discreet.audit.laws.subject import Promise, Subject
from discreet.mechanisms import AboveThreshold, RankingNoise, TopK
from discreet.mechanisms.selection.pick import Pick
from discreet.numerics import check_whole
from discreet.randomness import IntArray

_GAPS = 26
"""Noise scales up to which gaps are told apart; a greater one is this one."""

_STEPS = 1_000
"""Steps of the sensitivity beyond which a law that is summed over noise takes long."""


def pick_subject(pick: Pick) -> Subject:
    """Return a selection of one candidate by scores; with its noisy gap if it tells one."""
    promise = Promise(pick.epsilon, 0.0, (pick.event,))
    if pick.tells_gap:
        return Subject(
            pick.name, _with_gap(pick), promise, pairs_of_scores(pick.sensitivity, 3, (0, 1))
        )

    def law(scores: Scores) -> FloatArray:
        return pick.probabilities(np.array(scores))

    return Subject(pick.name, law, promise, pairs_of_scores(pick.sensitivity))


def _with_gap(pick: Pick) -> Callable[[Scores], FloatArray]:
    """Return the law of the winner and its gap; a wide gap is as telling as scores far apart."""
    _check_steps(pick.sensitivity)
    gaps = math.ceil(_GAPS * pick.scale)
    return lambda scores: winner_and_gap(scores, pick.scale, gaps)


def _check_steps(sensitivity: int) -> None:
    check_whole(
        "sensitivity", sensitivity, 1, _STEPS, "Audit the mechanism on a coarser lattice of scores."
    )


def top_subject(mechanism: TopK) -> Subject:
    """Return the first ``k`` of some candidates, in order."""
    size = mechanism.k + 1

    def law(scores: Scores) -> FloatArray:
        orders = itertools.permutations(range(size), mechanism.k)
        return np.array([mechanism.probability(np.array(scores), order) for order in orders])

    promise = Promise(mechanism.epsilon, 0.0, mechanism.events)
    pairs = pairs_of_scores(mechanism.sensitivity, size, (0, FAR))
    return Subject(f"top {mechanism.k} {mechanism.law}", law, promise, pairs)


def ranking_subject(noise: RankingNoise) -> Subject:
    """Return the picks of one group of a ranking of noisy sums, as Borda counts are ranked."""
    pick, size = noise.pick, min(noise.candidates, 3)

    def law(scores: Scores) -> dict[Hashable, float]:
        return dict(_peeled(pick, np.array(scores), noise.k))

    promise = Promise(noise.epsilon, noise.delta, noise.events)
    pairs = pairs_of_scores(pick.sensitivity, size, (0, FAR))
    return Subject(f"ranking, {noise.kind}", law, promise, pairs)


def _peeled(pick: Pick, scores: IntArray, k: int) -> Iterator[tuple[Scores, float]]:
    """Yield every order of the first ``k`` with its probability."""
    for order in itertools.permutations(range(len(scores)), k):
        left, share = list(range(len(scores))), 1.0
        for index in order:
            share *= float(pick.probabilities(scores[left])[left.index(index)])
            left.remove(index)
        yield order, share


def threshold_subject(mechanism: AboveThreshold, scores: int = 400) -> Subject:
    """Return the first score above a public threshold, of few scores and of very many.

    The loss comes near its bound where many scores just below the threshold rise together and the one
    after them falls.
    """
    moved = mechanism.sensitivity
    _check_steps(moved)

    def law(entry: Scores) -> FloatArray:
        return mechanism.probabilities(np.array(entry), moved)

    def pairs() -> Iterator[tuple[Scores, Scores]]:
        for below, last in itertools.product((-12, -8, -4, 0), (-24, -12, 0)):
            first = (below * moved,) * scores + (last * moved,)
            yield first, (*(s + moved for s in first[:-1]), first[-1] - moved)
        for vector in level_vectors(3, (0, moved, 2 * moved)):
            for other in corner_scores(vector, moved):
                yield vector, other

    promise = Promise(mechanism.epsilon, 0.0, (mechanism.event,))
    return Subject(mechanism.name, law, promise, pairs)


def winner_and_gap(scores: Scores, scale: float, gaps: int) -> FloatArray:
    """Return the law of (winner, gap) of a noisy maximum, summed over the best rival's place.

    Noise is spread evenly inside its step and the real gap is rounded down: against a rival m steps
    high, with t rivals there, a gap of g has the winner g steps above m and above all of them inside
    the step (one of t + 1 orders), or g + 1 steps above m and not above all (t of t + 1 orders). One
    row per winner; a column for each gap below ``gaps``, the last for all others.
    """
    reached = math.ceil(36 * scale)
    places = np.arange(min(scores) - reached, max(scores) + reached + 1)
    at = np.stack([laplace_at(places - s, scale) for s in scores])
    below = np.stack([laplace_below(places - s, scale) for s in scores])
    law = np.empty((len(scores), gaps + 1))
    for i, score in enumerate(scores):
        ties = _coefficients([(below[j], at[j]) for j in range(len(scores)) if j != i])
        needed = places[None, :] + np.arange(gaps + 2)[:, None] - score
        height = laplace_at(needed, scale)
        height[gaps:] = 1 - laplace_below(needed[gaps:], scale)
        here, above = height[:-1], np.vstack([height[1:gaps], laplace_at(needed[[gaps]], scale)])
        above = np.vstack([above, height[[-1]]])
        law[i] = sum((here + t * above) @ rival / (t + 1) for t, rival in enumerate(ties) if t > 0)
    return law


def _coefficients(factors: list[tuple[FloatArray, FloatArray]]) -> list[FloatArray]:
    """Return, by number of ties t, P(best rival here and t rivals here): terms of prod(b + x a)."""
    terms = [np.ones_like(factors[0][0])]
    for below, at in factors:
        grown = [term * below for term in terms] + [np.zeros_like(below)]
        for t, term in enumerate(terms):
            grown[t + 1] = grown[t + 1] + term * at
        terms = grown
    return terms


def laplace_at(value: IntArray, scale: float) -> FloatArray:
    """Return P(Z = value) of the discrete Laplace law."""
    return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(value) / scale))


def laplace_below(value: IntArray, scale: float) -> FloatArray:
    """Return P(Z < value) of the discrete Laplace law."""
    tail = np.exp(-np.where(value > 0, value, 1 - value) / scale) / (1 + math.exp(-1.0 / scale))
    return np.asarray(np.where(value > 0, 1.0 - tail, tail))
