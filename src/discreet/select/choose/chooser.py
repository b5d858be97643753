"""One interface over all selection mechanisms: scores or distances of a table in, an index out.

Mechanisms on scores pick near the best whatever the table; mechanisms on stability pick the winner or
*any* other candidate. So only the first have an error bound that holds for every table, and ``auto``
takes the least of those.

Stages that choose look at a table's scores or at its distances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.data import VectorContribution
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.mechanisms.selection.inverse_sensitivity import signed_distances
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax, score_stability
from discreet.mechanisms.smooth.tables import stability_table
from discreet.numerics import check_choice
from discreet.plans import Setting
from discreet.plans.results.choice import Choice
from discreet.plans.stages import sum_terms
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import Certificate
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.select.quantiles.order_statistics import Standing

ChoiceName = Literal[
    "auto",
    "exponential",
    "permute-and-flip",
    "laplace",
    "stability",
    "smooth-student-t",
    "smooth-laplace",
    "smooth-laplace-log-normal",
]
CHOICES = ("auto", *ON_SCORES, *ON_STABILITY)


@dataclass(frozen=True)
class Chooser:
    """A mechanism by its name, for ``candidates`` whose scores move by ``sensitivity`` steps per edit.

    Guarantees:
      - (epsilon, delta)-differentially private; delta is used by mechanisms on stability alone.
        [exponential] [permute-and-flip] [free-gap] [snm-exact]
    """

    kind: str
    candidates: int
    epsilon: float
    delta: float
    sensitivity: int

    @property
    def on_scores(self) -> Pick:
        """The mechanism, if it chooses by scores."""
        return ON_SCORES[self.kind](self.sensitivity, self.epsilon)

    @property
    def on_stability(self) -> SmoothNoisyMax:
        """The mechanism, if it chooses by stability."""
        return SmoothNoisyMax(self.candidates, self.epsilon, self.delta, ON_STABILITY[self.kind])

    @property
    def events(self) -> tuple[Event, ...]:
        """What the accountant is told."""
        return ((self.on_scores if self.kind in ON_SCORES else self.on_stability).event,)

    @property
    def spent_delta(self) -> float:
        """The delta that is used."""
        return self.delta if self.kind in ON_STABILITY else 0.0

    def law(self, standing: Standing) -> FloatArray:
        """Return the exact law of the chosen index."""
        if self.kind in ON_STABILITY:
            return self.on_stability.probabilities(standing.winner, standing.stability)
        return self.on_scores.probabilities(standing.scores)

    def draw(self, raw: Standing, source: NoiseSource) -> FloatArray:
        """Return the chosen index and, where the mechanism gives it, its noisy gap in steps."""
        if self.kind in ON_STABILITY:
            chosen = self.on_stability.release(raw.winner, raw.stability, source)
            return np.array([chosen, np.nan])
        return np.array(self.on_scores.choose(raw.scores, source))

    def worst_error(self, most: float) -> float:
        """Return how far below the best score a choice is on average, in the worst case, in steps.

        Exact for the exponential mechanism and permute-and-flip; for Laplace noise the expected
        greatest of all noises; a mechanism on stability may miss by all there is, ``most``, and where
        the winner is not safe does so with the probability that epsilon demands.
        """
        if self.kind in ON_STABILITY:
            others = self.candidates - 1
            return most * (1 - self.delta) * others / (others + math.exp(min(self.epsilon, 700.0)))
        return self.on_scores.scale * self.on_scores.worst_error(self.candidates)


@dataclass(frozen=True)
class ChoiceNoise:
    """What every stage that chooses has: a certificate, a mechanism, the errors it was chosen by.

    ``errors`` are worst expected errors in the unit of a sum, which is ``step`` times that of scores.
    """

    certificate: Certificate
    chooser: Chooser
    step: float
    errors: Mapping[str, float]

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.chooser.kind

    @property
    def epsilon(self) -> float:
        """The promise."""
        return self.chooser.epsilon

    @property
    def delta(self) -> float:
        """The delta that is used."""
        return self.chooser.spent_delta

    @property
    def events(self) -> tuple[Event, ...]:
        """What the accountant is told."""
        return self.chooser.events

    @property
    def std(self) -> float:
        """How far from the best a choice is on average, in the worst case."""
        return self.errors[self.name]


def decide(
    asked: str, candidates: int, epsilon: float, delta: float, sensitivity: int, most: float
) -> tuple[Chooser, dict[str, float]]:
    """Return the mechanism to use, and the worst expected error of all that were compared, in steps.

    ``auto`` compares by public quantities alone: the number of candidates, epsilon, and how far a
    score moves.
    """
    check_choice("mechanism", asked, CHOICES)
    names = tuple(ON_SCORES) if asked == "auto" else (asked,)
    compared = {
        name: Chooser(name, candidates, epsilon, delta, sensitivity)
        for name in dict.fromkeys((*names, *ON_SCORES, "stability"))
    }
    errors = {name: min(most, chooser.worst_error(most)) for name, chooser in compared.items()}
    taken = compared[min(names, key=lambda name: errors[name])]
    if taken.kind in ON_STABILITY:
        stability_table(ON_STABILITY[taken.kind], candidates, epsilon, delta)  # before a row is read
    return taken, errors


def reason(asked: str, taken: str, errors: Mapping[str, float], unit: str) -> str:
    """Return why a mechanism was taken, in a sentence with numbers."""
    if asked != "auto":
        return (
            f"{taken} was asked for; whatever the table, it errs by at most {errors[taken]:.3g} {unit}"
        )
    others = ", ".join(f"{name} {error:.3g}" for name, error in errors.items() if name != taken)
    return (
        f"{taken} errs least in the worst case: {errors[taken]:.3g} {unit} on average, "
        f"whatever the table ({others})"
    )


INVERSE = "inverse-sensitivity"


@dataclass(frozen=True)
class ScoreChoice(ChoiceNoise):
    """A choice by scores on a lattice; ``release`` returns the index and the noisy gap, if any.

    Guarantees:
      - The certificate in use is that of the rounded scores. [lattice]
    """

    def standing(self, raw_steps: IntArray) -> Standing:
        """Return what the choice looks at."""
        winner, stability = score_stability(raw_steps, 2 * self.chooser.sensitivity)
        return Standing(raw_steps, winner, stability)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index, and the gap in the unit of a score."""
        drawn = self.chooser.draw(self.standing(raw_steps), source)
        return np.array([drawn[0], drawn[1] * self.step])


