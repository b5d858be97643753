"""Two Dask worker processes, and an ear at everything that client and scheduler say and are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster
from distributed.comm import tcp

NO_DISK = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}


@contextmanager
def two_workers(settings: dict[str, Any] = NO_DISK, **options: Any) -> Iterator[Client]:
    """Start two processes with a thread each, and a client that is nobody's default."""
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", **options
        ) as workers,
        Client(workers, set_as_default=False) as connected,
    ):
        yield connected


class Ear:
    """Hears the bytes of all messages of this process, in which client and scheduler are."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def has(self, mark: bytes) -> bool:
        """Say whether a mark was in a message."""
        return any(mark in said for said in self.heard)

    @property
    def size(self) -> int:
        """The bytes that were heard."""
        return sum(map(len, self.heard))

    @contextmanager
    def open(self) -> Iterator[Ear]:
        """Listen."""
        read, write = tcp.from_frames, tcp.to_frames

        def reading(frames: Any, *args: Any, **options: Any) -> Any:
            self.heard += [bytes(memoryview(frame)) for frame in frames]
            return read(frames, *args, **options)

        async def writing(*args: Any, **options: Any) -> Any:
            frames = await write(*args, **options)
            self.heard += [bytes(memoryview(frame)) for frame in frames]
            return frames

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tcp, "from_frames", reading)
            patch.setattr(tcp, "to_frames", writing)
            yield self


def on_disk(folder: Path, mark: bytes) -> bool:
    """Say whether a mark is in a file under a folder."""
    return any(mark in path.read_bytes() for path in folder.rglob("*") if path.is_file())
