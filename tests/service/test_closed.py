"""Data sets that cannot be opened, and project files that cannot be read: the rest goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.ledger import Ledger
from discreet.samples import loan_schema, loans
from discreet.service import make_app
from discreet.service.asked import desks
from discreet.service.asked.desks import Desks
from discreet.session import Session
from tests.client.conftest import connected
from tests.service.conftest import Server, World, plan, write_project
from tests.service.test_lost import spent

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)
FEW = '[few]\ndata = "few.csv"\nschema = "loans.toml"\nledger = "few.db"\n\n'


def add_few(folder: Path, rows: str | None = None, **terms: Any) -> None:
    """Protect fewer loans beside the others, in a ledger of their own."""
    loans(40, seed=5).to_csv(folder / "few.csv", index=False)
    dc.protect(
        folder / "few.csv",
        loan_schema(),
        dataset="few",
        ledger=folder / "few.db",
        **{"epsilon": 5.0, "delta": 1e-4, **terms},
    )
    project = folder / "discreet.toml"
    project.write_text(project.read_text().replace("[service]", f"{FEW}[service]"))


def serve(folder: Path) -> World:
    app = make_app(folder / "discreet.toml")
    ring = app.state.office.keys
    keys = {"owner": ring.new("owner")[0], "auditor": ring.new("auditor")[0]}
    keys |= {name: ring.new("analyst", analyst=name)[0] for name in ("ann", "bob")}
    return World(folder, app, keys, Server(app))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Return what serves a project with two data sets, again if asked again."""
    write_project(tmp_path)
    add_few(tmp_path)
    made: list[World] = []

    def go() -> World:
        made.append(serve(tmp_path))
        return made[-1]

    yield go
    for world in made:
        world.close()


def listed(world: World, who: str = "ann") -> dict[str, Any]:
    return {one["dataset"]: one for one in world.client(who).get("/v1/datasets").json()}


