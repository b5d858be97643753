"""Plan a private decision tree: splits chosen level by level, then noisy counts at the leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.models.released import model_facts
from discreet.plans import Perturbation, Program, Releaser, Setting, Stage
from discreet.plans.expected import RECORDS, Expected, of_summed_choice
from discreet.plans.kinds import UNSAID, Column, Columns, Delta, Epsilon, OneOf, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.stages.quantiles import quantile_stage
from discreet.schema import Category, FloatArray, Number, Schema
from discreet.trees.classes import ClassCounts, class_stage
from discreet.trees.columns import CutGrid, IntArray, candidate_splits, replace_cuts, schema_grid
from discreet.trees.leaves import (
    LEAF_SHARE,
    expected_share,
    leaf_stage,
    node_counts,
    node_shares,
    spread_shares,
)
from discreet.trees.nodes import TreeNodes
from discreet.trees.result import DecisionTree
from discreet.trees.scores import CRITERIA, Criterion, CriterionName, check_work
from discreet.trees.shape import DEEPEST, budget_shares, fitting_depth
from discreet.trees.splits import (
    MECHANISMS,
    SplitName,
    SplitNoise,
    TreeLevel,
    level_stage,
    split_noise,
)

LARGEST_LEVEL = 2**24
"""The most cells that are counted for one level."""

Depth = Annotated[int | None, Whole(1, DEEPEST, optional=True)]
CriterionChoice = Annotated[CriterionName, OneOf(CRITERIA)]
SplitChoice = Annotated[SplitName, OneOf(MECHANISMS)]

_PARTS = 16
_PRIVATE_CAP = 2**16
M = TypeVar("M", bound=DecisionTree)


@dataclass(frozen=True)
class Ground:
    """What a tree grows on: the columns of a table, and where they may be cut; public."""

    setting: Setting
    target: str
    features: tuple[str, ...]
    classes: int
    grid: CutGrid

    def noises(
        self, criterion: str, mechanism: str, epsilons: Sequence[float], candidates: int
    ) -> list[SplitNoise]:
        """Return what chooses the splits of every level, each for its part of epsilon."""
        parts = not self.setting.relation.whole
        utility = Criterion(criterion, max(2, self.setting.rows or _PRIVATE_CAP), parts)
        return [
            split_noise(
                utility,
                mechanism,
                relation=self.setting.relation,
                epsilon=epsilon,
                candidates=candidates,
            )
            for epsilon in epsilons
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """The features and the target."""
        return (*self.features, self.target)

    def class_stage(self, epsilon: float) -> Stage[Noise]:
        """Return the stage that counts the records of every class."""
        return class_stage(self.grid, self.columns, self.classes, self.setting, epsilon)

    def model(
        self,
        kind: type[M],
        nodes: TreeNodes,
        noisy: FloatArray,
        noise_std: float,
        known: ClassCounts,
        *,
        times: int = 1,
        spread: float = 1.0,
        **facts: Any,
    ) -> M:
        """Return grown nodes with the noisy counts of their leaves as a model that predicts.

        Every record was counted in so many leaves as ``times`` says.
        """
        counts = node_counts(nodes, noisy, self.classes)
        own = counts[nodes.depth == 0].sum(axis=0) / times
        base = known.shares(own, math.sqrt(len(nodes.leaves)) * noise_std / times)
        return kind.of(
            nodes,
            counts,
            spread_shares(node_shares(nodes, counts, noise_std, base), base, spread),
            features=self.features,
            target=self.target,
            noise_std=noise_std,
            facts=model_facts(self.setting.schema, self.features, self.target),
            **facts,
        )


class TreePlan(WherePlan):
    """What trees and forests are asked for alike.

    Args:
      target: the column to predict.
      features: the columns to predict from; all others if left out.
    """

    target: Annotated[str, Column()]
    _: KW_ONLY
    features: Annotated[Sequence[str] | None, Columns(optional=True)] = None

    def ground(self, setting: Setting) -> Ground:
        """Check the columns against the schema and lay out the cut points."""
        schema = setting.schema
        classes = self._classes(schema)
        features = tuple(self.features or (name for name in schema if name != self.target))
        if not features or self.target in features:
            raise ArgumentError(f"features must be columns besides the target {self.target!r}.")
        check_work(setting.most_rows, classes, parts=not setting.relation.whole)
        return Ground(setting, self.target, features, classes, schema_grid(schema, features))

    def _classes(self, schema: Schema) -> int:
        column = schema[self.target]
        if not isinstance(column, Category):
            raise ArgumentError(
                f"target must be a category, got the number {self.target!r}. List its classes in the "
                "schema."
            )
        return len(column.values)


class decision_tree(TreePlan):
    """Plan a decision tree that predicts a category of the table.

    Where nearly all records are of one class, those of the others weigh more when splits are chosen.

    Args:
      target: the column to predict, a ``Category`` of the schema; its values are the classes. A record
        without one of them is not counted.
      features: the columns to predict from; all others if left out. Missing numbers are told from all
        others by a split of their own and go with the low ones elsewhere; missing and unlisted
        categories are categories.
      depth: levels of splits; from the number of records and epsilon if left out.
      criterion: what a good split is: ``norm`` (ours, the least noise for its sharpness), ``max``,
        ``gini``, ``gain``.
      cuts: where numbers may be cut: ``schema``, at equal parts of their range (finer at both ends,
        on the step grid), or ``private``, at noisy quantiles, which takes a fifth of epsilon.
      mechanism: what chooses: ``permute-and-flip``, ``exponential`` (four times cheaper where the data
        set's accountant is zcdp), ``laplace``, ``dampening`` (for ``gain``), ``stability`` and
        ``smooth-...``, or ``auto``: the least expected error in the worst case.
      epsilon: the whole budget: 0.05 of it for the number of records of each class, 0.3 for the counts
        at the leaves, the rest for the levels, deeper ones more.
      delta: zero for a pure guarantee; of use for Gaussian noise on the counts alone.

    Guarantees:
      - A record moves the utilities of all splits of its node into a small interval. [tree-utility]
      - It is in one node of a level, or in none: a level costs its epsilon once under add-remove, and
        half of it twice under replace-one. [tree-splits]
      - It is in one leaf, or in none. [tree-leaves] [tree-part]

    >>> decision_tree("income", depth=3, epsilon=1.0).criterion
    'norm'
    """

    _: KW_ONLY
    depth: Depth = None
    criterion: CriterionChoice = "norm"
    cuts: Annotated[Literal["schema", "private"], OneOf(("schema", "private"))] = "schema"
    mechanism: SplitChoice = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    meaning: ClassVar = 2

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out cut points and levels, and share the budget out."""
        ground, schema = self.ground(setting), setting.schema
        depth = self.depth or fitting_depth(setting, self.epsilon)
        check_size(depth, ground.grid, ground.classes)
        numbers = [name for name in ground.features if isinstance(schema[name], Number)]
        private = numbers if self.cuts == "private" else []
        shares = budget_shares(self.epsilon, depth, len(private))
        candidates = len(candidate_splits(ground.grid))
        program = _TreeProgram(
            ground,
            self.criterion,
            cuts={
                name: quantile_stage(f"cuts of {name}", name, setting, parts=_PARTS, epsilon=share)
                for name, share in zip(private, shares.cuts, strict=True)
            },
            noises=ground.noises(self.criterion, self.mechanism, shares.levels, candidates),
            class_epsilon=shares.classes,
            leaf_epsilon=shares.leaves,
            delta=self.delta,
        )
        return Program(program.stages, program.finish, program.expected_error)


@dataclass(frozen=True)
class _TreeProgram:
    """The stages of a tree, and how they are asked."""

    ground: Ground
    criterion: str
    cuts: dict[str, Stage[QuantileNoise]]
    noises: list[SplitNoise]
    class_epsilon: float
    leaf_epsilon: float
    delta: float

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """What may happen; levels and leaves stand at the root until splits are known."""
        grid, target = self.ground.grid, self.ground.target
        root = TreeNodes.start(grid)
        level = TreeLevel(root, grid, candidate_splits(grid), self.ground.classes)
        levels = [
            level_stage(level_name(number), noise, level, target)
            for number, noise in enumerate(self.noises)
        ]
        return (self.classes, *self.cuts.values(), *levels, self.leaves(root))

    @property
    def expected_error(self) -> dict[str, Expected]:
        """How far noise moves a choice and a count."""
        setting = self.ground.setting
        leaves = self.leaves(TreeNodes.start(self.ground.grid))
        lost = of_summed_choice(self.noises[0].std, setting.rows, 1.0, RECORDS)
        return {
            LEAF_SHARE: expected_share(leaves.noise, setting, 2 ** len(self.noises)),
            "records that the first split is below the best": lost,
        }

    @cached_property
    def classes(self) -> Stage[Noise]:
        """The stage that counts the classes."""
        return self.ground.class_stage(self.class_epsilon)

    def leaves(self, nodes: TreeNodes) -> Stage[Noise]:
        """Return the stage that counts the leaves."""
        ground = self.ground
        return leaf_stage(
            "leaves",
            nodes,
            ground.columns,
            ground.classes,
            ground.setting,
            epsilon=self.leaf_epsilon,
            delta=self.delta,
        )

    def finish(self, releaser: Releaser) -> DecisionTree:
        """Ask for classes and cut points, level by level for splits, and for the leaves' counts."""
        ground = self.ground
        counts, *found = releaser.answer(self.classes, *self.cuts.values())
        known = ClassCounts(counts, self.classes.noise.std)
        released = dict(zip(self.cuts, found, strict=True))
        grid = replace_cuts(ground.grid, ground.setting.schema, released)
        nodes = grow(releaser, self.noises, grid, ground, known.weights)
        leaves = self.leaves(nodes)
        (noisy,) = releaser.answer(leaves)
        return ground.model(
            DecisionTree,
            nodes,
            noisy,
            leaves.noise.std,
            known,
            criterion=self.criterion,
            mechanism=self.noises[0].kind,
        )


def level_name(level: int) -> str:
    """Return the name of the stage that chooses the splits so far below the root."""
    return f"level {level + 1}"


def check_size(depth: int, grid: CutGrid, classes: int) -> None:
    """Raise if the deepest level could have more cells than are counted."""
    cells = (2 ** (depth - 1) + 1) * int(grid.bins.sum()) * classes
    if cells > LARGEST_LEVEL:
        raise ArgumentError(
            f"depth must leave at most {LARGEST_LEVEL} cells to count, got {depth} levels with "
            f"{cells}. Ask for fewer levels or features."
        )


def grow(
    releaser: Releaser, noises: Sequence[SplitNoise], grid: CutGrid, ground: Ground, weights: IntArray
) -> TreeNodes:
    """Return the tree after all levels, each chosen knowing those above; stops where nothing can split.

    Whether something can follows from released splits and the schema.
    """
    nodes, splits = TreeNodes.start(grid), candidate_splits(grid)
    for number, noise in enumerate(noises):
        level = TreeLevel(nodes, grid, splits, ground.classes, weights)
        if not nodes.useful(splits).any():
            break
        (chosen,) = releaser.answer(level_stage(level_name(number), noise, level, ground.target))
        grown = nodes.grow(splits, chosen.astype(np.int64))
        if len(grown) == len(nodes):
            break
        nodes = grown
    return nodes
