"""Plan a private forest: trees on disjoint rows, their upper splits chosen, their leaves counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import some_names
from discreet.data import ROWS_CAP
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.plans import Perturbation, Plan, Program, Releaser, Setting, Stage, share_out
from discreet.plans.expected import of_summed_choice
from discreet.randomness import public_generator
from discreet.trees.classifier import model_facts
from discreet.trees.columns import Grid, Splits, candidate_splits, schema_grid
from discreet.trees.decision_tree.plan import LARGEST_LEVEL, Question
from discreet.trees.forest.growth import (
    CandidateNodes,
    assign_trees,
    candidate_weights,
    draw_candidates,
    draw_level,
    forest_leaves,
    in_leaf_order,
)
from discreet.trees.forest.result import RandomForest
from discreet.trees.forest.shape import Method, Rows, Shape, check_shape, fit_shape
from discreet.trees.leaves import LEAF_SHARE, expected_share, node_counts, node_shares
from discreet.trees.nodes import Nodes
from discreet.trees.scores import Criterion, CriterionName, check_work
from discreet.trees.splits import Level, SplitName, SplitNoise, level_stage, split_noise

_CANDIDATE_SPLITS = 64
_MOST_CANDIDATE_SPLITS = 4096
_PRIVATE_CAP = 2**16
_LEAF_SHARES = (1.0, 0.5, 0.7, 0.55, 0.4)
"""What the leaves get with so many chosen levels, the last entry from there on; found by trial."""


@dataclass(frozen=True)
class ForestQuestion(Question):
    """Which forest is asked for."""

    trees: int | None
    method: str
    rows: str
    candidate_splits: int
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self.trees, self.depth, self.method, self.rows)
        check_whole("candidate_splits", self.candidate_splits, 2, _MOST_CANDIDATE_SPLITS)
        check_whole("seed", self.seed, 0)


@dataclass(frozen=True)
class _Growth:
    """What all levels of a forest have in common; public."""

    grid: Grid
    splits: Splits
    classes: int
    question: ForestQuestion
    shape: Shape
    setting: Setting

    def stage(self, name: str, noise: SplitNoise, nodes: Nodes) -> Stage[SplitNoise]:
        """Return the stage that chooses the next splits of all trees."""
        level = Level(nodes, self.grid, self.splits, self.classes)
        assign = assign_trees(self.shape.trees, self.setting.relation)
        return level_stage(name, noise, level, self.question.target, assign)

    def grow(self, releaser: Releaser, levels: Sequence[Stage[SplitNoise]]) -> Nodes:
        """Return all trees: levels chosen among candidate splits, then levels drawn at random."""
        generator = public_generator(self.question.seed)
        weights = candidate_weights(self.grid, self.splits)
        nodes = Nodes.start(self.grid, self.shape.trees)
        for stage in levels:
            candidate_splits = draw_candidates(
                nodes, self.splits, weights, self.question.candidate_splits, generator
            )
            if not candidate_splits.any():
                return nodes
            asked = self.stage(stage.name, stage.noise, CandidateNodes.of(nodes, candidate_splits))
            (chosen,) = releaser.answer(asked)
            nodes = nodes.grow(self.splits, chosen.astype(np.int64))
        for _ in range(self.shape.random):
            nodes = draw_level(nodes, self.splits, weights, generator)
        return nodes


class RandomForestPlan(Plan):
    """See ``random_forest``."""

    kind = "random_forest"

    def __init__(self, question: ForestQuestion, epsilon: float, delta: float) -> None:
        super().__init__(epsilon, delta)
        self.question = question

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        asked = self.question
        return {
            "target": asked.target,
            "features": None if asked.features is None else list(asked.features),
            "trees": asked.trees,
            "depth": asked.depth,
            "method": asked.method,
            "rows": asked.rows,
            "criterion": asked.criterion,
            "mechanism": asked.mechanism,
            "candidate_splits": asked.candidate_splits,
            "seed": asked.seed,
        }

    def prepare(self, setting: Setting) -> Program:
        """Fit the shape to public facts and share the budget out."""
        asked = self.question
        features, classes = asked.resolve(setting.schema)
        check_work(setting.rows or ROWS_CAP, classes)
        shape = fit_shape(
            setting,
            features,
            classes,
            epsilon=self.epsilon,
            trees=asked.trees,
            depth=asked.depth,
            method=asked.method,
        )
        grid = schema_grid(setting.schema, features)
        splits = candidate_splits(grid)
        _check_size(shape, grid, splits, classes)
        growth = _Growth(grid, splits, classes, asked, shape, setting)
        leaf_share, *level_shares = forest_shares(self.epsilon, shape.chosen)
        criterion = Criterion(asked.criterion, max(2, setting.rows or _PRIVATE_CAP))
        noises = [
            split_noise(
                criterion,
                asked.mechanism,
                relation=setting.relation,
                epsilon=share,
                candidates=min(asked.candidate_splits, len(splits)),
            )
            for share in level_shares
        ]
        start = Nodes.start(grid, shape.trees)
        levels = [growth.stage(f"level {n}", noise, start) for n, noise in enumerate(noises, start=1)]

        def leaves_of(nodes: Nodes, whole: bool) -> Stage[Any]:
            return forest_leaves(
                nodes,
                (*features, asked.target),
                classes,
                setting,
                trees=shape.trees,
                whole=whole,
                epsilon=leaf_share,
                delta=self.delta,
            )

        whole = asked.rows == "whole" or (
            asked.rows == "auto" and _whole_is_better(shape.trees, leaves_of, start)
        )
        leaves = leaves_of(start, whole)

        def finish(releaser: Releaser) -> RandomForest:
            nodes = growth.grow(releaser, levels)
            (released,) = releaser.answer(leaves_of(nodes, whole))
            noisy = in_leaf_order(nodes, shape.trees, released, classes, whole)
            counts = node_counts(nodes, noisy, classes)
            return RandomForest.grown(
                nodes,
                counts,
                node_shares(nodes, counts, leaves.noise.std),
                features=features,
                target=asked.target,
                noise_std=leaves.noise.std,
                criterion=asked.criterion,
                mechanism=noises[0].kind if noises else "none",
                facts=model_facts(setting.schema, features, asked.target),
                trees=shape.trees,
                chosen_levels=shape.chosen,
                rows="whole" if whole else "disjoint",
            )

        stages: tuple[Stage[Perturbation], ...] = (*levels, leaves)
        own = shape.trees if not whole else 1
        errors = {LEAF_SHARE: expected_share(leaves.noise, setting, own * 2**shape.depth, shape.trees)}
        if noises:
            lost = of_summed_choice(noises[0].std, setting.rows, 1 / own, "a tree's records")
            errors["records that a first split is below the best candidate"] = lost
        return Program(stages, finish, errors)


def forest_shares(epsilon: float, levels: int) -> list[float]:
    """Return what the leaves and then every chosen level get of epsilon.

    >>> [round(share, 3) for share in forest_shares(1.0, 2)], forest_shares(1.0, 0)
    ([0.7, 0.15, 0.15], [1.0])
    """
    leaves = _LEAF_SHARES[min(levels, len(_LEAF_SHARES) - 1)]
    return share_out(epsilon, (leaves, *[(1 - leaves) / max(1, levels)] * levels))


def _whole_is_better(trees: int, leaves_of: Any, start: Nodes) -> bool:
    """Return whether counting every record in every tree has less noise per record.

    Laplace noise grows as the counts do, so nothing is won by it; Gaussian noise, which a delta
    buys, grows with their square root.
    """
    if trees == 1:
        return False
    alone, together = leaves_of(start, False).noise.std, leaves_of(start, True).noise.std
    return bool(together < 0.9 * trees * alone)


def _check_size(shape: Shape, grid: Grid, splits: Splits, classes: int) -> None:
    """Raise if the deepest chosen level, or the deepest level at all, is too large to hold."""
    cells = shape.trees * 2 ** max(0, shape.chosen - 1) * int(grid.bins.sum()) * classes
    candidates = shape.trees * 2 ** (shape.depth - 1) * len(splits)
    if max(cells, candidates) > LARGEST_LEVEL:
        raise ArgumentError(
            f"trees and depth must leave at most {LARGEST_LEVEL} cells to count, got {shape.trees} "
            f"trees of {shape.depth} levels with {max(cells, candidates)}. Ask for fewer of either."
        )


def random_forest(
    target: str,
    *,
    features: Sequence[str] | None = None,
    trees: int | None = None,
    depth: int | None = None,
    method: Method = "auto",
    rows: Rows = "auto",
    criterion: CriterionName = "norm",
    mechanism: SplitName = "auto",
    candidate_splits: int = _CANDIDATE_SPLITS,
    seed: int = 0,
    epsilon: float,
    delta: float = 0.0,
) -> RandomForestPlan:
    """Plan a forest that predicts a category of the table.

    Args:
      target: the column to predict, a ``Category`` of the schema; its values are the classes.
      features: the columns to predict from; all others if left out.
      trees: their number; from the number of records and epsilon if left out (32 random ones).
      depth: levels of splits; from public facts if left out.
      method: ``chosen``: the upper levels are chosen privately from a few random candidates per node;
        ``random``: no split looks at a record, and all of epsilon goes to the leaves; ``auto`` takes
        ``chosen``.
      rows: whether a tree counts records of its own (``disjoint``) or all of them (``whole``) at its
        leaves. ``auto`` takes what has less noise per record, which is ``whole`` for many trees and a
        delta. Splits are always chosen on disjoint rows.
      criterion: what a good split is, as in ``decision_tree``.
      mechanism: what chooses, as in ``decision_tree``.
      candidate_splits: how many per node, drawn from the public seed.
      seed: of what is drawn in public: candidates and random splits.
      epsilon: the whole budget: 0.4 of it for the leaves if four levels or more are chosen, and more
        if fewer are; the rest in equal parts for those levels.
      delta: zero for a pure guarantee; of use for Gaussian noise on the counts alone.

    Guarantees:
      - Every record belongs to one tree, whatever the others are; so all choices of a level cost as
        much as those of one tree. [forest-disjoint] [tree-splits]
      - Leaves on disjoint rows cost as those of one tree; on the whole table noise is for all trees
        together. [forest-disjoint] [forest-composed]

    >>> random_forest("income", trees=8, epsilon=1.0)
    random_forest(target='income', features=None, trees=8, depth=None, method='auto', rows='auto', \
criterion='norm', mechanism='auto', candidate_splits=64, seed=0, epsilon=1)
    """
    named = some_names("features", features)
    question = ForestQuestion(
        target,
        named,
        depth,
        criterion,
        "schema",
        mechanism,
        trees,
        method,
        rows,
        candidate_splits,
        seed,
    )
    return RandomForestPlan(question, epsilon, delta)
