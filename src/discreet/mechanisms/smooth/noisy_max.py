"""Smooth noisy max of 0/1 utilities: the winner, or a candidate that noise lifted above it.

Deviations from Chaves et al. (2025): the theorem they calibrate by dilates the noise of the winner
alone, although every candidate's noise changes its scale; we calibrate by the exact law over all
stabilities instead, and release from whole weights. Their smooth sensitivity uses epsilon in place of
the admissible beta, and counts one edit too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.smooth.densities import FloatArray
from discreet.mechanisms.smooth.tables import WHOLE, StabilityTable, TableName, stability_table
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.privacy.accounting import ApproximateEvent, PureEvent
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class SmoothNoisyMax:
    """Pick the winner with a probability that grows with its stability; the others equally.

    ``noise`` names the law the noise has, or ``stability`` for the best law there is of this form.

    Guarantees:
      - (epsilon, delta)-differentially private for every number ``stability`` that moves by at most
        one between neighbours with one winner and is zero where they have two. [snm-exact]
      - The change of scale of all noises together is priced, however many candidates. [snm-dilation]
    """

    candidates: int
    epsilon: float
    delta: float = 0.0
    noise: TableName = "stability"

    def __post_init__(self) -> None:
        check_whole("candidates", self.candidates, 2)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)

    @property
    def name(self) -> str:
        """The mechanism."""
        return "stability" if self.noise == "stability" else f"smooth noisy max, {self.noise}"

    @property
    def event(self) -> PureEvent | ApproximateEvent:
        """What the accountant is told."""
        if self.delta == 0:
            return PureEvent(self.epsilon, self.name)
        return ApproximateEvent(self.epsilon, self.delta, self.name)

    @property
    def table(self) -> StabilityTable:
        """The chances at every stability."""
        return stability_table(self.noise, self.candidates, self.epsilon, self.delta)

    def probabilities(self, winner: int, stability: int) -> FloatArray:
        """Return the exact law of the chosen index."""
        self._check(winner, stability)
        top, other = self.table.shares(stability)
        law = np.full(self.candidates, other)
        law[winner] = top
        return law

    def release(self, raw_winner: int, raw_stability: int, source: NoiseSource) -> int:
        """Return the chosen index: one whole number below 2^62 decides."""
        self._check(raw_winner, raw_stability)
        top = self.table.top(raw_stability)
        drawn = source.below(WHOLE)
        if drawn < top:
            return raw_winner
        other = (drawn - top) // ((WHOLE - top) // (self.candidates - 1))
        return other + int(other >= raw_winner)

    def _check(self, winner: int, stability: int) -> None:
        check_whole("winner", winner, 0, self.candidates - 1)
        check_whole("stability", stability, 0)


def score_stability(raw_scores: IntArray, moved: int) -> tuple[int, int]:
    """Return the winner of whole scores and a stability, if an edit moves a difference by ``moved``.

    The lowest index wins ties. A rival that would win a tie needs one step less, so its step is taken
    off: a gap of ``moved`` steps against such a rival is no stability at all.

    Guarantees:
      - Moves by at most one while the winner stays; zero if an edit can change it. [gap-stability]
    """
    check_whole("moved", moved, 1)
    winner = int(np.argmax(raw_scores))
    slack = raw_scores[winner] - raw_scores - (np.arange(len(raw_scores)) < winner)
    return winner, int(np.delete(slack, winner).min()) // moved
