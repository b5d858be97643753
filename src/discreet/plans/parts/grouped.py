"""Noise on the sums of every group, and choices that every group makes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.plans.plan import Perturbation, Stage
from discreet.plans.stages.sums import TableNoise
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray


@dataclass(frozen=True)
class GroupedNoise(WrappedNoise):
    """Noise on the sums of every group, drawn for each of them by itself.

    Guarantees:
      - As private as ``noise`` is for one group, if it was calibrated for records that move from one
        group to another. [groups]
    """

    noise: Noise
    groups: int

    @property
    def step(self) -> float:
        """The lattice step."""
        return self.noise.step

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the answers of all groups, laid end to end."""
        parts = np.split(np.asarray(raw_steps), self.groups)
        return np.concatenate([self.noise.release(part, source) for part in parts])


class GroupedChoice(GroupedNoise):
    """A choice that every group makes by itself.

    Guarantees:
      - As private as one choice promises that ``keeps_groups``. [groups-of-choices]
    """


@runtime_checkable
class GroupPick(Protocol):
    """A choice that says whether all groups may make it at the price of one.

    Guarantees:
      - ``keeps_groups`` is true only if one record that comes or goes loses at most half of what was
        promised for one that is replaced, or if records only come and go. [groups-of-choices]
    """

    @property
    def keeps_groups(self) -> bool:
        """Whether a record that leaves one group and comes into another loses no more than promised."""

    @property
    def numbers(self) -> int:
        """How many numbers its answer has."""


def grouped(stage: Stage[Perturbation], groups: int) -> GroupedNoise:
    """Return the noise, or the choice, of so many groups; refuse a choice that is none of groups."""
    noise: Any = stage.noise
    if isinstance(noise, GroupPick) and noise.keeps_groups:
        return GroupedChoice(noise, groups)  # type: ignore[arg-type]  # it is asked for no more
    return GroupedNoise(additive(stage), groups)


def additive(stage: Stage[Perturbation]) -> Noise:
    """Return the noise of a stage that adds some to sums; a choice is refused."""
    if not isinstance(stage.noise, Noise | TableNoise):
        raise ArgumentError(
            "by must be left out of a question that makes a choice by the records of a group, got the "
            f"choice of {stage.name!r}. Ask for the groups one by one with where=, or without that "
            "choice (edges='uniform', a public clip=, another mechanism=)."
        )
    return stage.noise  # type: ignore[return-value]


def numbers_of(stage: Stage[Perturbation]) -> int:
    """Return how many numbers the answer to a stage of all records has."""
    if isinstance(stage.noise, GroupPick):
        return stage.noise.numbers
    places = stage.noise.places if isinstance(stage.noise, TableNoise) else None
    return stage.contribution.size if places is None else len(places)
