"""The terms of a data set: compared with those a caller names, and changed in the open.

A change is an entry of its own in the chain, with a reason. What was spent stays spent, a release keeps
the terms under which it was made, and the relation, the accountant and who is protected never change.
The facts of schemas are kept under their digests, so that a mismatch can be told in words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select, text

from discreet.errors import LedgerConflict
from discreet.ledger.books import EntryDraft, Row, append, lock_account, save_terms, spent_of
from discreet.ledger.chain import LATER, Chain, said
from discreet.ledger.checks import (
    budget_is_shared,
    budget_too_small,
    check_most_rows,
    differing_term,
    is_no_dataset,
    other_schema,
    spell,
)
from discreet.ledger.queries import account_from, members_of
from discreet.ledger.records import Account, Terms
from discreet.ledger.store.tables import new_id, schemas
from discreet.privacy.accounting import budget_amount
from discreet.schema import Schema
from discreet.schema.differences import tell_differences

_KEEP_SCHEMA = text(
    "INSERT INTO discreet_schemas (digest, facts) VALUES (:digest, :facts)"
    " ON CONFLICT (digest) DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class Change:
    """What an owner changes of a data set's terms, and why; ``None`` stays as it is."""

    reason: str
    epsilon: float | None = None
    delta: float | None = None
    schema: Schema | None = None
    most_rows: int | None = None

    def of(self, terms: Terms) -> Terms:
        """Return the terms after the change."""
        digest = terms.schema_digest if self.schema is None else self.schema.digest
        if self.most_rows is not None:
            terms = replace(terms, most_rows=self.most_rows)
        if self.epsilon is None and self.delta is None:
            return replace(terms, schema_digest=digest)
        epsilon = terms.epsilon if self.epsilon is None else self.epsilon
        delta = terms.delta if self.delta is None else self.delta
        budget = budget_amount(terms.accountant, epsilon, delta)
        return replace(
            terms,
            epsilon=float(epsilon),
            delta=float(delta),
            budget=budget,
            schema_digest=digest,
        )


def post_change(connection: Connection, chain: Chain, dataset: str, change: Change) -> Account:
    """Change a data set's terms; the same change again adds no entry."""
    row = lock_account(connection, chain, dataset)
    terms = account_from(row).terms
    changed = change.of(terms)
    if changed != terms:
        check_most_rows(terms.relation, change.most_rows)
        _check_shared(terms, changed)
        _check_unit(connection, terms, change.schema)
        _check_budget(row, changed)
        keep_schema(connection, change.schema)
        _save_change(connection, chain, row, changed, change.reason)
        for member in members_of(connection, dataset):
            _follow(connection, chain, member, changed, change.reason)
    return account_from(row)


def _follow(connection: Connection, chain: Chain, member: str, paid: Terms, reason: str) -> None:
    """Let a member repeat the terms of its population, which is locked."""
    row = lock_account(connection, chain, member)
    _save_change(connection, chain, row, paid_by(paid, account_from(row).terms), reason)


def paid_by(population: Terms, terms: Terms) -> Terms:
    """Return the terms of a data set that draws on a population."""
    return replace(
        terms,
        epsilon=population.epsilon,
        delta=population.delta,
        budget=population.budget,
        population=population.dataset,
    )


def _save_change(connection: Connection, chain: Chain, row: Row, terms: Terms, reason: str) -> None:
    save_terms(connection, row, terms)
    note = json.dumps({"reason": reason, **noted_terms(row)}, sort_keys=True)
    append(connection, chain, row, EntryDraft("change", new_id(), amount=terms.budget, note=note))


def _check_shared(terms: Terms, changed: Terms) -> None:
    """Refuse a budget for one member alone, and a schema for a population."""
    if terms.population is None:
        return
    if terms.population == terms.dataset:
        if (terms.schema_digest, terms.most_rows) != (changed.schema_digest, changed.most_rows):
            raise is_no_dataset(terms.dataset)
    elif (terms.epsilon, terms.delta) != (changed.epsilon, changed.delta):
        raise budget_is_shared(terms.dataset, terms.population)


