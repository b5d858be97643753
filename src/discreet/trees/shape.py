"""How large a private tree or forest should be and what its stages get, from public facts alone.

What matters is n times epsilon. A tree of a forest sees its share of the records; its upper levels are
chosen privately while their nodes hold enough records to outweigh the noise of a choice, and below them
splits are drawn at random, which costs nothing. So records are best left to one tree and copies of it
with moved cuts: two trees would choose worse, each on its part, and their mean is better late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from discreet.plans import Setting, share_out
from discreet.schema import Number, Schema

Method = Literal["auto", "chosen", "random"]
Rows = Literal["auto", "disjoint", "whole"]
METHODS: tuple[Method, ...] = ("auto", "chosen", "random")
ROWS: tuple[Rows, ...] = ("auto", "disjoint", "whole")

MOST_TREES = 1024
DEEPEST = 16
_USUAL_ROWS = 10_000
_RANDOM_TREES = 32
_DEEPEST_RULE = 8
_DEEPEST_RANDOM_RULE = 15

_TWO_TREES_FROM = 200_000.0
"""From so many records times epsilon on there are two trees, below one."""

_RANDOM_BELOW = 2
"""So many levels are drawn below the chosen ones: more values of probabilities, for nothing."""

_CANDIDATE_SPLITS, _FEW_TREES = 64, 8
"""Splits that a node chooses from where there are more than so many trees; all where there are not."""

_CLASS_SHARE, _LEAF_SHARE, _CUT_SHARE = 0.05, 0.3, 0.2
_FOREST_LEAF_SHARE = 0.4
"""More than a tree's: its random levels have more leaves."""

_GROWTH = math.sqrt(2.0)
"""A level gets so many times the budget of the one above: its nodes have half the records."""


@dataclass(frozen=True)
class ForestShape:
    """How many trees, and how many of their levels are chosen and how many drawn at random."""

    trees: int
    chosen: int
    random: int

    @property
    def depth(self) -> int:
        """All levels of a tree."""
        return self.chosen + self.random

    @property
    def candidates(self) -> int | None:
        """How many splits a node should choose from; None for all."""
        return None if self.trees <= _FEW_TREES else _CANDIDATE_SPLITS

    @property
    def spread(self) -> float:
        """How many times a tree's shares are moved away from the whole table's before the mean.

        >>> [ForestShape(trees, 3, 2).spread for trees in (1, 2, 4, 8, 64)]
        [1.0, 1.125, 1.25, 1.375, 1.5]
        """
        return min(1.5, 1.0 + math.log2(self.trees) / 8.0)


def records_times_epsilon(setting: Setting, epsilon: float) -> float:
    """Return records times epsilon, in units of replace-one; 10,000 records where they are private.

    >>> from discreet.samples import loan_schema
    >>> records_times_epsilon(Setting(loan_schema(), "replace-one", 500), 2.0)
    1000.0
    """
    twice = 2.0 / setting.relation.edits
    return (setting.rows or _USUAL_ROWS) * epsilon * twice


def fit_shape(
    setting: Setting,
    features: tuple[str, ...],
    *,
    epsilon: float,
    trees: int | None,
    depth: int | None,
    method: str,
) -> ForestShape:
    """Return the shape of a forest; what is None or ``auto`` follows from public facts."""
    if method == "random":
        number = trees or _RANDOM_TREES
        own = max(2.0, (setting.rows or _USUAL_ROWS) / number)
        # Deeper trees would have more leaves than records.
        deepest = max(1, math.floor(math.log2(own)))
        return ForestShape(number, 0, depth or min(deepest, random_depth(setting.schema, features)))
    power = records_times_epsilon(setting, epsilon)
    number = trees or (2 if power >= _TWO_TREES_FROM else 1)
    useful = useful_levels(power / number)
    levels = depth or useful + _RANDOM_BELOW
    chosen = min(levels, useful)
    return ForestShape(number, chosen, levels - chosen)


def random_depth(schema: Schema, features: tuple[str, ...]) -> int:
    """Return the depth of random trees by the rule of Fletcher and Islam (2017, Theorem 2).

    Deep enough that a number is left untested with probability at most one half, and half of the
    categories besides; at most 15.

    >>> from discreet.samples import loan_schema
    >>> random_depth(loan_schema(), ("age", "income", "loan", "credit_score", "home", "purpose"))
    5
    """
    numbers = sum(isinstance(schema[name], Number) for name in features)
    categories = len(features) - numbers
    tested = 0 if numbers == 0 else 1
    while numbers > 0 and ((numbers - 1) / numbers) ** (tested - 1) > 0.5:
        tested += 1
    return max(1, min(_DEEPEST_RANDOM_RULE, tested + categories // 2))


def useful_levels(power: float) -> int:
    """Return how many levels a tree should choose by its records times epsilon; found on real tables.

    >>> [useful_levels(10.0**digits) for digits in (1, 2, 3, 4, 5, 6)]
    [1, 1, 3, 4, 6, 7]
    """
    return max(1, min(_DEEPEST_RULE, round(math.log2(max(power, 1.0)) / 2.2 - 2.0)))


@dataclass(frozen=True)
class Shares:
    """The epsilons of all stages; together the plan's."""

    classes: float
    cuts: list[float]
    levels: list[float]
    leaves: float


def budget_shares(
    epsilon: float, depth: int, cut_columns: int, leaf_share: float = _LEAF_SHARE
) -> Shares:
    """Return what every stage gets: classes 0.05, leaves 0.3, private cuts 0.2, deeper levels more.

    >>> shares = budget_shares(1.0, 3, 0)
    >>> round(shares.leaves, 3), [round(share, 3) for share in shares.levels]
    (0.3, [0.147, 0.208, 0.295])
    """
    cut = _CUT_SHARE if cut_columns else 0.0
    growth = [_GROWTH**level for level in range(depth)]
    rest = 1.0 - _CLASS_SHARE - leaf_share - cut
    weights = [rest * part / sum(growth) for part in growth]
    weights += [cut / max(1, cut_columns)] * cut_columns
    classes, leaves, *others = share_out(epsilon, (_CLASS_SHARE, leaf_share, *weights))
    return Shares(classes, others[depth:], others[:depth], leaves)


def forest_shares(epsilon: float, shape: ForestShape) -> Shares:
    """Return what every stage of a forest gets: leaves 0.4, all else as in a tree.

    >>> [round(forest_shares(1.0, ForestShape(4, chosen, 5)).leaves, 3) for chosen in (0, 3)]
    [0.95, 0.4]
    """
    if shape.chosen:
        return budget_shares(epsilon, shape.chosen, 0, _FOREST_LEAF_SHARE)
    classes, leaves = share_out(epsilon, (_CLASS_SHARE, 1.0 - _CLASS_SHARE))
    return Shares(classes, [], [], leaves)


def fitting_depth(setting: Setting, epsilon: float) -> int:
    """Return the depth of a single tree: more records and more budget carry more levels.

    Where the number of records is private it is taken as 10,000.
    """
    return useful_levels(records_times_epsilon(setting, epsilon))
