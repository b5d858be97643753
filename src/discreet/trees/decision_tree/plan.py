"""Plan a private decision tree: splits chosen level by level, then noisy counts at the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.arguments import some_names
from discreet.data import ROWS_CAP
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.numerics import check_choice, check_whole
from discreet.plans import Perturbation, Plan, Program, Releaser, Setting, Stage
from discreet.plans.expected import RECORDS, Expected, of_summed_choice
from discreet.plans.stages.quantiles import quantile_stage
from discreet.schema import Category, Number, Schema
from discreet.trees.budget import budget_shares, fitting_depth
from discreet.trees.classifier import model_facts
from discreet.trees.columns import Grid, candidate_splits, replace_cuts, schema_grid
from discreet.trees.decision_tree.result import DecisionTree
from discreet.trees.leaves import LEAF_SHARE, expected_share, leaf_stage, node_counts, node_shares
from discreet.trees.nodes import Nodes
from discreet.trees.scores import CRITERIA, Criterion, CriterionName, check_work
from discreet.trees.splits import (
    MECHANISMS,
    Level,
    SplitName,
    SplitNoise,
    level_stage,
    split_noise,
)

DEEPEST = 16
LARGEST_LEVEL = 2**24
"""The most cells that are counted for one level."""

_PARTS = 16
_PRIVATE_CAP = 2**16


@dataclass(frozen=True)
class Question:
    """Which tree is asked for; checked against a schema by ``resolve``."""

    target: str
    features: tuple[str, ...] | None
    depth: int | None
    criterion: str
    cuts: str
    mechanism: str

    def __post_init__(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("cuts", self.cuts, ("schema", "private"))
        check_choice("mechanism", self.mechanism, MECHANISMS)
        if self.depth is not None:
            check_whole("depth", self.depth, 1, DEEPEST)
        if self.features is not None and (
            not self.features or len(set(self.features)) < len(self.features)
        ):
            raise ArgumentError(f"features must be different names, got {list(self.features)}.")

    def resolve(self, schema: Schema) -> tuple[tuple[str, ...], int]:
        """Return the features and the number of classes."""
        column = schema[self.target]
        if not isinstance(column, Category):
            raise ArgumentError(
                f"target must be a category, got the number {self.target!r}. List its classes in the "
                "schema."
            )
        features = self.features or tuple(name for name in schema if name != self.target)
        if not features or self.target in features:
            raise ArgumentError(f"features must be columns besides the target {self.target!r}.")
        for name in features:
            schema[name]
        return features, len(column)


class DecisionTreePlan(Plan):
    """See ``decision_tree``."""

    kind = "decision_tree"

    def __init__(self, question: Question, epsilon: float, delta: float) -> None:
        super().__init__(epsilon, delta)
        self.question = question

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        asked = self.question
        return {
            "target": asked.target,
            "features": None if asked.features is None else list(asked.features),
            "depth": asked.depth,
            "criterion": asked.criterion,
            "cuts": asked.cuts,
            "mechanism": asked.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Lay out cut points and levels, and share the budget out."""
        asked, schema = self.question, setting.schema
        features, classes = asked.resolve(schema)
        check_work(setting.rows or ROWS_CAP, classes)
        depth = asked.depth or fitting_depth(setting, self.epsilon)
        grid = schema_grid(schema, features)
        check_size(depth, grid, classes)
        numbers = [name for name in features if isinstance(schema[name], Number)]
        private = numbers if asked.cuts == "private" else []
        shares = budget_shares(self.epsilon, depth, len(private))
        program = _TreeProgram(
            question=asked,
            setting=setting,
            features=features,
            grid=grid,
            classes=classes,
            cuts={
                name: quantile_stage(f"cuts of {name}", name, setting, parts=_PARTS, epsilon=share)
                for name, share in zip(private, shares.cuts, strict=True)
            },
            noises=_noises(asked, setting, shares.levels, len(candidate_splits(grid))),
            leaf_epsilon=shares.leaves,
            delta=self.delta,
        )
        return Program(program.stages, program.finish, program.expected_error)


