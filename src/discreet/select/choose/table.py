"""Choose by a utility of the whole table, with a user-asserted sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.mechanisms.selection.registry import ON_STABILITY
from discreet.plans import Program, Releaser, Setting, Stage
from discreet.plans.expected import of_summed_choice
from discreet.plans.results.choice import Choice
from discreet.select.choose.choices import INVERSE, DistanceChoice, ScoreChoice, build_choice
from discreet.select.choose.chooser import CHOICES, ChoiceName, decide
from discreet.select.choose.local_choices import (
    LOCAL,
    ROUNDED,
    DampenedChoice,
    JointChoice,
    Near,
    local_choice,
    local_step,
)
from discreet.select.choose.whole_table import MOST_EDITS, TableClaim

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