def score_choice(
    contribution: VectorContribution,
    setting: Setting,
    *,
    mechanism: str,
    epsilon: float,
    delta: float,
) -> ScoreChoice:
    """Return the choice of the greatest sum of what every record adds to the candidates' scores.

    Guarantees:
      - Scores move as far as one record's utilities, rounding included. [choose] [lattice]
    """
    certificate, terms = sum_terms(contribution, setting, statement="choose")
    linf = certificate.sensitivity("linf", terms["relation"])
    step = lattice_step(2 * linf / epsilon, terms["largest_sum"])
    rounded = certify_rounded(certificate, step, terms["batch_rows"])
    moved = math.ceil(rounded.sensitivity("linf", setting.relation) / step)
    most = 2 * terms["largest_sum"] / step
    chooser, errors = decide(mechanism, contribution.size, epsilon, delta, moved, most)
    return ScoreChoice(rounded, chooser, step, {name: e * step for name, e in errors.items()})


@dataclass(frozen=True)
class DistanceChoice(ChoiceNoise):
    """A choice by distances in edits: by themselves, or by how safe the answer is.

    Guarantees:
      - For distances that move by at most one per edit and are zero for the answer alone, so do the
        scores, and the stability is one. [claimed-utility] [signed-distance] [inverse-sensitivity]
    """

    asked: str

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.asked

    def standing(self, raw_distances: IntArray) -> Standing:
        """Return what the choice looks at; one candidate is the answer, whatever was said."""
        winner = int(np.argmin(raw_distances))
        distances = np.maximum(raw_distances, 1)
        distances[winner] = 0
        leave = int(np.delete(distances, winner).min())
        standing = Standing(signed_distances(distances, leave), winner, leave - 1)
        return replace(standing, scores=-distances) if self.asked == INVERSE else standing

    def release(self, raw_distances: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index; a gap has no meaning."""
        return np.array([self.chooser.draw(self.standing(raw_distances), source)[0], np.nan])


def build_choice(
    candidates: Sequence[Any],
    drawn: FloatArray,
    errors: Mapping[str, float],
    asked: str,
    taken: str,
    unit: str,
) -> Choice:
    """Return the result of a drawn index."""
    place = int(drawn[0])
    return Choice(
        winner=candidates[place],
        place=place,
        candidates=len(candidates),
        mechanism=taken,
        why=reason(asked, taken, errors, unit),
        expected_error=errors[taken],
        unit=unit,
        gap=None if np.isnan(drawn[1]) else float(drawn[1]),
        compared=tuple(errors.items()),
    )
