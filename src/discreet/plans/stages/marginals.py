"""Noisy tables of single columns and of the strongest pairs of columns, from one pass over the rows.

Three stages on one sum: counts of every column's cells; a tree of pairs, chosen privately; counts of
the chosen pairs. Later stages know what earlier ones released, and nothing else.

Which pairs may be chosen is public: all of them up to ``LARGEST_PAIRS``; with more columns (beyond
200) only pairs of columns that are near each other in the schema, and never a pair with more than
``LARGEST_PAIR`` cells. Columns that are in no pair stay alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.data.contributions import TablesContribution
from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.mechanisms.selection.pairs.spanning_tree import TreeChoice, count_picks, tree_choice
from discreet.numerics import check_whole
from discreet.plans import Perturbation, Releaser, Setting, Stage, share_out
from discreet.plans.expected import EVEN, Expected, of_mean
from discreet.plans.stages.counts import onto_total
from discreet.plans.stages.sums import TableNoise, table_noise
from discreet.schema import Bins, FloatArray, Schema

LARGEST_PAIRS = 19_900
"""The most pairs that are compared: all of 200 columns."""

LARGEST_PAIR = 2**12
"""The most cells of a pair that may be chosen; more would hold little but noise."""

LARGEST_TABLES = 2**22
"""The most cells of all tables together."""

MOST_BINS = 64

MARGIN_SHARE, TREE_SHARE, PAIR_SHARE = 0.2, 0.2, 0.6


@dataclass(frozen=True)
class PairTables:
    """The public layout: cells of every column, and the pairs that may be chosen."""

    names: tuple[str, ...]
    cells: tuple[Bins, ...]
    pairs: tuple[Edge, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of every column."""
        return tuple(len(part) for part in self.cells)

    @cached_property
    def pair_sizes(self) -> tuple[int, ...]:
        """The number of cells of every pair."""
        return tuple(self.sizes[a] * self.sizes[b] for a, b in self.pairs)

    @cached_property
    def contribution(self) -> TablesContribution:
        """What one record adds: one to a cell of every column, then of every pair."""

        def index(block: Block) -> Iterator[NDArray[np.int64]]:
            places = [part.index(block[n]) for n, part in zip(self.names, self.cells, strict=True)]
            yield from places
            for a, b in self.pairs:
                yield places[a] * self.sizes[b] + places[b]

        return TablesContribution(self.names, (*self.sizes, *self.pair_sizes), index)

    def places(self, pair: int) -> range:
        """Return where the counts of a pair are in the sum."""
        start = sum(self.sizes) + sum(self.pair_sizes[:pair])
        return range(start, start + self.pair_sizes[pair])


def lay_out(schema: Schema, names: Sequence[str], bins: int) -> PairTables:
    """Return the layout for some columns, with at most ``bins`` cells per number.

    Fewer bins are taken where the pairs would have more than ``LARGEST_TABLES`` cells together. If
    that is not enough, because categories are too many, the pairs with most cells are left out.
    """
    check_whole("bins", bins, 2, MOST_BINS)
    asked = _layout(schema, names, bins)
    if sum(asked.sizes) > LARGEST_TABLES:
        raise ArgumentError(
            f"columns must have at most {LARGEST_TABLES} cells together, got {sum(asked.sizes)}. "
            "Leave some out of the schema."
        )
    coarser = (_layout(schema, names, count) for count in range(bins - 1, 1, -1))
    for layout in itertools.chain([asked], coarser):
        if layout.contribution.size <= LARGEST_TABLES:
            return layout
    order = np.argsort(asked.pair_sizes, kind="stable")
    fit = np.cumsum(np.asarray(asked.pair_sizes)[order]) <= LARGEST_TABLES - sum(asked.sizes)
    return replace(asked, pairs=tuple(asked.pairs[place] for place in np.sort(order[fit])))


def _layout(schema: Schema, names: Sequence[str], bins: int) -> PairTables:
    cells = tuple(schema[name].bins(bins) for name in names)
    return PairTables(tuple(names), cells, _candidates([len(part) for part in cells]))


