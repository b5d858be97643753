"""Try on public rows whether code answers every row by itself.

A few public rows are asked for again and again: alone, in other orders and places, beside equal rows,
beside rows without ends or without a category, beside few and many, beside extreme rows of every kind,
and after other calls. All of it goes the way that records go later (``data.calls``), so what is tried
is what will be done. Their answers must stay within what the certificate pays for.

What no public row shows stays unseen: code that waits for one value that nobody draws, or counts calls
to a thousand, answers every trial. That is why a probe is never called a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS
from discreet.data.calls import RowCalls
from discreet.privacy.certificate import Box
from discreet.randomness import public_generator
from discreet.schema import MISSING, Category, FloatArray, Schema

DOUBLE, SINGLE = 2.0**-40, 2.0**-20
"""What the rows beside it may do to an answer in double and in single precision, of the range."""

ASKED = 8
"""How many public rows are asked for again and again."""

_DRAWN = 1_024
_SEED = 20_261_116
_MOST_COLUMNS = 16
_MOST_CATEGORIES = 16
_SHORT_BITS = 12.0

Batch = tuple[FloatArray, NDArray[np.int64]]
"""Rows of a call, and where the asked ones stand among them; -1 for one that is not there."""


@dataclass(frozen=True)
class Found:
    """How far answers moved, at most, relative to the range; NaN stands for a row that was refused.

    ``single`` says whether they have single precision only.
    """

    moved: float
    single: bool
    batches: int

    @property
    def by_itself(self) -> bool:
        """Whether every row was answered by itself, to what rounding explains."""
        return self.moved <= SINGLE / 2

    def batch_error(self, bounds: Box) -> float:
        """Return how far an answer is taken to move with the rows beside it."""
        share = SINGLE if self.single or self.moved > DOUBLE else DOUBLE
        return share * (bounds.high - bounds.low)


def probe(calls: RowCalls, schema: Schema, columns: tuple[str, ...], bounds: Box) -> Found:
    """Return what public rows tell of code that is asked for many rows at once."""
    batches = named_batches(schema, columns, _drawn(schema, columns))
    return _compare(calls, bounds, (batch for _, batch in batches))


def probe_memory(calls: RowCalls, schema: Schema, columns: tuple[str, ...], bounds: Box) -> Found:
    """Return what public rows tell of code that is asked for one record at a time: what it keeps."""
    drawn, order = _drawn(schema, columns), range(ASKED)
    nobody = np.full(ASKED, -1)
    between = [(_corners(drawn[:64], drawn, 1, _SEED)[0], nobody)]
    batches = (
        [_one(drawn, t) for t in (*order, *order[::-1])] + between + [_one(drawn, t) for t in order]
    )
    return _compare(calls, bounds, iter(batches))


def _compare(calls: RowCalls, bounds: Box, batches: Iterator[Batch]) -> Found:
    answers: dict[int, FloatArray] = {}
    worst, count, said = 0.0, 0, []
    for count, (rows, where) in enumerate(batches, 1):  # noqa: B007
        found = np.clip(calls(rows), *bounds.limits)
        for asked in np.flatnonzero(where >= 0).tolist():
            answer = found[where[asked]]
            first = answers.setdefault(asked, answer)
            worst = max(worst, answers_apart(first, answer))
        said.append(found.ravel())
    width = bounds.high - bounds.low
    return Found(worst / width, is_single(np.concatenate(said)), count)


def answers_apart(first: FloatArray, second: FloatArray) -> float:
    """Return how far two answers to the same rows are apart; infinitely if one row was refused once."""
    if np.any(np.isnan(first) != np.isnan(second)):
        return np.inf
    return float(np.nanmax(np.abs(first - second), initial=0.0))


def is_single(answers: FloatArray) -> bool:
    """Say whether no answer has more digits than single precision holds, and some have as many.

    Whole numbers, labels and simple fractions are short in any precision and tell nothing; neither does
    single precision that is multiplied, averaged or mixed with something else in double precision.
    """
    finite = answers[np.isfinite(answers)]
    with np.errstate(over="ignore"):
        survive = finite.astype(np.float32).astype(np.float64) == finite
    digits = np.frexp(finite)[0] * 2.0**_SHORT_BITS
    return bool(len(finite) and survive.all() and np.any(digits != np.rint(digits)))


def named_batches(
    schema: Schema, columns: tuple[str, ...], drawn: FloatArray, seed: int = _SEED
) -> Iterator[tuple[str, Batch]]:
    """Yield batches with the first of some drawn rows in them, and what is special about each.

    Args:
      schema: whose ends and categories stand beside them.
      columns: of the rows.
      drawn: public rows; the first ``ASKED`` are asked for.
      seed: of orders and corners.
    """
    marks = schema.landmarks()[:, [schema.position(name) for name in columns]]
    asked, others = drawn[:ASKED], drawn[ASKED:]
    middle = others[_from_middle(others).argmin()]
    kinds = {
        "alone": (_one(drawn, t) for t in range(ASKED)),
        "in another order": _orders(asked, seed),
        "in another place": _places(asked, others),
        "beside equal rows": _equals(asked),
        "beside rows without ends": _without_ends(asked, others, middle),
        "beside rows without a category": _without_a_category(schema, columns, asked, others),
        "beside extreme rows": _extremes(asked, others, marks, seed),
        "beside one other row": _replaced(asked, others, marks, seed),
        "alone, after others": (_one(drawn, t) for t in range(ASKED)),
    }
    for name, batches in kinds.items():
        yield from ((name, batch) for batch in batches)


def _drawn(schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    return schema.draw(_DRAWN)[:, [schema.position(name) for name in columns]]


def _one(drawn: FloatArray, asked: int) -> Batch:
    where = np.full(ASKED, -1)
    where[asked] = 0
    return drawn[asked : asked + 1], where


def _from_middle(rows: FloatArray) -> FloatArray:
    """Return how far rows are from the median of values that are there; missing ones are farthest."""
    present = np.where(rows == MISSING, np.nan, rows)
    apart = np.abs(present - np.nanmedian(present, axis=0))
    return np.asarray(np.where(np.isnan(apart), np.nanmax(apart, axis=0), apart).sum(axis=1))


def _joined(asked: FloatArray, *others: FloatArray) -> Batch:
    return np.concatenate([asked, *others]), np.arange(ASKED)


def _orders(asked: FloatArray, seed: int) -> Iterator[Batch]:
    generator = public_generator(seed)
    for order in (np.arange(ASKED), np.arange(ASKED)[::-1], generator.permutation(ASKED)):
        yield asked[order], np.argsort(order)


def _places(asked: FloatArray, others: FloatArray) -> Iterator[Batch]:
    """Sizes 3, 64 and a block, at the beginning, in the middle and at the end of calls."""
    for asked_alone in range(0, ASKED, 3):
        where = np.full(ASKED, -1)
        where[asked_alone : asked_alone + 3] = np.arange(min(3, ASKED - asked_alone))
        yield asked[asked_alone : asked_alone + 3], where
    for before, after in ((0, 56), (56, 0), (501, 507), (1, 0), (7, 1)):
        made = np.concatenate([others[:before], asked, others[len(others) - after :]])
        yield made, before + np.arange(ASKED)
    block = np.resize(others, (BLOCK_ROWS, others.shape[1]))
    where = np.linspace(0, BLOCK_ROWS - 1, ASKED).astype(np.int64)
    block[where] = asked
    yield block, where


def _equals(asked: FloatArray) -> Iterator[Batch]:
    for t in (0, ASKED - 1):
        yield _joined(asked, np.repeat(asked[t : t + 1], 4 * ASKED, axis=0))
    for before in (0, 50):
        yield np.tile(asked, (100, 1)), before * ASKED + np.arange(ASKED)


def _without_ends(asked: FloatArray, others: FloatArray, middle: FloatArray) -> Iterator[Batch]:
    """ThirdParty that lies closely around the middle, or is the middle."""
    near = _from_middle(others).argsort()
    yield _joined(asked, others[near[:50]])
    yield _joined(asked, others[near[:1]].repeat(500, axis=0))
    for side in (others <= middle, others >= middle):
        yield _joined(asked, np.where(side, others, middle))


def _without_a_category(
    schema: Schema, columns: tuple[str, ...], asked: FloatArray, others: FloatArray
) -> Iterator[Batch]:
    kinds = [schema[name] for name in columns]
    counts = np.array([len(kind) if isinstance(kind, Category) else 1 for kind in kinds])
    for code in range(min(int(counts.max()), _MOST_CATEGORIES)):
        absent = (others == code) & (counts > 1)
        yield _joined(asked, np.where(absent, (others + 1) % counts, others))


def _extremes(asked: FloatArray, others: FloatArray, marks: FloatArray, seed: int) -> Iterator[Batch]:
    """Many extreme rows: per column, all at once, and in corners; missing is an extreme value."""
    low = _least(marks)
    columns = np.linspace(0, others.shape[1] - 1, min(others.shape[1], _MOST_COLUMNS)).astype(int)
    for column in np.unique(columns):
        for end in np.unique([marks[:, column].min(), low[column], marks[:, column].max()]):
            made = others.copy()
            made[:, column] = end
            yield _joined(asked, made)
    for end in (marks.min(axis=0), low, marks.max(axis=0)):
        yield _joined(asked, np.tile(end, (len(others), 1)))
    for corners in _corners(others, marks, 4, seed):
        yield _joined(asked, corners)


def _replaced(asked: FloatArray, others: FloatArray, marks: FloatArray, seed: int) -> Iterator[Batch]:
    """One row beside them is another: an extreme one, a common one, one of their own."""
    ends = [
        marks.min(axis=0),
        _least(marks),
        marks.max(axis=0),
        *_corners(others, marks, 1, seed)[0][:8],
        *asked[:2],
    ]
    for place, row in enumerate(ends):
        made = others[: 50 * (place + 1)].copy()
        made[-1] = row
        yield _joined(asked, made)


def _corners(others: FloatArray, marks: FloatArray, times: int, seed: int) -> list[FloatArray]:
    generator = public_generator(seed)
    low, high = _least(marks), marks.max(axis=0)
    return [np.where(generator.random(others.shape) < 0.5, low, high) for _ in range(times)]


def _least(marks: FloatArray) -> FloatArray:
    """Return the least value of every column that is there."""
    return np.asarray(np.where(marks == MISSING, np.inf, marks).min(axis=0))
