"""Choose by a utility of the whole table, with a user-asserted sensitivity.

Some of its stages choose by scores and by how sensitive these are near the table at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import certify_rounded, check_step, lattice_step
from discreet.mechanisms.selection.dampening import PARTS, LocalDampening
from discreet.mechanisms.selection.registry import ON_STABILITY
from discreet.mechanisms.smooth.joint import JointNoiseName, JointSmoothMax, smooth_bound
from discreet.plans import Program, Releaser, Setting, Stage
from discreet.plans.expected import of_summed_choice
from discreet.plans.results.choice import Choice
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import Certificate
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.select.choose.chooser import (
    CHOICES,
    INVERSE,
    ChoiceName,
    ChoiceNoise,
    Chooser,
    DistanceChoice,
    ScoreChoice,
    build_choice,
    decide,
)
from discreet.select.choose.whole_table import MOST_EDITS, TableClaim
from discreet.select.quantiles.order_statistics import Standing

DAMPENED = ("local-dampening", "shifted-local-dampening")
JOINT: dict[str, JointNoiseName] = {
    "joint-student-t": "student-t",
    "joint-laplace": "laplace",
    "joint-laplace-log-normal": "laplace-log-normal",
}
LOCAL = (*DAMPENED, *JOINT)

_FINEST = 2.0**-15
_MOST_STEPS = 2.0**38

ROUNDED = 2
"""Steps that rounding of scores and of sensitivities can take from a sensitivity."""


def local_step(sensitivity: float, greatest: float) -> float:
    """Return the lattice step: fine against the sensitivity, and no score of too many steps."""
    step = math.ldexp(1.0, math.frexp(max(sensitivity * _FINEST, greatest / _MOST_STEPS))[1])
    check_step(step)
    return step


@dataclass(frozen=True)
class Near:
    """How a vector of scores and sensitivities is laid out, and the global sensitivity in steps."""

    candidates: int
    shape: tuple[int, ...]
    beyond: int

    def read(self, raw_steps: IntArray) -> tuple[IntArray, IntArray]:
        """Return scores, and sensitivities x distances of all candidates or of each.

        Guarantees:
          - Rounded scores move by at most the rounded sensitivities, which stay admissible: rounding
            keeps order. [claimed-utility]
        """
        near = raw_steps[self.candidates :].reshape(-1, self.shape[-1]) + ROUNDED
        return raw_steps[: self.candidates], np.minimum(near, self.beyond)


@dataclass(frozen=True)
class DampenedChoice(ChoiceNoise):
    """A choice by utilities in edits instead of units.

    Guarantees:
      - Dampened utilities move by at most one edit, for an admissible function. [dampening]
    """

    asked: str
    near: Near
    shift: int

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.asked

    def standing(self, raw_steps: IntArray) -> Standing:
        """Return what the choice looks at."""
        dampening = LocalDampening(self.epsilon, self.near.beyond, self.shift)
        scores = dampening.scores(*self.near.read(raw_steps))
        return Standing(scores, int(np.argmax(scores)), 0)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index; a gap has no meaning."""
        return np.array([self.chooser.draw(self.standing(raw_steps), source)[0], np.nan])


