"""What everybody may see: signatures that need no secret, and books that are read without the key."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg
import pytest

from discreet import Number, Schema
from discreet.errors import LedgerUnavailable
from discreet.ledger import Ledger, Signature
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms

SCHEMA = Schema({"age": Number(18, 90)})
BODY = '{"value": "for one owner alone"}'


def test_a_signature_is_checked_with_the_public_key_alone(ledger: Ledger, backend: Backend) -> None:
    signature = ledger.sign({"a": 1, "b": [2.5, "é"]})
    assert signature.is_of({"b": [2.5, "é"], "a": 1})
    assert not signature.is_of({"a": 2, "b": [2.5, "é"]})
    assert not Signature("00" * 32, signature.value).is_of({"a": 1, "b": [2.5, "é"]})
    assert not Signature("zz", "zz").is_of({})
    with backend.open(create=False) as again:
        assert again.sign({}).public_key == signature.public_key
    assert backend.key.read_text().strip() != signature.public_key


@pytest.fixture
def filled(backend: Backend) -> Backend:
    with backend.open() as ledger:
        ledger.register(make_terms(schema_digest=SCHEMA.digest), SCHEMA)
        held = ledger.reserve("adult", Amount.charge(0.5), plan_key="p", note={"plan": "x"})
        ledger.settle(held, version="1", body=BODY)
    return backend


def check_shown(ledger: Ledger) -> None:
    """Balances and history are there, bodies are not, and nothing can be done."""
    assert ledger.datasets() == ["adult"] and ledger.schema("adult") == SCHEMA
    assert ledger.balance("adult").spent == Amount.charge(0.5)
    history = ledger.history("adult")
    assert [entry.kind for entry in history] == ["register", "reserve", "settle"]
    assert BODY not in repr([entry.to_json() for entry in history])
    refused: list[Any] = [
        lambda: ledger.find_release("adult", version="1", plan_key="p"),
        lambda: ledger.reserve("adult", Amount.charge(0.1), plan_key="q", note={}),
        lambda: ledger.change_terms("adult", epsilon=9.0, reason="more"),
        lambda: ledger.sign({}),
        lambda: ledger.verify(),
    ]
    for call in refused:
        with pytest.raises(LedgerUnavailable, match="was opened to be read, without its key"):
            call()


def test_a_ledger_is_read_without_its_key(filled: Backend) -> None:
    filled.key.rename(filled.key.with_name("elsewhere"))
    with Ledger.open(filled.where, read_only=True) as ledger:
        check_shown(ledger)


def test_the_key_is_not_used_although_it_is_there(filled: Backend) -> None:
    with Ledger.open(filled.where, read_only=True) as ledger:
        check_shown(ledger)


def test_a_reader_of_a_server_needs_no_right_to_bodies(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms(schema_digest=SCHEMA.digest), SCHEMA)
        held = ledger.reserve("adult", Amount.charge(0.5), plan_key="p", note={"plan": "x"})
        ledger.settle(held, version="1", body=BODY)
    names = ("migrations", "identity", "datasets", "entries", "analysts", "schemas")
    tables = ", ".join(f"discreet_{name}" for name in names)
    with closing(psycopg.connect(server_backend.where, autocommit=True)) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"GRANT SELECT ON {tables} TO reader")
    try:
        where = server_backend.where.replace("postgres@", "reader@")
        with Ledger.open(where, read_only=True) as ledger:
            check_shown(ledger)
        denied = pytest.raises(psycopg.errors.InsufficientPrivilege)
        with closing(psycopg.connect(where)) as connection, denied:
            connection.execute("SELECT body FROM discreet_releases")
    finally:
        with closing(psycopg.connect(server_backend.where, autocommit=True)) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


def test_there_must_be_a_ledger_to_read(backend: Backend) -> None:
    with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
        Ledger.open(backend.where, read_only=True)
