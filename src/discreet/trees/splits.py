"""Choose the splits of all nodes of one level: one noisy choice per node, of disjoint records.

A record is in one node of a level. So adding or removing it touches one choice, and replacing it
touches two, or one of them twice: a choice that loses e when a record comes or goes makes a level that
loses e under add-remove and 2 e under replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data import TablesContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms import LocalDampening
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax, score_stability
from discreet.mechanisms.smooth.tables import stability_table
from discreet.numerics import check_choice, check_positive, down, up
from discreet.plans import Stage
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.trees.columns import CutGrid, Splits
from discreet.trees.nodes import LEAF, TreeNodes
from discreet.trees.scores import Criterion

SplitName = Literal[
    "auto",
    "permute-and-flip",
    "exponential",
    "laplace",
    "dampening",
    "stability",
    "smooth-student-t",
    "smooth-laplace",
    "smooth-laplace-log-normal",
]
Assign = Callable[[Block], NDArray[np.int64]]

DAMPENING = "dampening"
_DAMPENED_TAIL = 2.0
MECHANISMS = ("auto", *ON_SCORES, DAMPENING, *ON_STABILITY)


@dataclass(frozen=True)
class TreeLevel:
    """What a choice needs to know of the trees so far; all of it is public."""

    nodes: TreeNodes
    grid: CutGrid
    splits: Splits
    classes: int
    weights: IntArray | None = None


@dataclass(frozen=True)
class SplitNoise:
    """Choose a split for every open node.

    ``share`` is the epsilon of one node's choice when a record of it comes or goes.

    Guarantees:
      - epsilon-differentially private over all nodes of the level, and epsilon-bounded range for the
        exponential mechanism and dampening. [tree-splits]
    """

    criterion: Criterion
    kind: str
    relation: Relation
    epsilon: float
    candidates: int
    level: TreeLevel | None = None

    delta = 0.0

    @property
    def step(self) -> float:
        """What is counted: records, or parts of them."""
        return count_step(self.relation)

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.kind

    @property
    def certificate(self) -> Certificate:
        """How far a record moves the utilities of the splits of a node, from the middle."""
        moved = self.criterion.half / self.criterion.steps
        bound = Bounds(up(self.candidates * moved), up(math.sqrt(self.candidates) * moved), moved)
        twice = Bounds(2 * bound.l1, 2 * bound.l2, 2 * bound.linf)
        return Certificate(
            ("tree-utility", "tree-splits"),
            self.candidates,
            {ADD_REMOVE: bound, REPLACE_ONE: twice},
        )

    @property
    def share(self) -> float:
        """The epsilon of one node's choice for a record that comes or goes."""
        edits = Relation(self.relation).edits
        return self.epsilon if edits == 1 else down(self.epsilon / edits, 1)

    @property
    def events(self) -> tuple[BoundedRangeEvent | PureEvent, ...]:
        """What the accountant is told: one event for all nodes."""
        event = PureEvent if self.kind in ON_STABILITY else self._pick.event_kind
        return (event(self.epsilon, self.kind),)

    @property
    def std(self) -> float:
        """How far below the best a choice is on average, in records, in the worst case.

        A guide for dampening; mechanisms on stability have no bound of their own, and are given that
        of the exponential mechanism.
        """
        factor = _DAMPENED_TAIL if self.kind == DAMPENING else self._pick.tail
        scale = self.criterion.spread / self.share / self.criterion.steps
        return factor * scale * self._pick.worst_loss(max(2, self.candidates))

    def at(self, level: TreeLevel) -> SplitNoise:
        """Return the choice for the trees as they are now."""
        return replace(self, level=level, candidates=len(level.splits))

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the number of a split for every open node; -1 where no split has two sides."""
        chosen = [self._choose(node, source) for node in self._seen(raw_steps)]
        return np.array(chosen, dtype=np.float64)

    def laws(self, raw_steps: IntArray) -> list[FloatArray]:
        """Return the exact law of every open node's choice; the last entry is that of no split."""
        return [self._law(node) for node in self._seen(raw_steps)]

    def _seen(self, raw_counts: IntArray) -> list[_Seen]:
        """Return what the choice of every open node looks at."""
        assert self.level is not None
        nodes, splits, classes = self.level.nodes, self.level.splits, self.level.classes
        slots = len(nodes.open)
        raw_scores = self.criterion.utilities(
            raw_counts, slots, self.level.grid, splits, classes, self.level.weights
        )
        # Every feature's table holds all records: the first tells how many are in each node.
        table = raw_counts[: (slots + 1) * int(self.level.grid.bins[0]) * classes]
        raw_sizes = table.reshape(slots + 1, -1).sum(axis=1)[:-1]
        candidate_splits = nodes.useful(splits)
        most = int(candidate_splits.sum(axis=1).max())
        return [
            _Seen(scores, int(size), useful, most)
            for scores, size, useful in zip(raw_scores, raw_sizes, candidate_splits, strict=True)
        ]

    def _choose(self, node: _Seen, source: NoiseSource) -> int:
        places = np.flatnonzero(node.useful)
        if len(places) <= 1:  # nothing to choose from, which is public
            return int(places[0]) if len(places) else LEAF
        if self.kind in ON_STABILITY:
            drawn_place = self._on_stability(node.most).release(*self._standing(node), source)
            known = drawn_place < len(places)  # else it stands for any of them
            return int(places[drawn_place if known else source.below(len(places))])
        raw_few = node.raw_scores[places]
        if self.kind == DAMPENING:
            return int(places[self._dampening.release(raw_few, self._admissible(node), source)])
        return int(places[self._on_scores.choose(raw_few, source)[0]])

    def _law(self, node: _Seen) -> FloatArray:
        law, places = np.zeros(self.candidates + 1), np.flatnonzero(node.useful)
        if len(places) <= 1:
            law[places[0] if len(places) else LEAF] = 1.0
        elif self.kind in ON_STABILITY:
            drawn = self._on_stability(node.most).probabilities(*self._standing(node))
            law[places] = drawn[: len(places)] + drawn[len(places) :].sum() / len(places)
        elif self.kind == DAMPENING:
            law[places] = self._dampening.probabilities(node.raw_scores[places], self._admissible(node))
        else:
            law[places] = self._on_scores.probabilities(node.raw_scores[places])
        return law

    @property
    def _pick(self) -> type[Pick]:
        """The law of a choice by scores; dampening is the exponential mechanism on other scores."""
        return ON_SCORES.get(self.kind, ExponentialMechanism)

    @property
    def _on_scores(self) -> Pick:
        return self._pick(self.criterion.half, self.share)

    def _on_stability(self, most: int) -> SmoothNoisyMax:
        """One table of chances for all nodes; what a node has no candidate for is shared out."""
        return SmoothNoisyMax(most, self.share, 0.0, ON_STABILITY[self.kind])

    def _standing(self, node: _Seen) -> tuple[int, int]:
        return score_stability(node.raw_scores[node.useful], self.criterion.spread)

    @property
    def _dampening(self) -> LocalDampening:
        return LocalDampening(self.share, beyond=self.criterion.fall)

    def _admissible(self, node: _Seen) -> IntArray:
        return self.criterion.admissible(node.raw_size, int(-node.raw_scores.min()))


