"""Verifying: chains against totals, stored releases, copies of them, and shared budgets."""

from discreet.ledger.verify.books import Copy, verify_books

__all__ = ["Copy", "verify_books"]
