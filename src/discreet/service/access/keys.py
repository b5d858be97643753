"""Keys of the service: 256 random bits, of which only a keyed digest is kept.

A key is ``dk_<id>_<secret>``. It is looked up by its id, which is no secret, and its digest is compared
in constant time. A slow hash would be for passwords: nobody guesses 256 random bits.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from sqlalchemy import insert, select, update

from discreet.arguments import shown
from discreet.errors import ArgumentError, NotAuthenticated, NotFound
from discreet.ledger.checks import check_label, check_name
from discreet.ledger.store.place import OWNER_ONLY, check_private
from discreet.ledger.store.tables import new_id
from discreet.numerics import check_choice, check_whole
from discreet.service.store import Row, Store, keys, now

Role = Literal["owner", "analyst", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)

_KEY = re.compile(r"dk_([a-z2-7]{16})_([A-Za-z0-9_-]{43})")
_REFUSED = "The key must be one that the owner gave and that is still valid, got none such."
_LONGEST_LIFE = 3650


@dataclass(frozen=True)
class Caller:
    """Who asks: what a valid key says of its holder.

    Args:
      key: the id of the key.
      role: what its holder may do.
      analyst: whose allotment pays; None for owners and auditors.
      datasets: the only ones that it opens; all if None.
      expires: until when, UTC; None if until it is revoked.
    """

    key: str
    role: Role
    analyst: str | None = None
    datasets: tuple[str, ...] | None = None
    expires: str | None = None

    def may_see(self, dataset: str) -> bool:
        """Say whether the key opens a data set."""
        return self.datasets is None or dataset in self.datasets

    @property
    def name(self) -> str:
        """Who it is, for what is kept of her: the analyst, however many keys she has, or the role."""
        return f"analyst {self.analyst}" if self.role == "analyst" else self.role

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, without a secret."""
        opened = None if self.datasets is None else list(self.datasets)
        told = {"key": self.key, "role": self.role, "analyst": self.analyst}
        return {**told, "datasets": opened, "expires": self.expires}


