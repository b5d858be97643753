"""For the curator alone: how an answer would come out on this very table, before anything is paid.

Sums are taken once, exactly, and the plan is finished many times with noise from a seed. Beside these
answers stands the exact one: that of the same plan without clips and with next to no noise. What
decides what is asked next (edges, grids, values to draw from) is drawn once, for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.quality import ForTheCurator
from discreet.errors import ArgumentError
from discreet.plans.results.result import Result
from discreet.randomness import IntArray, SimulatedNoise
from discreet.schema import FloatArray

if TYPE_CHECKING:
    from discreet.plans.plan import ExactSums, Perturbation, Plan, Program, Setting, Stage

_TIMES = 30
_NO_NOISE = (1e6, 1e2, 30.0)
"""Epsilons with which noise is hardly seen; no Gaussian noise keeps a delta with the first."""


_NUMBERS = ("values", "counts", "value", "y")
"""Where results keep their numbers."""


@dataclass(frozen=True, repr=False)
class Diagnosis(ForTheCurator):
    """What only the curator may see: exact facts about a plan on this table. Not a release.

    It was computed without noise and without a charge; showing it to anybody else breaks every
    promise made for the table.
    """

    called = "diagnosis"

    plan: str
    facts: Mapping[str, Any]

    def lines(self) -> Iterable[str]:
        """Return a line per fact."""
        return [f"  {name}: {_short(value)}" for name, value in self.facts.items()]


@dataclass
class _Rehearsal:
    """Answers stages with seeded noise on exact sums; those in ``first`` as they were answered once."""

    exact: ExactSums
    first: dict[str, FloatArray]
    noise: SimulatedNoise
    sums: dict[str, IntArray] = field(default_factory=dict)
    asked: list[tuple[Stage[Perturbation], ...]] = field(default_factory=list)

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers, reading the rows for sums that are not known yet."""
        self.asked.append(stages)
        new = [s for s in stages if s.name not in self.sums and s.name not in self.first]
        self.sums |= zip((stage.name for stage in new), self.exact(*new) if new else [], strict=True)
        return [self._one(stage) for stage in stages]

    def _one(self, stage: Stage[Perturbation]) -> FloatArray:
        if stage.name in self.first:
            return self.first[stage.name]
        return stage.noise.release(self.sums[stage.name], self.noise)


def rehearse(plan: Plan, setting: Setting, exact: ExactSums) -> Diagnosis:
    """Return how far answers to a plan are from the exact one on this table, beside what it is priced.

    Only plans whose last answers are numbers with noise on them have such a distance.
    """
    from discreet.plans.persons import ready  # which knows plans, as those know this module

    program = ready(plan, setting)
    answers, first = _answers(plan, program, exact)
    whole, quiet = _without_noise(plan.whole(), setting), _Rehearsal(exact, first, SimulatedNoise(0))
    truth = np.mean([numbers_of(whole.finish(quiet)) for _ in range(_TIMES)], axis=0)
    errors = np.stack([numbers_of(answer) for answer in answers]) - truth
    moved = np.mean(np.mean(errors, axis=0) ** 2) - np.mean(np.var(errors, axis=0)) / (_TIMES - 1)
    typical, spread = float(np.sqrt(np.mean(errors**2))), float(np.ptp(truth))
    name, priced = next(iter(program.expected_error.items()))
    facts: dict[str, Any] = {
        "greatest exact value": float(np.abs(truth).max()),
        "spread of exact values": spread,
        "error, root mean square": typical,
        "error beside the spread": typical / spread if spread else math.inf,
        "95% of errors are below": float(np.quantile(np.abs(errors), 0.95)),
        "price": priced.tell(name),
        "of it not noise (clips, shrinking)": math.sqrt(max(float(moved), 0.0)),
        "exact values inside their band": _held(answers, truth),
    }
    return Diagnosis(repr(plan), facts)


def spread_and_noise(plan: Plan, stage: Stage[Perturbation], exact: ExactSums) -> Diagnosis:
    """Return the exact spread of the numbers of one stage beside the noise on them."""
    (raw_values,) = exact(stage)
    spread, noise = float(np.std(raw_values) * stage.noise.step), stage.noise.std
    facts = {"spread of exact values": spread, "noise on a value": noise}
    return Diagnosis(repr(plan), facts | {"share of noise": noise**2 / (spread**2 + noise**2)})


def _without_noise(plan: Plan, setting: Setting) -> Program:
    """Return the plan made ready with as large an epsilon as it takes."""
    from discreet.plans.persons import ready

    for epsilon in _NO_NOISE[:-1]:
        with suppress(ArgumentError):
            return ready(plan.at(epsilon), setting)
    return ready(plan.at(_NO_NOISE[-1]), setting)


def _answers(
    plan: Plan, program: Program, exact: ExactSums
) -> tuple[list[Result], dict[str, FloatArray]]:
    """Return many answers, and what was answered before the last question of each."""
    trial = _Rehearsal(exact, {}, SimulatedNoise(0))
    numbers_of(program.finish(trial))
    if not all(hasattr(stage.noise, "half_width") for stage in trial.asked[-1]):
        raise _refusal(plan.plan_name)
    early = [stage for stages in trial.asked[:-1] for stage in stages]
    again = SimulatedNoise(1)
    first = {stage.name: stage.noise.release(trial.sums[stage.name], again) for stage in early}
    many = _Rehearsal(exact, first, SimulatedNoise(2))
    return [program.finish(many) for _ in range(_TIMES)], first


def numbers_of(result: Result) -> FloatArray:
    """Return the noisy numbers of a result that has bands; refuse others."""
    banded = isinstance(getattr(result, "level", None), float)
    found = next((getattr(result, n) for n in _NUMBERS if getattr(result, n, None) is not None), None)
    if not banded or found is None:
        raise _refusal(type(result).__name__)
    return np.asarray(found, dtype=np.float64).ravel()


def _held(answers: list[Result], truth: FloatArray) -> float | None:
    """Return how often exact values are inside their bands; None where there are no bands."""
    shares = []
    for answer in answers:
        half = getattr(answer, "half_width", None)
        if half is not None:
            values = numbers_of(answer)
            low, high = values - half, values + half
        elif hasattr(answer, "low"):
            low, high = (np.ravel(np.asarray(getattr(answer, end))) for end in ("low", "high"))
        else:
            return None
        shares.append(np.mean((low <= truth) & (truth <= high)))
    return float(np.mean(shares))


def _refusal(kind: str) -> ArgumentError:
    return ArgumentError(
        f"plan must be one that can be diagnosed, got {kind}: its answer is not a sum with noise on it."
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
