"""Models of third parties behind the service: shown, trusted, run apart; no row decides a status."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.cards.models import ModelFile
from discreet.data import add_up
from discreet.models.apart import Limits
from discreet.samples import loan_schema
from discreet.service.asked.opening import try_upload
from discreet.service.settings import ModelEntry
from tests.models.apart.mischief import MARK, NAME, Mischief

from .conftest import World, open_world, plan

EVALUATED = plan("evaluate", model="odd", epsilon=0.5)


def sent(path: Path, **options: Any) -> dict[str, Any]:
    content = base64.b64encode(path.read_bytes()).decode()
    return {"name": "odd", "file": {"name": path.name, "content": content}, **options}


def saved(folder: Path, act: str, **options: Any) -> Path:
    from skops.io import dump

    path = folder / "odd.skops"
    dump(Mischief(act, **options).fit(), path)
    return path


@pytest.fixture
def marked(tmp_path: Path) -> Iterator[World]:
    """A service over loans of which one has the marked income."""
    world = open_world(tmp_path, epsilon=20.0)
    frame = pd.read_csv(tmp_path / "loans.csv").head(40)
    frame.loc[7, "income"] = MARK
    frame.to_csv(tmp_path / "marked.csv", index=False)
    new: dict[str, Any] = {"dataset": "marked", "data": "marked.csv", "epsilon": 20.0, "delta": 1e-4}
    new |= {"schema": loan_schema().to_json()}
    made = world.client("owner").post("/v1/datasets", json=new)
    yield world
    world.close()
    assert made.status_code == 201, made.text


def upload(world: World, path: Path, **options: Any) -> Any:
    return world.client("owner").post("/v1/models", json=sent(path, **options), timeout=300)


def release(world: World) -> Any:
    body = {"plans": [EVALUATED], "fresh": True}
    found = world.client("owner").post("/v1/datasets/marked/releases", json=body, timeout=600)
    while found.status_code == 202:
        place = f"/v1/jobs/{found.json()['job']['id']}?wait=10"
        found = world.client("owner").get(place)
    return found


def test_types_are_shown_then_trusted(marked: World, tmp_path: Path) -> None:
    path = saved(tmp_path, "default")
    refused = upload(marked, path)
    assert refused.status_code == 422 and NAME in refused.json()["error"]["message"]
    assert upload(marked, path, trust=["tests.Other"]).status_code == 422
    assert "odd" not in marked.office.models.entries()
    kept = upload(marked, path, trust=[NAME])
    assert kept.status_code == 201, kept.text
    assert kept.json()["trust"] == [NAME] and NAME in kept.json()["types"]
    assert kept.json()["process"] == "its own"
    assert release(marked).status_code == 200


@pytest.mark.slow
def test_a_reader_that_crashes_is_refused_and_the_service_stays(marked: World, tmp_path: Path) -> None:
    found = upload(marked, saved(tmp_path, "crash when read"), trust=[NAME])
    assert found.status_code == 422 and "the reader crashed" in found.json()["error"]["message"]
    assert "odd" not in marked.office.models.entries()
    assert marked.client("ann").get("/v1/health").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("act", ["crash", "sleep", "eat", "call_home"])
def test_a_row_decides_nothing_but_its_own_part(
    marked: World, tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums: list[Any] = []

    def kept(*given: Any, **options: Any) -> Any:
        sums.append(add_up(*given, **options))
        return sums[-1]

    monkeypatch.setattr("discreet.session.releaser.add_up", kept)
    pid = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as server:
        for chosen in ("default", act):
            path = saved(tmp_path, chosen, port=server.getsockname()[1])
            made = upload(marked, path, trust=[NAME])
            assert made.status_code == 201, made.text
            if chosen == "call_home" and not made.json()["network_closed"]:
                pytest.skip("the kernel lets no process leave the network here")
            found = release(marked)
            assert found.status_code == 200, found.text
            assert found.json()["job"]["state"] == "done"
            assert marked.client("owner").delete("/v1/models/odd").status_code == 200
        server.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            server.accept()
    quiet, odd = sums
    for first, second in zip(quiet, odd, strict=True):
        np.testing.assert_array_equal(first, second)
    assert os.getpid() == pid and marked.client("ann").get("/v1/health").status_code == 200


@pytest.mark.slow
def test_files_of_the_project_need_trust_too(tmp_path: Path) -> None:
    from .conftest import write_project

    project = write_project(tmp_path)
    saved(tmp_path, "default")
    written = project.read_text()
    for trust, status in (("", 422), (f'trust = ["{NAME}"]\n', 200)):
        project.write_text(f'{written}\n[service.models.odd]\nfile = "odd.skops"\n{trust}')
        from discreet.service import make_app

        from .conftest import Server

        app = make_app(project)
        key = app.state.office.keys.new("analyst", analyst="ann")[0]
        world = World(tmp_path, app, {"ann": key}, Server(app))
        body = {"plans": [EVALUATED]}
        found = world.client("ann").post("/v1/datasets/loans/price", json=body, timeout=300)
        assert found.status_code == status, found.text
        assert status == 200 or NAME in found.json()["error"]["message"]
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize(("booster", "process"), [("gbtree", "the service's"), ("dart", "its own")])
def test_boosters_that_our_engines_do_not_know_run_apart(
    tmp_path: Path, booster: str, process: str
) -> None:
    import xgboost

    rows = np.random.default_rng(1).uniform(size=(50, 2))
    made = xgboost.XGBClassifier(n_estimators=3, booster=booster).fit(rows, rows[:, 0] > 0.5)
    made.save_model(tmp_path / "model.ubj")
    file = ModelFile("model.ubj", (tmp_path / "model.ubj").read_bytes())
    told = try_upload(file, ModelEntry("model.ubj"), Limits())
    assert told["process"] == process and told["types"] == ["XGBoost"] and told["trust"] == []


@pytest.mark.parametrize("name", ["a\x00b.skops", "a" * 300 + ".skops", "..", "", "../../up.skops"])
def test_of_a_files_name_only_its_ending_counts(make_world: Callable[..., World], name: str) -> None:
    world = make_world()
    file = sent(world.folder / "risk.skops")["file"] | {"name": name}
    told = world.client("owner").post("/v1/models", json={"name": "risk-2", "file": file})
    assert told.status_code == 201, told.text
    assert (
        world.client("ann")
        .post(
            "/v1/datasets/loans/price",
            json={"plans": [plan("partial_dependence", model="risk-2", features="age", epsilon=0.1)]},
        )
        .is_success
    )


def test_a_model_that_is_refused_tells_no_place_on_the_machine(
    make_world: Callable[..., World],
) -> None:
    world = make_world()
    for name, content in (("old.pkl", b"x"), ("none.skops", b"no archive"), ("none.txt", b"no tree")):
        file = {"name": name, "content": base64.b64encode(content).decode()}
        told = world.client("owner").post("/v1/models", json={"name": "odd", "file": file})
        assert told.status_code == 422 and "/" not in told.json()["error"]["message"], told.text
    (world.folder / "risk.skops").write_bytes(b"no archive")
    world.office.models.close()  # so that the file is read again
    told = world.client("ann").get("/v1/models")
    assert told.status_code == 200 and "risk.skops" in told.text, told.text
    assert str(world.folder) not in told.text
    assert world.client("ann").get("/v1/datasets/loans").json()["models"] == {}