class KeyRing:
    """All keys of a service.

    Guarantees:
      - The store holds no key, and nothing from which one could be found.
      - A revoked or expired key opens nothing from that moment on, in every worker.
    """

    def __init__(self, store: Store, secret: Path) -> None:
        self._store = store
        self._secret = _read_secret(secret)

    def new(
        self,
        role: Role,
        *,
        analyst: str | None = None,
        datasets: Sequence[str] | None = None,
        days: int | None = 90,
        note: str = "",
    ) -> tuple[str, Caller]:
        """Make a key and return it with what it opens; it is never shown again."""
        check_choice("role", role, ROLES)
        _check_holder(role, analyst)
        if days is not None:
            check_whole("days", days, 1, _LONGEST_LIFE)
        check_label("note", note)
        opened = None if datasets is None else tuple(dict.fromkeys(datasets))
        if role == "owner" and opened is not None:
            raise ArgumentError(
                f"datasets must be left out with the role owner, got {shown(datasets)}. An owner's key "
                "makes keys and registers data sets, so that a limit would hold nobody."
            )
        for name in opened or ():
            check_name("datasets", name)
        id_, secret = new_id(), secrets.token_urlsafe(32)
        caller = Caller(id_, role, analyst, opened, _later(days))
        with self._store.writing() as connection:
            row = self._row(caller, note)
            connection.execute(insert(keys), {**row, "digest": self._digest(id_, secret)})
        return f"dk_{id_}_{secret}", caller

    def open(self, key: str) -> Caller:
        """Return who holds a key.

        Raises:
          NotAuthenticated: if it is unknown, expired or revoked; which of these is not told.
        """
        found = _KEY.fullmatch(key)
        if found is None:
            raise NotAuthenticated(_REFUSED)
        id_, secret = found.groups()
        with self._store.reading() as connection:
            row = connection.execute(select(keys).where(keys.c.id == id_)).first()
        known = "" if row is None else str(row.digest)
        right = hmac.compare_digest(known, self._digest(id_, secret))
        if row is None or not right or not _is_valid(row):
            raise NotAuthenticated(_REFUSED)
        return _caller(row._asdict())

    def check(self, caller: Caller) -> None:
        """Raise NotAuthenticated if the key of a caller was revoked since, or expired."""
        with self._store.reading() as connection:
            row = connection.execute(select(keys).where(keys.c.id == caller.key)).first()
        if row is None or not _is_valid(row):
            raise NotAuthenticated(_REFUSED)

    def told(self) -> list[dict[str, Any]]:
        """Return every key without its secret, oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id)).all()
        told = ("note", "created", "revoked")
        return [
            {**_caller(row._asdict()).to_json(), **{name: getattr(row, name) for name in told}}
            for row in rows
        ]

    def revoke(self, id_: str) -> None:
        """Let a key open nothing any more; revoking twice is allowed."""
        with self._store.writing() as connection:
            row = connection.execute(select(keys.c.revoked).where(keys.c.id == id_)).first()
            if row is None:
                raise NotFound("id must be that of a key, got another.")
            if row.revoked is None:
                connection.execute(update(keys).where(keys.c.id == id_).values(revoked=now()))

    def mark(self, text: bytes) -> str:
        """Return a keyed digest, under which what is sent again is known as the same."""
        return hmac.new(self._secret, b"request\n" + text, hashlib.sha256).hexdigest()

    @staticmethod
    def sealed_mark(key: str, text: bytes) -> str:
        """Return such a digest of a request with a sealed query, under the asker's own key.

        Guarantees:
          - Nobody who has not the key itself, of which only a digest is kept, can try guesses of the
            query: not who reads the store, and not the owner, who has the service's secret.
        """
        return "sealed " + hmac.new(key.encode(), b"sealed\n" + text, hashlib.sha256).hexdigest()

    def _digest(self, id_: str, secret: str) -> str:
        said = f"key\n{id_}\n{secret}".encode()
        return hmac.new(self._secret, said, hashlib.sha256).hexdigest()

    @staticmethod
    def _row(caller: Caller, note: str) -> Row:
        opened = None if caller.datasets is None else json.dumps(caller.datasets)
        return {
            "id": caller.key,
            "role": caller.role,
            "analyst": caller.analyst,
            "datasets": opened,
            "note": note,
            "created": now(),
            "expires": caller.expires,
            "revoked": None,
        }


def _check_holder(role: Role, analyst: str | None) -> None:
    if role == "analyst" and analyst is None:
        raise ArgumentError(
            "analyst must be given with the role analyst, got none. It is whose share pays."
        )
    if role != "analyst" and analyst is not None:
        raise ArgumentError(f"analyst must be left out with the role {role}, got {shown(analyst)}.")
    if analyst is not None:
        check_name("analyst", analyst)


def _caller(row: Row) -> Caller:
    opened = None if row["datasets"] is None else tuple(json.loads(row["datasets"]))
    return Caller(row["id"], row["role"], row["analyst"], opened, row["expires"])


def _is_valid(row: Any) -> bool:
    expired = row.expires is not None and row.expires <= now()
    limited = row.role == "owner" and row.datasets is not None  # of an earlier version: see ``new``
    return row.revoked is None and not expired and not limited


def _later(days: int | None) -> str | None:
    if days is None:
        return None
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _read_secret(path: Path) -> bytes:
    """Return the service's secret, made if there is none: 32 random bytes for its owner alone."""
    if not path.exists():
        _make_secret(path)
    check_private("service's secret", path)
    return base64.b64decode(path.read_text(encoding="ascii"))


def _make_secret(path: Path) -> None:
    made = base64.b64encode(secrets.token_bytes(32)).decode() + "\n"
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(made)
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)  # appears whole or not at all; the first of several wins
    finally:
        scratch.unlink(missing_ok=True)
