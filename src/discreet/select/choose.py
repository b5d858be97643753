"""Choose one of several public candidates by the sum of what every record says of them.

A record's utilities are clipped and measured from the middle of their bounds, which changes no
difference: so a score moves by half the range when a record comes or goes, and by the range when one is
replaced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.certificates import Box
from discreet.errors import ArgumentError
from discreet.mechanisms.noise import lattice_step
from discreet.mechanisms.smooth_max import score_stability
from discreet.models.fingerprint import fingerprint
from discreet.numerics import check_choice
from discreet.parts import sum_terms
from discreet.plans import Plan, Program, Releaser, Setting, Stage
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.select.chooser import CHOICES, ChoiceName, ChoiceNoise, decide, reason
from discreet.select.order_statistics import Standing
from discreet.select.results import Choice
from discreet.select.utilities import GuardedUtility, Utility, utility_contribution

_MOST_CANDIDATES = 2**20


@dataclass(frozen=True)
class ScoreChoice(ChoiceNoise):
    """A choice by sums on a lattice; ``release`` returns the index and the noisy lead, if any.

    Guarantees:
      - The certificate in use is that of the rounded sum. [lattice]
    """

    def standing(self, raw_steps: IntArray) -> Standing:
        """Return what the choice looks at."""
        winner, stability = score_stability(raw_steps, 2 * self.chooser.sensitivity)
        return Standing(raw_steps, winner, stability)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index, and the lead in the unit of a sum."""
        drawn = self.chooser.draw(self.standing(raw_steps), source)
        return np.array([drawn[0], drawn[1] * self.step])


class ChoosePlan(Plan):
    """See ``choose``."""

    kind = "choose"

    def __init__(
        self,
        utility: Utility,
        candidates: tuple[Any, ...],
        bounds: Box,
        columns: tuple[str, ...] | None,
        name: str | None,
        epsilon: float,
        delta: float,
        mechanism: ChoiceName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("mechanism", mechanism, CHOICES)
        self.utility, self.candidates, self.bounds = utility, candidates, bounds
        self.columns, self.mechanism = columns, mechanism
        self.fingerprint = fingerprint(utility, name)

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "utility": {"kind": "function", "fingerprint": self.fingerprint},
            "candidates": list(self.candidates),
            "bounds": [self.bounds.low, self.bounds.high],
            "columns": None if self.columns is None else list(self.columns),
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the utility on public rows, certify the sums and pick a mechanism."""
        columns = self.columns or tuple(setting.schema)
        guarded = GuardedUtility(self.utility, self.candidates, columns, setting.schema)
        guarded.try_out(self.bounds)
        contribution = utility_contribution(guarded, self.bounds)
        certificate, terms = sum_terms(contribution, setting, statement="choose")
        linf = certificate.sensitivity("linf", terms["relation"])
        step = lattice_step(2 * linf / self.epsilon, terms["largest_sum"])
        rounded = certificate.widen(step * (1 + terms["companions"]), "lattice")
        moved = math.ceil(rounded.sensitivity("linf", setting.relation) / step)
        chooser, errors = decide(
            self.mechanism,
            len(self.candidates),
            self.epsilon,
            self.delta,
            moved,
            2 * terms["largest_sum"] / step,
        )
        noise = ScoreChoice(
            rounded,
            chooser,
            step,
            {name: error * step for name, error in errors.items()},
        )
        stage = Stage("choice", contribution, noise)
        unit = "of the summed utility"

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(self.candidates, drawn, noise.errors, self.mechanism, noise.name, unit)

        return Program((stage,), finish, {f"error {unit}": noise.std})


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


def choose(
    utility: Utility,
    candidates: Sequence[Any],
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: Sequence[str] | None = None,
    name: str | None = None,
    epsilon: float,
    delta: float = 0.0,
    mechanism: ChoiceName = "auto",
) -> ChoosePlan:
    """Plan the candidate with the greatest sum of utilities.

    Args:
      utility: ``utility(block, candidates)`` returns a matrix, rows x candidates; ``block[name]`` are
        the values of a column. It must treat every row by itself.
      candidates: public texts, numbers or truth values, at least two.
      bounds: public bounds of one record's utility; others are clipped to them.
      columns: the columns the utility reads; all if left out.
      name: a name by which the ledger knows the utility again; without it no two are taken for equal.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; of use for mechanisms on stability alone.
      mechanism: ``exponential``, ``permute-and-flip``, ``laplace`` (also gives a noisy lead for free);
        ``stability`` and ``smooth-...``, right more often where one candidate leads by far and
        arbitrary where none does; or ``auto``: the least expected error in the worst case.

    Guarantees:
      - Scores move by half the range of a utility under add-remove, by the range under replace-one.
        [choose]
      - Every mechanism keeps (epsilon, delta) with that bound. [exponential] [permute-and-flip]
        [free-gap] [gap-stability] [snm-exact]

    >>> plan = choose(lambda block, kinds: None, ["a", "b"], columns=["kind"], epsilon=1.0)
    >>> plan.candidates, plan.bounds.limits
    (('a', 'b'), (0.0, 1.0))
    """
    listed = tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in candidates)
    plain = all(isinstance(entry, str | int | float | bool) and entry == entry for entry in listed)
    if not plain or not 2 <= len(listed) <= _MOST_CANDIDATES or len(set(listed)) < len(listed):
        raise ArgumentError(
            f"candidates must be 2 to {_MOST_CANDIDATES} different texts, numbers or truth values, "
            f"got {len(listed)}."
        )
    if not callable(utility):
        raise ArgumentError(f"utility must be a function of rows and candidates, got {utility!r}.")
    named = None if columns is None else tuple(columns)
    return ChoosePlan(utility, listed, _box(bounds), named, name, epsilon, delta, mechanism)


def _box(bounds: Any) -> Box:
    try:
        low, high = bounds
        return Box(float(low), float(high))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be a finite low below a finite high, got {bounds!r}."
        ) from None
