"""Plans that can be asked of a part of the table (``where``) or of every group (``by``).

A plan of records one by one derives from ``PartPlan`` and says in ``prepare_whole`` how it is made
ready for all of them; it must do without a public number of records, as under add-remove. One whose
answer is a choice, or that asks again once it has an answer, derives from ``WherePlan``; unless it asks
again by what it was answered of all records (``Shared``), which groups share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.kinds import Columns, Kind
from discreet.plans.parts.hierarchy import Hierarchy
from discreet.plans.parts.membership import Membership, told_of
from discreet.plans.parts.program import prepare_groups, prepare_part, tell_part
from discreet.plans.plan import Program, Setting, share_out
from discreet.schema import Condition
from discreet.schema.conditions import condition_from_json, read_condition, settled


@dataclass(frozen=True)
class ConditionKind(Kind):
    """A condition on columns: a ``dc.col`` expression, its text or its JSON."""

    word = "condition"

    def check(self, name: str, value: Any) -> Condition:
        """Return the condition."""
        if isinstance(value, Condition):
            return settled(value)
        if isinstance(value, str):
            return settled(read_condition(value))
        if isinstance(value, Mapping):
            return condition_from_json(value)
        raise ArgumentError(
            f"{name} must be a condition such as \"age >= 65 and sex == 'F'\", got {shown(value)}."
        )

    def plain(self, value: Any) -> Any:
        """Return the condition as plain data."""
        return None if value is None else value.to_json()


@dataclass(frozen=True)
class GroupsKind(Columns):
    """What records are grouped by: categories, levels, or a condition that is true of some."""

    word = "columns or condition"

    def check(self, name: str, value: Any) -> Any:
        """Return the names, or the condition."""
        if isinstance(value, Condition | Mapping):
            with told_of(name):
                return ConditionKind().check(name, value)
        if isinstance(value, str):
            with suppress(ArgumentError):  # the name of a column is no condition
                return read_condition(value)
        return super().check(name, value)

    def plain(self, value: Any) -> Any:
        """Return names, or the condition, as plain data."""
        return value.to_json() if isinstance(value, Condition) else super().plain(value)


class WherePlan(DeclaredPlan):
    """A question that can be asked of a part of the table.

    Args:
      where: only records for which this is true, such as ``dc.col("age") >= 65`` or ``"age >= 65"``;
        those for which it is unknown, because a value is missing, are left out. How many remain is
        private.
    """

    _: KW_ONLY
    where: Annotated[
        Condition | str | Mapping[str, Any] | None, ConditionKind(optional=True, unsaid=True)
    ] = None

    whole_only: ClassVar = (
        "Groups share a price only where records are added up; ask for them one by one with where=."
    )

    @abstractmethod
    def prepare_whole(self, setting: Setting) -> Program:
        """Make the question ready for all records, whose number may be private."""

    def prepare(self, setting: Setting) -> Program:
        """Make the question ready for those records that it is asked of."""
        if not self._asked_of_some:
            return self.prepare_whole(setting)
        return prepare_part(self.prepare_whole, self._membership(setting), setting)

    @property
    def _asked_of_some(self) -> bool:
        return self.where is not None

    def _membership(self, setting: Setting) -> Membership:
        assert self.where is None or isinstance(self.where, Condition)  # settled
        return Membership(setting.schema, self.where)


class PartPlan(WherePlan):
    """A question that can be asked of a part of the table, and of every group of records at once.

    Args:
      by: one category, or several for their combinations: one answer per group, all of them together
        for the price of one, with ``.groups``, ``.to_frame()`` and small pictures. A level of the
        schema and its category (``["hospital", "ward"]``) are both answered, each for an equal share of
        epsilon, and their sums agree. A condition makes two groups: where it is true and where it is
        false.
    """

    _: KW_ONLY
    by: Annotated[
        str | Sequence[str] | Condition | Mapping[str, Any] | None,
        GroupsKind(optional=True, unsaid=True),
    ] = None

    @property
    def _asked_of_some(self) -> bool:
        return self.where is not None or self.by is not None

    def _membership(self, setting: Setting) -> Membership:
        part, by = super()._membership(setting), self.by
        if isinstance(by, Condition):
            return replace(part, split=by)
        return replace(part, by=tuple(by or ()))

    def prepare(self, setting: Setting) -> Program:
        """Make the question ready for those records, or for every group, of one level or of all."""
        member = self._membership(setting)
        levels = member.levels()
        if not levels:
            return super().prepare(setting)
        for level in levels:  # each by itself: they are not combined
            level.check()
        epsilon, delta = (share_out(one, (1.0,) * len(levels)) for one in (self.epsilon, self.delta))
        even = self.paid(min(epsilon), min(delta))
        within = setting.within(setting.relation.between_groups)
        program = prepare_groups(
            even.prepare_whole(within), member, lambda one: Hierarchy(one, levels).prepare()
        )
        return replace(program, assumptions=program.assumptions + tell_part(member))
