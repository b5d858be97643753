"""How large a private tree or forest should be and what its stages get, from public facts alone.

What matters is n times epsilon. A tree of a forest sees its share of the records; its upper levels are
chosen privately while their nodes hold enough records to outweigh the noise of a choice, and below them
splits are drawn at random, which costs nothing.
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
_MOST_DOUBLINGS = 4
_RANDOM_BELOW = 2
_LEAST_DEPTH, _USUAL_DEPTH = 3, 6
_MOST_CHOSEN = 5
_DEEPEST_RANDOM_RULE = 15

_LEAF_SHARE, _CUT_SHARE = 0.3, 0.2
_FOREST_LEAF_SHARES = (1.0, 0.5, 0.7, 0.55, 0.4)
"""What the leaves get with so many chosen levels, the last entry from there on; found by trial."""

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
    classes: int,
    *,
    epsilon: float,
    trees: int | None,
    depth: int | None,
    method: str,
) -> ForestShape:
    """Return the shape of a forest; what is None or ``auto`` follows from public facts.

    The rules for chosen splits were found on seven tables (``benchmarks.trees``).
    """
    if method == "random":
        number = trees or _RANDOM_TREES
        own = max(2.0, (setting.rows or _USUAL_ROWS) / number)
        # Deeper trees would have more leaves than records.
        deepest = max(1, math.floor(math.log2(own)))
        return ForestShape(number, 0, depth or min(deepest, random_depth(setting.schema, features)))
    power = math.log10(max(records_times_epsilon(setting, epsilon), 1.0))
    useful = _levels(power, classes)
    levels = depth or (_LEAST_DEPTH if useful == 1 else max(_USUAL_DEPTH, useful + _RANDOM_BELOW))
    chosen = min(levels, useful)
    return ForestShape(trees or _trees(power), chosen, levels - chosen)


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


def _trees(power: float) -> int:
    """Return 2 trees for n times epsilon below about 1,500, 16 above 100,000."""
    return 1 << min(_MOST_DOUBLINGS, max(1, round(1.3 * power - 3.0)))


def _levels(power: float, classes: int) -> int:
    """Return how many levels should be chosen: n times epsilon per class decides."""
    return max(1, min(_MOST_CHOSEN, round(1.5 * (power - math.log10(classes)) - 1.2)))


@dataclass(frozen=True)
class Shares:
    """The epsilons of all stages; together the plan's."""

    cuts: list[float]
    levels: list[float]
    leaves: float


def budget_shares(epsilon: float, depth: int, cut_columns: int) -> Shares:
    """Return what every stage gets: leaves 0.3, private cut points 0.2, deeper levels more.

    >>> shares = budget_shares(1.0, 3, 0)
    >>> round(shares.leaves, 3), [round(share, 3) for share in shares.levels]
    (0.3, [0.159, 0.224, 0.317])
    """
    cut = _CUT_SHARE if cut_columns else 0.0
    growth = [_GROWTH**level for level in range(depth)]
    rest = 1.0 - _LEAF_SHARE - cut
    weights = [rest * part / sum(growth) for part in growth]
    weights += [cut / max(1, cut_columns)] * cut_columns
    leaves, *others = share_out(epsilon, (_LEAF_SHARE, *weights))
    return Shares(others[depth:], others[:depth], leaves)


def forest_shares(epsilon: float, levels: int) -> list[float]:
    """Return what the leaves and then every chosen level get of epsilon.

    >>> [round(share, 3) for share in forest_shares(1.0, 2)], forest_shares(1.0, 0)
    ([0.7, 0.15, 0.15], [1.0])
    """
    leaves = _FOREST_LEAF_SHARES[min(levels, len(_FOREST_LEAF_SHARES) - 1)]
    return share_out(epsilon, (leaves, *[(1 - leaves) / max(1, levels)] * levels))


def fitting_depth(setting: Setting, epsilon: float) -> int:
    """Return a depth from public facts: more records and more budget carry more levels.

    The rule was found on real tables; where the number of records is private it is taken as 10,000.
    """
    power = math.log2(max(records_times_epsilon(setting, epsilon), 1.0))
    return max(1, min(8, round(power / 1.5 - 4.0)))
