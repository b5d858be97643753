"""Requests that nobody honest sends, over a real socket: one sentence or a closed door, never a 500."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from sklearn.linear_model import LogisticRegression
from skops.io import dumps

from discreet.samples import loans
from discreet.service.guards import Guard
from tests.service.conftest import World, open_world, plan

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)
PRICE = "/v1/datasets/loans/price"


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a service that all tests of this module try in turn."""
    made = open_world(tmp_path_factory.mktemp("hostile"))
    yield made
    made.close()


def send(world: World, content: bytes, seconds: float = 20.0) -> bytes:
    """Return what a server answers to bytes, until it closes the connection or is silent."""
    place = urlsplit(world.server.url)
    with socket.create_connection((place.hostname, place.port), timeout=seconds) as line:
        line.sendall(content)
        heard = b""
        try:
            while part := line.recv(65_536):
                heard += part
        except (TimeoutError, ConnectionResetError):  # closed before all of it was sent
            return heard
        return heard


def head(world: World, path: bytes, *lines: bytes, method: bytes = b"GET") -> bytes:
    key = world.keys["ann"].encode()
    told = [b"Host: localhost", b"Connection: close", b"Authorization: Bearer " + key, *lines]
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", *told, b"", b""])


def is_alive(world: World) -> bool:
    return world.client("ann").get("/v1/health").status_code == 200


