"""Row blocks on the workers of a Dask cluster.

A block's sums are whole numbers that need nothing but the block, so any worker may make them, twice
if one dies. What leaves a task is sums or nothing: an error is neither raised nor logged, because its
text could hold a row. Keys are random, because Dask's own would hash the rows.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import secrets
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.errors import ArgumentError, ReleaseFailed
from discreet.randomness import IntArray

Sums = tuple[int, list[IntArray]]
"""A number of rows and the partial sums over them."""

_LOADED = "loaded"
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
            future = self._tasks().submit(_try_to_load, _pack(shared))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = future.result()
        if reason != _LOADED:
            raise ArgumentError(
                f"plan must be one that the cluster's workers can load, got {reason}. "
                "Install what the model needs on every worker, or leave cluster out."
            )

    def sum_blocks(
        self, blocks: Iterable[Block], add: Callable[[Block, Any], list[IntArray]], shared: object
    ) -> Generator[Sums]:
        """Yield ``add(block, shared)`` of every block; at most two per thread are on their way."""
        tasks = self._tasks().sharing(shared)
        limit = 2 * max(1, sum(self.client.nthreads().values()))
        waiting: deque[tuple[int, Any]] = deque()
        for block in blocks:
            waiting.append((len(block), tasks.submit(add, block)))
            if len(waiting) >= limit:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())

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
        """Send something once; it is a task too, so that it is made again if its worker dies."""
        return replace(self, shared=(self.submit(pickle.loads, _pack(thing)),))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of ``function(*arguments, *shared)``."""
        import dask

        given = (self.machine, function, *arguments, *self.shared)
        key = f"{function.__name__}-{secrets.token_hex(16)}"
        with dask.config.set(_NO_WARNING):  # blocks of wide tables are meant to be sent
            return self.client.submit(_quietly, *given, key=key, pure=False)


def _quietly(machine: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on a worker; whatever goes wrong there, nothing comes back and nothing is logged."""
    try:
        if machine_kind() == machine:
            with quietly():
                return function(*arguments)
    except BaseException:  # a log line or a traceback could hold a row
        pass
    return None


def _result(rows: int, future: Any) -> Sums:
    sums = future.result()
    if sums is None:
        raise ReleaseFailed(
            "A worker of the cluster failed. The cause is not shown because it could reveal a row."
        )
    return rows, sums


def _pack(shared: object) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(shared))


def _try_to_load(packed: bytes) -> str:
    """Return why a worker cannot load something that holds no row."""
    try:
        pickle.loads(packed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _LOADED
