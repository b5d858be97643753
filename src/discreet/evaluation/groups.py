"""Whose figures an evaluation tells apart: values of categories, both sides of a condition, levels.

Of levels (wards within hospitals) the finest is released; a coarser group is the sum of those within
it, whose noises add up. So all levels have the price of the finest, and their counts agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.evaluation.figures import Figure
from discreet.plans import Setting
from discreet.plans.parts.hierarchy import WHOLE, Tree
from discreet.plans.parts.membership import Membership
from discreet.plans.stages.parts import may_lack
from discreet.schema import Category, Condition, Schema

MOST_GROUPS = 200
_FEWEST_RECORDS = 30

Label = tuple[str, ...]
Group = str | Sequence[str] | None
"""A group by its value, or by its values of several columns; all records if left out."""


@dataclass(frozen=True)
class EvaluationGroups(Membership):
    """Which group a record is in: in one, or in none if the condition that makes them is unknown.

    Args:
      above: of levels all of them, coarse ones first, each by itself; ``by`` names the finest alone.
    """

    above: tuple[Membership, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What records are grouped by; of levels all."""
        return tuple(level.by[0] for level in self.above) or super().names

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """What every group is called; of levels with the groups it lies within."""
        if not self.above:
            return super().labels
        parents = Tree.of(self.above).parents
        found = []
        for place in range(self.groups):
            path: list[str] = []
            inside = place
            for depth in range(len(self.above) - 1, -1, -1):
                path.insert(0, self.above[depth].axes[0].labels[inside])
                inside = parents[depth - 1][inside] if depth else 0
            found.append(tuple(path))
        return tuple(found)

    @property
    def nested(self) -> bool:
        """Whether groups are levels, each within the one before."""
        return bool(self.above)

    @property
    def may_leave_out(self) -> bool:
        """Whether a record may be in no group: where the condition speaks of what may be missing."""
        asked = () if self.split is None else self.split.columns
        return any(may_lack(self.schema[name]) for name in asked)


def groups_of(schema: Schema, by: Sequence[str] | Condition | None) -> EvaluationGroups:
    """Return whose figures are told apart, or raise a sentence.

    Missing and unlisted values are groups of their own; of a condition that is unknown a record is in
    neither group.
    """
    if isinstance(by, Condition):
        return _sides(schema, by)
    names = tuple(by or ())
    fit = [n for n in schema.features if isinstance(schema[n], Category)]
    fit += [name for name, level in schema.levels.items() if level.of != schema.target]
    for name in names:
        if name not in fit:
            raise ArgumentError(
                f"by must name categories of the schema other than the target, or levels of such "
                f"({', '.join(fit) or 'there are none'}), or be a condition such as 'age >= 40', "
                f"got {name!r}."
            )
    levels = Membership(schema, None, names).levels()
    finest = levels[-1].by if levels else names
    member = EvaluationGroups(schema, None, finest, above=levels)
    if member.groups > MOST_GROUPS:
        raise ArgumentError(
            f"by must make at most {MOST_GROUPS} groups, got {member.groups}. Name fewer columns."
        )
    return member


def _sides(schema: Schema, condition: Condition) -> EvaluationGroups:
    condition.check(schema)
    if schema.target in condition.columns:
        raise ArgumentError(
            f"by must be a condition on columns other than the target, got one on {schema.target!r}. "
            "Ask for such a part with where=."
        )
    return EvaluationGroups(schema, None, split=condition)


def public_rows(setting: Setting, target: str, groups: Membership) -> int | None:
    """Return how many records are evaluated, if that is public: none may be left out."""
    left_out = isinstance(groups, EvaluationGroups) and groups.may_leave_out
    return None if left_out or may_lack(setting.schema[target]) else setting.rows


def coarser(groups: Sequence[Label]) -> tuple[Label, ...]:
    """Return the groups above the finest ones, coarse levels first, each once.

    >>> coarser([("north", "a"), ("north", "b"), ("south", "c")])
    (('north', '(all)'), ('south', '(all)'))
    """
    depth = len(groups[0]) if groups else 0
    found = [(*g[:cut], *[WHOLE] * (depth - cut)) for cut in range(1, depth) for g in groups]
    return tuple(dict.fromkeys(found))


def within(groups: Sequence[Label], group: Label) -> list[int]:
    """Return the places of the finest groups that a group consists of."""
    pairs = [[*zip(own, group, strict=True)] for own in groups]
    return [place for place, pair in enumerate(pairs) if all(b in (a, WHOLE) for a, b in pair)]


def find_group(told: Sequence[Label], group: Any) -> Label:
    """Return a group by its values, or raise a sentence; of levels the finer ones may be left out."""
    named = (group,) if isinstance(group, str) else tuple(group or ())
    width = len(told[0]) if told else 0
    for label in (named, (*named, *[WHOLE] * (width - len(named)))):
        if label in told:
            return label
    known = ", ".join(" and ".join(names) for names in told[:12]) or "none"
    raise ArgumentError(f"group must be one of the groups ({known}), got {shown(group)}.")


def is_small(size: Figure) -> bool:
    """Return whether so few records, by their noisy number, say little."""
    return size.value < max(_FEWEST_RECORDS, 2 * size.noise)
