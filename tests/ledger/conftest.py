from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from discreet.ledger import Ledger
from tests.ledger.backends import Backend, make_terms
from tests.ledger.server import find_binaries, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The socket folder of a PostgreSQL server that ends with the session."""
    binaries = find_binaries()
    if binaries is None:
        reason = "PostgreSQL's initdb was not found; install the server to run these tests."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with running_server(binaries) as socket_folder:
        yield socket_folder


@pytest.fixture(scope="session")
def new_database(server: str) -> Callable[[], str]:
    """A function that makes an empty database and returns its address."""
    numbers = itertools.count()

    def make() -> str:
        name = f"test_{next(numbers)}"
        address = f"postgresql://postgres@/postgres?host={server}"
        with closing(psycopg.connect(address, autocommit=True)) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={server}"

    return make


@pytest.fixture
def sqlite_backend(tmp_path: Path) -> Backend:
    return Backend("sqlite", str(tmp_path / "ledger.db"), tmp_path / "ledger.db.key")


@pytest.fixture
def server_backend(tmp_path: Path, new_database: Callable[[], str]) -> Backend:
    return Backend("postgresql", new_database(), tmp_path / "server.key")


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> Backend:
    name = "sqlite_backend" if request.param == "sqlite" else "server_backend"
    found: Backend = request.getfixturevalue(name)
    return found


@pytest.fixture
def ledger(backend: Backend) -> Iterator[Ledger]:
    """A ledger that knows the data set 'adult': epsilon 3, delta 1e-6."""
    with backend.open() as opened:
        opened.register(make_terms())
        yield opened
