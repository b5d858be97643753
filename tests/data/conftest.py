from __future__ import annotations

from tests.ledger.conftest import new_database, server

__all__ = ["new_database", "server"]