BODIES = {
    "no JSON": b"{",
    "bad UTF-8": b'{"plans": ["\xff\xfe"]}',
    "lone surrogate": b'{"plans": [{"plan": "\\ud800", "arguments": {}}]}',
    "null byte": b'{"plans": [{"plan": "histogram\\u0000", "arguments": {}}]}',
    "not a number": b'{"plans": [{"plan": "total", "arguments": {"column": "age", "epsilon": NaN}}]}',
    "infinite": b'{"plans": [{"plan": "total", "arguments": {"column": "age", "epsilon": 1e999}}]}',
    "digits": b'{"plans": [{"plan": "count", "arguments": {"epsilon": ' + b"9" * 5_000 + b"}}]}",
    "a list": b"[]",
    "a number": b"1",
    "twice": b'{"plans": [], "plans": 3}',
    "plans that are none": b'{"plans": [1, null, "x", [], {}]}',
    "arguments that are none": b'{"plans": [{"plan": "histogram", "arguments": [1]}]}',
    "strange names": b'{"plans": [{"plan": "histogram", "arguments": {"__class__": 1, "self": 2}}]}',
    "a path": b'{"plans": [{"plan": "shap_values", "arguments": {"model": "../risk.skops"}}]}',
    "a file as rows": b'{"plans": [], "rows": {"x": "/etc/passwd"}}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_none_gets_a_sentence(open_to_all: World, body: bytes) -> None:
    for path in (PRICE, "/v1/datasets/loans/releases"):
        told = open_to_all.client("ann").post(
            path, content=body, headers={"content-type": "application/json"}
        )
        assert told.status_code == 422 and told.json()["error"]["code"] == "argument", told.text
        assert "Traceback" not in told.text and "passwd" not in told.text
        assert not told.json()["error"]["message"][0].isdigit(), "a place in the text is no argument"


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"plans":['], ids=["lists", "objects", "plans"])
def test_deep_json_is_refused_before_it_is_read(open_to_all: World, opening: bytes) -> None:
    told = open_to_all.client("ann").post(PRICE, content=opening * 20_000)
    assert told.status_code == 413 and told.json()["error"]["code"] == "too-large"


def test_a_huge_body_is_refused_while_it_comes(open_to_all: World) -> None:
    size = b"Content-Length: 2000000"
    begun = head(open_to_all, PRICE.encode(), size, method=b"POST") + b" " * 2_000_000
    assert send(open_to_all, begun)[:12] in (b"HTTP/1.1 413", b"")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    chunked = head(open_to_all, PRICE.encode(), b"Transfer-Encoding: chunked", method=b"POST")
    assert send(open_to_all, chunked + chunk * 20)[:12] in (b"HTTP/1.1 413", b"")
    assert is_alive(open_to_all)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\xff\x16\x03\x01" * 100 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["noise", "long line", "negative", "two lengths", "bad chunk"],
)
def test_what_is_no_http_is_refused(open_to_all: World, request_bytes: bytes) -> None:
    heard = send(open_to_all, request_bytes)
    assert heard == b"" or heard.split(b" ")[1][:1] == b"4"
    if heard:
        assert b"default-src 'none'" in heard and b'{"error": {"code": "request"' in heard
    assert is_alive(open_to_all)


@pytest.mark.parametrize(
    "path",
    [
        b"/static/../../settings.py",
        b"/static/%2e%2e/%2e%2e/settings.py",
        b"/static/..%2f..%2f..%2fpyproject.toml",
        b"/static//etc/passwd",
        b"/static/%00",
        b"/v1/datasets/..%2floans",
        b"/v1/datasets/%2e%2e",
        b"/v1/datasets/loans%00",
        b"/v1/datasets/%ff%fe",
        b"/v1/datasets/loans/releases/..%2f..%2fkeys",
        b"/v1/datasets/loans/releases/" + b"a" * 65,
        b"/v1/jobs/%27%20OR%201%3D1",
        b"//v1/me",
        b"/v1/me/",
    ],
)
def test_tricks_with_paths_lead_nowhere(open_to_all: World, path: bytes) -> None:
    status = int(send(open_to_all, head(open_to_all, path)).split(b" ")[1])
    assert status in (307, 400, 404, 405, 422), status
    assert is_alive(open_to_all)


def test_a_slow_head_is_not_waited_for(open_to_all: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.service.serving.HEAD_SECONDS", 0.2)
    place = urlsplit(open_to_all.server.url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as line:
        line.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert line.recv(100) == b"", "the door is closed on whoever never comes to the end"
    assert is_alive(open_to_all)


def guard_of(world: World) -> Any:
    """Return the guard that stands before the routes."""
    layer = world.app.middleware_stack
    while not isinstance(layer, Guard):
        layer = layer.app
    return layer


def test_a_slow_body_is_not_waited_for(open_to_all: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_alive(open_to_all)  # builds what stands before the routes
    monkeypatch.setattr(guard_of(open_to_all), "_seconds", 0.2)
    for size in (b"Content-Length: 100", b"Transfer-Encoding: chunked"):
        begun = head(open_to_all, PRICE.encode(), size, method=b"POST") + b'2\r\n{"\r\n'
        heard = send(open_to_all, begun, seconds=120)
        assert heard[:12] == b"HTTP/1.1 422" and b"must arrive within 0.2 s" in heard
    monkeypatch.undo()
    assert is_alive(open_to_all)


def test_a_crowd_is_told_to_come_again(open_to_all: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.service.serving.MOST_AT_ONCE", 0)
    told = open_to_all.client("ann").get("/v1/me")
    assert told.status_code == 429 and told.json()["error"]["code"] == "too-many-requests"
    assert told.headers["retry-after"] == "2" and told.headers["x-frame-options"] == "DENY"
    monkeypatch.undo()
    assert is_alive(open_to_all)


def test_many_idle_strangers_keep_nobody_out(open_to_all: World) -> None:
    place = urlsplit(open_to_all.server.url)
    idle = [socket.create_connection((place.hostname, place.port)) for _ in range(60)]
    try:
        for line in idle:
            line.sendall(b"POST /v1/me HTTP/1.1\r\nContent-Length: 10\r\n\r\nx")
        start = time.monotonic()
        assert is_alive(open_to_all) and time.monotonic() - start < 20
    finally:
        for line in idle:
            line.close()


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Basic YTpi", "Bearer dk_", "Bearer dk_x_y", "Bearer " + "a" * 5_000],
)
def test_a_key_that_is_none_opens_nothing(open_to_all: World, authorization: str) -> None:
    told = open_to_all.client("nobody").get("/v1/me", headers={"authorization": authorization})
    assert told.status_code == 401 and told.json()["error"]["code"] == "unauthenticated"


def test_secrets_of_two_keys_are_not_mixed(open_to_all: World) -> None:
    ann, owner = (open_to_all.keys[who].split("_", 2) for who in ("ann", "owner"))
    for mixed in (
        [ann[0], owner[1], ann[2]],
        [ann[0], ann[1], owner[2]],
        [ann[0], ann[1].upper(), ann[2]],
    ):
        headers = {"authorization": "Bearer " + "_".join(mixed)}
        assert open_to_all.client("nobody").get("/v1/me", headers=headers).status_code == 401


def test_an_idempotency_key_is_its_askers_own(open_to_all: World) -> None:
    """Bob learns nothing of a request of Ann's by its name, and is charged for his own."""
    named: dict[str, Any] = {"headers": {"Idempotency-Key": "monday"}, "fresh": True}
    mine, his = open_to_all.ask("ann", AGES, **dict(named)), open_to_all.ask("bob", AGES, **dict(named))
    assert mine.status_code == his.status_code == 200
    assert mine.json()["releases"][0]["id"] != his.json()["releases"][0]["id"]
    for wrong in ("", "x" * 129):
        told = open_to_all.ask("ann", AGES, headers={"Idempotency-Key": wrong})
        assert told.status_code == 422, told.text


def test_a_revoked_key_ends_in_the_middle_of_a_connection(open_to_all: World) -> None:
    key, _ = open_to_all.office.keys.new("analyst", analyst="eve")
    client, headers = open_to_all.client("nobody"), {"authorization": f"Bearer {key}"}
    assert client.get("/v1/me", headers=headers).status_code == 200
    open_to_all.office.keys.revoke(key.split("_")[1])
    for _ in range(2):
        assert client.get("/v1/me", headers=headers).status_code == 401


def test_clocks_that_go_wrong_open_no_door(open_to_all: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = open_to_all.office.keys.new("analyst", analyst="eve", days=1)
    client, headers = open_to_all.client("nobody"), {"authorization": f"Bearer {key}"}
    monkeypatch.setattr("discreet.service.access.keys.now", lambda: "2999-01-01T00:00:00+00:00")
    assert client.get("/v1/me", headers=headers).status_code == 401
    open_to_all.office.keys.revoke(key.split("_")[1])
    monkeypatch.setattr("discreet.service.access.keys.now", lambda: "1970-01-01T00:00:00+00:00")
    assert client.get("/v1/me", headers=headers).status_code == 401, "revoked whatever the time is"


def test_a_clock_that_goes_back_changes_no_ledger_job_or_model(
    open_to_all: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes first is told by numbers, what was replaced by its content: no clock is trusted."""
    owner = open_to_all.client("owner")
    before = len(owner.get("/v1/datasets/loans/history").json())
    for place in ("ledger.books._now", "service.asked.jobs.now", "service.asked.models.now"):
        monkeypatch.setattr(f"discreet.{place}", lambda: "1970-01-01T00:00:00+00:00")
    asked = open_to_all.ask("ann", AGES, fresh=True)
    assert asked.status_code == 200
    assert owner.get("/v1/jobs").json()[0]["id"] == asked.json()["job"]["id"]
    assert len(owner.get("/v1/datasets/loans/history").json()) == before + 2
    assert owner.get("/v1/datasets/loans/verification").json()["ok"]
    prints = []
    for shift in (0.0, 1.0):
        file = {"name": "m.skops", "content": model_file(shift)}
        assert owner.post("/v1/models", json={"name": "m", "file": file}).status_code == 201
        known = {one["name"]: one["fingerprint"] for one in owner.get("/v1/models").json()}
        prints.append(known["m"])
        assert owner.delete("/v1/models/m").status_code == 200
    assert prints[0] != prints[1], "another file under the same name, in the same second"


def model_file(shift: float) -> str:
    """Return the file of a small model, another one for another shift."""
    frame = loans(50, seed=1)
    model = LogisticRegression().fit(frame[["income", "age"]] / [1e5, 1e2] + shift, frame["defaulted"])
    return base64.b64encode(dumps(model)).decode()


def test_nothing_of_it_was_charged_or_broke(open_to_all: World) -> None:
    owner = open_to_all.client("owner")
    entries = owner.get("/v1/datasets/loans/history").json()
    paid = [entry for entry in entries if entry["kind"] == "reserve"]
    assert {entry["analyst"] for entry in paid} <= {"ann", "bob"} and len(paid) <= 3
    assert owner.get("/v1/datasets/loans/verification").json()["ok"]
    assert 'status="500"' not in owner.get("/metrics").text
