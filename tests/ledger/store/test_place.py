from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ArgumentError
from discreet.ledger import Ledger
from discreet.ledger.store.place import find_place
from tests.ledger.backends import Backend, make_terms


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("postgresql://ann:secret@db:5432/p", "postgresql://db:5432/p"),
        ("postgres://ann:secret@db/p", "postgresql://db/p"),
        ("postgresql+psycopg://ann:secret@db/p", "postgresql://db/p"),
        ("postgresql://ann@/p?host=/run&password=secret", "postgresql:///run/p"),
        ("postgresql://db", "postgresql://db/"),
    ],
)
def test_a_server_is_named_without_its_password(where: str, name: str) -> None:
    place = find_place(where)
    assert place.name == name
    assert place.url.drivername == "postgresql+psycopg"
    assert (place.is_server, place.is_memory, place.path) == (True, False, None)
    assert "secret" not in place.name


@pytest.mark.parametrize("where", [":memory:", Path(":memory:"), "sqlite://", "sqlite:///:memory:"])
def test_memory(where: str | Path) -> None:
    place = find_place(where)
    assert (place.is_memory, place.is_server, place.name) == (True, False, ":memory:")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path.resolve() / "a b?.db"
    for where in (path, "a b?.db", "~/a b?.db", "file:a%20b%3F.db?mode=rw"):
        place = find_place(where)
        assert (place.path, place.name) == (path, str(path))
        assert not (place.is_memory or place.is_server)
    assert find_place("sqlite:///a.db").path == tmp_path.resolve() / "a.db"


def test_a_ledger_stays_where_it_was_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.open("a b?.db") as ledger:
        ledger._connections.put_away()
        monkeypatch.chdir("/")
        assert ledger.datasets() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a b?.db", "a b?.db.key"]


@pytest.mark.parametrize(
    "where",
    [
        "",
        None,
        5,
        "mysql://ann:secret@db/p",
        "sqlite:///a.db?mode=ro",
        "file::memory:",
        "file:a.db?mode=memory",
        "://secret",
        "postgresql://ann:secret@db:port/p",
    ],
)
def test_other_places_are_refused_without_repeating_a_password(where: Any) -> None:
    with pytest.raises(ArgumentError, match="where must be a file path, ':memory:' or") as caught:
        find_place(where)
    assert "secret" not in str(caught.value)


def test_a_service_file_names_the_server(
    server_backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = find_place(server_backend.where).url
    service = tmp_path / "services"
    service.write_text(
        f"[privacy]\nhost={address.query['host']}\ndbname={address.database}\nuser={address.username}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    with Ledger.open("postgresql://?service=privacy", key=server_backend.key) as ledger:
        ledger.register(make_terms())
    with server_backend.open() as ledger:
        assert ledger.datasets() == ["adult"]