@dataclass(frozen=True)
class _TreeProgram:
    """The stages of a tree, and how they are asked."""

    question: Question
    setting: Setting
    features: tuple[str, ...]
    grid: Grid
    classes: int
    cuts: dict[str, Stage[QuantileNoise]]
    noises: list[SplitNoise]
    leaf_epsilon: float
    delta: float

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """What may happen; levels and leaves stand at the root until splits are known."""
        root, target = Nodes.start(self.grid), self.question.target
        level = Level(root, self.grid, candidate_splits(self.grid), self.classes)
        levels = [
            level_stage(level_name(number), noise, level, target)
            for number, noise in enumerate(self.noises)
        ]
        return (*self.cuts.values(), *levels, self.leaves(root))

    @property
    def expected_error(self) -> dict[str, Expected]:
        """How far noise moves a choice and a count."""
        leaves = self.leaves(Nodes.start(self.grid))
        lost = of_summed_choice(self.noises[0].std, self.setting.rows, 1.0, RECORDS)
        return {
            LEAF_SHARE: expected_share(leaves.noise, self.setting, 2 ** len(self.noises)),
            "records that the first split is below the best": lost,
        }

    def leaves(self, nodes: Nodes) -> Stage[Noise]:
        """Return the stage that counts the leaves."""
        return leaf_stage(
            "leaves",
            nodes,
            (*self.features, self.question.target),
            self.classes,
            self.setting,
            epsilon=self.leaf_epsilon,
            delta=self.delta,
        )

    def finish(self, releaser: Releaser) -> DecisionTree:
        """Ask for cut points, level by level for splits, and for the leaves' counts."""
        schema, target = self.setting.schema, self.question.target
        found = releaser.answer(*self.cuts.values()) if self.cuts else []
        grid = replace_cuts(self.grid, schema, dict(zip(self.cuts, found, strict=True)))
        nodes = grow(releaser, self.noises, grid, self.classes, target)
        leaves = self.leaves(nodes)
        (noisy,) = releaser.answer(leaves)
        counts = node_counts(nodes, noisy, self.classes)
        return DecisionTree.of(
            nodes,
            counts,
            node_shares(nodes, counts, leaves.noise.std),
            features=self.features,
            target=target,
            noise_std=leaves.noise.std,
            criterion=self.question.criterion,
            mechanism=self.noises[0].kind,
            facts=model_facts(schema, self.features, target),
        )


def _noises(
    asked: Question, setting: Setting, epsilons: Sequence[float], candidates: int
) -> list[SplitNoise]:
    criterion = Criterion(asked.criterion, max(2, setting.rows or _PRIVATE_CAP))
    return [
        split_noise(
            criterion,
            asked.mechanism,
            relation=setting.relation,
            epsilon=epsilon,
            candidates=candidates,
        )
        for epsilon in epsilons
    ]


def level_name(level: int) -> str:
    """Return the name of the stage that chooses the splits so far below the root."""
    return f"level {level + 1}"


def check_size(depth: int, grid: Grid, classes: int) -> None:
    """Raise if the deepest level could have more cells than are counted."""
    cells = (2 ** (depth - 1) + 1) * int(grid.bins.sum()) * classes
    if cells > LARGEST_LEVEL:
        raise ArgumentError(
            f"depth must leave at most {LARGEST_LEVEL} cells to count, got {depth} levels with "
            f"{cells}. Ask for fewer levels or features."
        )


def grow(
    releaser: Releaser,
    noises: Sequence[SplitNoise],
    grid: Grid,
    classes: int,
    target: str,
) -> Nodes:
    """Return the tree after all levels, each chosen knowing those above; stops where nothing can split.

    Whether something can follows from released splits and the schema.
    """
    nodes, splits = Nodes.start(grid), candidate_splits(grid)
    for number, noise in enumerate(noises):
        level = Level(nodes, grid, splits, classes)
        if not nodes.useful(splits).any():
            break
        (chosen,) = releaser.answer(level_stage(level_name(number), noise, level, target))
        grown = nodes.grow(splits, chosen.astype(np.int64))
        if len(grown) == len(nodes):
            break
        nodes = grown
    return nodes


def decision_tree(
    target: str,
    *,
    features: Sequence[str] | None = None,
    depth: int | None = None,
    criterion: CriterionName = "norm",
    cuts: Literal["schema", "private"] = "schema",
    mechanism: SplitName = "auto",
    epsilon: float,
    delta: float = 0.0,
) -> DecisionTreePlan:
    """Plan a decision tree that predicts a category of the table.

    Args:
      target: the column to predict, a ``Category`` of the schema; its values are the classes.
      features: the columns to predict from; all others if left out.
      depth: levels of splits; from the number of records and epsilon if left out.
      criterion: what a good split is: ``norm`` (ours, the least noise for its sharpness), ``max``,
        ``gini``, ``gain``.
      cuts: where numbers may be cut: ``schema``, at equal parts of their range (finer at both ends,
        whole steps of a ladder), or ``private``, at noisy quantiles, which takes a fifth of epsilon.
      mechanism: what chooses: ``permute-and-flip``, ``exponential`` (four times cheaper where the data
        set's accountant is zcdp), ``laplace``, ``dampening`` (for ``gain``), ``stability`` and
        ``smooth-...``, or ``auto``: the least expected error in the worst case.
      epsilon: the whole budget: 0.3 of it for the counts at the leaves, the rest for the levels, deeper
        ones more.
      delta: zero for a pure guarantee; of use for Gaussian noise on the counts alone.

    Guarantees:
      - A record moves the utilities of all splits of its node into a small interval. [tree-utility]
      - It is in one node of a level: a level costs its epsilon once under add-remove, and half of it
        twice under replace-one. [tree-splits]
      - It is in one leaf. [tree-leaves]

    >>> decision_tree("income", depth=3, epsilon=1.0).question.criterion
    'norm'
    """
    named = some_names("features", features)
    question = Question(target, named, depth, criterion, cuts, mechanism)
    return DecisionTreePlan(question, epsilon, delta)
