"""What stands before every route: limits of size, depth, time and frequency, and headers of safety.

Written as plain ASGI, so that a request is refused before its body is read into memory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import numpy as np

from discreet.errors import ArgumentError, DiscreetError, TooLarge, TooManyRequests

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOG = logging.getLogger("discreet.service")

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

BROKEN = "The service failed at this request. What it was is not shown, because it could tell of a row."

DEEPEST = 40
_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_MOST_CALLERS = 10_000


class Frequency:
    """How often each of many callers may come: so many a minute, half of them at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._refill, self._most, self._clock = per_minute / 60, max(1.0, per_minute / 2), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, who: str) -> None:
        """Count one visit, or raise with the seconds until the next one is welcome."""
        left = self._count(who)
        if left < 1:
            wait = (1 - left) / self._refill
            raise TooManyRequests(
                f"Requests must be at most {self._refill * 60:g} a minute, got more. Ask again in "
                f"{wait:.1f} s; nothing was charged.",
                seconds=wait,
            )

    def _count(self, who: str) -> float:
        """Return how many visits were left before this one, which counts if one was."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(who, (self._most, now))
            left = min(self._most, left + (now - since) * self._refill)
            self._left[who] = (left - 1 if left >= 1 else left, now)
            if len(self._left) > _MOST_CALLERS:
                self._left.popitem(last=False)
            return left


Seen = Callable[[Scope, int, float], None]
"""Told of every request: what it was, the status of its answer (0: none came), and its seconds."""

Room = Callable[[Scope], Awaitable[int]]
"""Says how many bytes the body of a request may have."""


class Guard:
    """Refuses what is too large, too deep or too slow, and adds the headers of safety.

    Guarantees:
      - Whatever breaks inside is answered in the one shape of errors, with all headers; its text is
        neither sent nor logged, because it could hold a value of a row.

    Args:
      app: what is guarded.
      largest: how large a request may be.
      seconds: in which a body must have arrived.
      seen: told of every request when it is answered.
    """

    def __init__(self, app: App, *, largest: Room, seconds: float, seen: Seen) -> None:
        self._app, self._largest, self._seconds, self._seen = app, largest, seconds, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, reply = time.perf_counter(), SentReply(send, scope["path"])
        try:
            await self._answer(scope, receive, reply)
        except Exception as error:
            _LOG.error("A request failed: %s.", type(error).__name__)
            if not reply.status:
                await refuse(reply, DiscreetError(BROKEN))
        finally:
            self._seen(scope, reply.status, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, reply: SentReply) -> None:
        try:
            body = await self._read(scope, receive)
        except DiscreetError as refused:
            await refuse(reply, refused)
        else:
            await self._app(scope, _replay(body, receive), reply)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """Return the whole body, if it is small, comes in time and is not nested too deeply."""
        largest = await self._largest(scope)
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
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return 0
    brackets = np.frombuffer(_TEXTS.sub(b"", body).translate(None, _NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return int(np.cumsum(steps).max(initial=0))


class SentReply:
    """What is sent, with the headers of safety; it knows its own status."""

    def __init__(self, send: Send, path: str) -> None:
        # Answers are kept by nobody on the way; the page's own files may be asked about again.
        kept = "no-cache" if path == "/" or path.startswith("/static/") else "no-store"
        self._send, self.status = send, 0
        self._added = {k.encode(): v.encode() for k, v in {**HEADERS, "cache-control": kept}.items()}

    async def __call__(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            own = {name.lower() for name, _ in message.get("headers", [])}
            missing = [(name, value) for name, value in self._added.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", []), *missing]}
        await self._send(message)


async def refuse(send: Send, error: DiscreetError) -> None:
    """Answer with an error, and close the connection: the rest of what is sent is not read."""
    body = json.dumps(error.to_json()).encode()
    wait = error.seconds if isinstance(error, TooManyRequests) else None
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *([] if wait is None else [(b"retry-after", str(int(wait) + 1).encode())]),
    ]
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
