"""How good a split is, and how far one record moves that.

With n_jc the records of class c in child j, n_j their number and n that of the node:

| criterion | utility of a split | adding a record moves it by |
|---|---|---|
| ``max`` | sum over j of max_c n_jc | between 0 and 1 |
| ``gini`` | sum over j, c of n_jc^2 / n_j | between -1 and 1 |
| ``gain`` | sum over j of (sum over c of n_jc log2 n_jc) - n_j log2 n_j | between -h and 0 |
| ``norm`` | sum over j of (sum over c of n_jc^3)^(1/3) | between 0 and 1 |

where h = N log2 N - (N - 1) log2 (N - 1) and N bounds the number of records. ``max``, ``gini`` and
``gain`` are n times the textbook's criterion, up to what all splits of a node share. ``norm`` is ours:
the 3-norm of the class counts. Like ``max``, which is the infinity norm, it moves by at most one and
never down, so that it needs half the noise of ``gini``; unlike ``max`` it also sees splits that change
no majority.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import SHARE
from discreet.numerics import check_choice, check_whole, up
from discreet.privacy.relation import ROUNDED_ROWS
from discreet.trees.columns import CutGrid, IntArray, Splits
from discreet.trees.nodes import table_offsets

CriterionName = Literal["norm", "max", "gini", "gain"]
CRITERIA: tuple[CriterionName, ...] = ("norm", "max", "gini", "gain")

STEPS_PER_RECORD = 1024
"""Score steps per record."""

_MOST_WORK = 2**32
"""Up to so many records times classes rounding errors of a utility stay below half a step; half as many
if steps are parts of records: a sum of c powers and its root are off by at most 2 (c + 2) 2^-53 of it.
"""


@dataclass(frozen=True)
class Criterion:
    """A utility on whole steps.

    Guarantees:
      - A record that comes or goes moves the utilities of all splits of its node into one interval
        of ``spread`` steps, whatever the table, rounding included, also if records of some classes
        weigh less than one. [tree-utility]
      - With ``parts`` the parts of a record, in whatever nodes, move them by as much together, because
        ``max``, ``norm`` and ``gini`` move by at most a part for each part. [person-weights]
    """

    name: str
    cap: int
    parts: bool = False

    def __post_init__(self) -> None:
        check_choice("criterion", self.name, CRITERIA)
        check_whole("cap", self.cap, 2)
        if self.parts and self.name == "gain":
            raise ArgumentError(
                "criterion must be 'norm', 'max' or 'gini' where the rows of a person share one "
                "record, got 'gain', which is not linear in parts of records."
            )

    @property
    def weighs(self) -> bool:
        """Whether the classes of whole records may weigh differently."""
        return self.name != "gain" and not self.parts

    @property
    def steps(self) -> int:
        """Score steps per record: parts of records are steps themselves."""
        return round(1 / SHARE) if self.parts else STEPS_PER_RECORD

    @property
    def rounded(self) -> int:
        """Steps that rounding moves the utilities of all nodes a record is in, together."""
        return ROUNDED_ROWS if self.parts else 1

    @property
    def rise(self) -> int:
        """The most steps an added record raises a utility by."""
        return {
            "max": self.steps,
            "gini": self.steps + self.rounded,
            "gain": 1,
            "norm": self.steps + self.rounded,
        }[self.name]

    @property
    def fall(self) -> int:
        """The most steps an added record lowers a utility by."""
        if self.name == "gain":
            return math.ceil(STEPS_PER_RECORD * last_log_step(self.cap)) + 1
        return {"max": 0, "gini": self.steps + self.rounded, "norm": self.rounded}[self.name]

    @property
    def spread(self) -> int:
        """How far apart one record moves the utilities of two splits, in steps."""
        return self.rise + self.fall

    @property
    def half(self) -> int:
        """Half the spread, rounded up: how far a utility moves if measured from the middle."""
        return -(-self.spread // 2)

    def admissible(self, raw_size: int, raw_deepest: int) -> IntArray:
        """Return an admissible function of ``gain`` in a node of so many records, in steps.

        Entry t bounds what a record moves any utility by once t others came or went; it stops where
        the entries add up to ``raw_deepest``.

        Guarantees:
          - Admissible for local dampening when records come and go. [tree-dampening]
        """
        grown = np.maximum(2, raw_size + 1.0 + np.arange(raw_deepest // STEPS_PER_RECORD + 2))
        moved = np.log2(grown) + (grown - 1) * np.log1p(1 / (grown - 1)) / math.log(2)
        # A hair above, for the rounding of logarithms; one step more for that of utilities.
        steps = np.ceil(STEPS_PER_RECORD * moved * (1 + 1e-12)).astype(np.int64) + 1
        return np.asarray(np.minimum(steps, self.fall))

    def utilities(
        self,
        raw_counts: IntArray,
        slots: int,
        grid: CutGrid,
        splits: Splits,
        classes: int,
        weights: IntArray | None = None,
    ) -> IntArray:
        """Return the utilities of all splits, slots x splits, from the tables of all features.

        The tables have one slot more, for rows that are elsewhere. ``weights`` are what a record of
        each class counts, in steps.
        """
        from discreet.trees.growth import KINDS, utilities

        weighed = weights if self.weighs else None
        counts = raw_counts
        if weighed is not None:
            counts = (raw_counts.reshape(-1, classes) * weighed).ravel()
        found = np.empty((slots, len(splits)), dtype=np.int64)
        utilities(
            np.ascontiguousarray(counts, dtype=np.int64),
            table_offsets(grid, slots + 1, classes),
            grid.bins,
            classes,
            splits.feature,
            splits.first,
            splits.last,
            KINDS[self.name],
            float(self.cap),
            1.0 if self.parts or weighed is not None else float(STEPS_PER_RECORD),
            found,
        )
        return found


def last_log_step(cap: int) -> float:
    """Return N log2 N - (N - 1) log2 (N - 1), rounded up: the most a record moves N log2 N.

    >>> round(last_log_step(2), 6), round(last_log_step(1024), 3)
    (2.0, 11.442)
    """
    return up(math.log2(cap) + (cap - 1) * math.log1p(1 / (cap - 1)) / math.log(2), 64)


def check_work(rows: int, classes: int, *, parts: bool = False) -> None:
    """Raise if utilities of so many rows could be rounded wrongly."""
    most = _MOST_WORK // (2 if parts else 1)
    if rows * (classes + 2) > most:
        raise ArgumentError(
            f"rows times classes must be at most {most}, got {rows} and {classes}. "
            "Train on a part of the table."
        )
