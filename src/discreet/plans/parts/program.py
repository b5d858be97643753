"""A question of the records of a part, or of every group, made from the question of all records.

Neighbouring tables whose parts are looked at alone differ there by one record that came, went or was
replaced: the question is made ready for that relation, in which the number of records is private, and
its stages are summed over the part. Groups are stacked: their sums are asked for together, at the price
of one where what a record adds is measured from the middle of its range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.data.contributions import (
    CellContribution,
    Contribution,
    GroupedContribution,
    TablesContribution,
    VectorContribution,
)
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.plans.parts.grouped import GroupedChoice, additive, grouped, numbers_of
from discreet.plans.parts.membership import Membership
from discreet.plans.plan import Perturbation, Program, Releaser, Setting, Stage
from discreet.plans.results.groups import Groups
from discreet.plans.results.result import Result
from discreet.privacy.certificate import Certificate
from discreet.schema import FloatArray

_MOST_NUMBERS = 2**24
"""Numbers that are kept for all groups together: 128 MB."""

SIZE_NAME = "number of records"
"""How stages are called that count the records of a group."""


@dataclass(frozen=True)
class PartStage(Stage[Perturbation]):
    """A stage summed over a part, or over each of so many groups."""

    groups: int

    @property
    def certificate(self) -> Certificate:
        """What was proven, of the part or of all groups together."""
        proven = self.noise.certificate
        if self.groups == 1:
            return proven.in_part()
        stacked = proven.in_groups(self.groups)
        chosen = ("groups-of-choices",) if isinstance(self.noise, GroupedChoice) else ()
        return replace(stacked, statements=(*stacked.statements, *chosen))


@dataclass
class Parted:
    """Makes stages of all records those of a part; the same contribution always becomes the same."""

    membership: Membership
    made: dict[int, tuple[Contribution, Contribution]] = field(default_factory=dict)

    def stage(self, stage: Stage[Perturbation]) -> Stage[Perturbation]:
        """Return the stage of the part or of all groups."""
        groups = self.membership.groups
        if self.membership.grouped:
            _check_calls(stage)
        noise = grouped(stage, groups) if self.membership.grouped else stage.noise
        return PartStage(stage.name, self._contribution(stage.contribution), noise, groups)

    def _contribution(self, each: Contribution) -> Contribution:
        if id(each) not in self.made:
            self.made[id(each)] = (each, self._wrapped(each))
        return self.made[id(each)][1]

    def _wrapped(self, each: Contribution) -> GroupedContribution:
        ours = isinstance(each, VectorContribution | CellContribution | TablesContribution)
        if not ours or (isinstance(each, VectorContribution) and each.partners):
            raise ArgumentError(
                "where and by must be left out of a question in which records answer together, not "
                "one by one, got one. Ask for all records, or another method."
            )
        member = self.membership
        return GroupedContribution(each, member.groups, member.columns, member.place)  # type: ignore[arg-type]

    def answer_with(self, releaser: Releaser) -> Releaser:
        """Return a releaser that answers stages for the part."""
        return _PartReleaser(self, releaser)


@dataclass(frozen=True)
class _PartReleaser:
    parted: Parted
    releaser: Releaser

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers of the part."""
        return self.releaser.answer(*map(self.parted.stage, stages))


@dataclass(frozen=True)
class _OneGroup:
    """Hands out what one group was answered; everything was asked for before."""

    answers: dict[tuple[int, int], FloatArray]

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the group's part of every answer."""
        return [self.answers[_asked(stage)] for stage in stages]


def _asked(stage: Stage[Perturbation]) -> tuple[int, int]:
    """Return what is summed and with which noise: not a stage that stands in for one to be decided."""
    return id(stage.contribution), id(stage.noise)


def prepare_part(
    prepare: Callable[[Setting], Program], membership: Membership, setting: Setting
) -> Program:
    """Return a question made ready for a part of the table, or for every group.

    Guarantees:
      - How many records are in a part or a group is private under both relations. [where] [groups]
    """
    membership.check()
    relation = setting.relation
    within = relation.between_groups if membership.grouped else relation.within_part
    program = prepare(setting.within(within))
    told = program.assumptions + tell_part(membership)
    if membership.grouped:
        stacked = prepare_groups(program, membership, lambda one: Stacked.of(one, membership).program)
        return replace(stacked, assumptions=told)
    parted = Parted(membership)
    return replace(
        program,
        stages=tuple(map(parted.stage, program.stages)),
        finish=lambda releaser: program.finish(parted.answer_with(releaser)),
        assumptions=told,
    )


