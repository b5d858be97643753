"""The search: neighbours by structure first, then hill-climbing from the farthest pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.audit.hunting.climbing import Pair, Proposer
from discreet.audit.hunting.moves import Move
from discreet.audit.hunting.neighbours import (
    Neighbourhood,
    Record,
    Rows,
    around,
    by_column,
    draw_table,
    find_marks,
    newcomers,
    plain_tables,
)
from discreet.audit.hunting.report import Tightest
from discreet.audit.hunting.rows import OwnRow, by_row
from discreet.audit.hunting.trial import Enough, Sums, Target, TimeIsUp, Trial, Tried
from discreet.data import PrivateTable
from discreet.data.contributions import SubsetsContribution
from discreet.plans import Stage
from discreet.randomness import public_generator

StagesOf = Callable[[PrivateTable, int], Sequence[Stage[Any]]]
"""The stages that a program asks for on a table, with noise of a seed."""

Somebody = tuple[str, Record | None]
"""A record and what it is called; None is nobody."""

_BY_STRUCTURE = 0.6
"""Share of the time after which hill-climbing begins."""

_PATIENCE = 600
"""After so many proposals in vain another table is drawn, and the program run on it."""

_CORNERS = 4


@dataclass(frozen=True, eq=False)
class Search:
    """Tries neighbours of tables until the time of a trial is over.

    Args:
      trial: compares them.
      rows: the first table; others are drawn later.
      seed: of everything.
      thresholds: numbers at which a sum may jump, by column.
      climbing: whether hill-climbing goes on from neighbours by structure; else there is one round.
    """

    trial: Trial
    rows: Rows
    seed: int = 0
    thresholds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    climbing: bool = True

    def go(self, stages_of: StagesOf) -> None:
        """Search until the time is over; what was found stays if a person interrupts."""
        try:
            self._round(stages_of, self.rows, 0)
            number = 1
            while self.climbing and self.trial.stages:
                rows = draw_table(self.trial.schema, len(self.rows), self.seed + number)
                self._round(stages_of, rows, number)
                number += 1
        except (TimeIsUp, Enough):
            return
        except KeyboardInterrupt:
            self.trial.partial = True

    def _round(self, stages_of: StagesOf, rows: Rows, number: int) -> None:
        """Run the program on one table and try the stages it asked for."""
        table = self._home(rows).table(None)
        self.trial.begin(stages_of(table, self.seed + number))
        if self.trial.stages:
            self._by_structure(rows)
            if self.climbing:
                self._climb(number)

    def _home(self, rows: Rows) -> Neighbourhood:
        return Neighbourhood(self.trial.schema, self.trial.relation, rows, 0)

    def _by_structure(self, rows: Rows) -> None:
        """Try the drawn table, then, while there is time, plain ones and single values."""
        known: list[Somebody] = list(newcomers(self.trial.schema, rows).items())
        tables = plain_tables(self.trial.schema, rows)
        first, *plain = tables.items()
        self._around(*first, known, 1.0, whole=True)
        self._own_rows(rows)
        share = _BY_STRUCTURE if self.climbing else 1.0
        try:
            for named, table in plain:
                self._around(named, table, known, share)
            self._at_marks(rows, known, share)
        except TimeIsUp:
            self.trial.check_time()

    def _around(
        self, named: str, rows: Rows, known: list[Somebody], share: float, whole: bool = False
    ) -> None:
        """Compare all who could stand at the first and at the last place of a table.

        ``whole`` tries those at the first place whatever the time: code is compiled when it first runs.
        """
        for home, standing in around(self.trial.schema, self.trial.relation, rows, named):
            seen: list[tuple[Somebody, Sums]] = []
            for who in (*standing, *known):
                seen.append((who, self._meet(home, seen, who, math.inf if whole else share)))
            whole = False

    def _at_marks(self, rows: Rows, known: list[Somebody], share: float) -> None:
        """Try a record with each of its values at all marks, against who stands there and corners."""
        home, standing = next(around(self.trial.schema, self.trial.relation, rows, "a drawn table"))
        here = [(who, self.trial.sums(home, who[1])) for who in (*standing, *known[:_CORNERS])]
        record = tuple(rows[len(rows) // 2])
        for who in by_column(self.trial.schema, record, find_marks(self.trial.schema, self.thresholds)):
            self._meet(home, here, who, share)

    def _meet(
        self, home: Neighbourhood, seen: list[tuple[Somebody, Sums]], who: Somebody, share: float
    ) -> Sums:
        """Compare one more record with those that were seen at a place, and return its sums."""
        self.trial.check_time(share)
        second = self.trial.sums(home, who[1])
        for (name, record), first in seen:
            if home.neighbours(record, who[1]):
                self.trial.check_time(share)
                told = f"{name} or {who[0]}, in {home.named}"
                self.trial.compare(Pair(home, record, who[1], told), first, second)
        return second

    def _own_rows(self, rows: Rows) -> None:
        """Try whether vectors follow the rows beside them farther than is paid for."""
        known = newcomers(self.trial.schema, rows)
        odd = np.array([known[name] for name in ("high corner", "mixed corner", "unknown")], object)
        table, strange = (self._home(some).frame(None) for some in (rows, odd))
        law = OwnRow(table, strange, self.trial.schema)
        for name, stage in self.trial.stages.items():
            for how, move in self._row_moves(law, stage):
                self.trial.check_time()
                if move.broken:
                    self.trial.note((name, how), Tightest(name, move, f"the same row {how}", {}))

    def _row_moves(self, law: OwnRow, stage: Stage[Any]) -> Iterator[tuple[str, Move]]:
        try:
            for contribution in by_row([stage]):
                yield from law.moves(contribution, self.trial.relation)
            if isinstance(stage.contribution, SubsetsContribution):
                for how in law.entangled(stage.contribution):
                    yield how, Move("linf", np.inf, 0.0)
        except Exception as error:  # because of a value, which is a finding of its own
            yield f"raised {type(error).__name__}: {error}", Move("linf", np.inf, 0.0)

    def _climb(self, number: int) -> None:
        """Change the farthest pairs a little, again and again, and keep what goes farther."""
        generator = public_generator(self.seed + number)
        marks = find_marks(self.trial.schema, self.thresholds)
        proposer = Proposer(self.trial.schema, marks, generator)
        targets, vain = list(self.trial.best), 0
        while vain < _PATIENCE:
            self.trial.check_time()
            target = targets[int(generator.integers(len(targets)))]
            vain = 0 if self._step(proposer, target) else vain + 1

    def _step(self, proposer: Proposer, target: Target) -> bool:
        """Try one proposal; as good as before is accepted too, so that plateaus are crossed."""
        trial, now = self.trial, self.trial.best[target]
        proposal = proposer.near(now.pair)
        pair = replace(proposal.pair, told="by hill-climbing")
        first = now.first if pair.one is now.pair.one else now.second
        if not proposal.same_table:
            first = trial.sums(pair.home, pair.one)
        second = trial.sums(pair.home, pair.other)
        trial.climbed += 1
        share = trial.compare(pair, first, second)[target]
        if share == now.share:
            trial.best[target] = Tried(pair, first, second, share)
        return share > now.share
