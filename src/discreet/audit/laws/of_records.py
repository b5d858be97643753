"""Propose-test-release of a support, and Mechanism F on finite universes of records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet.audit.laws.divergence import FloatArray
from discreet.audit.laws.neighbours import Scores, moved_scores
from discreet.audit.laws.subject import Promise, Subject
from discreet.mechanisms import SupportTest
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.numerics import check_whole
from discreet.privacy.accounting import ApproximateEvent
from discreet.tables.synthesis.proposals import BallProposal, Draw, Resample

Passing = Callable[[int], float]
"""The chance to pass, given how many records could have proposed as much."""

Rows = tuple[int, ...]
"""The records of a table by their numbers in the universe, in order."""

_MOST_STEPS = 3
_UNION = "the proof adds up what the noise, the seed and the forced failure cost, each at its worst"

PROPOSALS: dict[str, tuple[Resample | BallProposal, tuple[int, ...]]] = {
    "resample": (Resample((0,), (Draw(1, 0, np.array([[3, 1], [1, 4]])),)), (2, 2)),
    "ball": (BallProposal((1,), (4,), 2.0), (4,)),
}
"""Proposals on universes of four records, with the number of values of every column."""


def support_law(test: SupportTest, scores: Scores) -> dict[Any, float]:
    """Return the law of the answer: the support, or None."""
    raw = np.array(scores)
    passes = test.pass_probability(raw)
    return {tuple((np.abs(raw) > test.threshold).tolist()): passes, None: 1 - passes}


def support_subject(test: SupportTest) -> Subject:
    """Return a support of two coordinates, over all sums around the threshold."""
    moved = test.sensitivity
    check_whole("sensitivity", moved, 1, _MOST_STEPS, "Audit the test on a coarser lattice.")
    high = test.threshold + (test.limit + 2) * moved

    def pairs() -> Iterator[tuple[Scores, Scores]]:
        for score in range(high + 1):
            for scores in ((score, high), (score, 0), (score, score)):
                for other in moved_scores(scores, moved):
                    yield scores, other

    promise = Promise(test.epsilon, test.delta, test.events)
    return Subject(test.name, lambda scores: support_law(test, scores), promise, pairs)


def attempt_law(
    proposal: Resample | BallProposal, sizes: tuple[int, ...], rows: Rows, passes: Passing
) -> FloatArray:
    """Return the exact law of one attempt: every record of the universe, then no output."""
    universe = np.array(list(itertools.product(*(range(size) for size in sizes))))
    codes = universe[list(rows)]
    found = np.zeros(len(universe) + 1)
    for seed in codes:
        for place, record in enumerate(universe):
            chance = proposal.probability(seed, record) / len(codes)
            if chance:
                found[place] += chance * passes(proposal.plausible(codes, seed, record))
    found[-1] = max(0.0, 1 - found[:-1].sum())
    return found


def replaced_records(universe: int, rows: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield all tables of so many records, each with every table in which one record is another."""
    for table in itertools.combinations_with_replacement(range(universe), rows):
        others = {
            tuple(sorted((*table[:place], new, *table[place + 1 :])))
            for place, new in itertools.product(range(rows), range(universe))
        }
        yield from ((table, other) for other in sorted(others) if table < other)


def deniability_subject(test: DeniabilityTest, name: str = "resample") -> Subject:
    """Return one attempt of Mechanism F, over all tables of four possible records."""
    proposal, sizes = PROPOSALS[name]
    check_whole("rows", test.rows, 2, 7, "More have too many tables to try.")

    def law(rows: Rows) -> FloatArray:
        return attempt_law(proposal, sizes, rows, test.pass_probability)

    event = ApproximateEvent(test.epsilon, test.delta, "plausible deniability")
    promise = Promise(test.epsilon, test.delta, (event,))
    pairs = list(replaced_records(4, test.rows))
    return Subject(f"Mechanism F, {name}", law, promise, lambda: pairs, _UNION, caught=4.0)
