"""Laws of mechanisms that break their promise: published ones, and slips of the pen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet.audit.laws.divergence import FloatArray, Law
from discreet.audit.laws.neighbours import (
    FAR,
    Counts,
    Scores,
    corner_scores,
    neighbouring_tables,
)
from discreet.audit.laws.of_noise import noise_subject
from discreet.audit.laws.of_records import PROPOSALS, Rows, attempt_law, replaced_records
from discreet.audit.laws.of_scores import laplace_at, laplace_below
from discreet.audit.laws.subject import Pairs, Promise, Subject
from discreet.mechanisms import AboveThreshold, NoisyMax, count_noise
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.privacy.accounting import PureEvent
from discreet.privacy.certificate import certify_cells
from discreet.privacy.relation import ADD_REMOVE
from discreet.tables.entropy.values import renyi_entropy

_SCALES = 30.0
_RUNS = 64
"""Noise scales that are laid out on each side, and runs per scale."""


def smooth_exponential(epsilon: float) -> Subject:
    """Return the exponential mechanism on 0/1 utilities, scaled by their smooth sensitivity."""

    def law(counts: Counts) -> FloatArray:
        best, second = sorted(counts, reverse=True)[:2]
        utility = (np.array(counts) == best).astype(float)
        weights = np.exp(epsilon * utility / (2 * math.exp(-epsilon * (best - second))))
        return np.asarray(weights / weights.sum())

    def pairs() -> Iterator[tuple[Counts, Counts]]:
        start = (22, 8, 17, 4, 0)
        for other in neighbouring_tables(start, ADD_REMOVE):
            yield start, other

    return _pure("exponential mechanism, smooth sensitivity", law, epsilon, pairs)


def renyi_noise(epsilon: float, order: float, rows: int) -> Subject:
    """Return Laplace noise on a Rényi entropy of two cells, scaled to the published sensitivity."""
    published = 2 * order / (abs(1 - order) * rows)
    scale = published / epsilon

    def law(counts: Counts) -> FloatArray:
        middle = float(renyi_entropy(np.array(counts, dtype=float), order))
        return laplace_in_runs(middle / scale)

    def pairs() -> Iterator[tuple[Counts, Counts]]:
        for first in range(rows):
            yield (rows - first, first), (rows - first - 1, first + 1)

    return _pure(f"Laplace noise on the entropy of order {order:g}", law, epsilon, pairs)


def laplace_in_runs(middle: float) -> FloatArray:
    """Return the law of a Laplace variable around ``middle``, in runs of one 64th of its scale."""
    edges = np.arange(-_SCALES * _RUNS, 2 * _SCALES * _RUNS + 1) / _RUNS - middle
    half = 0.5 * np.exp(-np.abs(edges))
    # Below the middle chances, above it tails: differences of either keep their digits.
    below, above = np.where(edges < 0, half, 1 - half), np.where(edges < 0, 1 - half, half)
    inside = np.where(edges[:-1] >= 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.concatenate([below[:1], inside, above[-1:]])


def replaced_histogram(epsilon: float) -> Subject:
    """Return counts with noise for one moved cell, of tables in which a record is replaced."""
    noise = count_noise(certify_cells(2), relation=ADD_REMOVE, epsilon=epsilon, mechanism="laplace")
    one_moved = noise_subject(noise)
    return _pure("histogram", one_moved.law, epsilon, lambda: [((0, 0), (1, -1)), ((0, 0), (-1, 1))])


def until_one_passes(test: DeniabilityTest) -> Subject:
    """Return Mechanism F as published: tried again until a record passes, priced as one attempt."""
    proposal, sizes = PROPOSALS["resample"]

    def passes(count: int) -> float:
        return test.pass_probability(count) / (1 - test.forced_failure)

    def law(rows: Rows) -> FloatArray:
        records = attempt_law(proposal, sizes, rows, passes)[:-1]
        return np.asarray(records / records.sum())

    promise = Promise(test.epsilon, test.delta)
    pairs = list(replaced_records(4, test.rows))
    return Subject("Mechanism F until one passes", law, promise, lambda: pairs)


def private_threshold(epsilon: float, scores: int = 400) -> Subject:
    """Return the first score above a threshold that is the second greatest score itself."""
    mechanism = AboveThreshold(1, epsilon)

    def law(entry: Scores) -> FloatArray:
        return mechanism.probabilities(np.array(entry), sorted(entry)[-2])

    def pairs() -> Iterator[tuple[Scores, Scores]]:
        for below, last in itertools.product((-24, -12, -6, 0), (0, 6)):
            first = (below,) * scores + (0, 0, last)
            for up, top in itertools.product((-1, 1), repeat=2):
                yield first, (*(s + up for s in first[:-3]), top, top, last - up)

    return _pure("above threshold, true second score", law, epsilon, pairs)


def winner_and_second(epsilon: float) -> Subject:
    """Return the winner of a noisy maximum and who came second, for the price of the winner.

    Of equal noisy scores that with the lower index is ahead.
    """
    scale = NoisyMax(1, epsilon).scale

    def law(scores: Scores) -> FloatArray:
        half = math.ceil(40 * scale)
        places = np.arange(min(scores) - half, max(scores) + half + 1)
        chances = []
        for first, second in itertools.permutations(range(len(scores)), 2):
            # The second is here; the winner is ahead of it and all others are behind it.
            ahead = 1 - laplace_below(places + (first > second) - scores[first], scale)
            here = laplace_at(places - scores[second], scale) * ahead
            for other in set(range(len(scores))) - {first, second}:
                here = here * laplace_below(places + (other > second) - scores[other], scale)
            chances.append(float(here.sum()))
        return np.array(chances)

    def pairs() -> Iterator[tuple[Scores, Scores]]:
        for behind in (0, 4, FAR // 2):
            start = (0, 0, behind, behind)
            for other in corner_scores(start, 1):
                yield start, other

    return _pure("noisy maximum, winner and second", law, epsilon, pairs)


def _pure(name: str, law: Callable[[Any], Law], epsilon: float, pairs: Pairs) -> Subject:
    return Subject(name, law, Promise(epsilon, 0.0, (PureEvent(epsilon, name),)), pairs)