@dataclass(frozen=True)
class JointChoice:
    """A choice by noise on every score, as wide as the score is sensitive near this table.

    Guarantees:
      - (epsilon, delta)-differentially private for an admissible function; the certificate says that
        Laplace-log-normal noise has no proof. [snm-joint] [snm-beta]
    """

    certificate: Certificate
    mechanism: JointSmoothMax
    step: float
    errors: Mapping[str, float]
    name: str
    near: Near

    @property
    def epsilon(self) -> float:
        """The promise."""
        return self.mechanism.epsilon

    @property
    def delta(self) -> float:
        """The delta that is used."""
        return 0.0 if self.mechanism.noise == "student-t" else self.mechanism.delta

    @property
    def events(self) -> tuple[Event, ...]:
        """What the accountant is told."""
        return (self.mechanism.event,)

    @property
    def std(self) -> float:
        """How far from the best a choice is on average, in the worst case."""
        return self.errors[self.name]

    def bounds(self, raw_steps: IntArray) -> FloatArray:
        """Return the smooth bound of every candidate, or one for all, in steps."""
        _, near = self.near.read(raw_steps)
        beta = self.mechanism.beta
        return np.array([smooth_bound(np.append(row, self.near.beyond), beta) for row in near])

    def law(self, steps: IntArray) -> FloatArray:
        """Return the law of the chosen candidate for noise without a lattice."""
        return self.mechanism.probabilities(self.near.read(steps)[0], self.bounds(steps))

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index."""
        scores, _ = self.near.read(raw_steps)
        return np.array([self.mechanism.release(scores, self.bounds(raw_steps), source), np.nan])


def local_choice(
    asked: str,
    certificate: Certificate,
    near: Near,
    step: float,
    *,
    epsilon: float,
    delta: float,
    highest: float,
    width: float,
) -> DampenedChoice | JointChoice:
    """Return the mechanism by its name; ``highest`` and ``width`` are those of the scores' bounds.

    What is near decides how good it is, so nothing better than ``width`` is known of its error.
    """
    errors = {asked: width}
    if asked in DAMPENED:
        chooser = Chooser("exponential", near.candidates, epsilon, 0.0, PARTS)
        shift = math.ceil(highest / step) if asked == DAMPENED[1] else 0
        return DampenedChoice(certificate, chooser, step, errors, asked, near, shift)
    mechanism = JointSmoothMax(
        near.candidates,
        epsilon,
        delta,
        JOINT[asked],
        element_wise=len(near.shape) == 2,
    )
    mechanism.beta  # noqa: B018  # raises before a row is read if no beta is small enough
    proven = replace(certificate, certified=mechanism.certified)
    return JointChoice(proven, mechanism, step, errors, asked, near)


TableChoiceName = (
    ChoiceName
    | Literal["inverse-sensitivity", "local-dampening", "shifted-local-dampening"]
    | Literal["joint-student-t", "joint-laplace", "joint-laplace-log-normal"]
)
TableNoise = ScoreChoice | DistanceChoice | DampenedChoice | JointChoice
TABLE_CHOICES = (*CHOICES, INVERSE, *LOCAL)

_UNIT = "of the utility"


@dataclass(frozen=True)
class TableChoice:
    """A claim about a utility of the whole table, and the mechanism that chooses by it."""

    claim: TableClaim
    setting: Setting
    mechanism: str
    epsilon: float
    delta: float

    def program(self) -> Program:
        """Try the functions on public rows, write the claim down and pick a mechanism."""
        self.claim.try_out()
        stage, candidates = self._stage(), self.claim.utility.candidates

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(
                candidates, drawn, stage.noise.errors, self.mechanism, stage.noise.name, _UNIT
            )

        moved = of_summed_choice(
            stage.noise.std, self.setting.rows, self.claim.sensitivity, "what all records can move"
        )
        return Program((stage,), finish, {f"error {_UNIT}": moved})

    def _stage(self) -> Stage[TableNoise]:
        if self.mechanism in LOCAL:
            return self._by_local()
        if self.mechanism == INVERSE or (self.claim.distance and self.mechanism in ON_STABILITY):
            return self._by_distance()
        return self._by_scores()

    def _by_scores(self) -> Stage[TableNoise]:
        certificate = self.claim.certify(self.setting.relation)
        step = lattice_step(2 * self.claim.sensitivity / self.epsilon, self.claim.bounds.magnitude)
        rounded = certify_rounded(certificate, step)
        moved = math.ceil(rounded.sensitivity("linf", self.setting.relation) / step)
        width = (self.claim.bounds.high - self.claim.bounds.low) / step
        chooser, errors = decide(
            self.mechanism, self.claim.size, self.epsilon, self.delta, moved, width
        )
        noise = ScoreChoice(rounded, chooser, step, self._in_units(errors, step))
        return Stage("choice", self.claim.scores(certificate), noise)

    def _by_distance(self) -> Stage[TableNoise]:
        certificate = self.claim.certify_distance(self.setting.relation)
        kind = "exponential" if self.mechanism == INVERSE else self.mechanism
        chooser, errors = decide(kind, self.claim.size, self.epsilon, self.delta, 1, MOST_EDITS)
        # A candidate d edits away is at most 2 d sensitivities behind: both scores move by one each.
        units = self._in_units(errors, 2 * self.claim.sensitivity)
        noise = DistanceChoice(certificate, chooser, 1.0, {self.mechanism: units[kind]}, self.mechanism)
        return Stage("choice", self.claim.distances(certificate), noise)

    def _by_local(self) -> Stage[TableNoise]:
        certificate, shape = self.claim.certify_local(self.setting.relation), self.claim.try_local()
        step = local_step(self.claim.sensitivity, self.claim.bounds.magnitude)
        near = Near(self.claim.size, shape, math.ceil(self.claim.sensitivity / step) + ROUNDED)
        noise = local_choice(
            self.mechanism,
            certificate.widen(ROUNDED * step, "lattice"),
            near,
            step,
            epsilon=self.epsilon,
            delta=self.delta,
            highest=self.claim.bounds.high,
            width=self.claim.bounds.high - self.claim.bounds.low,
        )
        return Stage("choice", self.claim.scores_and_local(certificate, shape), noise)

    def _in_units(self, errors: dict[str, float], unit: float) -> dict[str, float]:
        """Return errors in the utility's own unit, none greater than the range of scores."""
        width = self.claim.bounds.high - self.claim.bounds.low
        return {name: min(width, error * unit) for name, error in errors.items()}


def check_needs(mechanism: str, distance: object, local: object) -> None:
    """Raise if a mechanism lacks the function that it looks at."""
    if mechanism == INVERSE and distance is None:
        raise ArgumentError(
            f"distance must be a function of rows and candidates for {mechanism}, got None."
        )
    if mechanism in LOCAL and local is None:
        raise ArgumentError(
            f"local must be a function of rows and candidates for {mechanism}, got None."
        )