@dataclass(frozen=True)
class _Seen:
    """What the choice of one node looks at; only ``useful`` is public, and how many ``most`` is."""

    raw_scores: IntArray
    raw_size: int
    useful: NDArray[np.bool_]
    most: int


def split_noise(
    criterion: Criterion,
    mechanism: str,
    *,
    relation: Relation,
    epsilon: float,
    candidates: int,
) -> SplitNoise:
    """Return the mechanism that chooses the splits of one level.

    Args:
      criterion: the utility.
      mechanism: ``auto`` takes the least expected error in the worst case, which permute-and-flip
        always has among mechanisms that have one.
      relation: the neighbouring relation.
      epsilon: the promise for all nodes of the level.
      candidates: how many splits there are, at most.
    """
    check_choice("mechanism", mechanism, MECHANISMS)
    check_positive("epsilon of a level", epsilon, "Ask for a larger epsilon or for fewer levels.")
    if mechanism == DAMPENING and criterion.name != "gain":
        raise ArgumentError(
            f"mechanism must be another than dampening for criterion={criterion.name!r}, whose local "
            "sensitivity is no less than its global one. Use 'auto', or criterion='gain'."
        )
    kinds = tuple(ON_SCORES) if mechanism == "auto" else (mechanism,)
    if criterion.parts and not set(kinds) <= set(ON_SCORES):
        raise ArgumentError(
            f"mechanism must be 'auto' or one of {', '.join(ON_SCORES)} where the rows of a person "
            f"share one record, got {mechanism!r}: its loss does not follow parts of records."
        )
    found = [SplitNoise(criterion, kind, relation, epsilon, candidates) for kind in kinds]
    best = min(found, key=lambda noise: noise.std)
    if best.kind in ON_STABILITY and candidates > 1:  # before a row is read
        stability_table(ON_STABILITY[best.kind], candidates, best.share, 0.0)
    return best


def level_stage(
    name: str, noise: SplitNoise, level: TreeLevel, target: str, assign: Assign | None = None
) -> Stage[SplitNoise]:
    """Return the stage that chooses the splits of all open nodes from one pass over the rows.

    Args:
      name: of the stage.
      noise: what chooses.
      level: the trees so far.
      target: the column of classes.
      assign: the tree of every row of a block; the first if left out.

    Guarantees:
      - Every record is in one cell of every feature's table, in the one node it is in; one without a
        class is in none. [tree-splits]
    """
    nodes, grid = level.nodes, level.grid
    slots = np.full(len(nodes), len(nodes.open))
    slots[nodes.open] = np.arange(len(nodes.open))

    def index(block: Block) -> NDArray[np.int64]:
        from discreet.trees.growth import cells

        found = np.empty((len(grid.features), len(block)), dtype=np.int64)
        classes = block[target].astype(np.int64)
        known = classes < level.classes
        cells(
            block.values,
            np.where(known, classes, 0),
            slots[reached_leaves(nodes, block, assign)],
            grid.flat,
            grid.starts,
            grid.bins,
            level.classes,
            found,
        )
        return np.where(known, found, -1)

    sizes = tuple((len(nodes.open) + 1) * int(bins) * level.classes for bins in grid.bins)
    contribution = TablesContribution((*grid.features, target), sizes, index)
    return Stage(name, contribution, noise.at(level))


def reached_leaves(nodes: TreeNodes, block: Block, assign: Assign | None = None) -> IntArray:
    """Return the leaf every row of a block falls into; its columns begin with the features."""
    from discreet.trees.growth import walk

    start = np.zeros(len(block), dtype=np.int64) if assign is None else assign(block)
    found = np.empty(len(block), dtype=np.int64)
    walk(block.values, start, nodes.feature, nodes.low, nodes.high, nodes.left, found)
    return found
