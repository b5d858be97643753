"""Prices on threads of their own, so many at once and so long at the most.

A price reads no row, so that how long it takes is public, and so is whether it took too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from discreet.errors import TooLarge, TooManyRequests

_MOST_WAITING = 32


class Prices:
    """The prices that a worker finds; others of its requests never wait for them.

    Args:
      threads: how many are found at once.
      seconds: for which a client waits. What was begun goes on to its end, on its thread.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="discreet-price")
        self._seconds, self._most, self._open = seconds, threads + _MOST_WAITING, 0

    async def find(self, price: Callable[[], Any]) -> Any:
        """Return a price.

        Raises:
          TooLarge: if it takes too long.
          TooManyRequests: if so many others are before it.
        """
        if self._open >= self._most:
            raise _too_many()
        self._open += 1
        future = self._pool.submit(price)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._close_one))
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            if future.cancel():
                raise _too_many() from None
            raise too_slow(self._seconds) from None

    def close(self) -> None:
        """Begin no other."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _close_one(self) -> None:
        self._open -= 1


def too_slow(seconds: float) -> TooLarge:
    """Return what is said of a question that takes too long before any row is read."""
    return TooLarge(
        f"A question must be priced and prepared within {seconds:g} s, got a larger one. Nothing was "
        "charged. Ask for fewer plans at once, or with a coarser grid."
    )


def _too_many() -> TooManyRequests:
    return TooManyRequests(
        "Too many prices are asked for here. Nothing was charged; ask again later.", seconds=2.0
    )
