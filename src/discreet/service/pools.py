"""Threads whose turns askers take: for jobs, and for work that reads no row, prices and pictures."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from discreet.errors import TooLarge, TooManyRequests

_MOST_WAITING = 32


class Turns:
    """Threads that askers take in turn, of which one asker never has all.

    Guarantees:
      - Whatever an asker sends, and however long it takes, spare threads are left for others.
      - Of those who wait, who was served last comes last, however many wait with her.

    Args:
      name: of the threads.
      each: how much of one asker is done at once.
      spare: threads besides, which others find.
    """

    def __init__(self, name: str, each: int, spare: int = 1) -> None:
        self._pool = ThreadPoolExecutor(each + spare, thread_name_prefix=f"discreet-{name}")
        self._each, self._free = each, each + spare
        self._busy = Counter[str]()
        self._waiting: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, asker: str, work: Callable[[], Any]) -> Future[Any]:
        """Return what comes of work, once it is the asker's turn; cancelled if that never comes."""
        future: Future[Any] = Future()
        with self._lock:
            if not self._closed:
                self._waiting.setdefault(asker, deque()).append((future, work))
                self._begin()
                return future
        future.cancel()
        return future

    def close(self) -> None:
        """Begin no other, and wait for what was begun."""
        with self._lock:
            self._closed = True
            waiting = [future for queue in self._waiting.values() for future, _ in queue]
            self._waiting.clear()
        for future in waiting:
            future.cancel()
        self._pool.shutdown(wait=True)

    def _begin(self) -> None:
        """Begin what may begin; who was served stands at the end of the line."""
        for asker in [name for name in self._waiting if self._busy[name] < self._each]:
            if not self._free:
                return
            queue = self._waiting.pop(asker)
            future, work = queue.popleft()
            if queue:
                self._waiting[asker] = queue
            self._free -= 1
            self._busy[asker] += 1
            self._pool.submit(self._do, asker, future, work)

    def _do(self, asker: str, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        finally:
            with self._lock:
                self._free += 1
                self._busy[asker] -= 1
                if not self._busy[asker]:
                    del self._busy[asker]
                self._begin()


class Pool:
    """Threads for work of one kind: other requests never wait for it.

    It reads no row, so that how long it takes is public, and so is whether it took too long.

    Guarantees:
      - One asker has at most half of the places in which work waits, so that another finds one.

    Args:
      name: what is done, for sentences: ``prices``.
      turns: whose work is done when.
      seconds: for which a client waits. What was begun goes on to its end, on its thread.
      late: what is said after these seconds.
    """

    def __init__(
        self, name: str, turns: Turns, seconds: float, late: Callable[[float], TooLarge]
    ) -> None:
        self._turns, self._name, self._seconds, self._late = turns, name, seconds, late
        self._open = Counter[str]()

    async def do(self, asker: str, work: Callable[[], Any]) -> Any:
        """Return what comes of work.

        Raises:
          TooLarge: if it takes too long.
          TooManyRequests: if so much else is before it.
        """
        if self._open.total() >= _MOST_WAITING or self._open[asker] >= _MOST_WAITING // 2:
            raise self._too_many()
        self._open[asker] += 1
        future = self._turns.submit(asker, work)
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
        self._turns.close()

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
