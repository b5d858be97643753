"""Registering data sets: names stay inside the folder, several at once lose nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from discreet.samples import loan_schema
from discreet.service import make_app
from discreet.session.project import Project

from .conftest import Server, World


def asked(name: str, **changes: Any) -> dict[str, Any]:
    told = {"dataset": name, "data": "loans.csv", "schema": loan_schema().to_json(), "epsilon": 1.0}
    return {**told, **changes}


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", ".hidden", "a\\b", "a" * 65, "", " ", "é"])
def test_a_name_that_is_no_files_is_refused_before_anything_happens(world: World, name: str) -> None:
    before = sorted(world.folder.rglob("*")) + sorted(world.folder.parent.iterdir())
    told = world.client("owner").post("/v1/datasets", json=asked(name))
    assert told.status_code == 422 and "dataset must be" in told.text, told.text
    assert str(world.folder) not in told.text
    assert sorted(world.folder.rglob("*")) + sorted(world.folder.parent.iterdir()) == before
    assert world.office.desks.ledger("loans").datasets() == ["loans"]


def test_an_error_tells_no_place_on_the_machine(world: World) -> None:
    (world.folder / "broken.csv").write_text("no,such,columns\n1,2,3\n")
    (world.folder / "broken.parquet").write_text("no table")
    for data in ("broken.csv", "broken.parquet"):
        told = world.client("owner").post("/v1/datasets", json=asked("two", data=data))
        assert told.status_code == 422 and str(world.folder) not in told.text, told.text
        assert not (world.folder / "two.schema.toml").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", "loans\x00.csv"),
        ("data", "a" * 499),
        ("data", "/etc/hostname"),
        ("data", "linked.csv"),
        ("version", "1\x00"),
        ("version", '1"\n[service]\nstore = "other.db'),
    ],
)
def test_a_path_or_a_version_that_is_none_gets_a_sentence(world: World, field: str, value: str) -> None:
    (world.folder / "linked.csv").symlink_to("/etc/hostname")
    before = (world.folder / "discreet.toml").read_bytes()
    told = world.client("owner").post("/v1/datasets", json=asked("two", **{field: value}))
    assert told.status_code == 422 and f"{field} must be" in told.text, told.text
    assert (world.folder / "discreet.toml").read_bytes() == before
    assert world.office.desks.ledger("loans").datasets() == ["loans"]


def test_two_workers_that_register_at_once_lose_nothing(world: World) -> None:
    other = World(
        world.folder, app := make_app(world.folder / "discreet.toml"), world.keys, Server(app)
    )
    workers = [world.client("owner"), other.client("owner")]

    def register(number: int) -> int:
        return workers[number % 2].post("/v1/datasets", json=asked(f"new-{number}")).status_code

    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(register, range(6))) == [201] * 6
        twice = workers[1].post("/v1/datasets", json=asked("new-0"))
        assert twice.status_code == 409
    finally:
        other.close()
    known = Project.load(world.folder / "discreet.toml")
    assert set(known.entries) == {"loans", *(f"new-{number}" for number in range(6))}
    assert known.service["store"] == "service.db"
