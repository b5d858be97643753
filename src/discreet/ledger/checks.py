"""Checks of what callers hand to the ledger, before a transaction begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.errors import ArgumentError
from discreet.ledger.records import Terms
from discreet.numerics import (
    LARGEST_UNITS,
    check_choice,
    check_positive,
    check_probability,
    check_whole,
)
from discreet.privacy.accounting import ACCOUNTANTS, Amount
from discreet.privacy.relation import RELATIONS

LONGEST_NAME = 200
"""Names are shown in messages and reports; this many characters are enough."""


def check_name(name: str, value: object) -> None:
    """Raise unless ``value`` is a short printable text without blanks around it."""
    check_label(name, value)
    if value == "":
        raise ArgumentError(f"{name} must not be empty, got ''. Give it a name.")


def check_label(name: str, value: object) -> None:
    """Raise unless ``value`` is a short printable text, which may be empty."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text, got a {type(value).__name__}. Give a str.")
    if len(value) > LONGEST_NAME:
        raise ArgumentError(
            f"{name} must be at most {LONGEST_NAME} characters long, got {len(value)}. Shorten it."
        )
    if not value.isprintable() or value != value.strip():
        raise ArgumentError(
            f"{name} must be printable without blanks at its ends, got {value!r}. Remove them."
        )


def check_amount(name: str, amount: object) -> None:
    """Raise unless ``amount`` is an ``Amount`` of whole units that are not negative."""
    if not isinstance(amount, Amount):
        raise ArgumentError(
            f"{name} must be an Amount, got a {type(amount).__name__}."
            " Use Amount.charge or Amount.budget."
        )
    check_whole(f"{name}.loss", amount.loss, 0, LARGEST_UNITS - 1)
    check_whole(f"{name}.delta", amount.delta, 0, LARGEST_UNITS - 1)


def check_terms(terms: Terms) -> None:
    """Raise unless every term is one the ledger can enforce."""
    check_name("dataset", terms.dataset)
    check_choice("relation", terms.relation, RELATIONS)
    check_choice("accountant", terms.accountant, ACCOUNTANTS)
    check_positive("epsilon", terms.epsilon)
    check_probability("delta", terms.delta)
    check_amount("budget", terms.budget)
    check_name("schema_digest", terms.schema_digest)


def check_body(body: object) -> None:
    """Raise unless ``body`` is a text that both back ends store unchanged."""
    if not isinstance(body, str) or "\0" in body or not _is_unicode(body):
        raise ArgumentError(
            f"body must be a Unicode text without NUL, got a {type(body).__name__}."
            " Give the release's JSON text."
        )


def note_text(note: Mapping[str, Any]) -> str:
    """Return a note as JSON text, or raise if it cannot be one."""
    try:
        return json.dumps(dict(note), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ArgumentError(
            "note must be a mapping that JSON can hold, got something else."
            " Keep to texts, finite numbers, booleans, lists and mappings."
        ) from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
