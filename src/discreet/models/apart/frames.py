"""What two processes send each other: a header of plain data and some bytes, before a deadline.

Nothing that comes back from a model's process is unpickled: it could run code here.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

_SIZES = struct.Struct("<QQ")
_LARGEST_HEADER = 2**24
_LARGEST_PAYLOAD = 2**30
_PIECE = 2**16

Frame = tuple[dict[str, Any], bytes]


class Late(Exception):
    """The deadline passed."""


class Closed(Exception):
    """The other side is gone, or what it sends is no frame."""


def send(
    pipe: int, header: dict[str, Any], payload: bytes = b"", deadline: float | None = None
) -> None:
    """Write a frame; the pipe must not block."""
    head = json.dumps(header).encode()
    waiting = memoryview(_SIZES.pack(len(head), len(payload)) + head + payload)
    while waiting:
        _wait(pipe, select.POLLOUT, deadline)
        try:
            waiting = waiting[os.write(pipe, waiting[:_PIECE]) :]
        except BlockingIOError:  # a piece may find less room than there is for a byte
            time.sleep(0.001)
        except OSError:
            raise Closed from None


def receive(pipe: int, deadline: float | None = None) -> Frame:
    """Read a frame.

    Raises:
      Late: if it is not there by the deadline, a time of ``time.monotonic``.
      Closed: if it ends too early, or is none.
    """
    head, rest = _SIZES.unpack(_read(pipe, _SIZES.size, deadline))
    if head > _LARGEST_HEADER or rest > _LARGEST_PAYLOAD:
        raise Closed
    try:
        header = json.loads(_read(pipe, head, deadline))
    except ValueError:
        raise Closed from None
    if not isinstance(header, dict):
        raise Closed
    return header, _read(pipe, rest, deadline)


def _read(pipe: int, size: int, deadline: float | None) -> bytes:
    found = bytearray()
    while len(found) < size:
        _wait(pipe, select.POLLIN, deadline)
        try:
            piece = os.read(pipe, min(size - len(found), 2**20))
        except OSError:
            raise Closed from None
        if not piece:
            raise Closed
        found += piece
    return bytes(found)


def _wait(pipe: int, event: int, deadline: float | None) -> None:
    """Wait until a pipe is ready; a closed one is, and tells so when it is used."""
    left = None if deadline is None else max(deadline - time.monotonic(), 0.0) * 1_000
    ready = select.poll()
    ready.register(pipe, event)
    if not ready.poll(left):
        raise Late
