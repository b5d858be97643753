"""What is said to a server, without saying it: generators yield requests and are sent replies.

```python
def plans(self) -> Steps[dict[str, Any]]:
    return (yield from ask(Request("GET", "/v1/plans")))
```
``driving`` runs them over a connection that blocks, or over one that is awaited: there is one logic of
retries, jobs and errors for both, and tests need neither.
"""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from discreet.client.faults import ServerUnreachable, error_of

T = TypeVar("T")

MOST_TRIES = 6
LONGEST_PAUSE = 60.0
"""Seconds: a server that wants a longer pause is told to the caller."""

_FIRST_PAUSE = 0.25
_TRY_AGAIN = (429, 502, 503, 504)
_ANSWERED = ("settlement-failed",)
"""Codes behind such a status that asking again does not mend."""


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
      method: of HTTP.
      path: below the server's address.
      query: parameters of the path.
      body: plain data, sent as JSON; None for no body.
      headers: besides the key.
      wait: how many seconds the server was asked to wait for an answer.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    def plain(self) -> Any:
        """Return the JSON that it holds, or raise if a server of another kind answered."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            kind = self.headers.get("content-type", "nothing")
            raise ServerUnreachable(
                f"url must be the address of a discreet server, which answers in JSON, got status "
                f"{self.status} with {kind[:60]}. Check the address."
            ) from None


@dataclass(frozen=True)
class Lost:
    """Nothing came back: the kind of fault, and whether trying again could help."""

    why: str
    final: bool = False


@dataclass(frozen=True)
class Pause:
    """Wait before the next step."""

    seconds: float


Step = Request | Pause
Steps = Generator[Step, Any, T]
"""Requests and pauses that lead to a ``T``."""


def new_idempotency_key() -> str:
    """Return a name for one call, so that a server knows it again whenever it is repeated."""
    return secrets.token_urlsafe(24)


def ask(request: Request) -> Steps[Any]:
    """Return the plain data of a reply, trying again where that is safe and may help.

    Every request of this client may be repeated: those that charge carry an idempotency key.

    Raises:
      DiscreetError: that the server answered with, of its own class.
      ServerUnreachable: if no reply came.
    """
    return (yield from reply_to(request)).plain()


def reply_to(request: Request) -> Steps[Reply]:
    """Return the reply itself; see ``ask``."""
    last: Reply | Lost = Lost("no try")
    for tried in range(MOST_TRIES):
        last = yield request
        pause = _pause_after(last, tried)
        if pause is None or tried == MOST_TRIES - 1:
            break
        yield Pause(pause)
    if isinstance(last, Lost):
        raise ServerUnreachable(
            f"The server did not answer {request.method} {request.path} ({last.why}). "
            "Check the address and the network, and ask again."
        )
    if last.status >= 400:
        raise error_of(last.status, last.plain())
    return last


def _pause_after(reply: Reply | Lost, tried: int) -> float | None:
    """Return how long to wait before another try; None if this one counts."""
    # Spread, so that those who lost the same server do not come back at once.
    backoff = _FIRST_PAUSE * 2.0**tried * random.uniform(0.5, 1.0)
    if isinstance(reply, Lost):
        return None if reply.final else backoff
    if reply.status not in _TRY_AGAIN or _code(reply) in _ANSWERED:
        return None
    told = _seconds(reply.headers.get("retry-after"))
    if told is None:
        return backoff
    return None if told > LONGEST_PAUSE else told


def _code(reply: Reply) -> str:
    try:
        return str(json.loads(reply.content)["error"]["code"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""


def _seconds(text: str | None) -> float | None:
    """Return a pause in seconds; a date, or anything else, counts as none told."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None
