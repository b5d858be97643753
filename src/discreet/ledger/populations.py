"""Populations: data sets about the same persons draw on one account.

A population has a row of totals and a chain of its own, like a data set; its row names itself as the
one that pays. A member's row names the population, and repeats its terms. Whoever charges a member
locks the population first and writes a ``draw`` to its chain in the same transaction, so that two
members at once cannot overdraw it. Joining writes a ``join`` to the member's chain and an ``admit``
with what was spent before to the population's; no data set leaves one.
"""

from __future__ import annotations

import json
from dataclasses import replace

from sqlalchemy import Connection

from discreet.errors import ArgumentError, LedgerConflict
from discreet.ledger.books import (
    EntryDraft,
    Row,
    append,
    budget_of,
    create_account,
    find_row,
    is_population,
    lock_account,
    save_terms,
    spent_of,
)
from discreet.ledger.chain import Chain
from discreet.ledger.checks import is_no_dataset, spell
from discreet.ledger.queries import account_from
from discreet.ledger.records import Account, State, Terms
from discreet.ledger.shares import carry_shares
from discreet.ledger.store.connection import lock_creation
from discreet.ledger.store.tables import new_id
from discreet.ledger.terms import (
    SHARED,
    check_agreed,
    check_schema,
    keep_schema,
    noted_terms,
    paid_by,
    protects_persons,
    read_facts,
)
from discreet.privacy.accounting.filters import Amount
from discreet.schema import Schema


def check_person_unit(connection: Connection, terms: Terms, schema: Schema | None) -> None:
    """Raise unless a data set protects persons: of one that protects rows, a person may have many."""
    facts = read_facts(connection, terms.schema_digest) if schema is None else schema.facts
    if not protects_persons(facts):
        raise ArgumentError(
            "population must be given for a data set that protects persons, got"
            f" {terms.population!r} for {terms.dataset!r}, which protects rows. Name the column that"
            " tells persons apart as the schema's person."
        )


def post_membership(
    connection: Connection, chain: Chain, terms: Terms, schema: Schema | None, state: State | None
) -> Account:
    """Register a data set in a population, or let a known one join it; the population may be new.

    Guarantees:
        - What a data set spent before it joined is spent of the population's budget. [population]
        - A data set is in one population at most, and never leaves it. [population]
    """
    lock_creation(connection)
    check_person_unit(connection, terms, schema)
    population = _open_population(connection, chain, terms)
    member = _open_member(connection, chain, terms, schema, state)
    if member["population"] is None:
        _join(connection, chain, member, population)
    return account_from(member)


def _open_population(connection: Connection, chain: Chain, terms: Terms) -> Row:
    name = str(terms.population)
    if find_row(connection, name) is None:
        shared = replace(terms, dataset=name, schema_digest="", most_rows=None)
        return create_account(connection, chain, shared)
    row = lock_account(connection, chain, name)
    if not is_population(row):
        raise LedgerConflict(
            f"population must be the name of a population, got {name!r}, which is a data set."
            " Choose another name."
        )
    check_agreed(account_from(row).terms, terms, only=SHARED)
    return row


def _open_member(
    connection: Connection, chain: Chain, terms: Terms, schema: Schema | None, state: State | None
) -> Row:
    if find_row(connection, terms.dataset) is None:
        keep_schema(connection, schema)
        return create_account(connection, chain, replace(terms, population=None), state)
    row = lock_account(connection, chain, terms.dataset)
    if is_population(row):
        raise is_no_dataset(terms.dataset)
    if row["population"] not in (None, terms.population):
        raise LedgerConflict(
            f"population must be {row['population']!r}, which dataset {terms.dataset!r} joined, got"
            f" {terms.population!r}. A data set is in one population and never leaves it."
        )
    stored = account_from(row).terms
    check_agreed(stored, terms, only=("relation", "accountant", "most_rows"))
    check_schema(connection, stored, terms.schema_digest, schema)
    return row


def _join(connection: Connection, chain: Chain, member: Row, population: Row) -> None:
    carried = spent_of(member)
    _check_fits(member, population, carried)
    shares = carry_shares(connection, chain, member["dataset"], population)
    terms = paid_by(account_from(population).terms, account_from(member).terms)
    save_terms(connection, member, terms)
    reference = new_id()
    told = json.dumps(noted_terms(member), sort_keys=True)
    append(
        connection,
        chain,
        member,
        EntryDraft("join", reference, amount=budget_of(population), note=told),
    )
    brought = json.dumps({"dataset": member["dataset"], "shares": shares}, sort_keys=True)
    admitted = EntryDraft("admit", reference, amount=carried, note=brought)
    append(connection, chain, population, admitted, charge=carried)


def _check_fits(member: Row, population: Row, carried: Amount) -> None:
    left = budget_of(population) - spent_of(population)
    if not carried.fits(left):
        rules, name = population["accountant"], population["dataset"]
        raise LedgerConflict(
            f"population must have at least {spell(rules, carried)} left, which dataset"
            f" {member['dataset']!r} already spent, got {name!r} with {spell(rules, left)}. Raise its"
            " budget first, in the open: change_terms, on the command line budget change."
        )
