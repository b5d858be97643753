"""How many pairs are measured beyond a tree, and what each stage gets: decided from public facts.

A pair that is measured beyond the tree takes noise from the tree and gives what the tree cannot know.
It pays where the noise of its table is small beside the number of records: *t*, the total variation
that noise alone gives the table of a median pair, is about 0.4 * cells * std / records (0.8 of a
standard deviation in every cell, half of the sum). The rule was made on Adult, NLTCS, small cuts of
them, Pima and German; see the guide for tables that it was not made on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.selection.pairs.spanning_tree import count_picks
from discreet.plans.stages.marginals import PairTables
from discreet.tables.synthesis.budget import RowBudget

ROUNDS = 4
"""Rounds of choosing and measuring; more cost time and gained nothing."""

MOST_PER_COLUMN = 2
"""Pairs to choose per column, at most; where more pay, every pair is measured and none chosen."""

BY_RHO, BY_EPSILON = (0.02, 0.07, 0.5), (0.01, 0.02, 0.04)
"""Total variations by noise up to which every pair is measured, as many as keep it, or a few.

Under one epsilon a further stage costs the others in proportion, under one rho by its root: there a few
pairs more never did harm, for what is noise is drawn back to the model.
"""

NOISE = 0.4
"""Half of the mean distance of a normal variable from zero."""


@dataclass(frozen=True)
class RowShares:
    """What every stage gets of the whole: an epsilon or a rho."""

    columns: float
    tree: float
    pairs: float
    choice: float = 0.0
    more: float = 0.0


_ALONE = RowShares(1.0, 0.0, 0.0)
_KNOWN = RowShares(0.25, 0.0, 0.75)
_TREE = RowShares(0.25, 0.10, 0.65)
_MORE = RowShares(0.25, 0.10, 0.35, 0.06, 0.24)


def rest_of(layout: PairTables) -> int:
    """Return how many pairs there are beyond a tree."""
    return len(layout.pairs) - count_picks(layout.pairs)


def most_chosen(layout: PairTables) -> int:
    """Return the most pairs that are chosen one by one."""
    return min(MOST_PER_COLUMN * len(layout.names), rest_of(layout))


def shares_of(layout: PairTables, more: int | None) -> RowShares:
    """Return what every stage gets.

    Args:
      layout: the columns and pairs.
      more: how many pairs are measured beyond a tree; None if that is decided later.
    """
    if not layout.pairs:
        return _ALONE
    rest = rest_of(layout)
    if not rest or more == rest:
        return _KNOWN
    return _TREE if more == 0 else _MORE


def how_many(budget: RowBudget, rows: float) -> int:
    """Return how many pairs pay beyond a tree, for so many records.

    All, if the noise of every pair's table is small; else as many as keep it small; none, if not even
    a few do.
    """
    layout = budget.layout
    rest = rest_of(layout)
    if not rest:
        return 0
    cells = float(np.median(layout.pair_sizes))

    def apart(pairs: int, share: float) -> float:
        size = sum(sorted(layout.pair_sizes)[-pairs:])
        return NOISE * cells * budget.noise(pairs, size, budget.about(share)).std / rows

    every, many, few = BY_RHO if budget.by_rho else BY_EPSILON
    if apart(len(layout.pairs), _KNOWN.pairs) <= every:
        return rest
    most = most_chosen(layout)
    fewest = min(max(1, (len(layout.names) - 1) // 2), most)
    if apart(fewest, _MORE.more) > few:
        return 0
    # Noise grows with the root of the number of pairs under rho, with the number under epsilon.
    ratio = many / apart(1, _MORE.more)
    pairs = math.floor(ratio**2 if budget.by_rho else ratio)
    return min(max(pairs, fewest), most)
