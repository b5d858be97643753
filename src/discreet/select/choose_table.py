"""Choose by a utility of the whole table, on its author's word for how far a record moves it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from discreet.certificates import Box
from discreet.data import ROWS_CAP
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import lattice_step
from discreet.models.fingerprint import Kept
from discreet.numerics import check_choice, check_positive
from discreet.plans import Plan, Program, Releaser, Setting, Stage
from discreet.plans.expected import of_summed_choice
from discreet.select.choices import INVERSE, DistanceChoice, ScoreChoice, build_choice
from discreet.select.chooser import CHOICES, ON_STABILITY, ChoiceName, decide
from discreet.select.local_choices import (
    LOCAL,
    ROUNDED,
    DampenedChoice,
    JointChoice,
    Near,
    local_choice,
    local_step,
)
from discreet.select.results import Choice
from discreet.select.whole_table import MOST_EDITS, GuardedFunction, TableClaim, TableFunction

TableChoiceName = (
    ChoiceName
    | Literal["inverse-sensitivity", "local-dampening", "shifted-local-dampening"]
    | Literal["joint-student-t", "joint-laplace", "joint-laplace-log-normal"]
)
TableNoise = ScoreChoice | DistanceChoice | DampenedChoice | JointChoice
TABLE_CHOICES = (*CHOICES, INVERSE, *LOCAL)

_UNIT = "of the utility"
Names = str | Mapping[str, str] | None


def named_parts(name: Names) -> dict[str, str | None]:
    """Return the name of every function; a single name is the utility's."""
    given = {"utility": name} if name is None or isinstance(name, str) else name
    parts = ("utility", "distance", "local")
    known = isinstance(given, Mapping) and set(given) <= set(parts)
    if not known or not all(n is None or (isinstance(n, str) and n) for n in given.values()):
        raise ArgumentError(
            f"name must be a text, or texts for {', '.join(parts)}, got {name!r}. "
            "Give every function its own."
        )
    return {part: given.get(part) for part in parts}


