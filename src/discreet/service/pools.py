"""Work that reads no row, on threads of its own: prices and pictures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from discreet.errors import TooLarge, TooManyRequests

_MOST_WAITING = 32


class Pool:
    """Threads for work of one kind: other requests never wait for it.

    It reads no row, so that how long it takes is public, and so is whether it took too long.

    Guarantees:
      - One asker has at most half of the places, so that another finds one.

    Args:
      name: what is done, for sentences: ``prices``.
      threads: how much is done at once.
      seconds: for which a client waits. What was begun goes on to its end, on its thread.
      late: what is said after these seconds.
    """

    def __init__(
        self, name: str, threads: int, seconds: float, late: Callable[[float], TooLarge]
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"discreet-{name}")
        self._name, self._seconds, self._late = name, seconds, late
        self._most, self._open = threads + _MOST_WAITING, Counter[str]()

    async def do(self, asker: str, work: Callable[[], Any]) -> Any:
        """Return what comes of work.

        Raises:
          TooLarge: if it takes too long.
          TooManyRequests: if so much else is before it.
        """
        if self._open.total() >= self._most or self._open[asker] >= self._most // 2:
            raise self._too_many()
        self._open[asker] += 1
        future = self._pool.submit(work)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._close_one, asker))
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            if future.cancel():
                raise self._too_many() from None
            raise self._late(self._seconds) from None

    def close(self) -> None:
        """Begin no other."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _close_one(self, asker: str) -> None:
        self._open[asker] -= 1
        if not self._open[asker]:
            del self._open[asker]

    def _too_many(self) -> TooManyRequests:
        return TooManyRequests(
            f"Too many {self._name} are asked for here. Nothing was charged; ask again later.",
            seconds=2.0,
        )


def too_slow(seconds: float) -> TooLarge:
    """Return what is said of a question that takes too long before any row is read."""
    return TooLarge(
        f"A question must be priced and prepared within {seconds:g} s, got a larger one. Nothing was "
        "charged. Ask for fewer plans at once, or with a coarser grid."
    )


def too_large_to_draw(seconds: float) -> TooLarge:
    """Return what is said of an answer whose picture takes too long."""
    return TooLarge(
        f"A picture must be drawn within {seconds:g} s, got a larger one. Ask for the table instead."
    )
