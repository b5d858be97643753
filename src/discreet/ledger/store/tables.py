"""The tables as this version reads and writes them; ``migrations`` creates them. Ids are random."""

from __future__ import annotations

import base64
import secrets

from sqlalchemy import BigInteger, Column, Double, Integer, MetaData, Table, Text


def new_id() -> str:
    """Return an id that no other ledger has: 80 random bits in 16 letters and digits.

    Short on purpose: an id is in four tables and indexes, and each charge writes them to the journal.
    """
    return base64.b32encode(secrets.token_bytes(10)).decode().lower()


metadata = MetaData()

migrations = Table(
    "discreet_migrations",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("applied", Text, nullable=False),
)

keys = Table("discreet_keys", metadata, Column("mark", Text, primary_key=True))

identity = Table("discreet_identity", metadata, Column("id", Text, primary_key=True))

schemas = Table(
    "discreet_schemas",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("facts", Text, nullable=False),
)

datasets = Table(
    "discreet_datasets",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("relation", Text, nullable=False),
    Column("accountant", Text, nullable=False),
    Column("epsilon", Double, nullable=False),
    Column("delta", Double, nullable=False),
    Column("schema_digest", Text, nullable=False),
    Column("budget_loss", BigInteger, nullable=False),
    Column("budget_delta", BigInteger, nullable=False),
    Column("spent_loss", BigInteger, nullable=False),
    Column("spent_delta", BigInteger, nullable=False),
    Column("created", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("most_rows", BigInteger),
    Column("population", Text),
)

entries = Table(
    "discreet_entries",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("analyst", Text),
    Column("loss", BigInteger, nullable=False),
    Column("delta", BigInteger, nullable=False),
    Column("plan_key", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("body_digest", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("digest", Text, nullable=False),
)

releases = Table(
    "discreet_releases",
    metadata,
    Column("reservation", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
    Column("plan_key", Text, nullable=False),
    Column("body", Text, nullable=False),
)

analysts = Table(
    "discreet_analysts",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("analyst", Text, primary_key=True),
    Column("budget_loss", BigInteger),
    Column("budget_delta", BigInteger),
    Column("spent_loss", BigInteger, nullable=False),
    Column("spent_delta", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
)