def prepare_groups(
    program: Program, membership: Membership, stack: Callable[[Program], Program]
) -> Program:
    """Return a question of every group, after what is asked of all of them together.

    Args:
      program: the question of all records.
      membership: who is in which group.
      stack: makes a question of all records that of every group, and refuses it if it asks for more
        than the stages it was priced by.

    Guarantees:
      - What is shared is asked of the whole part, once; what follows from it is asked of groups as of
        groups. [where] [groups]
    """
    shared = program.shared
    if shared is None:
        return stack(program)
    part = replace(membership, by=(), split=None)
    whole = None if membership.where is None else Parted(part)
    first = shared.stages if whole is None else tuple(map(whole.stage, shared.stages))
    rest = stack(shared.rest)

    def finish(releaser: Releaser) -> Result:
        asked = releaser if whole is None else whole.answer_with(releaser)
        return stack(shared.ask(asked)).finish(releaser)

    return replace(rest, stages=(*first, *rest.stages), finish=finish)


def _check_size(program: Program, membership: Membership) -> None:
    numbers = membership.groups * sum(stage.contribution.size for stage in program.stages)
    if numbers > _MOST_NUMBERS:
        raise ArgumentError(
            f"by must give at most {_MOST_NUMBERS:,} numbers of all groups together, got {numbers:,}. "
            "Use fewer groups, or ask for less of each."
        )


@dataclass(frozen=True)
class Stacked:
    """Answers the stages of all groups at once and makes a result of each."""

    question: Program
    stages: tuple[Stage[Perturbation], ...]
    membership: Membership

    @classmethod
    def of(cls, question: Program, membership: Membership) -> Stacked:
        """Return a question of all records as one of every group."""
        stages = tuple(map(Parted(membership).stage, question.stages))
        return cls(question, stages, membership)

    @property
    def program(self) -> Program:
        """The question made ready, once it has been tried."""
        self.rehearse()
        return replace(self.question, stages=self.stages, finish=self)

    def __call__(self, releaser: Releaser) -> Groups:
        """Ask for all groups at once, and answer for each."""
        return self.finish(releaser.answer(*self.stages))

    def rehearse(self) -> None:
        """Try it without records: a question must ask for nothing but the stages it was priced by."""
        _check_size(self.question, self.membership)
        empty = [np.zeros(numbers_of(stage)) for stage in self.question.stages]
        try:
            self.finish([np.tile(values, self.membership.groups) for values in empty])
        except KeyError:
            raise ArgumentError(
                "by must be left out of a question that asks for more once it has an answer, got one. "
                "Ask for the groups one by one with where=."
            ) from None

    def finish(self, answers: Sequence[FloatArray]) -> Groups:
        """Return the results of all groups from what their stages were answered."""
        member, asked = self.membership, self.question.stages
        split = [np.split(np.asarray(values), member.groups) for values in answers]
        results = []
        for group in range(member.groups):
            own = {_asked(stage): parts[group] for stage, parts in zip(asked, split, strict=True)}
            results.append(self.question.finish(_OneGroup(own)))
        return Groups(member.names, member.labels, tuple(results), *self._sizes(split, results))

    def _sizes(
        self, answers: Sequence[Sequence[FloatArray]], results: Sequence[Any]
    ) -> tuple[tuple[float, ...] | None, float | None]:
        """Return how many records groups have, and within what, by what was answered."""
        for stage, values in zip(self.question.stages, answers, strict=True):
            if stage.name.startswith(SIZE_NAME):
                sizes = tuple(float(part[0]) for part in values)
                return sizes, additive(stage).half_width(Groups.level)
        if self.question.sized is None:
            return None, None
        return tuple(float(result.records) for result in results), self.question.sized


def _check_calls(stage: Stage[Perturbation]) -> None:
    """Refuse Gaussian noise where rows of a call may be in any group and places are not kept.

    How far it is from the continuous law is paid for the coordinates of one group there.
    """
    noise, each = stage.noise, stage.contribution
    if not (isinstance(noise, Noise) and isinstance(each, VectorContribution)):
        return
    if noise.normal and not noise.relation.keeps_places and each.batch_rows(noise.relation) > 0:
        raise ArgumentError(
            "mechanism must be 'laplace' for groups under add-remove, and for persons, of a model "
            "whose answers may move with the rows beside them, got 'gaussian'. Or leave delta out."
        )


def tell_part(membership: Membership) -> tuple[str, ...]:
    """Return which records were meant, as understood."""
    if membership.where is None:
        return ()
    return (f"answered for the records where {membership.where.understood(membership.schema)}",)
