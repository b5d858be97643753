"""The statement own-process: what a record's call takes decides its own answer and no other's.

Here a call takes what its rows take, times what the machine adds; nothing runs and no clock is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from discreet.data.calls import CallShape, RowCalls
from discreet.models.apart import Limits
from discreet.models.apart.limits import PATIENCE, CallLimits

SLOWEST = PATIENCE / 2
"""How much longer than its shortest time the machine may make a call take."""

RECORDS = 64


def seconds(limits: CallLimits) -> float:
    return limits.processor


def clock(limits: CallLimits) -> float:
    return limits.clock


def memory(limits: CallLimits) -> float:
    return float(limits.memory)


@dataclass(frozen=True)
class Code:
    """Code whose rows take what their first column says; it answers the second.

    Args:
      limit: more ends a call.
      slowest: by how much the machine may stretch a call.
      noise: which stretches calls for several records, as bad as it likes.
    """

    limit: float
    slowest: float
    noise: np.random.Generator

    def __call__(self, batch: Any) -> Any:
        return self._within(batch, self.noise.choice([1.0, self.slowest]))

    def alone(self, batch: Any) -> Any:
        # The machine's part of a record's own call: the same whatever other records are.
        own = np.random.default_rng(crc32(batch.tobytes()))
        return self._within(batch, own.choice([1.0, self.slowest]))

    def _within(self, batch: Any, stretch: float) -> Any:
        if batch[:, 0].sum() * stretch > self.limit:
            raise TimeoutError
        return batch[:, 1]


def calls_of(kind: Callable[[CallLimits], float], seed: int, public: float) -> RowCalls:
    """Return calls under the limits of a kind; public rows take a share of what a call may take."""
    limits = Limits(seconds=1, megabytes=1)
    many, one = kind(limits.of_call(alone=False)), kind(limits.of_call(alone=True))
    slowest = 1.0 if kind is memory else SLOWEST
    code = Code(many, slowest, np.random.default_rng(seed))
    blank = np.zeros((1, 2))
    shape = CallShape(blank, np.zeros((64, 2))).with_places(64)
    cost = public * many / (len(shape.first) + len(shape.blank))
    shape.first[:, 0] = shape.blank[:, 0] = cost
    return RowCalls(code, shape, alone=replace(code, limit=one).alone)


def tables(many: float, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield neighbours: records that take nothing, something, nearly too much, too much."""
    draw = np.random.default_rng(seed)
    costs = many * np.array([0.0, 0.01, 0.3, 0.9, 1.1, 1.9, 2.1, 3.0, 7.5, 8.5, 1e9])
    for _ in range(10):
        rows = np.column_stack([np.zeros(RECORDS), np.arange(RECORDS)])
        heavy = draw.integers(1, 4)
        rows[draw.integers(1, RECORDS, heavy), 0] = draw.choice(costs, heavy)
        other = rows.copy()
        other[0, 0] = draw.choice(costs)
        yield rows, other


def spoilt(kind: Callable[[CallLimits], float], change: Callable[[RowCalls], RowCalls]) -> int:
    """Return how many records got another answer because another record was another."""
    found = 0
    for seed in range(10):
        many = kind(Limits(seconds=1, megabytes=1).of_call(alone=False))
        for public in (0.05, 0.99):
            for rows, other in tables(many, seed):
                first, second = (
                    change(calls_of(kind, seed, public))(table)[1:] for table in (rows, other)
                )
                found += int(np.sum(~((first == second) | (np.isnan(first) & np.isnan(second)))))
    return found


def as_it_is(calls: RowCalls) -> RowCalls:
    return calls


class WholeCalls(RowCalls):
    """A call that fails is given up for all of its records."""

    def _fill(self, shape: CallShape, rows: Any, out: Any) -> None:
        said = self._ask(shape, rows, 0, len(rows))
        out[:] = np.nan if said is None else said


KINDS = [seconds, clock, memory]


@pytest.mark.proves("own-process")
@pytest.mark.parametrize("kind", KINDS)
def test_no_record_decides_whether_another_is_answered(kind: Callable[[CallLimits], float]) -> None:
    assert spoilt(kind, as_it_is) == 0


@pytest.mark.refutes("own-process")
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_that_gets_the_default_is_caught(kind: Callable[[CallLimits], float]) -> None:
    def whole(calls: RowCalls) -> RowCalls:
        return WholeCalls(calls.call, calls.shape)

    assert spoilt(kind, whole) > 0


@pytest.mark.refutes("own-process")
@pytest.mark.parametrize("kind", KINDS)
def test_one_limit_for_all_calls_is_caught(kind: Callable[[CallLimits], float]) -> None:
    def impatient(calls: RowCalls) -> RowCalls:
        assert isinstance(calls.call, Code)
        return replace(calls, alone=calls.call.alone)

    assert spoilt(kind, impatient) > 0


def test_records_that_take_nothing_are_answered_and_those_that_take_all_are_not() -> None:
    for public in (0.05, 0.99):
        calls = calls_of(seconds, 0, public)
        said = calls(np.array([[0.0, 7.0], [1e9, 8.0], [0.4, 9.0]]))
        assert said[0] == 7.0 and np.isnan(said[1]) and said[2] == 9.0
        assert not calls.pulse.dead
