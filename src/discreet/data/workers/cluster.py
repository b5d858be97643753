"""Work for the workers of a Dask cluster, which goes to the rows where it can.

A source in parts (``sources.partitions``) is read by the workers: each reads, encodes and adds up
parts of its own, and whole numbers come back. Of any other source this process reads the rows and
sends blocks of them.

Sums are whole numbers that need nothing but their rows, so any worker may make them, twice if one
dies. What leaves a task is sums or nothing: an error is neither raised nor logged, because its text
could hold a row. Keys are random, because Dask's own would hash the rows.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import secrets
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import cycle
from typing import Any, TypeVar

from discreet.data.adding import added, pack_sums, unpack_sums
from discreet.data.blocks import Block, KeptRows, drop_shelf
from discreet.data.sources.partitions import Held, Part, Partitioned
from discreet.data.sources.source import Source
from discreet.data.state import quietly
from discreet.data.workers.persons_apart import Telling, add_persons, ranges_for, take
from discreet.data.workers.sealing import Seal
from discreet.errors import ArgumentError, DataRefused, ReleaseFailed
from discreet.randomness import IntArray
from discreet.schema.person import Person

S = TypeVar("S")
T = TypeVar("T")

Sums = tuple[int, list[IntArray]]
"""A number of rows and the partial sums over them; none while they are still on the way."""

LOADED = "loaded"
"""What a worker says of something it could load."""

_RUNS = 8
"""Tasks per thread: enough for workers to end together, few enough for their sums to be little."""

_NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


@dataclass(frozen=True)
class Cluster:
    """The workers behind a ``dask.distributed.Client``."""

    client: Any = field(repr=False)

    @classmethod
    def of(cls, client: Any) -> Cluster:
        """Check that this is a connected client with workers that are alike."""
        distributed = sys.modules.get("distributed")  # whoever has a client has imported it
        if distributed is None or not isinstance(client, distributed.Client):
            raise ArgumentError(
                f"cluster must be a dask.distributed.Client, got {type(client).__name__}. "
                "Make one with Client(LocalCluster()) or Client('scheduler:8786')."
            )
        if client.asynchronous or client.status != "running":
            raise ArgumentError(
                "cluster must be a connected, blocking client, got an asynchronous or closed one."
            )
        found = cls(client)
        found._tasks()
        return found

    def check(self, shared: object) -> None:
        """Refuse, while nothing is spent, workers that are not alike and what they cannot load."""
        try:
            future = self._tasks().submit(try_to_load, pack(shared))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = future.result()
        if reason != LOADED:
            raise ArgumentError(
                f"plan must be one that the cluster's workers can load, got {reason}. "
                "Install what the model needs on every worker, or leave cluster out."
            )

    def sum_blocks(
        self, blocks: Iterable[Block], add: Callable[[Block, Any], list[IntArray]], shared: object
    ) -> Generator[Sums]:
        """Yield ``add(block, shared)`` of every block; at most two per thread are on their way."""
        tasks = self._tasks().sharing(shared)
        sent = ((len(block), tasks.submit(add, block)) for block in blocks)
        yield from self._in_turn(sent)

    def sum_parts(
        self,
        parts: Sequence[Part],
        add: Callable[[list[Part], Any], list[IntArray]],
        shared: object,
    ) -> Generator[Sums]:
        """Yield the rows of runs of successive parts as they are added up, and last all their sums.

        Whoever reads a run makes ``add(parts, shared)`` of it. Workers add these up among themselves,
        because sums of many cells from many tasks would be much to send here.
        """
        tasks = self._tasks()
        helped = tasks.sharing(shared)
        together: list[Any] = []
        turns = cycle(sorted(self.client.nthreads()) or [None])  # the same worker in the next stage
        for run, near in zip(_runs(parts, _RUNS * self._threads), turns, strict=False):
            own = helped.submit_parts(add, run, near)
            together.append(tasks.submit(added, together[-1], own) if together else own)
            if len(together) > 2 * self._threads:
                together.pop(0).exception()  # waited for; its answer stays where it is
            yield sum(map(len, run)), []
        if together:
            packed = _checked(_answer(0, tasks.submit(pack_sums, together[-1]))[1])
            yield 0, unpack_sums(packed)

    def make_once(self, parts: Sequence[Part], make: Callable[[list[Part], S], T], shared: S) -> T:
        """Return ``make(parts, shared)`` of all parts together, made by one worker."""
        future = self._tasks().sharing(shared).submit_parts(make, parts)
        made: T = _checked(_answer(0, future)[1])
        return made

    def forget(self, kept: KeptRows) -> None:
        """Let all workers drop what they kept of a release."""
        with suppress(Exception):  # of a client that is gone, or a worker
            self.client.run(drop_shelf, kept.token, on_error="ignore")

    def count_parts(self, source: Source) -> tuple[int, ...] | None:
        """Return how many rows every part of a source has, counted where it lies; None without parts.

        Guarantees:
          - What no worker can read is refused, without what it said. [reserve-first]
        """
        if not isinstance(source, Partitioned):
            return None
        found = source.partitions(None, self.client)
        if not found:
            return None
        tasks = self._tasks()
        sent = ((0, tasks.submit_parts(_count, [Part(part)])) for part in found)
        return tuple(map(_counted, _answers(sent, 2 * self._threads)))

    def tell_persons_apart(
        self, source: Partitioned, lengths: Sequence[int], person: Person
    ) -> tuple[int, list[Any]]:
        """Return how many persons there are, and what the rows of every part count, as workers hold it.

        Guarantees:
          - Hashes of ids go from worker to worker, sealed; their number alone comes here.
            [person-weights]
        """
        tasks, near = self._tasks(), sorted(self.client.nthreads())
        telling = Telling(person, ranges_for(sum(lengths), len(near)), Seal())
        found = source.partitions([person.column], self.client) or ()
        parts = [Part(part, rows=rows) for part, rows in zip(found, lengths, strict=True)]
        runs = list(_runs(parts, 2 * self._threads))
        hashed = [tasks.submit_parts(telling.hash_parts, run) for run in runs]
        told = []
        for place, worker in zip(range(telling.ranges), cycle(near or [None]), strict=False):
            pieces = [tasks.submit(take, own, place) for own in hashed]
            told.append(tasks.submit(telling.tell_range, pieces, near=worker))
        counts = [tasks.submit(take, own, 0) for own in told]
        persons = _counted(_answer(0, tasks.submit(add_persons, counts)))
        joined = [
            tasks.submit(
                telling.join_parts,
                tasks.submit(take, own, telling.ranges),
                [part.rows for part in run],
                persons,
                [tasks.submit(take, answer, 1 + place) for answer in told],
            )
            for place, (run, own) in enumerate(zip(runs, hashed, strict=True))
        ]
        held = [
            tasks.submit(take, j, k)
            for run, j in zip(runs, joined, strict=True)
            for k, _ in enumerate(run)
        ]
        return persons, [Held(future, telling.seal.open) for future in held]

    @property
    def _threads(self) -> int:
        return max(1, int(sum(self.client.nthreads().values())))

    def _in_turn(self, sent: Iterable[tuple[int, Any]]) -> Generator[Sums]:
        """Yield results in the order of their tasks; at most two per thread are on their way."""
        for rows, answer in _answers(sent, 2 * self._threads):
            yield rows, _checked(answer)

    def _tasks(self) -> _Tasks:
        """Return tasks for the one kind of worker there is; others could have other last bits."""
        answers = self.client.run(machine_kind, on_error="return").values()
        kinds = {answer for answer in answers if not isinstance(answer, OSError)}  # gone by now
        if len(kinds) != 1 or not all(isinstance(kind, str) for kind in kinds):
            raise ArgumentError(
                "cluster must have workers with one kind of processor and one set of packages, "
                f"discreet among them, got {len(answers)} workers of other kinds or without it. "
                "Start all workers from one image, and wait for them."
            )
        return _Tasks(self.client, *kinds)


@cache
def machine_kind() -> str:
    """Return a digest of what may change the last bits of an answer: processor and packages."""
    from importlib.metadata import distributions

    from llvmlite import binding

    facts = [
        sys.version,
        platform.machine(),
        *platform.libc_ver(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
        *sorted(f"{found.name} {found.version}" for found in distributions()),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


@dataclass(frozen=True)
class _Tasks:
    """Sends functions to workers of one kind, with what all of them share as the last argument."""

    client: Any
    machine: str
    shared: tuple[Any, ...] = ()

    def sharing(self, thing: object) -> _Tasks:
        """Send something once; it is a task too, so that it is made again if its worker dies.

        It goes from worker to worker as it was packed here: one that is in use cannot be packed anew.
        """
        return replace(self, shared=(self.submit(Packed, secrets.token_hex(16), pack(thing)),))

    def submit(self, function: Callable[..., Any], *arguments: Any, near: str | None = None) -> Any:
        """Return the future of ``function(*arguments, *shared)``, made by ``near`` if it can."""
        import dask

        given = (self.machine, function, *arguments, *self.shared)
        key = f"{function.__name__}-{secrets.token_hex(16)}"
        with dask.config.set(_NO_WARNING):  # blocks of wide tables are meant to be sent
            where = {} if near is None else {"workers": [near], "allow_other_workers": True}
            return self.client.submit(_quietly, *given, key=key, pure=False, **where)

    def submit_parts(
        self, function: Callable[..., Any], parts: Sequence[Part], near: str | None = None
    ) -> Any:
        """Return the future of ``function(parts, *shared)``; what Dask holds of them it brings."""
        held = [part.waits_for for part in parts]
        place = None if any(isinstance(part.source, Held) for part in parts) else near
        return self.submit(_on_parts, function, [part.bare() for part in parts], held, near=place)


def _on_parts(
    function: Callable[..., Any], parts: Sequence[Part], held: Sequence[Any], *shared: Any
) -> Any:
    return function([part.brought(given) for part, given in zip(parts, held, strict=True)], *shared)


def _runs(parts: Sequence[Part], most: int) -> Generator[list[Part]]:
    """Yield runs of successive parts, about ``most`` of them; a part that Dask holds is one."""
    enough = sum(map(len, parts)) / most
    run: list[Part] = []
    for part in parts:
        run.append(part)
        if isinstance(part.source, Held) or sum(map(len, run)) >= enough:
            yield run
            run = []
    if run:
        yield run


def _count(parts: Sequence[Part]) -> int | tuple[str, str | None, str | None]:
    """Return the rows of a part, or why it is refused, in words that are public."""
    (part,) = parts
    try:
        return part.source.count()  # type: ignore[union-attr]
    except DataRefused as refusal:
        return str(refusal), refusal.column, refusal.rule


def _counted(answer: tuple[int, Any]) -> int:
    found = answer[1]
    if isinstance(found, int):
        return found
    text, column, rule = found or (_UNREADABLE, None, "parts")
    raise DataRefused(text, column=column, rule=rule)


_UNREADABLE = (
    "data must be something that every worker of the cluster can read, got a part that one could not. "
    "Put the files where all of them find them, or leave cluster out."
)


@dataclass(frozen=True)
class Packed:
    """Something that workers share, known by its token and opened once by each of them."""

    token: str
    data: bytes = field(compare=False, repr=False)


@lru_cache(maxsize=2)
def _open(packed: Packed) -> Any:
    return pickle.loads(packed.data)


def _opened(argument: Any) -> Any:
    return _open(argument) if isinstance(argument, Packed) else argument


def _quietly(machine: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on a worker; whatever goes wrong there, nothing comes back and nothing is logged."""
    try:
        if machine_kind() == machine:
            with quietly():
                return function(*map(_opened, arguments))
    except BaseException:  # a log line or a traceback could hold a row
        pass
    return None


def _answers(sent: Iterable[tuple[int, Any]], limit: int) -> Generator[tuple[int, Any]]:
    """Yield what tasks answered, in their order; at most so many are on their way."""
    waiting: deque[tuple[int, Any]] = deque()
    for task in sent:
        waiting.append(task)
        if len(waiting) >= limit:
            yield _answer(*waiting.popleft())
    while waiting:
        yield _answer(*waiting.popleft())


def _answer(rows: int, future: Any) -> tuple[int, Any]:
    """Return what a task answered; None for whatever went wrong, also before it could begin."""
    try:
        return rows, future.result()
    except Exception:  # of a step of somebody else's frame: its text could hold a row
        return rows, None


def _checked(answer: Any) -> Any:
    if answer is None:
        raise ReleaseFailed(
            "A worker of the cluster failed. The cause is not shown because it could reveal a row."
        )
    return answer


def pack(shared: object) -> bytes:
    """Return something as bytes that a worker loads, functions of a script included."""
    import cloudpickle

    return bytes(cloudpickle.dumps(shared))


def try_to_load(packed: bytes) -> str:
    """Return why a worker cannot load something that holds no row."""
    try:
        pickle.loads(packed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return LOADED