class ChooseTablePlan(Plan):
    """See ``choose``."""

    kind = "choose"

    def __init__(
        self,
        utility: TableFunction,
        candidates: tuple[Any, ...],
        sensitivity: float,
        bounds: Box | None,
        distance: TableFunction | None,
        local: TableFunction | None,
        columns: tuple[str, ...] | None,
        name: Names,
        epsilon: float,
        delta: float,
        mechanism: TableChoiceName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_positive("sensitivity", sensitivity, "It is how far one record moves a score at most.")
        check_choice("mechanism", mechanism, TABLE_CHOICES)
        for label, function in (("distance", distance), ("local", local)):
            if function is not None and not callable(function):
                raise ArgumentError(
                    f"{label} must be a function of rows and candidates, got {function!r}."
                )
        _check_needs(mechanism, distance, local)
        self.utility, self.candidates, self.sensitivity = utility, candidates, float(sensitivity)
        self.distance, self.local, self.columns = distance, local, columns
        reach = ROWS_CAP * self.sensitivity
        self.bounds = Box(-reach, reach) if bounds is None else bounds
        self.mechanism = mechanism
        given = {"utility": utility, "distance": distance, "local": local}
        names = named_parts(name)
        self.kept = {
            part: Kept(part, function, names[part])
            for part, function in given.items()
            if function is not None
        }

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "utility": {"kind": "function of the table", "fingerprint": self._print("utility")},
            "candidates": list(self.candidates),
            "sensitivity": self.sensitivity,
            "bounds": [self.bounds.low, self.bounds.high],
            "distance": self._print("distance"),
            "local": self._print("local"),
            "columns": None if self.columns is None else list(self.columns),
            "mechanism": self.mechanism,
        }

    def held(self) -> Iterable[Kept]:
        """Return the functions."""
        return self.kept.values()

    def _print(self, part: str) -> str | None:
        return self.kept[part].fingerprint if part in self.kept else None

    def prepare(self, setting: Setting) -> Program:
        """Try the functions on public rows, write the claim down and pick a mechanism."""
        claim = self._claim(setting)
        claim.try_out()
        stage = self._stage(claim, setting)

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(
                self.candidates, drawn, stage.noise.errors, self.mechanism, stage.noise.name, _UNIT
            )

        moved = of_summed_choice(
            stage.noise.std, setting.rows, self.sensitivity, "what all records can move"
        )
        return Program((stage,), finish, {f"error {_UNIT}": moved})

    def _claim(self, setting: Setting) -> TableClaim:
        columns = self.columns or tuple(setting.schema)

        def guard(label: str, function: TableFunction | None) -> GuardedFunction | None:
            if function is None:
                return None
            return GuardedFunction(label, function, self.candidates, columns, setting.schema)

        utility = guard("utility", self.utility)
        assert utility is not None
        distance, local = guard("distance", self.distance), guard("local", self.local)
        return TableClaim(utility, self.sensitivity, self.bounds, distance, local)

    def _stage(self, claim: TableClaim, setting: Setting) -> Stage[TableNoise]:
        if self.mechanism in LOCAL:
            return self._by_local(claim, setting)
        if self.mechanism == INVERSE or (claim.distance and self.mechanism in ON_STABILITY):
            return self._by_distance(claim, setting)
        return self._by_scores(claim, setting)

    def _by_scores(self, claim: TableClaim, setting: Setting) -> Stage[TableNoise]:
        certificate = claim.certify(setting.relation)
        step = lattice_step(2 * self.sensitivity / self.epsilon, self.bounds.magnitude)
        rounded = certificate.widen(step, "lattice")
        moved = math.ceil(rounded.sensitivity("linf", setting.relation) / step)
        width = (self.bounds.high - self.bounds.low) / step
        chooser, errors = decide(self.mechanism, claim.size, self.epsilon, self.delta, moved, width)
        noise = ScoreChoice(rounded, chooser, step, self._in_units(errors, step))
        return Stage("choice", claim.scores(certificate), noise)

    def _by_distance(self, claim: TableClaim, setting: Setting) -> Stage[TableNoise]:
        certificate = claim.certify_distance(setting.relation)
        kind = "exponential" if self.mechanism == INVERSE else self.mechanism
        chooser, errors = decide(kind, claim.size, self.epsilon, self.delta, 1, MOST_EDITS)
        # A candidate d edits away is at most 2 d sensitivities behind: both scores move by one each.
        units = self._in_units(errors, 2 * self.sensitivity)
        noise = DistanceChoice(certificate, chooser, 1.0, {self.mechanism: units[kind]}, self.mechanism)
        return Stage("choice", claim.distances(certificate), noise)

    def _by_local(self, claim: TableClaim, setting: Setting) -> Stage[TableNoise]:
        certificate, shape = claim.certify_local(setting.relation), claim.try_local()
        step = local_step(self.sensitivity, self.bounds.magnitude)
        near = Near(claim.size, shape, math.ceil(self.sensitivity / step) + ROUNDED)
        noise = local_choice(
            self.mechanism,
            certificate.widen(ROUNDED * step, "lattice"),
            near,
            step,
            epsilon=self.epsilon,
            delta=self.delta,
            highest=self.bounds.high,
            width=self.bounds.high - self.bounds.low,
        )
        return Stage("choice", claim.scores_and_local(certificate, shape), noise)

    def _in_units(self, errors: dict[str, float], unit: float) -> dict[str, float]:
        """Return errors in the utility's own unit, none greater than the range of scores."""
        width = self.bounds.high - self.bounds.low
        return {name: min(width, error * unit) for name, error in errors.items()}


def _check_needs(mechanism: str, distance: object, local: object) -> None:
    if mechanism == INVERSE and distance is None:
        raise ArgumentError(
            f"distance must be a function of rows and candidates for {mechanism}, got None."
        )
    if mechanism in LOCAL and local is None:
        raise ArgumentError(
            f"local must be a function of rows and candidates for {mechanism}, got None."
        )