def _check_unit(connection: Connection, terms: Terms, schema: Schema | None) -> None:
    """Refuse a schema with another unit: what was promised so far was promised to those persons."""
    before = _unit_in(read_facts(connection, terms.schema_digest))
    if schema is not None and _unit_in(schema.facts) != before:
        raise LedgerConflict(
            f"schema must protect the same persons as the registered one of dataset {terms.dataset!r}, "
            "got another person, rows or most. Register the data under another name, with a budget of "
            "its own."
        )


def protects_persons(facts: str | None) -> bool:
    """Say whether the facts of a schema name who a person is."""
    return _unit_in(facts) is not None


def _unit_in(facts: str | None) -> Any:
    return None if facts is None else json.loads(facts).get("person")


def _check_budget(row: Row, terms: Terms) -> None:
    spent = spent_of(row)
    if not spent.fits(terms.budget):
        raise budget_too_small(terms.accountant, terms.dataset, terms.budget, spent)


CHANGEABLE = ("epsilon", "delta", "schema_digest", *LATER)
"""What an entry of a change holds of the terms, besides the budget."""


def noted_terms(row: Row) -> dict[str, Any]:
    """Return what the note of a change says of the terms in a row."""
    return said({name: row[name] for name in CHANGEABLE})


def changed_terms(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the note of a change says of the terms."""
    return {name: note[name] for name in CHANGEABLE if name in note}


def check_same_terms(
    connection: Connection, stored: Terms, given: Terms, schema: Schema | None
) -> None:
    """Raise if the given terms differ from the stored ones, naming the first that does."""
    check_agreed(stored, given)
    check_schema(connection, stored, given.schema_digest, schema)


SHARED = ("relation", "accountant", "epsilon", "delta", "budget")
"""The terms in which all data sets of a population agree."""


def check_agreed(stored: Terms, given: Terms, only: Collection[str] = ()) -> None:
    """Raise if terms other than the schema differ, or one of ``only``."""
    before, after = _plain_terms(stored), _plain_terms(given)
    for name in only or before:
        if after[name] != before[name]:
            shared = stored.population is not None and name in SHARED
            owner = f"population {stored.population!r}" if shared else f"dataset {stored.dataset!r}"
            raise differing_term(owner, name, before[name], after[name])


def check_schema(
    connection: Connection, stored: Terms, digest: str, schema: Schema | None, *, since: bool = False
) -> None:
    """Raise if a schema is not the registered one, and say what differs if that is known.

    Args:
        connection: Where the facts of schemas are.
        stored: The terms as they are now.
        digest: Of the schema that is used.
        schema: The schema that is used, if the caller has it.
        since: Whether it was the registered one when it was opened.
    """
    if stored.schema_digest == digest:
        return
    facts = read_facts(connection, stored.schema_digest)
    used = schema.facts if schema is not None else read_facts(connection, digest)
    told = (
        f"its digest is {digest} where {stored.schema_digest} is registered"
        if facts is None or used is None
        else tell_differences(json.loads(facts), json.loads(used))
    )
    raise other_schema(stored.dataset, told, since=since)


def keep_schema(connection: Connection, schema: Schema | None) -> None:
    """Store the facts of a schema under their digest."""
    if schema is not None:
        connection.execute(_KEEP_SCHEMA, {"digest": schema.digest, "facts": schema.facts})


def read_facts(connection: Connection, digest: str) -> str | None:
    """Return the facts of a schema, if they were kept and are those of the digest."""
    found = connection.execute(select(schemas.c.facts).where(schemas.c.digest == digest)).scalar()
    return found if isinstance(found, str) and _digest(found) == digest else None


def edited_schemas(connection: Connection) -> Iterator[str]:
    """Yield the digests of schemas whose facts are no longer theirs."""
    for digest, facts in connection.execute(select(schemas.c.digest, schemas.c.facts)):
        if not isinstance(facts, str) or _digest(facts) != digest:
            yield str(digest)


def _digest(facts: str) -> str:
    return hashlib.sha256(facts.encode()).hexdigest()


def _plain_terms(terms: Terms) -> dict[str, str]:
    return {
        "relation": str(terms.relation),
        "accountant": terms.accountant,
        "epsilon": repr(float(terms.epsilon)),
        "delta": repr(float(terms.delta)),
        "budget": spell(terms.accountant, terms.budget),
        "most_rows": str(terms.rows_cap),
        "population": "none" if terms.population is None else repr(terms.population),
    }
