"""What breaks inside tells nobody of a row, is counted, and leaves every header where it was."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from discreet.service.asked.models import Models
from discreet.service.guards import DEEPEST, HEADERS, _depth

from .conftest import World

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