def _candidates(sizes: Sequence[int]) -> tuple[Edge, ...]:
    columns = len(sizes)
    span = columns - 1
    if columns * (columns - 1) // 2 > LARGEST_PAIRS:
        span = max(1, LARGEST_PAIRS // columns)
    near = itertools.chain.from_iterable(
        ((a, b) for b in range(a + 1, min(a + span + 1, columns))) for a in range(columns)
    )
    return tuple((a, b) for a, b in near if sizes[a] * sizes[b] <= LARGEST_PAIR)


def expected_shares(
    layout: PairTables, rows: int | None, columns: Stage[Any] | None, pairs: Stage[Any] | None
) -> dict[str, Expected]:
    """Return the noise on the share of a cell of a column, and of a pair, by those that are asked."""
    sizes = {"column": (columns, layout.sizes), "pair": (pairs, layout.pair_sizes)}
    return {
        f"share of a cell of a {name}": of_mean(
            stage.noise.half_width, rows, 1 / float(np.median(cells)), EVEN
        )
        for name, (stage, cells) in sizes.items()
        if stage is not None
    }


@dataclass(frozen=True)
class NoisyTree:
    """What was released: noisy counts of every column, and of the pairs of a tree.

    ``margins`` has one vector per column, ``tables`` one matrix per edge; ``rows`` is the number of
    records, public or estimated.
    """

    layout: PairTables
    rows: float
    margins: tuple[FloatArray, ...]
    margin_std: float
    edges: tuple[Edge, ...]
    tables: tuple[FloatArray, ...]
    pair_std: float


@dataclass(frozen=True)
class TreeStages:
    """The stages of a noisy tree, priced, and the order in which they are asked for."""

    layout: PairTables
    setting: Setting
    margins: Stage[TableNoise]
    tree: Stage[TreeChoice] | None
    pairs: Stage[TableNoise] | None

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """All stages there are."""
        return tuple(stage for stage in (self.margins, self.tree, self.pairs) if stage is not None)

    @property
    def expected_error(self) -> dict[str, Expected]:
        """The noise on the share of a cell of a column, and of a pair."""
        return expected_shares(self.layout, self.setting.rows, self.margins, self.pairs)

    def ask(self, releaser: Releaser) -> NoisyTree:
        """Release the columns' counts, choose the tree by them, release its pairs' counts."""
        (noisy,) = releaser.answer(self.margins)
        margins = np.split(noisy, np.cumsum(self.layout.sizes)[:-1])
        rows = self._count(margins)
        chosen = self._choose(releaser, [onto_total(margin, rows) for margin in margins], rows)
        return NoisyTree(
            layout=self.layout,
            rows=rows,
            margins=tuple(margins),
            margin_std=self.margins.noise.std,
            edges=tuple(self.layout.pairs[pair] for pair in chosen),
            tables=tuple(self._measure(releaser, chosen)),
            pair_std=0.0 if self.pairs is None else self.pairs.noise.std,
        )

    def _count(self, margins: Sequence[FloatArray]) -> float:
        """Return the number of records: every column's counts add up to it, small tables best."""
        if self.setting.rows is not None:
            return float(self.setting.rows)
        weights = [1 / len(margin) for margin in margins]
        estimate = np.average([margin.sum() for margin in margins], weights=weights)
        return float(np.clip(estimate, 1.0, self.setting.most_rows))

    def _choose(self, releaser: Releaser, margins: Sequence[FloatArray], rows: float) -> list[int]:
        if self.tree is None:
            return list(range(len(self.layout.pairs)))
        expected = [np.outer(margins[a], margins[b]) / rows for a, b in self.layout.pairs]
        stage = replace(self.tree, noise=self.tree.noise.given(expected))
        (chosen,) = releaser.answer(stage)
        return [int(pair) for pair in chosen]

    def _measure(self, releaser: Releaser, chosen: list[int]) -> list[FloatArray]:
        if self.pairs is None:
            return []
        places = [self.layout.places(pair) for pair in chosen]
        noise = replace(self.pairs.noise, places=tuple(itertools.chain.from_iterable(places)))
        (noisy,) = releaser.answer(replace(self.pairs, noise=noise))
        parts = np.split(noisy, np.cumsum([len(part) for part in places])[:-1])
        sizes = self.layout.sizes
        shapes = [tuple(sizes[end] for end in self.layout.pairs[pair]) for pair in chosen]
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def tree_stages(
    layout: PairTables,
    setting: Setting,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> TreeStages:
    """Return the three stages of a noisy tree: 0.2, 0.2 and 0.6 of the budget.

    Where the tree is known beforehand (two columns, say) its share goes to the tables.

    Guarantees:
      - All stages together keep (epsilon, delta). [marginals] [spanning-tree]
    """
    picks = count_picks(layout.pairs)
    choosing = picks < len(layout.pairs)
    shares = (PAIR_SHARE * (picks > 0), TREE_SHARE * choosing, MARGIN_SHARE)
    epsilons, deltas = share_out(epsilon, shares), share_out(delta, shares)
    contribution = layout.contribution

    def tables(name: str, count: int, size: int, part: int) -> Stage[TableNoise]:
        noise = table_noise(
            count, size, setting, epsilon=epsilons[part], delta=deltas[part], mechanism=mechanism
        )
        return Stage(name, contribution, noise)

    margins = tables("columns", len(layout.names), sum(layout.sizes), 2)
    every = replace(margins, noise=replace(margins.noise, places=tuple(range(sum(layout.sizes)))))
    if not picks:
        return TreeStages(layout, setting, every, None, None)
    largest = sum(sorted(layout.pair_sizes)[-picks:])
    pairs = tables("pairs of the tree", picks, largest, 0)
    if not choosing:
        return TreeStages(layout, setting, every, None, pairs)
    choice = tree_choice(
        layout.pairs,
        layout.pair_sizes,
        sum(layout.sizes),
        relation=setting.relation,
        epsilon=epsilons[1],
        delta=deltas[1],
    )
    return TreeStages(layout, setting, every, Stage("tree", contribution, choice), pairs)
