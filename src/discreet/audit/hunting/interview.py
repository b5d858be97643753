"""One audit of a model: the batches it is asked for, and how far its answers moved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.audit.hunting.model_report import AnsweredQuestion, ModelAudit, Precision
from discreet.data.calls import RowCalls
from discreet.data.state import pin_thread
from discreet.models.forms.linear import LinearForm
from discreet.models.forms.trees import TreeEnsemble
from discreet.models.model import BoundModel
from discreet.models.probe import ASKED, SINGLE, Batch, answers_apart, is_single, named_batches
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Schema

_DRAWN = 1_024
_KEPT = 4_096
"""Answers of which precision is told."""


@dataclass
class Farthest:
    """The farthest that an answer moved, and where; what counts beyond ``allowed`` is a no."""

    question: str
    allowed: float
    needed: bool = True
    figure: float = 0.0
    where: str = ""

    def meet(self, moved: float, where: str) -> None:
        """Remember a move if it is the farthest."""
        if moved > self.figure:
            self.figure, self.where = moved, where

    def answered(self) -> AnsweredQuestion:
        """Return the question with its answer."""
        yes = self.figure <= self.allowed
        return AnsweredQuestion(self.question, yes, self.needed, self.figure, self.allowed, self.where)


@dataclass
class Seen:
    """What a model said so far: extremes, how often nothing, and some answers for their precision."""

    least: float = np.inf
    greatest: float = -np.inf
    nothing: int = 0
    rows: int = 0
    batches: int = 0
    answers: list[FloatArray] = field(default_factory=list)

    def add(self, found: FloatArray) -> None:
        """Look at the answers to one batch."""
        finite = found[np.isfinite(found)]
        self.batches += 1
        self.rows += len(found)
        self.nothing += len(found) - len(finite)
        if len(finite):
            self.least = min(self.least, float(finite.min()))
            self.greatest = max(self.greatest, float(finite.max()))
            self.answers.append(finite[:_KEPT])


@dataclass(frozen=True)
class Paid:
    """How far an answer may move with the rows beside it: in its place, and in any place."""

    kept: float
    moved: float
    refused: str = ""


class Interview:
    """One audit: what is asked, and how far the answers moved.

    Args:
      bound: the model.
      schema: of its rows.
      paid: how far its answers may move.
      single: whether it says that it answers in single precision.
      seed: of the rows.
      threads: from how many it is asked at once.
      clock: tells seconds.
    """

    def __init__(
        self,
        bound: BoundModel,
        schema: Schema,
        paid: Paid,
        single: bool,
        seed: int,
        threads: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._bound, self._schema, self._paid, self._single = bound, schema, paid, single
        self._seed, self._threads, self._clock = seed, threads, clock
        self._counted = 0
        self._calls: RowCalls = replace(bound.calls, call=self._count(bound.calls.call))
        self._seen = Seen()
        self._kept = Farthest("does it answer a row by itself where the row stands", paid.kept)
        self._moved = Farthest("does it answer a row by itself wherever it stands", paid.moved)
        self._again = Farthest("does it answer the same call alike", paid.kept)
        self._threaded = Farthest("does it answer alike from several threads", paid.kept)
        self._plain = Farthest("does it do so in calls of any size", paid.moved, needed=False)
        self._form = Farthest("does code of ours answer in its place, row by row, to the last bit", 0.0)

    def _count(self, call: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
        def counted(rows: FloatArray) -> FloatArray:
            self._counted += 1
            return call(rows)

        return counted

    def hold(self, name: str, seconds: float) -> ModelAudit:
        """Ask until the time is over, one whole round at least, and return what was found."""
        start, partial = self._clock(), False
        try:
            for number, batch in self._asked():
                if number and self._clock() - start >= seconds:
                    break
                self._meet(number, *batch)
        except KeyboardInterrupt:
            partial = True
        return self._report(name, self._clock() - start, partial)

    def _asked(self) -> Iterator[tuple[int, tuple[str, Batch]]]:
        """Yield batches of one draw of rows after the other, for ever; those of the probe first."""
        number = 0
        self._answers: dict[tuple[int, int, int], FloatArray] = {}
        while True:
            drawn = self._draw(number)
            self._other_calls(drawn)
            for batch in named_batches(self._schema, self._bound.columns, drawn, self._seed + number):
                yield number, batch
            yield from ((number, batch) for batch in self._at_random(drawn, number))
            number += 1

    def _draw(self, number: int) -> FloatArray:
        columns = self._bound.columns
        if number == 0:
            return self._schema.draw(_DRAWN)[:, [self._schema.position(name) for name in columns]]
        generator = public_generator(self._seed + number)
        return np.column_stack([self._schema[name].draw(generator, _DRAWN) for name in columns])

    def _at_random(self, drawn: FloatArray, number: int) -> Iterator[tuple[str, Batch]]:
        """Yield some of the rows in random places, the asked ones among them, and first ones again."""
        generator = public_generator(self._seed + number)
        for _ in range(8):
            places = generator.permutation(_DRAWN)[: int(generator.integers(ASKED, _DRAWN))]
            where = np.full(ASKED, -1)
            for asked in range(ASKED):
                found = np.flatnonzero(places == asked)
                where[asked] = found[0] if len(found) else -1
            yield "among rows at random", (drawn[places], where)

    def _meet(self, number: int, name: str, batch: Batch) -> None:
        """Ask for a batch, and compare every asked row with its earlier answers."""
        rows, where = batch
        said = self._calls(rows)
        self._seen.add(said)
        found = np.clip(said, *self._bound.bounds.limits)
        if self._seen.batches % 16 == 1:
            self._repeat(rows, found, name)
        for asked in np.flatnonzero(where >= 0).tolist():
            answer = found[where[asked]]
            place = int(where[asked])
            first = self._answers.setdefault((number, asked, -1), answer)
            here = self._answers.setdefault((number, asked, place), answer)
            self._moved.meet(answers_apart(first, answer), name)
            self._kept.meet(answers_apart(here, answer), name)

    def _repeat(self, rows: FloatArray, found: FloatArray, name: str) -> None:
        """Ask for the same call once more, and from several threads at once."""
        limits = self._bound.bounds.limits
        self._again.meet(answers_apart(found, np.clip(self._calls(rows), *limits)), name)
        with ThreadPoolExecutor(self._threads, initializer=pin_thread) as pool:
            for said in pool.map(self._calls, [rows] * self._threads):
                self._threaded.meet(answers_apart(found, np.clip(said, *limits)), name)

    def _other_calls(self, drawn: FloatArray) -> None:
        """Ask for rows alone and together without the public rows of a call, and ask our own code."""
        rows = drawn[: 4 * ASKED]
        limits = self._bound.bounds.limits
        together = self._bare(rows)
        for size in (1, 3, 7):
            for start in range(0, len(rows) - size, 3 * size):
                part = slice(start, start + size)
                moved = answers_apart(
                    np.clip(self._bare(rows[part]), *limits), np.clip(together[part], *limits)
                )
                self._plain.meet(moved, f"{size} rows, or {len(rows)}")
        form = self._bound.form
        if isinstance(form, LinearForm | TreeEnsemble):
            whole = form.predict(np.asfortranarray(rows))
            for row in range(len(rows)):
                one = form.predict(np.asfortranarray(rows[row : row + 1]))
                self._form.meet(answers_apart(one, whole[row : row + 1]), "alone, or together")

    def _bare(self, rows: FloatArray) -> FloatArray:
        """Return the answers of one call with these rows and no others; NaN if it fails."""
        try:
            return np.asarray(self._calls.call(np.asfortranarray(rows)), dtype=np.float64)
        except Exception:
            return np.full(len(rows), np.nan)

    def _report(self, name: str, seconds: float, partial: bool) -> ModelAudit:
        precision = self._precision()
        return ModelAudit(
            model=name,
            form=self._bound.kind,
            questions=tuple(self._questions(precision)),
            precision=precision,
            least=self._seen.least,
            greatest=self._seen.greatest,
            bounds=self._bound.bounds.limits,
            batches=self._seen.batches,
            calls=self._counted,
            rows=self._seen.rows,
            refused=self._paid.refused,
            seconds=seconds,
            partial=partial,
        )

    def _questions(self, precision: Precision) -> Iterator[AnsweredQuestion]:
        seen, box, ours = self._seen, self._bound.bounds, self._bound.kind in ("linear", "trees")
        for farthest in (self._kept, self._moved, self._again, self._threaded):
            yield farthest.answered()
        owed = SINGLE * box.width if precision == "single" and not ours else 0.0
        paid = owed <= self._paid.moved
        where = f"{precision} precision"
        yield AnsweredQuestion("is its precision paid for", paid, True, owed, self._paid.moved, where)
        if ours:
            yield self._form.answered()
        yield self._plain.answered()
        outside = max(seen.greatest - box.high, box.low - seen.least, 0.0)
        yield AnsweredQuestion("do its answers lie in the bounds", outside == 0, False, outside, 0.0)
        nothing = float(seen.nothing)
        yield AnsweredQuestion("does it answer every row", nothing == 0, False, nothing, 0.0)

    def _precision(self) -> Precision:
        said = np.concatenate(self._seen.answers) if self._seen.answers else np.zeros(1)
        if self._single or is_single(said):
            return "single"
        with np.errstate(over="ignore"):
            short = bool(np.all(said.astype(np.float32).astype(np.float64) == said))
        return "short" if short else "double"
