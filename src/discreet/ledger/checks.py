"""What callers may hand to the ledger, and the sentences with which it says no."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.errors import AccessDenied, ArgumentError, BudgetExhausted, LedgerConflict, LedgerTampered
from discreet.ledger.records import Terms
from discreet.numerics import (
    LARGEST_UNITS,
    check_choice,
    check_positive,
    check_probability,
    check_whole,
    format_units,
)
from discreet.privacy.accounting import ACCOUNTANTS, Amount
from discreet.privacy.accounting.conversion import rho_worth
from discreet.privacy.relation import MOST_ROWS, RELATIONS, Relation
from discreet.schema import Schema

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


def check_terms(terms: Terms, schema: Schema | None = None) -> None:
    """Raise unless every term is one the ledger can enforce, and the schema is that of the terms."""
    check_name("dataset", terms.dataset)
    check_choice("relation", terms.relation, RELATIONS)
    check_choice("accountant", terms.accountant, ACCOUNTANTS)
    check_positive("epsilon", terms.epsilon)
    check_probability("delta", terms.delta)
    check_amount("budget", terms.budget)
    check_name("schema_digest", terms.schema_digest)
    check_most_rows(terms.relation, terms.most_rows)
    if terms.population is not None:
        check_name("population", terms.population)
    if terms.population == terms.dataset:
        raise ArgumentError(
            f"population must have another name than its data sets, got {terms.population!r} for both."
        )
    if schema is not None and schema.digest != terms.schema_digest:
        raise ArgumentError(
            f"schema must be the one of schema_digest {terms.schema_digest}, got {schema.digest}."
        )


def check_most_rows(relation: str, most_rows: object) -> None:
    """Raise unless so many rows can be registered as the most there may be."""
    if most_rows is None:
        return
    if Relation(relation).rows_public:
        raise ArgumentError(
            f"most_rows must be left out under {relation}, where the number of rows is public, got "
            f"{most_rows!r}. It is a term of add-remove."
        )
    check_whole("most_rows", most_rows, 1, MOST_ROWS)


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


_UNITS = {name: accountant.unit for name, accountant in ACCOUNTANTS.items()}


def unknown_dataset(dataset: str) -> LedgerConflict:
    """Return the error for a data set that was never registered."""
    return LedgerConflict(
        f"dataset must be one the ledger knows, got {dataset!r}. Register it with protect first."
    )


_NEVER = ("relation", "accountant", "population")


def differing_term(owner: str, term: str, stored: str, given: str) -> LedgerConflict:
    """Return the error for terms that contradict the registered ones."""
    advice = "Use the registered terms"
    if term not in _NEVER:
        advice += ", or change them in the open: change_terms, on the command line budget change"
    return LedgerConflict(f"{term} must be {stored} as registered for {owner}, got {given}. {advice}.")


def budget_is_shared(dataset: str, population: str) -> LedgerConflict:
    """Return the error for a change of a budget at one of the data sets that share it."""
    return LedgerConflict(
        f"epsilon and delta must be changed for the population {population!r}, whose budget dataset"
        f" {dataset!r} shares, got a change for the data set. Name the population: change_terms, on the"
        " command line budget change --dataset."
    )


def is_no_dataset(name: str) -> LedgerConflict:
    """Return the error for a population's name where a data set is meant."""
    return LedgerConflict(
        f"dataset must be the name of a data set, got {name!r}, which is a population. Name one of its"
        " data sets."
    )


def other_schema(dataset: str, told: str, *, since: bool) -> LedgerConflict:
    """Return the error for a schema that is not the registered one; ``told`` says what differs."""
    if since:
        return LedgerConflict(
            f"The schema of dataset {dataset!r} was changed since this session was opened: {told}."
            " Nothing was charged. Open a session with the schema that is registered now."
        )
    return LedgerConflict(
        f"schema must be the registered one of dataset {dataset!r}, got another: {told}."
        " Use the registered schema, or correct it in the open: change_terms, on the command line"
        " budget change."
    )


