"""What breaks inside tells nobody of a row, is counted, and leaves every header where it was."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.service.asked.models import Models
from discreet.service.guards import DEEPEST, HEADERS, _depth
from discreet.service.settings import ModelEntry

from .conftest import World, plan

SECRET = "row 41235"


def broken(*_: Any) -> Any:
    raise RuntimeError(SECRET)


def test_a_fault_inside_is_one_sentence_with_all_headers(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    with monkeypatch.context() as breaking:
        breaking.setattr(Models, "entries", broken)
        told = world.client("ann").get("/v1/models")
    assert told.status_code == 500 and told.json()["error"]["code"] == "error"
    assert {name: told.headers[name] for name in HEADERS} == HEADERS
    logged = caplog.text + "".join(capfd.readouterr())
    assert "A request failed: RuntimeError." in logged
    assert SECRET not in logged + told.text and "Traceback" not in logged
    counted = world.client("owner").get("/metrics").text
    assert 'route="/v1/models",status="500"' in counted
    assert world.client("ann").get("/v1/models").status_code == 200


def test_what_is_refused_at_the_door_is_counted(world: World) -> None:
    assert world.client("ann").post("/v1/keys", content=b"[" * 100).status_code == 413
    assert 'route="other",status="413"' in world.client("owner").get("/metrics").text


def test_only_an_owners_key_makes_room_for_a_model(world: World) -> None:
    large = b" " * 2_000_000
    for who, status in {"nobody": 413, "ann": 413, "auditor": 413, "owner": 422}.items():
        assert world.client(who).post("/v1/models", content=large).status_code == status, who


def spoil(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enter a spoilt model, and one that is gone from a folder elsewhere on the machine."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (world.folder / "spoilt.skops").write_bytes(b"no model")
    for name, file in {"spoilt": "spoilt.skops", "gone": str(elsewhere / "gone.skops")}.items():
        world.office.settings.models[name] = ModelEntry.read(name, {"file": file})
    return elsewhere


def test_a_model_that_cannot_be_read_is_told_alone_and_everything_else_works(
    world: World, tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = spoil(world, tmp_path_factory)
    listed = {one["name"]: one for one in world.client("ann").get("/v1/models").json()}
    assert set(listed) == {"risk", "spoilt", "gone"}
    assert listed["risk"]["reason"] is None and listed["risk"]["fingerprint"]
    for name, kind in {"spoilt": "BadZipFile", "gone": "FileNotFoundError"}.items():
        said = f"model must be a file saved with skops, got {name}.skops ({kind})."
        told = listed[name]
        assert (told["reason"], told["fingerprint"], told["datasets"]) == (said, None, ["loans"])
        refused = world.ask("ann", plan("partial_dependence", model=name, features="age", epsilon=0.1))
        assert refused.status_code == 422 and refused.json()["error"]["message"] == said
    card = world.client("ann").get("/v1/datasets/loans")
    assert card.status_code == 200 and set(card.json()["models"]) == {"risk"}
    assert (
        world.ask(
            "ann", plan("partial_dependence", model="risk", features="age", epsilon=0.1)
        ).status_code
        == 200
    )
    caplog.set_level(logging.WARNING)
    world.office.warm()
    lines = [line for line in caplog.messages if "cannot be asked about loans" in line]
    assert [line.split()[1] for line in lines] == ["spoilt", "gone"]
    for text in (str(listed), caplog.text):
        assert str(elsewhere) not in text and str(world.folder) not in text


def test_a_written_plan_is_answered_beside_a_model_that_cannot_be_read(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    spoil(world, tmp_path_factory)
    risk = world.office.models.get("risk", "loans")
    written = dc.partial_dependence(risk, "age", epsilon=0.1).describe()
    assert world.ask("ann", written).status_code == 200


@pytest.mark.parametrize(
    ("body", "depth"),
    [
        (b"[" * 41, 41),
        (b"[]" * 41, 1),
        (b'"' + b"[" * 41, 0),
        (b'"' + b"[" * 41 + b'"', 0),
        (b'"\\"' + b"[" * 41 + b'"' + b"{[" * 30, 60),
        (b'"\\\\"' + b"[" * 41, 41),
        (b"]" * 50 + b"[" * 45, 0),
        (b'{"a":' * 41 + b"1" + b"}" * 41, 41),
        (b"[" * 3, 0),
        (b'"' + b"[" * 41 + b'\\"' * 1_000_000, 0),
    ],
)
def test_depth_is_that_of_brackets_outside_of_texts(body: bytes, depth: int) -> None:
    found = _depth(body)
    assert found == depth if depth > 1 else found <= DEEPEST
