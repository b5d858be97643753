"""How large a private forest should be, from public facts alone.

What matters is n times epsilon. A tree sees its share of the records;
its upper levels are chosen privately while their nodes hold enough records to outweigh the noise of a
choice, and below them splits are drawn at random, which costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from discreet.numerics import check_choice, check_whole
from discreet.plans import Setting
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


@dataclass(frozen=True)
class Shape:
    """How many trees, and how many of their levels are chosen and how many drawn at random."""

    trees: int
    chosen: int
    random: int

    @property
    def depth(self) -> int:
        """All levels of a tree."""
        return self.chosen + self.random


def check_shape(trees: int | None, depth: int | None, method: str, rows: str) -> None:
    """Raise unless the arguments of a forest are well formed."""
    check_choice("method", method, METHODS)
    check_choice("rows", rows, ROWS)
    if trees is not None:
        check_whole("trees", trees, 1, MOST_TREES)
    if depth is not None:
        check_whole("depth", depth, 1, DEEPEST)


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
) -> Shape:
    """Return the shape of a forest; what is None or ``auto`` follows from public facts.

    The rules for chosen splits were found on seven tables (``benchmarks.trees``).
    """
    if method == "random":
        number = trees or _RANDOM_TREES
        own = max(2.0, (setting.rows or _USUAL_ROWS) / number)
        # Deeper trees would have more leaves than records.
        deepest = max(1, math.floor(math.log2(own)))
        return Shape(number, 0, depth or min(deepest, random_depth(setting.schema, features)))
    power = math.log10(max(records_times_epsilon(setting, epsilon), 1.0))
    useful = _levels(power, classes)
    levels = depth or (_LEAST_DEPTH if useful == 1 else max(_USUAL_DEPTH, useful + _RANDOM_BELOW))
    chosen = min(levels, useful)
    return Shape(trees or _trees(power), chosen, levels - chosen)


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
