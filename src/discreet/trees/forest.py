"""Plan a private forest: trees on disjoint rows, their upper splits chosen, their leaves counted."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.plans import Perturbation, Program, Releaser, Setting, Stage
from discreet.plans.expected import Expected, of_summed_choice
from discreet.plans.kinds import UNSAID, Delta, Epsilon, OneOf, Whole
from discreet.plans.stages.sums import TableNoise
from discreet.randomness import public_generator
from discreet.trees.classes import ClassCounts
from discreet.trees.columns import IntArray, Splits, candidate_splits
from discreet.trees.copies import copied_cuts
from discreet.trees.forest_growth import (
    CandidateNodes,
    assign_trees,
    candidate_weights,
    draw_candidates,
    draw_level,
    forest_leaves,
    in_leaf_order,
    tree_of,
)
from discreet.trees.leaves import LEAF_SHARE, expected_share
from discreet.trees.nodes import TreeNodes
from discreet.trees.plan import (
    LARGEST_LEVEL,
    CriterionChoice,
    Depth,
    Ground,
    SplitChoice,
    TreePlan,
    level_name,
)
from discreet.trees.result import RandomForest, finite_ends
from discreet.trees.shape import (
    METHODS,
    MOST_TREES,
    ROWS,
    ForestShape,
    Method,
    Rows,
    Shares,
    fit_shape,
    forest_shares,
)
from discreet.trees.splits import SplitNoise, TreeLevel, level_stage

_MOST_CANDIDATE_SPLITS = 4096


class random_forest(TreePlan):
    """Plan a forest that predicts a category of the table.

    Args:
      target: the column to predict, a ``Category`` of the schema; its values are the classes. A record
        without one of them is not counted.
      features: the columns to predict from, as in ``decision_tree``; all others if left out.
      trees: their number; from the number of records and epsilon if left out (32 random ones):
        one while splits would be too noisy on parts of the records, else two. Up to eight are asked in
        copies, sixteen together, whose cuts are moved a little, so that probabilities change step by
        step.
      depth: levels of splits; from public facts if left out.
      method: ``chosen``: the upper levels are chosen privately, those below drawn at random;
        ``random``: no split looks at a record, and nearly all of epsilon goes to the leaves; ``auto``
        takes ``chosen``.
      rows: whether a tree counts records of its own (``disjoint``) or all of them (``whole``) at its
        leaves. ``auto`` takes what has less noise per record, which is ``whole`` for many trees and a
        delta. Splits are always chosen on disjoint rows.
      criterion: what a good split is, as in ``decision_tree``.
      mechanism: what chooses, as in ``decision_tree``.
      candidate_splits: how many per node, drawn from the public seed; all if left out, or 64 for more
        than eight trees.
      seed: of what is drawn in public: candidates and random splits.
      epsilon: the whole budget: 0.05 of it for the number of records of each class, 0.4 for the counts
        at the leaves, the rest for the levels, deeper ones more; random trees have no levels to pay.
      delta: zero for a pure guarantee; of use for Gaussian noise on the counts alone.

    Guarantees:
      - Every record belongs to one tree, whatever the others are; so all choices of a level cost as
        much as those of one tree. [forest-disjoint] [tree-splits]
      - Leaves on disjoint rows cost as those of one tree; on the whole table noise is for all trees
        together. [forest-disjoint] [forest-composed]
      - Copies are made of public cut points and of what was released, and cost nothing. [tree-leaves]

    >>> random_forest("income", trees=8, epsilon=1.0)
    random_forest(target='income', features=None, trees=8, depth=None, method='auto', rows='auto', \
criterion='norm', mechanism='auto', candidate_splits=None, seed=0, epsilon=1)
    """

    _: KW_ONLY
    trees: Annotated[int | None, Whole(1, MOST_TREES, optional=True)] = None
    depth: Depth = None
    method: Annotated[Method, OneOf(METHODS)] = "auto"
    rows: Annotated[Rows, OneOf(ROWS)] = "auto"
    criterion: CriterionChoice = "norm"
    mechanism: SplitChoice = "auto"
    candidate_splits: Annotated[int | None, Whole(2, _MOST_CANDIDATE_SPLITS, optional=True)] = None
    seed: Annotated[int, Whole(0)] = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    meaning: ClassVar = 3

    def prepare_whole(self, setting: Setting) -> Program:
        """Fit the shape to public facts and share the budget out."""
        ground = self.ground(setting)
        shape = fit_shape(
            setting,
            ground.features,
            epsilon=self.epsilon,
            trees=self.trees,
            depth=self.depth,
            method=self.method,
        )
        splits = candidate_splits(ground.grid)
        _check_size(shape, ground, splits)
        shares = forest_shares(self.epsilon, shape)
        most = min(self.candidate_splits or shape.candidates or len(splits), len(splits))
        noises = ground.noises(self.criterion, self.mechanism, shares.levels, most)
        program = _ForestProgram(self, ground, shape, splits, noises, shares, most)
        return Program(program.stages, program.finish, program.expected_error)


@dataclass(frozen=True)
class _ForestProgram:
    """The stages of a forest, and how they are asked."""

    plan: random_forest
    ground: Ground
    shape: ForestShape
    splits: Splits
    noises: list[SplitNoise]
    shares: Shares
    most: int

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """What may happen; levels and leaves stand at the roots until splits are known."""
        levels = [self.level(n, noise, self._start) for n, noise in enumerate(self.noises)]
        return (self.classes, *levels, self._leaves)

    @cached_property
    def classes(self) -> Stage[Noise]:
        """The stage that counts the classes."""
        return self.ground.class_stage(self.shares.classes)

    @property
    def expected_error(self) -> dict[str, Expected]:
        """How far noise moves a count and, where splits are chosen, a choice."""
        setting, shape = self.ground.setting, self.shape
        own = 1 if self.whole else shape.trees
        ends = own * 2**shape.depth
        errors = {LEAF_SHARE: expected_share(self._leaves.noise, setting, ends, shape.trees)}
        if self.noises:
            lost = of_summed_choice(self.noises[0].std, setting.rows, 1 / own, "a tree's records")
            errors["records that a first split is below the best candidate"] = lost
        return errors

    def level(
        self, number: int, noise: SplitNoise, nodes: TreeNodes, weights: IntArray | None = None
    ) -> Stage[SplitNoise]:
        """Return the stage that chooses the next splits of all trees."""
        ground = self.ground
        level = TreeLevel(nodes, ground.grid, self.splits, ground.classes, weights)
        assign = assign_trees(self.shape.trees, ground.setting.relation)
        return level_stage(level_name(number), noise, level, ground.target, assign)

    def leaves(self, nodes: TreeNodes, whole: bool) -> Stage[Noise | TableNoise]:
        """Return the stage that counts the leaves of all trees."""
        ground = self.ground
        return forest_leaves(
            nodes,
            ground.columns,
            ground.classes,
            ground.setting,
            trees=self.shape.trees,
            depth=self.shape.depth,
            whole=whole,
            epsilon=self.shares.leaves,
            delta=self.plan.delta,
        )

    @cached_property
    def whole(self) -> bool:
        """Whether every tree counts every record at its leaves.

        Laplace noise grows as the counts do, so nothing is won by it; Gaussian noise, which needs
        a delta, grows with their square root.
        """
        if self.plan.rows != "auto":
            return self.plan.rows == "whole"
        if self.shape.trees == 1:
            return False
        alone, together = (self.leaves(self._start, whole).noise.std for whole in (False, True))
        return bool(together < 0.9 * self.shape.trees * alone)

    @cached_property
    def _start(self) -> TreeNodes:
        return TreeNodes.start(self.ground.grid, self.shape.trees)

    @cached_property
    def _leaves(self) -> Stage[Noise | TableNoise]:
        return self.leaves(self._start, self.whole)

    def grow(self, releaser: Releaser, known: ClassCounts) -> TreeNodes:
        """Return all trees: levels chosen among candidate splits, then levels drawn at random."""
        generator = public_generator(self.plan.seed)
        weights = candidate_weights(self.ground.grid, self.splits)
        nodes = self._start
        for number, noise in enumerate(self.noises):
            candidates = draw_candidates(nodes, self.splits, weights, self.most, generator)
            if not candidates.any():
                return nodes
            open_nodes = CandidateNodes.of(nodes, candidates)
            (chosen,) = releaser.answer(self.level(number, noise, open_nodes, known.weights))
            nodes = nodes.grow(self.splits, chosen.astype(np.int64))
        for _ in range(self.shape.random):
            nodes = draw_level(nodes, self.splits, weights, generator)
        return nodes

    def finish(self, releaser: Releaser) -> RandomForest:
        """Ask for classes, level by level for splits, and for the leaves' counts."""
        (counts,) = releaser.answer(self.classes)
        known = ClassCounts(counts, self.classes.noise.std)
        nodes, trees = self.grow(releaser, known), self.shape.trees
        (released,) = releaser.answer(self.leaves(nodes, self.whole))
        noisy = in_leaf_order(nodes, trees, released, self.ground.classes, self.whole)
        model = self.ground.model(
            RandomForest,
            nodes,
            noisy,
            self._leaves.noise.std,
            known,
            times=trees if self.whole else 1,
            spread=self.shape.spread,
            criterion=self.plan.criterion,
            mechanism=self.noises[0].kind if self.noises else "none",
            trees=trees,
            chosen_levels=self.shape.chosen,
            rows="whole" if self.whole else "disjoint",
        )
        return self._with_copies(model, nodes)

    def _with_copies(self, model: RandomForest, nodes: TreeNodes) -> RandomForest:
        """Return the forest with copies of its trees whose cuts are moved."""
        copies = copied_cuts(
            nodes,
            self.ground.grid,
            tree_of(nodes, self.shape.trees),
            np.array(model.counts),
            np.array(model.shares),
            self.plan.seed,
        )
        return replace(model, copies=tuple(map(finite_ends, copies)))


def _check_size(shape: ForestShape, ground: Ground, splits: Splits) -> None:
    """Raise if the deepest chosen level, or the deepest level at all, is too large to hold."""
    cells = shape.trees * 2 ** max(0, shape.chosen - 1) * int(ground.grid.bins.sum()) * ground.classes
    candidates = shape.trees * 2 ** (shape.depth - 1) * len(splits)
    if max(cells, candidates) > LARGEST_LEVEL:
        raise ArgumentError(
            f"trees and depth must leave at most {LARGEST_LEVEL} cells to count, got {shape.trees} "
            f"trees of {shape.depth} levels with {max(cells, candidates)}. Ask for fewer of either."
        )
