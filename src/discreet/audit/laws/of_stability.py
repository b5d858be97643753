"""Selections by stability, and by scores whose noise is as wide as they are sensitive here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from discreet.audit.laws.divergence import FloatArray
from discreet.audit.laws.subject import Promise, Subject
from discreet.mechanisms import JointSmoothMax, SmoothNoisyMax
from discreet.mechanisms.smooth.tables import StabilityTable

Standing = tuple[int, int]
"""A winner, the first or the second candidate, and its stability."""

Dilated = tuple[tuple[int, ...], tuple[float, ...]]
"""Scores, and how far each may move."""

_MOST_STEPS = 4_096
"""Stabilities whose steps are tried; farther ones are hardly ever told from these."""


def table_subject(name: str, table: StabilityTable, promise: Promise, caught: float = 2.0) -> Subject:
    """Return a table of chances over all steps of a stability, and over a change of winner.

    Candidates that never win are equally likely always, so that they count as one outcome.
    """

    def law(standing: Standing) -> FloatArray:
        winner, stability = standing
        top, other = table.shares(stability)
        rest = (table.candidates - 2) * other
        return np.array([top, other, rest] if winner == 0 else [other, top, rest])

    def pairs() -> Iterator[tuple[Standing, Standing]]:
        yield (0, 0), (1, 0)
        for stability in range(min(table.greatest, _MOST_STEPS) + 1):
            yield (0, stability), (0, stability + 1)

    return Subject(name, law, promise, pairs, caught=caught)


def stability_subject(mechanism: SmoothNoisyMax) -> Subject:
    """Return a choice by the winner and its stability."""
    promise = Promise(mechanism.epsilon, mechanism.delta, (mechanism.event,))
    name = f"{mechanism.name}, {mechanism.candidates} candidates, delta {mechanism.delta:g}"
    return table_subject(name, mechanism.table, promise)


def joint_subject(mechanism: JointSmoothMax) -> Subject:
    """Return a smooth noisy maximum: scores slide and scales dilate together, in any direction."""
    size = mechanism.candidates
    uneven = [40.0, 20.0, 80.0, *([40.0] * size)][:size]
    bounds = np.array(uneven) if mechanism.element_wise else np.full(size, 40.0)
    signs = list(itertools.product((-1, 1), repeat=size))
    factors = signs if mechanism.element_wise else [(-1,) * size, (1,) * size]

    def law(entry: Dilated) -> FloatArray:
        return mechanism.probabilities(np.array(entry[0]), np.array(entry[1]))

    def pairs() -> Iterator[tuple[Dilated, Dilated]]:
        for scores in ((0,) * size, (300, *((0,) * (size - 2)), 100)):
            for slide, grow in itertools.product(signs, factors):
                moved = np.array(scores) + (np.array(slide) * bounds).astype(int)
                grown = bounds * np.exp(mechanism.beta * np.array(grow))
                yield (scores, tuple(bounds.tolist())), (tuple(moved.tolist()), tuple(grown.tolist()))

    (delta,) = {0.0} if mechanism.noise == "student-t" else {mechanism.delta}
    return Subject(
        f"{mechanism.name}, {'element-wise' if mechanism.element_wise else 'common'} bounds",
        law,
        Promise(mechanism.epsilon, delta, (mechanism.event,)),
        pairs,
        loose="the bound adds up what sliding and dilating cost, at outcomes where each is worst",
        caught=8.0,
    )
