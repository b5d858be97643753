"""The keyed hash chain: what makes an entry genuine, and a row the ledger's own.

An entry's digest is HMAC-SHA256 under the ledger's key over the canonical JSON of all its fields,
the digest of the entry before it among them; a settlement also holds the digest of the release
text. Running totals are kept in rows that change; each carries a seal of the same kind over its
present values, so that a total edited from outside is noticed before anything is spent on it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LATER = ("most_rows", "population")
"""Fields of rows that earlier versions had not: one that is not said is not in a seal or a note, so
that what they wrote stays genuine as it is."""

GENESIS = "0" * 64
"""What the first entry of a chain names as the digest before it."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The ledger's key and what is computed with it.

    Guarantees:
        - Without the key nobody finds another row with a valid digest or seal (HMAC-SHA256).
        - An entry's digest fixes its data set, its place and every entry before it.
    """

    key: bytes = field(repr=False)

    def entry_digest(self, entry: Mapping[str, Any]) -> str:
        """Return the digest of an entry's fields."""
        return self._sign("entry", {k: v for k, v in entry.items() if k != "digest"})

    def is_genuine(self, entry: Mapping[str, Any]) -> bool:
        """Say whether an entry carries the digest of its own fields."""
        return same(entry["digest"], self.entry_digest(entry))

    def seal(self, table: str, row: Mapping[str, Any]) -> str:
        """Return the seal over a row of running totals."""
        return self._sign(table, said({k: v for k, v in row.items() if k != "seal"}))

    def is_sealed(self, table: str, row: Mapping[str, Any]) -> bool:
        """Say whether a row carries the seal over its own values."""
        return same(row["seal"], self.seal(table, row))

    def mark(self) -> str:
        """Return a text that tells this key from another without revealing it."""
        return self._sign("key", {})

    def seed(self) -> bytes:
        """Return the secret from which the key pair of what the owner publishes is made."""
        return bytes.fromhex(self._sign("publication", {}))

    def _sign(self, what: str, fields: Mapping[str, Any]) -> str:
        return hmac.new(self.key, canonical([what, fields]), hashlib.sha256).hexdigest()


def said(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without later fields of which nothing is said."""
    return {name: value for name, value in row.items() if value is not None or name not in LATER}


def canonical(plain: Any) -> bytes:
    """Return plain data as the one JSON text that equal data have."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), default=repr).encode("ascii")


def body_digest(body: str) -> str:
    """Return the digest of a release's text."""
    return hashlib.sha256(body.encode()).hexdigest()


def is_release_of(release: Mapping[str, Any], settlement: Mapping[str, Any]) -> bool:
    """Say whether a stored release is the one that a settlement fixed."""
    columns = ("dataset", "sequence", "version", "plan_key")
    if any(release[column] != settlement[column] for column in columns):
        return False
    body = release["body"]
    return isinstance(body, str) and same(settlement["body_digest"], body_digest(body))


def same(stored: object, computed: str) -> bool:
    """Say whether a stored value, of whatever type, is the computed digest."""
    return isinstance(stored, str) and hmac.compare_digest(stored.encode(), computed.encode())
