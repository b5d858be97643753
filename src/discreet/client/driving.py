"""Connections on which requests are sent and replies come back: one blocks, one is awaited.

The key lies in the headers of httpx, which shows it nowhere. What is raised while a request is sent
holds the request and with it the key, so nothing of it goes on: a fault becomes a ``Lost``.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from discreet import __version__
from discreet.client.sending import Lost, Pause, Reply, Request, Step, Steps
from discreet.errors import ArgumentError

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")


class BlockingLine:
    """Runs steps over ``httpx.Client``."""

    def __init__(self, address: str, key: str, timeout: float, transport: Any = None) -> None:
        self.address, self.timeout = address, timeout
        self._client = import_httpx().Client(**_settings(address, key, transport))

    def run(self, steps: Steps[T]) -> T:
        """Return what steps lead to; an interruption is theirs to answer."""
        resume: Callable[[Any], Step] = steps.send
        given: Any = None
        try:
            while True:
                step = resume(given)
                try:
                    resume, given = steps.send, self._take(step)
                except BaseException as raised:  # Ctrl-C, which the steps answer with another request
                    resume, given = steps.throw, raised
        except StopIteration as done:
            result: T = done.value
            return result

    def _take(self, step: Step) -> Reply | Lost | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return _reply(self._client.request(**_sent(step, self.timeout)))
        except import_httpx().RequestError as error:
            return _lost(error)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AwaitedLine:
    """Runs steps over ``httpx.AsyncClient``."""

    def __init__(self, address: str, key: str, timeout: float, transport: Any = None) -> None:
        self.address, self.timeout = address, timeout
        self._client = import_httpx().AsyncClient(**_settings(address, key, transport))

    async def run(self, steps: Steps[T]) -> T:
        """Return what steps lead to; a cancellation is theirs to answer."""
        resume: Callable[[Any], Step] = steps.send
        given: Any = None
        try:
            while True:
                step = resume(given)
                try:
                    resume, given = steps.send, await self._take(step)
                except BaseException as raised:
                    resume, given = steps.throw, raised
        except StopIteration as done:
            result: T = done.value
            return result

    async def _take(self, step: Step) -> Reply | Lost | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return _reply(await self._client.request(**_sent(step, self.timeout)))
        except import_httpx().RequestError as error:
            return _lost(error)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def blocking(
    verb: Callable[Concatenate[Any, P], Steps[T]],
) -> Callable[Concatenate[Any, P], T]:
    """Return a verb that is written as steps as a method that waits for what they lead to."""

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        found: T = self._line.run(verb(self, *args, **options))
        return found

    _tell(call)
    return call


def awaited(
    verb: Callable[Concatenate[Any, P], Steps[T]],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Return a verb that is written as steps as a coroutine."""

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        found: T = await self._line.run(verb(self, *args, **options))
        return found

    _tell(call)
    return call


def _tell(call: Any) -> None:
    """Let the help of a method speak of what it returns, not of steps."""
    told = inspect.signature(call)
    found = str(told.return_annotation).removeprefix("Steps[").removesuffix("]")
    call.__signature__ = told.replace(return_annotation=found)
    call.__name__ = call.__name__.lstrip("_")


def import_httpx() -> Any:
    """Return httpx, or raise a sentence that says how to get it."""
    try:
        import httpx
    except ImportError:
        raise ArgumentError(
            "connect must have httpx installed, got none. Install discreet[client]."
        ) from None
    return httpx


def _settings(address: str, key: str, transport: Any) -> dict[str, Any]:
    headers = {
        "authorization": f"Bearer {key}",
        "accept": "application/json",
        "user-agent": f"discreet/{__version__}",
    }
    # No redirect is followed: the key is for this address alone.
    return {
        "base_url": address,
        "headers": headers,
        "transport": transport,
        "follow_redirects": False,
    }


def _sent(request: Request, timeout: float) -> dict[str, Any]:
    content = request.content
    kind = {} if content is None else {"content-type": "application/json"}
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.query) or None,
        "content": content,
        "headers": {**kind, **request.headers},
        "timeout": timeout + request.wait,
    }


def _reply(response: httpx.Response) -> Reply:
    return Reply(response.status_code, dict(response.headers), response.content)


def _lost(error: Exception) -> Lost:
    """Return the kind of a fault; texts of it may quote headers, but not of a failed certificate."""
    untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
    why = "its certificate is not trusted here" if untrusted else type(error).__name__
    return Lost(why, final=untrusted)
