"""What stands before every route: limits of size, depth, time and frequency, and headers of safety.

Written as plain ASGI, so that a request is refused before its body is read into memory.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.errors import ArgumentError, DiscreetError, TooLarge, TooManyRequests

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Sent with every answer; a route may say more, never less."""

DEEPEST = 40
_MOST_CALLERS = 10_000


class Frequency:
    """How often each of many callers may come: so many a minute, half of them at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._refill, self._most, self._clock = per_minute / 60, max(1.0, per_minute / 2), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, who: str) -> None:
        """Count one visit, or raise with the seconds until the next one is welcome."""
        now = self._clock()
        left, since = self._left.pop(who, (self._most, now))
        left = min(self._most, left + (now - since) * self._refill)
        self._left[who] = (max(0.0, left - 1), now)
        if len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)
        if left < 1:
            wait = (1 - left) / self._refill
            self._left[who] = (left, now)
            raise TooManyRequests(
                f"Requests must be at most {self._refill * 60:g} a minute, got more. Ask again in "
                f"{wait:.1f} s; nothing was charged.",
                seconds=wait,
            )


class Guard:
    """Refuses what is too large, too deep or too slow, and adds the headers of safety.

    Args:
      app: what is guarded.
      largest: bytes that a request's body may have, by its path.
      seconds: in which a body must have arrived.
    """

    def __init__(self, app: App, *, largest: Callable[[str], int], seconds: float) -> None:
        self._app, self._largest, self._seconds = app, largest, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except DiscreetError as refused:
            await refuse(send, scope["path"], refused)
            return
        await self._app(scope, _replay(body, receive), _with_headers(send, scope["path"]))

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """Return the whole body, if it is small, comes in time and is not nested too deeply."""
        largest = self._largest(scope["path"])
        try:
            async with asyncio.timeout(self._seconds):
                body = await _gather(receive, largest)
        except TimeoutError:
            raise ArgumentError(
                f"A request must arrive within {self._seconds:g} s, got a slower one."
            ) from None
        if _depth(body) > DEEPEST:
            raise TooLarge(f"JSON must be nested at most {DEEPEST} deep, got a deeper one.")
        return body


async def _gather(receive: Receive, largest: int) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ArgumentError("A request must be sent to its end, got a part of one.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise TooLarge(f"A request must have at most {largest} bytes, got more.")
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replayed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _depth(body: bytes) -> int:
    """Return how deep brackets are nested, outside of texts; cheap, and before anything parses them."""
    deepest = depth = 0
    quoted = escaped = False
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return 0
    for byte in body:
        if quoted:
            quoted, escaped = escaped or byte != 0x22, not escaped and byte == 0x5C
        elif byte == 0x22:
            quoted = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _with_headers(send: Send, path: str) -> Send:
    # Answers are kept by nobody on the way; the page's own files may be asked about again.
    kept = b"no-cache" if path == "/" or path.startswith("/static/") else b"no-store"

    async def safe(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            added = {name.encode(): value.encode() for name, value in HEADERS.items()}
            added[b"cache-control"] = kept
            missing = [(name, value) for name, value in added.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", []), *missing]}
        await send(message)

    return safe


async def refuse(send: Send, path: str, error: DiscreetError) -> None:
    """Answer with an error, and close the connection: the rest of what is sent is not read."""
    body = json.dumps(error.to_json()).encode()
    wait = error.seconds if isinstance(error, TooManyRequests) else None
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *([] if wait is None else [(b"retry-after", str(int(wait) + 1).encode())]),
    ]
    safe = _with_headers(send, path)
    await safe({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await safe({"type": "http.response.body", "body": body})
