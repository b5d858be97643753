"""The executors of a Spark frame: they encode and add up the rows, and whole numbers come back.

Every question runs the frame's own query once, for the columns it needs, by ``mapInArrow``: a Python
worker of an executor gets the batches of a partition, adds them up and hands over one line of sums. No
row is collected. What needs all rows at once is made by one executor.

Whatever goes wrong on an executor, nothing comes back and nothing is logged: it could hold a row.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from discreet.data.sources.arrow import open_arrow
from discreet.data.sources.elsewhere.spark import SparkSource
from discreet.data.sources.partitions import Part, Partitioned
from discreet.data.sources.source import Source
from discreet.data.state import quietly
from discreet.data.workers.cluster import LOADED, Cluster, Sums, machine_kind, pack, try_to_load
from discreet.errors import ArgumentError, DataRefused, ReleaseFailed
from discreet.randomness import IntArray
from discreet.schema.person import Person

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class SparkExecutors(Cluster):
    """The executors of a Spark frame, as a cluster that works on this frame alone."""

    def check(self, shared: object) -> None:
        """Refuse, while nothing is spent, executors that are not alike and what they cannot load."""
        try:
            packed = pack(shared)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise _cannot_load(f"{type(error).__name__}: {error}") from None
        spark = self.client.sparkSession
        tasks = 2 * max(1, int(spark.sparkContext.defaultParallelism))
        asked = spark.range(0, tasks, 1, tasks)
        answers = _run(asked, _Task(None, lambda tables: (machine_kind(), try_to_load(packed))))
        if {None if answer is None else answer[0] for answer in answers} != {machine_kind()}:
            raise ArgumentError(
                "data must be a Spark frame whose executors have the processor and the packages of "
                "this process, discreet among them, got others. Start all of them from one image."
            )
        for _, reason in answers:
            if reason != LOADED:
                raise _cannot_load(reason)

    def count_parts(self, source: Source) -> tuple[int, ...] | None:
        """Return how many rows the frame has."""
        return (source.count(),)

    def tell_persons_apart(
        self, source: Partitioned, lengths: Sequence[int], person: Person
    ) -> tuple[int, list[Any]]:
        """Refuse: to tell persons apart takes the names of all rows in one place."""
        raise DataRefused(
            f"data must be rows that can be told apart by {person.column!r} in one place, got a Spark "
            "frame. Write it to Parquet and protect that.",
            rule="kind of source",
        )

    def sum_parts(
        self,
        parts: Sequence[Part],
        add: Callable[[list[Part], Any], list[IntArray]],
        shared: object,
    ) -> Generator[Sums]:
        """Yield the sums of every partition, made where it is."""
        (part,) = parts
        packed = pack(shared)

        def added(tables: Iterator[Any]) -> tuple[int, list[IntArray]]:
            # Without the token under which workers keep blocks: batches have no place of their own.
            given, rows = (*pickle.loads(packed)[:2], None), 0
            totals: list[IntArray] = []
            for table in tables:
                sums = add([_part(table)], given)
                totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
                rows += table.num_rows
            return rows, totals

        found = _checked(_run(_source(part).frame, _Task(machine_kind(), added)), part.rows)
        yield from (sums for sums in found if sums[1])  # an empty partition has none

    def make_once(self, parts: Sequence[Part], make: Callable[[list[Part], S], T], shared: S) -> T:
        """Return what one executor makes of all rows."""
        (part,) = parts
        packed = pack(shared)

        def made(tables: Iterator[Any]) -> tuple[int, T]:
            import pyarrow as pa

            found = [*tables] or [pa.table({name: pa.nulls(0) for name in names})]
            whole = pa.concat_tables(found)
            return whole.num_rows, make([_part(whole)], pickle.loads(packed))

        names = _source(part).columns
        answers = _run(_source(part).frame.coalesce(1), _Task(machine_kind(), made))
        ((_, found),) = _checked(answers or [made(iter(()))], part.rows)
        return cast(T, found)


@dataclass(frozen=True)
class _Task:
    """What an executor does with the batches of a partition; machines of another kind do nothing."""

    machine: str | None
    work: Callable[[Iterator[Any]], Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        answer = None
        try:
            with quietly():
                if self.machine in (None, machine_kind()):
                    answer = self.work(pa.Table.from_batches([batch]) for batch in batches)
        except BaseException:  # a log line or a traceback could hold a row
            answer = None
        yield pa.record_batch({"answer": pa.array([pickle.dumps(answer)], pa.binary())})


def _source(part: Part) -> SparkSource:
    assert isinstance(part.source, SparkSource)
    return part.source


def _part(table: Any) -> Part:
    source = open_arrow(table, table.column_names)
    return Part(source, 0, source.count())


def _run(frame: Any, task: _Task) -> list[Any]:
    with quietly():  # Spark warns of versions
        lines = frame.mapInArrow(task, "answer binary").collect()
    return [pickle.loads(line["answer"]) for line in lines]


def _checked(answers: list[Any], rows: int) -> list[Sums]:
    if any(answer is None for answer in answers) or sum(answer[0] for answer in answers) != rows:
        raise ReleaseFailed(
            "An executor of Spark failed. The cause is not shown because it could reveal a row."
        )
    return answers


def _cannot_load(reason: str) -> ArgumentError:
    return ArgumentError(
        f"plan must be one that Spark's executors can load, got {reason}. "
        "Install what the model needs on every executor."
    )
