"""The stages of synthetic records: columns, a tree of pairs, and more pairs where a model errs most.

All of them are priced before a row is read. Where the number of records is private, how many more pairs
there are follows from its noisy value: then rounds are paid for as if every pair were measured, and
those that measure fewer have less noise, for the same events.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.mechanisms.selection.pairs.more_pairs import MoreChoice
from discreet.mechanisms.selection.pairs.spanning_tree import TreeChoice, count_picks
from discreet.plans import Perturbation, Releaser, Stage
from discreet.plans.expected import Expected
from discreet.plans.stages.marginals import PairTables, expected_shares
from discreet.plans.stages.weighted_tables import Weighted, WeightedNoise, weights_for
from discreet.schema import FloatArray
from discreet.tables.synthesis.budget import RowBudget
from discreet.tables.synthesis.measured import KnownTables, NoisyTable, estimate_rows
from discreet.tables.synthesis.model import RowModel, strongest_tree
from discreet.tables.synthesis.rule import ROUNDS, RowShares, how_many, most_chosen, rest_of, shares_of

_DISTANCE = 0.8
"""The mean distance of a normal variable from zero: what noise adds to a cell."""


@dataclass(frozen=True)
class Round:
    """One round of more pairs: the choice of them, and their tables."""

    choice: Stage[MoreChoice]
    tables: Stage[WeightedNoise]


@dataclass(frozen=True)
class RowStages:
    """The stages, priced, and the order in which they are asked for.

    Args:
      budget: the promise, and the layout it is spent on.
      asked: how many more pairs than a tree; None to decide it from public facts.
    """

    budget: RowBudget
    asked: int | None

    @property
    def layout(self) -> PairTables:
        """The tables that may be measured."""
        return self.budget.layout

    @cached_property
    def more(self) -> int | None:
        """How many more pairs are measured; None until a noisy number of records is known."""
        if self.asked is not None:
            return min(self.asked, rest_of(self.layout))
        rows = self.budget.setting.rows
        if rows is not None:
            return how_many(self.budget, rows)
        return None if self.budget.by_rho and rest_of(self.layout) else 0

    @cached_property
    def shares(self) -> RowShares:
        """What every stage gets."""
        return shares_of(self.layout, self.more)

    @property
    def _every(self) -> bool:
        """Whether all pairs are measured at once, so that a tree need not be chosen."""
        return bool(self.layout.pairs) and not self.shares.tree and rest_of(self.layout) > 0

    @cached_property
    def columns(self) -> Stage[WeightedNoise]:
        """The tables of single columns."""
        sizes = self.layout.sizes
        return self.budget.tables("columns", len(sizes), sum(sizes), self._amounts[0])

    @cached_property
    def tree(self) -> Stage[TreeChoice] | None:
        """The choice of a tree, unless there is none to make."""
        return self.budget.tree(self._amounts[2]) if self.shares.tree else None

    @cached_property
    def pairs(self) -> Stage[WeightedNoise] | None:
        """The tables of the tree's pairs, or of all."""
        picks = len(self.layout.pairs) if self._every else count_picks(self.layout.pairs)
        name = "all pairs" if self._every else "pairs of the tree"
        return self._tables(name, picks, self._amounts[1]) if picks else None

    @cached_property
    def _picks(self) -> list[int]:
        """How many pairs are chosen in every round; where their number is private, at most."""
        if not self.shares.more:
            return []
        chosen = most_chosen(self.layout) if self.more is None else self.more
        return _evenly(chosen, min(ROUNDS, chosen))

    @cached_property
    def _amounts(self) -> list[float]:
        """What stages get: columns, pairs, the choice of a tree, then every round's two."""
        shares, count = self.shares, len(self._picks)
        later = (shares.choice / max(1, count), shares.more / max(1, count)) * count
        chooses = bool(shares.tree or shares.choice)
        return self.budget.divide(shares.columns, (shares.pairs, shares.tree, *later), choices=chooses)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of more pairs; where their number is private, for as many as there may be."""
        picks, amounts = self._picks, iter(self._amounts[3:])
        tables = picks
        if self.more is None and picks:  # a part of all pairs in every round, or the tree's again
            tree = count_picks(self.layout.pairs)
            tables = [max(part, tree) for part in _evenly(rest_of(self.layout), len(picks))]
        return tuple(
            Round(
                self.budget.more(f"choice of more pairs, round {place}", wanted, next(amounts)),
                self._tables(f"more pairs, round {place}", most, next(amounts)),
            )
            for place, (wanted, most) in enumerate(zip(picks, tables, strict=True), 1)
        )

    def _tables(self, name: str, tables: int, amount: float) -> Stage[WeightedNoise]:
        size = sum(sorted(self.layout.pair_sizes)[-tables:])
        return self.budget.tables(name, tables, size, amount)

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """All stages there are."""
        later = [stage for each in self.rounds for stage in (each.choice, each.tables)]
        first = [self.columns, self.tree, self.pairs]
        return tuple(stage for stage in (*first, *later) if stage is not None)

    @property
    def expected_error(self) -> dict[str, Expected]:
        """The noise on the share of a cell of a column, and of a pair."""
        return expected_shares(self.layout, self.budget.setting.rows, self.columns, self.pairs)

    def ask(self, releaser: Releaser, count: int | None, generator: np.random.Generator) -> RowModel:
        """Release all tables, and return a model of rows fitted to them.

        Args:
          releaser: answers the stages.
          count: how many rows are wanted; None for as many as there are records.
          generator: draws the rows of the model.
        """
        known = self._columns(releaser)
        more = how_many(self.budget, known.rows) if self.more is None else self.more
        model = RowModel(known, self._tree(releaser, known), count, generator)
        if self._every:
            model.fit()
        for place, each in enumerate(self.rounds):
            chosen = self._next_pairs(releaser, each, place, more, model)
            if chosen:
                self._measure(releaser, each.tables, known, chosen)
                model.fit(last=place == len(self.rounds) - 1)
        return model

    def _columns(self, releaser: Releaser) -> KnownTables:
        starts = np.cumsum((0, *self.layout.sizes))
        places = [range(a, b) for a, b in itertools.pairwise(starts.tolist())]
        columns = measure(releaser, self.columns, places)
        setting = self.budget.setting
        rows = estimate_rows(columns, setting.most_rows) if setting.rows is None else setting.rows
        return KnownTables(self.layout, float(rows), columns)

    def _tree(self, releaser: Releaser, known: KnownTables) -> list[int]:
        """Choose a tree and measure its pairs, or measure all pairs and take the strongest tree."""
        tree = list(range(len(self.layout.pairs)))
        margins = known.fit_columns()
        if self.tree is not None:
            expected = [np.outer(margins[a], margins[b]) / known.rows for a, b in self.layout.pairs]
            stage = replace(self.tree, noise=self.tree.noise.given(expected))
            tree = [int(pair) for pair in releaser.answer(stage)[0]]
        if self.pairs is not None:
            self._measure(releaser, self.pairs, known, tree)
        return strongest_tree(known, margins) if self._every else tree

    def _next_pairs(
        self, releaser: Releaser, each: Round, place: int, more: int, model: RowModel
    ) -> list[int]:
        """Return the pairs to measure in a round: chosen ones, a part of all, or the tree's again."""
        chosen = self._choose(releaser, each, model)
        wanted = _evenly(more, len(self.rounds))[place]
        if not more:
            return model.tree
        if more == rest_of(self.layout):
            measured = model.known.pairs
            return [pair for pair in range(len(self.layout.pairs)) if pair not in measured][:wanted]
        return chosen[: max(1, wanted)]

    def _choose(self, releaser: Releaser, each: Round, model: RowModel) -> list[int]:
        """Choose as many pairs as were priced, so that what is asked is what was paid for."""
        noise = each.choice.noise.besides(tuple(model.known.pairs))
        spread = each.tables.noise.std * math.sqrt(noise.wanted / each.tables.noise.tables)
        taken = [_DISTANCE * spread * size for size in self.layout.pair_sizes]
        given = noise.given([model.table(edge) for edge in self.layout.pairs], taken)
        (chosen,) = releaser.answer(replace(each.choice, noise=given))
        return [int(pair) for pair in chosen]

    def _measure(
        self, releaser: Releaser, stage: Stage[WeightedNoise], known: KnownTables, pairs: Sequence[int]
    ) -> None:
        found = measure(releaser, stage, [self.layout.places(pair) for pair in pairs])
        for pair, table in zip(pairs, found, strict=True):
            a, b = known.edge(pair)
            shape = (self.layout.sizes[a], self.layout.sizes[b])
            known.add(pair, NoisyTable(table.counts.reshape(shape), table.std))


def measure(
    releaser: Releaser, stage: Stage[WeightedNoise], places: Sequence[range]
) -> list[NoisyTable]:
    """Return noisy tables, large ones with less noise than small ones."""
    weights = weights_for([len(cells) for cells in places], stage.noise.tables, stage.noise.norm)
    measured = tuple(Weighted(cells, weight) for cells, weight in zip(places, weights, strict=True))
    noise = replace(stage.noise, measured=measured)
    (noisy,) = releaser.answer(replace(stage, noise=noise))
    parts: list[FloatArray] = np.split(noisy, np.cumsum([len(cells) for cells in places])[:-1])
    return [NoisyTable(part, noise.std_of(table)) for table, part in enumerate(parts)]


def _evenly(count: int, parts: int) -> list[int]:
    """Split a number into whole parts that differ by at most one, the larger ones first.

    >>> _evenly(6, 4)
    [2, 2, 1, 1]
    """
    return [count // parts + (place < count % parts) for place in range(parts)]
