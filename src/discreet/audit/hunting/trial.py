"""Stages on trial: sums of neighbouring tables, the farthest of their moves, and the time left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.hunting.climbing import Pair
from discreet.audit.hunting.moves import Move, moves_between, of_others, sums_of
from discreet.audit.hunting.neighbours import Neighbourhood, Record, columns_of
from discreet.audit.hunting.report import HuntReport, Tightest
from discreet.data import SealedContribution
from discreet.plans import Stage
from discreet.privacy.certificate import Norm
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import Schema

Target = tuple[str, Norm]
"""A stage and a norm, in which neighbours are to be far apart."""

Sums = list[IntArray]
"""The exact sums of all stages over one table."""

Clock = Callable[[], float]


class TimeIsUp(Exception):
    """The seconds are spent."""


class Enough(Exception):
    """A certificate is broken, and no more was asked for."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A pair, the sums of both tables, and the share of a certificate it used."""

    pair: Pair
    first: Sums
    second: Sums
    share: float


class Trial:
    """Compares neighbours on stages and remembers the farthest.

    Args:
      schema: of the tables.
      relation: of the neighbours.
      seconds: after which ``check_time`` raises.
      clock: tells seconds.
      tick: is told how many have passed.
      until_broken: whether the first certificate that is broken ends the trial.
    """

    def __init__(
        self,
        schema: Schema,
        relation: Relation,
        seconds: float,
        *,
        clock: Clock = time.perf_counter,
        tick: Callable[[float], None] = lambda passed: None,
        until_broken: bool = False,
    ) -> None:
        self.schema, self.relation = schema, relation
        self.reached: dict[Target, Tightest] = {}
        self.found: dict[tuple[str, str], Tightest] = {}
        self.skipped: dict[str, str] = {}
        self.best: dict[Target, Tried] = {}
        self.stages: dict[str, Stage[Any]] = {}
        self.pairs = self.climbed = 0
        self.partial = False
        self._seconds, self._clock, self._tick = seconds, clock, tick
        self._until_broken = until_broken
        self._start = clock()

    def check_time(self, share: float = 1.0) -> None:
        """Raise if so much of the time is over."""
        passed = self._clock() - self._start
        self._tick(passed)
        if passed >= share * self._seconds:
            raise TimeIsUp

    def begin(self, stages: Sequence[Stage[Any]]) -> None:
        """Put stages on trial whose certificate speaks of rows, under names of their own."""
        self.best, self.stages = {}, {}
        for stage in stages:
            name, count = stage.name, 2
            while name in self.stages:
                name, count = f"{stage.name} ({count})", count + 1
            if isinstance(stage.contribution, SealedContribution):
                self.skipped[name] = "it is made of a sealed query and reads no row"
            elif not stage.certificate.certified:
                self.skipped[name] = "it has no certificate"
            else:
                self.stages[name] = stage

    def sums(self, home: Neighbourhood, record: Record | None) -> Sums:
        """Return the sums of all stages if a record, or nobody, stands at a place."""
        table = home.table(record)
        try:
            return sums_of(list(self.stages.values()), table, home.place)
        except Exception:  # one of them raised because of a value, which is a finding of its own
            return [self._sum_or_zero(name, home, record) for name in self.stages]

    def _sum_or_zero(self, name: str, home: Neighbourhood, record: Record | None) -> IntArray:
        stage = self.stages[name]
        try:
            return sums_of([stage], home.table(record), home.place)[0]
        except Exception as error:
            said = f"it raised {type(error).__name__}: {error}"
            pair = Pair(home, record, record, said)
            self.note((name, "raised"), self._told(name, Move("linf", math.inf, 0.0), pair))
            return of_others(stage, np.zeros(stage.contribution.size, dtype=np.int64), home.place)

    def compare(self, pair: Pair, first: Sums, second: Sums) -> dict[Target, float]:
        """Return the share of every certificate that a pair uses, and remember the farthest."""
        self.pairs += 1
        shares = {}
        for (name, stage), one, other in zip(self.stages.items(), first, second, strict=True):
            for move in moves_between(stage.noise, stage.certificate, self.relation, one, other):
                target = (name, move.norm)
                shares[target] = move.share
                if target not in self.best or move.share > self.best[target].share:
                    self.best[target] = Tried(pair, first, second, move.share)
                if target not in self.reached or move.share > self.reached[target].share:
                    self.reached[target] = self._told(name, move, pair)
                    if move.broken:
                        self.note(target, self.reached[target])
        return shares

    def note(self, what: tuple[str, str], broken: Tightest) -> None:
        """Remember a certificate that does not hold."""
        self.found[what] = broken
        if self._until_broken:
            raise Enough

    def _told(self, name: str, move: Move, pair: Pair) -> Tightest:
        names = columns_of(self.schema)
        nobody = (None,) * len(names)
        two = zip(pair.one or nobody, pair.other or nobody, strict=True)
        record = dict(zip(names, two, strict=True))
        return Tightest(name, move, pair.told, record)

    def report(self, plan: str, rows: int) -> HuntReport:
        """Return what is known by now."""
        return HuntReport(
            plan=plan,
            relation=str(self.relation),
            rows=rows,
            reached=tuple(self.reached.values()),
            found=tuple(sorted(self.found.values(), key=lambda one: -one.share)),
            skipped=dict(self.skipped),
            pairs=self.pairs,
            climbed=self.climbed,
            seconds=self._clock() - self._start,
            partial=self.partial,
        )
