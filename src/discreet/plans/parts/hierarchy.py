"""Every level of a hierarchy at once: wards, and the hospitals they lie within, with totals that agree.

Each level is asked with an even part of the budget, as groups are. What was released of a group and of
the groups within it are then two measurements of the same sum: least squares makes one of them, at
every level, so that groups add up to the one they lie within. It reads released numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from discreet.plans.parts.grouped import GroupedChoice
from discreet.plans.parts.membership import Membership
from discreet.plans.parts.program import Parted, Stacked
from discreet.plans.plan import Perturbation, Program, Releaser, Stage
from discreet.plans.results.groups import Groups
from discreet.schema import FloatArray

WHOLE = "(all)"
"""What stands for the finer levels of a group that is not divided by them."""


@dataclass(frozen=True)
class Tree:
    """Which group of a level every group of the next finer level lies within, coarse levels first."""

    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, levels: Sequence[Membership]) -> Tree:
        """Return the tree of levels, each with one axis."""
        axes = [level.axes[0] for level in levels]
        parents = []
        for coarse, fine in pairwise(axes):
            above = dict(zip(fine.places, coarse.places, strict=True))
            parents.append(tuple(above[place] for place in range(len(fine.labels))))
        return cls(tuple(parents))

    def agree(self, measured: Sequence[FloatArray]) -> list[FloatArray]:
        """Return what fits measurements of equal variance best among sums that agree, level by level.

        Args:
          measured: per level one row per group, and one column per coordinate.

        Guarantees:
          - A group's sum is that of the groups within it. Of all such sums these are nearest to the
            measured ones in the sum of squares. [hierarchy]
        """
        best, variances = [measured[-1]], [np.ones(len(measured[-1]))]
        for level in range(len(self.parents) - 1, -1, -1):
            sums, spread = self._up(level, best[0], variances[0])
            weight = spread / (1 + spread)
            best.insert(0, weight[:, None] * measured[level] + (1 - weight[:, None]) * sums)
            variances.insert(0, weight)
        agreed = [best[0]]
        for level, parents in enumerate(self.parents):
            sums, spread = self._up(level, best[level + 1], variances[level + 1])
            share = variances[level + 1] / spread[list(parents)]
            agreed.append(best[level + 1] + share[:, None] * (agreed[-1] - sums)[list(parents)])
        return agreed

    def _up(self, level: int, values: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of values and variances of the groups within every group of a level."""
        parents = np.array(self.parents[level])
        sums = np.zeros((parents.max() + 1, values.shape[1]))
        np.add.at(sums, parents, values)
        return sums, np.asarray(np.bincount(parents, weights=spread), dtype=np.float64)


@dataclass(frozen=True)
class Hierarchy:
    """A question with an even part of the budget, and the levels it is asked of."""

    program: Program
    levels: tuple[Membership, ...]

    @cached_property
    def stacks(self) -> tuple[Stacked, ...]:
        """Every level by itself."""
        stacks = []
        for level in self.levels:
            made = [Parted(level).stage(stage) for stage in self.program.stages]
            named = tuple(replace(stage, name=f"{stage.name} by {level.by[0]}") for stage in made)
            stacks.append(Stacked(self.program, named, level))
        return tuple(stacks)

    def prepare(self) -> Program:
        """Return the question of all levels."""
        for stack in self.stacks:
            stack.rehearse()
        stages = tuple(stage for stack in self.stacks for stage in stack.stages)
        return replace(self.program, stages=stages, finish=self.finish)

    def finish(self, releaser: Releaser) -> Groups:
        """Ask for all levels at once, make their sums agree and answer for every group of each."""
        asked: list[Stage[Perturbation]] = [stage for stack in self.stacks for stage in stack.stages]
        answers = iter(releaser.answer(*asked))
        by_level = [[next(answers) for _ in stack.stages] for stack in self.stacks]
        for place, stage in enumerate(self.stacks[0].stages):
            if isinstance(stage.noise, GroupedChoice):
                continue  # what was chosen does not add up
            pairs = zip(by_level, self.levels, strict=True)
            measured = [own[place].reshape(level.groups, -1) for own, level in pairs]
            agreed = Tree.of(self.levels).agree(measured)
            for own, values in zip(by_level, agreed, strict=True):
                own[place] = values.ravel()
        found = [stack.finish(own) for stack, own in zip(self.stacks, by_level, strict=True)]
        return self._joined(found)

    def _joined(self, found: Sequence[Groups]) -> Groups:
        """Return the groups of all levels as those of one answer."""
        labels: list[tuple[str, ...]] = []
        for depth, level in enumerate(self.levels):
            labels += [self._path(depth, place) for place in range(level.groups)]
        sizes = [size for groups in found for size in groups.sizes or ()]
        return Groups(
            tuple(level.by[0] for level in self.levels),
            tuple(labels),
            tuple(result for groups in found for result in groups.results),
            tuple(sizes) if found[0].sizes is not None else None,
            found[0].size_half_width,
        )

    def _path(self, depth: int, place: int) -> tuple[str, ...]:
        """Return the names of the groups that a group lies within, and its own."""
        names = [WHOLE] * (len(self.levels) - depth - 1)
        parents = Tree.of(self.levels).parents
        for level in range(depth, -1, -1):
            names.insert(0, self.levels[level].axes[0].labels[place])
            place = parents[level - 1][place] if level else 0
        return tuple(names)