def budget_too_small(accountant: str, dataset: str, budget: Amount, spent: Amount) -> LedgerConflict:
    """Return the error for terms that grant less than was spent."""
    return LedgerConflict(
        f"budget must be at least {spell(accountant, spent)}, which was already spent on dataset"
        f" {dataset!r}, got {spell(accountant, budget)}. What is spent stays spent."
    )


def budget_exhausted(
    accountant: str,
    charge: Amount,
    left: Amount,
    *,
    owner: str,
    delta: float = 0.0,
    analyst: str | None = None,
) -> BudgetExhausted:
    """Return the error for a charge that does not fit what its owner, or an analyst of it, has left.

    ``delta`` is the owner's, at which a rho is worth an epsilon.
    """
    lever = "delta" if charge.loss <= left.loss else "epsilon"
    if lever == "epsilon" and _counts_rho(accountant):
        lever = "rho (or epsilon)"
    advice = f"Lower {lever} or ask for fewer answers."
    if analyst is not None:
        owner = f"analyst {analyst!r} of {owner}"
        advice = f"Lower {lever}, or ask the owner for a larger allotment."
    return BudgetExhausted(
        f"This plan costs {_spell_worth(accountant, charge, delta)}; {owner} has"
        f" {_spell_worth(accountant, left, delta)} left."
        f" {advice}",
        requested=parts(accountant, charge),
        remaining=parts(accountant, left),
    )


def no_allotment(dataset: str, analyst: str) -> AccessDenied:
    """Return the error for an analyst without a share where others have one."""
    return AccessDenied(
        f"analyst must be one with an allotment for dataset {dataset!r}, got {analyst!r}."
        " Ask the owner for an allotment."
    )


def allotment_too_small(
    accountant: str, dataset: str, analyst: str, budget: Amount, spent: Amount
) -> LedgerConflict:
    """Return the error for an allotment below what the analyst already spent."""
    return LedgerConflict(
        f"budget must be at least {spell(accountant, spent)}, which analyst {analyst!r} already"
        f" spent on dataset {dataset!r}, got {spell(accountant, budget)}. Allot at least that."
    )


def unknown_reservation(reservation: str, dataset: str) -> LedgerConflict:
    """Return the error for a reservation that is not in this ledger."""
    return LedgerConflict(
        f"reservation must be one this ledger made for dataset {dataset!r}, got {reservation!r}."
        " Settle it with the ledger that reserved it."
    )


def already_settled(reservation: str) -> LedgerConflict:
    """Return the error for a reservation whose release is already stored."""
    return LedgerConflict(
        f"reservation must be settled only once, got {reservation!r} again."
        " Reserve anew for another release."
    )


def wrong_key(ledger: str) -> LedgerConflict:
    """Return the error for a key that is not the ledger's own."""
    return LedgerConflict(
        f"key must be the one the ledger {ledger} was written with, got another."
        " Open it with the key file that was made with it."
    )


def tampered(what: str) -> LedgerTampered:
    """Return the error for a row that the ledger did not write."""
    return LedgerTampered(
        f"{what} was changed by something other than the ledger. Run verify, then restore a backup."
    )


def _counts_rho(accountant: str) -> bool:
    return accountant in _UNITS and parts(accountant, Amount()).keys() >= {"rho"}


def _spell_worth(accountant: str, amount: Amount, delta: float) -> str:
    """Return an amount as words, a rho with the epsilon that it is worth by itself."""
    if not _counts_rho(accountant) or delta <= 0:
        return spell(accountant, amount)
    rho = format_units(amount.loss)
    return f"rho={rho} (worth epsilon={rho_worth(float(rho), delta):.3g} at delta={delta:g})"


def spell(accountant: str, amount: Amount) -> str:
    """Return an amount as words.

    >>> spell("zcdp", Amount.budget(0.25, 1e-6))
    'rho=0.25 and delta=0.000001'
    """
    return " and ".join(f"{name}={value}" for name, value in parts(accountant, amount).items())


def parts(accountant: str, amount: Amount) -> dict[str, str]:
    """Return an amount as exact decimal texts under the accountant's own names."""
    loss = _UNITS.get(accountant, "loss")  # type: ignore[call-overload]  # a row may hold any text
    return {loss: format_units(amount.loss), "delta": format_units(amount.delta)}
