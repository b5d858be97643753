"""What is attacked: releases of tables of which one is the truth, drawn cheaply and many times.

A plan is prepared once, the exact sums of every candidate table are taken once, and each trial adds
fresh noise by the plan's own mechanism. The attacker sees the noisy sums themselves, which no
post-processing makes better, and knows all exact sums but not which of them were released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arguments import as_list, shown
from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.plans import Plan, Program, Setting
from discreet.privacy.relation import Relation, RelationName
from discreet.randomness import IntArray, NoiseSource, SimulatedNoise
from discreet.schema import FloatArray, Schema

_POINTS = 13
"""At which the curve of an event is read."""

Draw = Callable[[int, int, int], FloatArray]
"""Trials x numbers, of a candidate table, so many trials and a seed."""

Likelihood = Callable[[FloatArray], FloatArray]
"""Trials x candidates: the logarithm of how likely each table makes the output, up to a constant."""


@dataclass(frozen=True)
class Target:
    """Releases of one of several tables; the attacker asks of which.

    Args:
      name: what is released.
      ceiling: what the promise implies for these tables.
      tables: how many there are; of two, the first has the record.
      draw: runs the mechanism.
      likelihood: the exact law, where it is known; without it an attack must learn.
    """

    name: str
    ceiling: Ceiling
    tables: int
    draw: Draw
    likelihood: Likelihood | None = None

    def under(self, ceiling: Ceiling, name: str | None = None) -> Target:
        """Return the same releases, held to another promise."""
        return replace(self, ceiling=ceiling, name=name or self.name)


def sums_target(
    plan: Plan,
    tables: Sequence[Any],
    schema: Schema,
    relation: RelationName = "replace-one",
    *,
    name: str | None = None,
    noise: Callable[[int], NoiseSource] = SimulatedNoise,
) -> Target:
    """Return the noisy sums of a plan as a target, with their exact likelihood.

    Args:
      plan: one that adds noise to sums, all of them known before a row is read.
      tables: frames; of two, the first has the record.
      schema: their public facts.
      relation: by which the plan is calibrated and its ceiling is true, if the tables are neighbours.
      name: what the target is called.
      noise: the source, from a seed; seeded noise if left out, so that an attack can be repeated.
    """
    program = _prepared(plan, tables, schema, relation)
    for stage in program.stages:
        if not isinstance(stage.noise, Noise):
            raise ArgumentError(
                f"plan must add noise to sums alone, got {plan.plan_name} with a stage "
                f"{stage.name!r} that does not. Use result_target."
            )
    raw = [_all_sums(frame, schema, relation, program) for frame in tables]
    noises = [stage.noise for stage in program.stages]

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        source = noise(seed)
        pairs = zip(noises, raw[which], strict=True)
        return np.hstack([_noisy(law, steps, trials, source) for law, steps in pairs])

    def likelihood(outputs: FloatArray) -> FloatArray:
        return np.column_stack([_log_likelihood(noises, sums, outputs) for sums in raw])

    ceiling = _ceiling(plan, program, tables, relation)
    return Target(name or plan.plan_name, ceiling, len(tables), draw, likelihood)


def exact_target(
    plan: Plan,
    tables: Sequence[Any],
    schema: Schema,
    relation: RelationName = "replace-one",
    *,
    name: str | None = None,
) -> Target:
    """Return the sums of a plan without any noise, which nobody promised anything for."""
    program = _prepared(plan, tables, schema, relation)
    vectors = [
        np.concatenate(
            [
                steps * stage.noise.step
                for stage, steps in zip(
                    program.stages, _all_sums(frame, schema, relation, program), strict=True
                )
            ]
        )
        for frame in tables
    ]

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        return np.tile(vectors[which], (trials, 1))

    return Target(f"exact {name or plan.plan_name}", NOTHING_PROMISED, len(tables), draw)


def result_target(
    plan: Plan,
    tables: Sequence[Any],
    schema: Schema,
    relation: RelationName = "replace-one",
    *,
    read: Callable[[Any], FloatArray],
    name: str | None = None,
) -> Target:
    """Return results of a plan of any kind as a target: whole releases, stage by stage.

    Args:
      plan: any one that can be released again and again.
      tables: frames; of two, the first has the record.
      schema: their public facts.
      relation: as for ``sums_target``.
      read: numbers from a result; they are what the attacker looks at.
      name: what the target is called.
    """
    program = _prepared(plan, tables, schema, relation)
    releasers = [_releaser(frame, schema, relation) for frame in tables]

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        releaser = releasers[which]
        releaser.source = SimulatedNoise(seed)
        return np.vstack([read(program.finish(releaser)) for _ in range(trials)])

    ceiling = _ceiling(plan, program, tables, relation)
    return Target(name or plan.plan_name, ceiling, len(tables), draw)


def _prepared(plan: Plan, tables: Sequence[Any], schema: Schema, relation: RelationName) -> Program:
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must be a plan, such as dc.histogram(...), got {shown(plan)}.")
    sizes = [len(frame) for frame in as_list("tables", tables)]
    if len(sizes) < 2:
        raise ArgumentError(f"tables must be at least two, got {len(sizes)}.")
    rows_public = Relation(relation).rows_public
    if rows_public and len(set(sizes)) > 1:
        raise ArgumentError(
            f"tables must have as many rows under replace-one, got {sizes}. Use add-remove."
        )
    return plan.prepare(Setting(schema, Relation(relation), sizes[0] if rows_public else None))


def _releaser(frame: Any, schema: Schema, relation: RelationName) -> SimulatedReleaser:
    """Return what answers stages of one table; the rows are read once per contribution."""
    return SimulatedReleaser(PrivateTable(frame, schema, Relation(relation)), 0)


def _all_sums(frame: Any, schema: Schema, relation: RelationName, program: Program) -> list[IntArray]:
    sums = _releaser(frame, schema, relation)
    return [sums.exact(stage) for stage in program.stages]


def _ceiling(plan: Plan, program: Program, tables: Sequence[Any], relation: RelationName) -> Ceiling:
    """Return the promise for tables that differ in one record: two steps apart if both have it.

    A single event with a delta has a curve of its own, which is a lower ceiling than the promise.
    """
    events = [event for stage in program.stages for event in stage.events]
    delta = sum(stage.noise.delta for stage in program.stages)
    curve: tuple[tuple[float, float], ...] = ()
    if len(events) == 1 and delta > 0:
        points = np.linspace(0.0, plan.epsilon, _POINTS).tolist()
        curve = tuple((point, min(1.0, events[0].delta(point))) for point in points)
    promise = Ceiling(plan.epsilon, delta, curve)
    replaced = len({len(frame) for frame in tables}) == 1
    return promise.group(2) if replaced and not Relation(relation).keeps_places else promise


def _noisy(noise: Any, raw: IntArray, trials: int, source: NoiseSource) -> FloatArray:
    """Return trials x numbers; noise that is independent is drawn for all trials at once."""
    if noise.independent:
        whole: FloatArray = noise.release(np.tile(raw, trials), source)
        return whole.reshape(trials, len(raw))
    return np.vstack([noise.release(raw, source) for _ in range(trials)])


def _log_likelihood(noises: Sequence[Any], sums: Sequence[IntArray], outputs: FloatArray) -> FloatArray:
    """Return the logarithm of the law of all noises at what would have been them, per trial."""
    total = np.zeros(len(outputs))
    start = 0
    for noise, raw in zip(noises, sums, strict=True):
        offsets = np.abs(outputs[:, start : start + len(raw)] / noise.step - raw)
        total += _LAWS[noise.name](offsets, noise.scale)
        start += len(raw)
    return total


_LAWS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "laplace": lambda offsets, scale: -offsets.sum(axis=1) / scale,
    "gaussian": lambda offsets, scale: -((offsets / scale) ** 2).sum(axis=1) / 2,
    "linf": lambda offsets, scale: -offsets.max(axis=1) / scale,
}
"""Logarithms up to constants, which ratios do not need."""