SPOILT: dict[str, Callable[[Path], Any]] = {
    "no table": lambda folder: (folder / "few.csv").unlink(),
    "another schema": lambda folder: (folder / "few.csv").write_text("a,b\n1,2\n"),
    "other rows": lambda folder: loans(41, seed=5).to_csv(folder / "few.csv", index=False),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_data_set_that_cannot_be_opened_is_told_and_stops_nothing_else(
    start: Callable[[], World], spoil: Callable[[Path], Any]
) -> None:
    before = start()
    asked = before.client("ann").post("/v1/datasets/few/releases", json={"plans": [AGES]})
    id_ = asked.json()["releases"][0]["id"]
    spoil(before.folder)
    world = start()
    for who in ("ann", "owner", "auditor"):
        found = listed(world, who)
        assert set(found["few"]) == {"dataset", "reason"} and found["loans"]["rows"] == 400
        assert "data must" in found["few"]["reason"]
        assert str(world.folder) not in found["few"]["reason"]
    refused = world.client("ann").post("/v1/datasets/few/releases", json={"plans": [AGES]})
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == listed(world)["few"]["reason"]
    assert world.ask("ann", AGES).status_code == 200
    models = world.client("ann").get("/v1/models").json()
    assert [one["datasets"] for one in models] == [["loans"]]
    place = "/v1/datasets/few/releases"
    for path in ("", f"/{id_}", f"/{id_}/picture.svg", f"/{id_}/table.csv", f"/{id_}/page"):
        assert world.client("bob").get(place + path).status_code == 200, "released is released"
    assert len(world.client("owner").get("/v1/datasets/few/history").json()) == 3
    assert world.client("auditor").get("/v1/datasets/few/verification").json()["ok"]


def test_a_client_knows_data_sets_that_cannot_be_opened(start: Callable[[], World]) -> None:
    SPOILT["no table"](start().folder)
    server, _ = connected(start())
    frame = server.datasets().set_index("dataset")
    assert frame.loc["loans", "remaining"] == 10.0 and pd.isna(frame.loc["loans", "reason"])
    assert "existing file" in frame.loc["few", "reason"] and frame.loc["few", "models"] == ""
    assert server.model("risk").name == "risk"


def test_the_owner_reads_at_the_start_which_data_set_cannot_be_asked(
    start: Callable[[], World], caplog: pytest.LogCaptureFixture
) -> None:
    SPOILT["no table"](start().folder)
    world = start()
    world.office.warm()
    (line,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert line.startswith("Data set few cannot be asked: data must be an existing file")


HEADER = ",".join(loans(1, seed=1).columns)
STRANGE = {
    "none": "",
    "one": "1,2,3,4,5,6,7,8,9\n",
    "words": "x,y,z,u,v,w,r,s,t\n" * 50,
    "lines of another length": "1,2\n" + "1," * 40 + "\n",
    "no UTF-8": "\udcff,\udcfe,,,,,,,\n",
    "no UTF-8, of another length": "\udcff\n" * 3,
}


@pytest.mark.parametrize("rows", STRANGE.values(), ids=STRANGE)
def test_no_row_decides_whether_a_data_set_is_open(
    tmp_path: Path, start: Callable[[], World], rows: str
) -> None:
    """Where the number of rows is private, not even that there are none is told."""
    project = tmp_path / "discreet.toml"
    project.write_text(project.read_text().replace("few", "none"))
    loans(40, seed=5).to_csv(tmp_path / "none.csv", index=False)
    dc.protect(
        tmp_path / "none.csv",
        loan_schema(),
        dataset="none",
        ledger=tmp_path / "none.db",
        epsilon=1.0,
        relation="add-remove",
    )
    usual = listed(start())["none"]
    (tmp_path / "none.csv").write_bytes(f"{HEADER}\n{rows}".encode(errors="surrogateescape"))
    assert listed(start())["none"] == usual and "reason" not in usual


def test_others_are_asked_while_a_data_set_is_opened(
    start: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, begun, go_on = start(), threading.Event(), threading.Event()

    def slow(*given: Any, **options: Any) -> Session:
        if options["dataset"] == "few":
            begun.set()
            go_on.wait(60)
        return dc.protect(*given, **options)

    monkeypatch.setattr(desks, "protect", slow)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(world.client("bob").get, "/v1/datasets/few")
        assert begun.wait(60)
        assert world.ask("ann", AGES).status_code == 200
        assert world.client("ann").get("/v1/datasets/few/releases").json() == [], "its ledger is open"
        assert not waiting.done()
        go_on.set()
        assert waiting.result().status_code == 200


def test_all_who_wait_are_told_of_one_failure(
    start: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is away is knocked at once, and not for seconds by everybody in turn."""
    office, go_on, tried = start().office, threading.Event(), []

    def away(*_: Any, **options: Any) -> Session:
        tried.append(options["dataset"])
        go_on.wait(60)
        raise dc.errors.DataRefused("data must be there.", rule="file")

    monkeypatch.setattr(desks, "protect", away)

    def ask(_: int) -> str:
        with pytest.raises(dc.errors.DataRefused) as told:
            office.desks.owner("few")
        return str(told.value)

    with ThreadPoolExecutor(8) as pool:
        all_ = [pool.submit(ask, place) for place in range(8)]
        time.sleep(0.3)
        go_on.set()
        assert {one.result() for one in all_} == {"data must be there."}
    assert tried == ["few"]
    ask(0)
    assert tried == ["few"] * 2, "who comes later tries again"


def test_rows_are_asked_under_the_ledger_of_their_own_entry(
    start: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner moves a data set while a question is on its way to it."""
    world, open_ = start(), Ledger.open
    project = world.folder / "discreet.toml"
    text = project.read_text()
    loans(30, seed=6).to_csv(world.folder / "new.csv", index=False)
    dc.protect(
        world.folder / "new.csv",
        loan_schema(),
        dataset="few",
        ledger=world.folder / "new.db",
        epsilon=5.0,
        delta=1e-4,
    )

    def moved_meanwhile(where: Any, **options: Any) -> Ledger:
        found = open_(where, **options)
        project.write_text(text.replace("few.csv", "new.csv").replace("few.db", "new.db"))
        return found

    with monkeypatch.context() as moving:
        moving.setattr(Ledger, "open", moved_meanwhile)
        first = world.office.desks.owner("few")
    assert first.facts().setting.rows == 40, "the entry that was there when it was asked"
    second = world.office.desks.owner("few")
    assert second.facts().setting.rows == 30
    assert world.office.desks.ledger("few").find_state("few", "1")["records"] == 30


def test_a_data_set_that_is_taken_out_meanwhile_is_no_fault(
    start: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, open_ = start(), Ledger.open
    project = world.folder / "discreet.toml"

    def gone_meanwhile(where: Any, **options: Any) -> Ledger:
        project.write_text(project.read_text().replace(FEW, ""))
        return open_(where, **options)

    monkeypatch.setattr(Ledger, "open", gone_meanwhile)
    assert world.office.desks.owner("few").facts().setting.rows == 40, "as it was when it was asked"
    assert world.client("ann").get("/v1/datasets/few").status_code == 404


BROKEN = {
    "no TOML": "[loans\n",
    "a number": '[loans]\ndata = 3\nschema = "loans.toml"\nledger = "ledger.db"\n',
    "no table": "loans = 3\n",
    "more than it has": '[loans]\nrows = "all"\n',
    "gone": None,
    "empty": "",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_project_file_that_cannot_be_read_ends_nothing_and_charges_nothing(
    world: World, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    project, session = world.folder / "discreet.toml", world.office.desks.owner("loans")
    good = project.read_text()
    project.unlink() if text is None else project.write_text(text)
    for _ in range(2):
        for path in ("/v1/datasets", "/v1/datasets/loans", "/v1/models"):
            told = world.client("ann").get(path)
            assert (told.status_code, told.json()["error"]["code"]) == (503, "ledger-unavailable")
            assert "project file cannot be read" in told.text and str(world.folder) not in told.text
        assert world.ask("ann", AGES).status_code == 503
        assert world.client("ann").get("/v1/health").status_code == 200
    lines = [one for one in caplog.records if "The project file cannot be read" in one.getMessage()]
    assert len(lines) == 1, "the owner reads it once"
    project.write_text(good)
    assert spent(world) == "0" and world.ask("ann", AGES).status_code == 200
    assert world.office.desks.owner("loans") is session, "what did not change stays open"


def test_a_project_that_never_had_a_file_has_no_data_sets(tmp_path: Path) -> None:
    found = Desks(tmp_path / "discreet.toml")
    assert found.project.entries == {} and found.project.entries == {}


@pytest.mark.parametrize("place", ["route", "job"])
def test_no_error_tells_where_the_project_is(
    world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise dc.errors.DataRefused(f"data must be there, got {world.folder}/loans.csv.", rule="file")

    with monkeypatch.context() as closing:
        closing.setattr(*{"route": (Desks, "seat"), "job": (Session, "release")}[place], refuse)
        told = world.ask("ann", AGES)
    assert told.status_code == 422
    assert told.json()["error"]["message"] == "data must be there, got loans.csv."
    jobs = world.client("ann").get("/v1/jobs")
    assert str(world.folder) not in jobs.text and len(jobs.json()) == (place == "job")


def test_a_name_that_no_address_has_is_told_and_not_called_missing(
    start: Callable[[], World], tmp_path: Path
) -> None:
    project = tmp_path / "discreet.toml"
    project.write_text(project.read_text().replace("[few]", '["few/er"]'))
    world = start()
    for who in ("owner", "auditor"):
        assert "must be named without a slash" in listed(world, who)["few/er"]["reason"]
    assert world.ask("ann", AGES).status_code == 200
