"""How deep a tree should be and what each of its stages gets, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.plans import Setting, share_out

_LEAF_SHARE, _CUT_SHARE = 0.3, 0.2
_GROWTH = math.sqrt(2.0)
"""A level gets so many times the budget of the one above: its nodes have half the records."""

_USUAL_ROWS = 10_000


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


def fitting_depth(setting: Setting, epsilon: float) -> int:
    """Return a depth from public facts: more records and more budget carry more levels.

    The rule was found on real tables; where the number of records is private it is taken as 10,000.
    """
    records = setting.rows or _USUAL_ROWS
    records_times_epsilon = records * epsilon * (2.0 / setting.relation.edits)
    return max(1, min(8, round(math.log2(max(records_times_epsilon, 1.0)) / 1.5 - 4.0)))
