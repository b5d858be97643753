"""Private trees on tiny tables: the splits of all nodes of a level, and the counts of leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from discreet.additive.pairs.choice import ResidualChoice
from discreet.audit.laws.divergence import FloatArray
from discreet.audit.laws.neighbours import FAR, Counts, neighbouring_tables
from discreet.audit.laws.of_noise import noise_subject
from discreet.audit.laws.subject import Promise, Subject
from discreet.data.blocks import Block
from discreet.data.engine import Summand, sum_block
from discreet.mechanisms.selection.pairs.more_pairs import MoreChoice
from discreet.mechanisms.selection.pairs.spanning_tree import TreeChoice
from discreet.plans import Setting, Stage
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import Category, Number, Schema
from discreet.trees.columns import candidate_splits, schema_grid
from discreet.trees.leaves import leaf_stage
from discreet.trees.nodes import TreeNodes
from discreet.trees.scores import Criterion
from discreet.trees.splits import DAMPENING, SplitNoise, TreeLevel, level_stage, split_noise

Record = tuple[float, float, float]
Rows = tuple[Record, ...]

SCHEMA = Schema(
    {
        "age": Number(0, 3, step=1, missing=False),
        "home": Category("rent", "own", "none", missing=False, other=False),
        "class": Category("no", "yes", missing=False, other=False),
    },
    target="class",
)
"""Two features and a class, so few values that every split can be listed."""

FEATURES = ("age", "home")

TABLES: tuple[Rows, ...] = (
    (),
    ((1.0, 0.0, 0.0),) * 10 + ((1.0, 2.0, 1.0),) * 8 + ((2.0, 0.0, 1.0),) * 6,
    ((0.0, 0.0, 1.0),) * 6 + ((1.0, 0.0, 0.0),) * 5 + ((1.0, 1.0, 0.0),) * 11,
)
"""Tables near which a record shows; the latter two were found by search."""

RECORDS: Rows = (
    (0.0, 2.0, 0.0),
    (1.0, 2.0, 1.0),
    (0.0, 1.0, 1.0),
    (2.0, 1.0, 1.0),
    (3.0, 0.0, 0.0),
)


TELLING: tuple[tuple[Rows, Record | None, Record], ...] = (
    (((3.0, 1.0, 0.0),), None, (3.0, 0.0, 1.0)),
    ((*TABLES[1], (1.0, 2.0, 1.0)), (0.0, 1.0, 0.0), (2.0, 1.0, 0.0)),
    ((*TABLES[1], (3.0, 1.0, 0.0)), (0.0, 0.0, 1.0), (3.0, 1.0, 0.0)),
)
"""Rows, a record that goes and one that comes, found by search: where winners change."""

_BY_WEIGHTS = (DAMPENING, "exponential")
_TOGETHER = "in tables this small no record moves the scores of two pairs fully apart"
_FEW_RECORDS = "so few records are far from the worst that the bound has to allow for"


@cache
def two_nodes() -> TreeLevel:
    """Return a tree whose root is split by age, so that records are in one of two open nodes."""
    grid = schema_grid(SCHEMA, FEATURES)
    splits = candidate_splits(grid)
    middle = int(np.flatnonzero((splits.feature == 0) & (splits.last == 1))[0])
    return TreeLevel(TreeNodes.start(grid).grow(splits, np.array([middle])), grid, splits, 2)


def counts_of(stage: Stage[Any], rows: Any) -> IntArray:
    """Return the exact sums of a stage over encoded rows (features and target, in schema order)."""
    values = np.asfortranarray(np.asarray(rows, dtype=np.float64).reshape(-1, len(SCHEMA)))
    block = Block(0, tuple(SCHEMA), values).narrow(stage.contribution.columns)
    return np.asarray(sum_block(block, [Summand(stage.contribution, 1.0)])[0])


def neighbouring_rows(relation: Relation | str) -> Iterator[tuple[Rows, Rows]]:
    """Yield the tables with one record more, or with one of two records."""
    for rows, old, new in TELLING:
        replaced = old is not None
        if Relation(relation).keeps_places if replaced else not Relation(relation).rows_public:
            yield (*rows, *([old] if old else [])), (*rows, new)
    for rows, new in itertools.product(TABLES, RECORDS):
        if not Relation(relation).rows_public:
            yield rows, (*rows, new)
        if not Relation(relation).keeps_places:
            continue
        for old in RECORDS:
            if old != new:
                yield (*rows, old), (*rows, new)


def level_subject(kind: str, relation: str, epsilon: float) -> Subject:
    """Return the choice of splits of two open nodes together."""
    criterion = Criterion("gain" if kind == DAMPENING else "norm", 50)
    noise = split_noise(
        criterion,
        kind,
        relation=Relation(relation),
        epsilon=epsilon,
        candidates=len(two_nodes().splits),
    )
    return splits_subject(noise)


def splits_subject(noise: SplitNoise) -> Subject:
    """Return a mechanism that chooses splits, at the tree of two open nodes."""
    stage = level_stage("level", replace(noise, level=None), two_nodes(), "class")

    def law(rows: Rows) -> FloatArray:
        first, second = stage.noise.laws(counts_of(stage, rows))
        return np.multiply.outer(first, second).ravel()

    promise = Promise(noise.epsilon, noise.delta, noise.events)
    name = f"splits of a level, {noise.kind}, {noise.relation}"
    loose = _FEW_RECORDS if noise.kind in _BY_WEIGHTS else ""
    return Subject(name, law, promise, lambda: neighbouring_rows(noise.relation), loose, caught=4.0)


def leaves_subject(mechanism: str, relation: str, epsilon: float, delta: float = 0.0) -> Subject:
    """Return the noisy counts of the leaves of the tree of two nodes."""
    rows = len(TABLES[1]) if Relation(relation).rows_public else None
    stage = leaf_stage(
        "leaves",
        two_nodes().nodes,
        tuple(SCHEMA),
        2,
        Setting(SCHEMA, Relation(relation), rows),
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # a name of the registry of noises
    )
    counted = noise_subject(stage.noise)
    return replace(counted, name=f"counts of leaves, {mechanism}, {relation}")


def residual_subject(choice: ResidualChoice) -> Subject:
    """Return a choice of one of two tables of two cells, to which records add one or take one off."""
    whole = round(1 / choice.step)

    def law(counts: Counts) -> FloatArray:
        # Many records make a cell of the first table positive and one of the second negative: there
        # a record that adds moves both scores, and moves them apart.
        many, other, added, taken = counts
        raw = np.array([many + added - taken, -other, many, added - taken - other]) * whole
        return np.array([choice.probability(raw, (place,)) for place in range(2)])

    def pairs() -> Iterator[tuple[Counts, Counts]]:
        for counts in ((FAR, FAR, 0, 1), (FAR, FAR, 1, 0), (0, FAR, 1, 1), (0, 1, 0, 0)):
            for other in neighbouring_tables(counts, choice.relation):
                yield counts, other

    promise = Promise(choice.epsilon, choice.delta, tuple(choice.events))
    return Subject(f"pairs by residuals, {choice.relation}", law, promise, pairs)


def spanning_subject(choice: TreeChoice | MoreChoice) -> Subject:
    """Return a choice of pairs of three columns of two values, all records alike or nearly."""
    cells = np.array(list(itertools.product((0, 1), repeat=3)))
    expected = [np.full(4, FAR / 4)] * len(choice.edges)
    ready = choice.given(expected)
    orders = list(itertools.permutations(range(len(choice.edges)), choice.picks))

    def law(counts: Counts) -> FloatArray:
        pairs = (2 * cells[:, a] + cells[:, b] for a, b in choice.edges)
        tables = [np.bincount(pair, weights=counts, minlength=4).astype(np.int64) for pair in pairs]
        raw = np.concatenate(tables)
        return np.array([ready.probability(raw, order) for order in orders])

    def pairs() -> Iterator[tuple[Counts, Counts]]:
        for second, some in itertools.product((1, 3, 7), (5, 0, 1, FAR // 2)):
            counts = (FAR, *(some * (place == second) for place in range(1, 8)))
            for other in neighbouring_tables(counts, choice.relation):
                yield counts, other

    promise = Promise(choice.epsilon, choice.delta, choice.events)
    name = "spanning tree" if isinstance(choice, TreeChoice) else "more pairs"
    return Subject(f"{name}, {choice.relation}", law, promise, pairs, _TOGETHER, caught=4.0)
