"""Things that Dask holds between two tasks of ours, readable by those tasks alone.

Dask writes to a disk what does not fit into a worker's memory, and it asks nobody. So what tasks hand
on of single rows is encrypted under a key that is made anew every time and that tasks get with their
arguments, which Dask keeps in memory: what may lie on a disk says nothing without it.
"""

from __future__ import annotations

import pickle
import secrets
from dataclasses import dataclass, field
from typing import Any

_PIECE = 2**30
"""The cipher takes less than 2^31 bytes at once."""


@dataclass(frozen=True)
class Sealed:
    """Something encrypted; it tells how long it is, and nothing else."""

    pieces: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True)
class Seal:
    """A key, which is shown nowhere."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def close(self, thing: Any) -> Sealed:
        """Return something encrypted (AES-GCM, with a number of its own for every piece)."""
        plain = pickle.dumps(thing, protocol=5)
        starts = range(0, len(plain), _PIECE)
        return Sealed(tuple(self._close(plain[start : start + _PIECE]) for start in starts))

    def open(self, sealed: Sealed) -> Any:
        """Return what was sealed."""
        cipher = _cipher(self.key)
        return pickle.loads(b"".join(cipher.decrypt(p[:12], p[12:], None) for p in sealed.pieces))

    def _close(self, plain: bytes) -> bytes:
        number = secrets.token_bytes(12)
        return number + bytes(_cipher(self.key).encrypt(number, plain, None))


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
