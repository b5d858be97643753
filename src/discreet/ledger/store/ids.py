"""Ids of reservations, allotments and ledgers."""

from __future__ import annotations

import base64
import secrets


def new_id() -> str:
    """Return an id that no other ledger has: 80 random bits in 16 letters and digits.

    Short on purpose: an id is in four tables and indexes, and each charge writes them to the journal.
    """
    return base64.b32encode(secrets.token_bytes(10)).decode().lower()
