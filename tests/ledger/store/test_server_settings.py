"""A PostgreSQL server set up in another way than ours: isolation, time limits, rights."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import LedgerUnavailable
from discreet.ledger import Ledger
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms


def set_default(backend: Backend, setting: str) -> None:
    (name,) = backend.rows("SELECT current_database()")[0]
    backend.execute(f"ALTER DATABASE {name} SET {setting}")


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_every_reservation_is_settled_whatever_isolation_the_server_prefers(
    server_backend: Backend, level: str
) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
    set_default(server_backend, f"default_transaction_isolation = '{level}'")
    failures: list[Exception] = []
    together = threading.Barrier(4)

    def work() -> None:
        with server_backend.open() as own:
            together.wait()
            for _ in range(6):
                try:
                    held = own.reserve("adult", Amount(1), plan_key="k", note={})
                    own.settle(held, version="1", body="{}")
                except LedgerUnavailable as error:
                    failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with server_backend.open() as ledger:
        assert failures == []
        assert [e.settled for e in ledger.history("adult") if e.kind == "reserve"] == [True] * 24
        assert ledger.verify().problems == []


def fail_next_insert(backend: Backend, table: str, state: str) -> None:
    """Let the next row fail, once; a sequence counts, since it is never rolled back."""
    backend.execute(
        "CREATE SEQUENCE tries",
        "CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN IF nextval('tries') = 1 THEN"
        f" RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$ LANGUAGE plpgsql",
        f"CREATE TRIGGER fail BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fail()",
    )


@pytest.mark.parametrize("state", ["40001", "40P01", "57014", "25P04"])
def test_no_backup_is_advised_for_what_passes_by_itself(server_backend: Backend, state: str) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
        fail_next_insert(server_backend, "discreet_entries", state)
        with pytest.raises(LedgerUnavailable) as caught:
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
        assert "backup" not in str(caught.value)
        assert "Try again" in str(caught.value)
        ledger.reserve("adult", Amount(1), plan_key="k", note={})
        assert ledger.balance("adult").spent == Amount(1)


def test_a_statement_timeout_is_named(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        ledger.register(make_terms())
    set_default(server_backend, "statement_timeout = '1500ms'")
    with server_backend.open() as ledger, closing(server_backend.connect()) as holder:
        holder.execute("BEGIN; SELECT * FROM discreet_datasets FOR UPDATE")
        with pytest.raises(LedgerUnavailable, match="longer than the server allows") as caught:
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
        assert "statement_timeout" in str(caught.value) and "backup" not in str(caught.value)
        holder.execute("ROLLBACK")


RIGHTS = {
    "may not add releases": "REVOKE INSERT ON discreet_releases FROM clerk",
    "may not read entries": "REVOKE SELECT ON discreet_entries FROM clerk",
    "may add releases of other data sets only": (
        "ALTER TABLE discreet_releases ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY others ON discreet_releases FOR INSERT WITH CHECK (dataset <> 'adult')"
    ),
}


@pytest.fixture
def clerk(server_backend: Backend) -> Callable[[str], Ledger]:
    """A user with all rights but those that a statement takes."""
    with server_backend.open() as ledger:
        ledger.register(make_terms())
    tables = "ALL TABLES IN SCHEMA public"
    server_backend.execute(
        "DO $$ BEGIN CREATE ROLE clerk LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        f"GRANT SELECT, INSERT, UPDATE ON {tables} TO clerk",
    )
    user = Backend("postgresql", server_backend.where.replace("postgres@", "clerk@"), Path("x"))

    def open_without(statement: str) -> Ledger:
        server_backend.execute(statement)
        return user.open(key=server_backend.key)

    return open_without


def test_a_user_with_all_rights_reserves_and_settles(clerk: Callable[[str], Ledger]) -> None:
    with clerk("SELECT 1") as ledger:
        held = ledger.reserve("adult", Amount(1), plan_key="k", note={})
        ledger.settle(held, version="1", body="{}")
        assert ledger.verify().problems == []


@pytest.mark.parametrize("case", RIGHTS)
def test_who_may_not_store_a_release_does_not_pay_for_it(
    clerk: Callable[[str], Ledger], server_backend: Backend, case: str
) -> None:
    with clerk(RIGHTS[case]) as ledger, pytest.raises(LedgerUnavailable, match="refuses access"):
        ledger.reserve("adult", Amount(1), plan_key="k", note={})
    with server_backend.open() as ledger:
        assert ledger.balance("adult").spent == Amount()
