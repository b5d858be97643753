"""A key goes to one address, encrypted, and is shown nowhere."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from typing import Any

import httpx
import pytest

import discreet as dc
from discreet.client.connecting import check_address
from discreet.errors import AccessDenied, ArgumentError, NotAuthenticated, ServerUnreachable

SECRET = "s3cr3t" * 8
KEY = f"dk_abcdefgh_{SECRET}"


def answering(status: int = 200, plain: Any = None) -> httpx.MockTransport:
    """Return a network on which every request has the same answer."""
    told = {"key": "abcdefgh", "role": "analyst", "analyst": "ann"} if plain is None else plain
    return httpx.MockTransport(lambda request: httpx.Response(status, json=told))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.client.driving.time.sleep", lambda seconds: None)


@pytest.mark.parametrize(
    "url",
    ["https://data.example.org", "http://localhost:8417", "http://127.0.0.1:1", "http://[::1]/x/"],
)
def test_addresses_that_are_safe(url: str) -> None:
    assert check_address(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url", ["http://data.example.org", "http://10.0.0.1", "http://localhost.evil.org"]
)
def test_a_key_is_not_sent_for_all_to_read(url: str) -> None:
    with pytest.raises(ArgumentError, match="the key would travel for all to read"):
        dc.connect(url, key=KEY)
    assert dc.connect(url, key=KEY, insecure=True, transport=answering()).analyst == "ann"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "data.example.org",
        "ftp://x",
        "https://",
        "https://x:y",
        "https://x:99999",
        "https://[::1",
        3,
        None,
    ],
)
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(ArgumentError, match="url must be the address of a server"):
        dc.connect(url, key=KEY)


@pytest.mark.parametrize("url", ["https://ann:pw@x.org", "https://ann@x.org", "https://x.org?key=1"])
def test_an_address_holds_nothing_else(url: str) -> None:
    with pytest.raises(ArgumentError, match="url must be the address") as refused:
        dc.connect(url, key=KEY)
    assert "pw" not in str(refused.value)


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def look(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={"role": "owner", "analyst": None})

    monkeypatch.setenv("DISCREET_KEY", f"{KEY}\n")
    dc.connect("https://x.org", transport=httpx.MockTransport(look))
    assert seen == [f"Bearer {KEY}"]
    monkeypatch.delenv("DISCREET_KEY")
    with pytest.raises(ArgumentError, match="key must be given, or stand in DISCREET_KEY"):
        dc.connect("https://x.org")


@pytest.mark.parametrize("key", ["", "short", f"{SECRET} {SECRET}", f"{SECRET}\nX: y", "ключ" * 9, 7])
def test_a_key_that_is_none_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(ArgumentError, match="key must be as") as refused:
        dc.connect("https://x.org", key=key)
    assert SECRET not in str(refused.value)


def everything_told(error: BaseException) -> str:
    """Return all that an error and what it came from say of themselves, frames apart."""
    lines = traceback.format_exception(error)
    chain: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        chain += [repr(seen), str(seen), repr(vars(seen))]
        seen = seen.__cause__ or seen.__context__
    return "\n".join([*lines, *chain])


def failing(request: httpx.Request) -> httpx.Response:
    raise httpx.LocalProtocolError(
        f"Illegal header value {request.headers['authorization']!r}", request=request
    )


@pytest.mark.parametrize(
    ("transport", "kind"),
    [
        (httpx.MockTransport(failing), ServerUnreachable),
        (answering(401, {"error": {"code": "unauthenticated", "message": "No."}}), NotAuthenticated),
        (answering(500, {"error": {"code": "error", "message": "No."}}), dc.errors.DiscreetError),
    ],
)
def test_no_error_holds_the_key(
    transport: Any, kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(kind) as raised:
        dc.connect("https://x.org", key=KEY, transport=transport)
    assert SECRET not in everything_told(raised.value) and SECRET not in caplog.text


def test_nothing_that_is_shown_or_copied_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = dc.connect("https://x.org", key=KEY, transport=answering())
    assert repr(server) == str(server) == "Server(https://x.org, analyst ann)"
    assert SECRET not in repr(vars(server)) + repr(vars(server._line)) + repr(
        server._line._client.headers
    )
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(AccessDenied, match="it holds a key"):
            copied(server)
    assert SECRET not in caplog.text


def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    def away(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(307, headers={"location": "https://evil.org/v1/me"})

    with pytest.raises(ServerUnreachable, match="got status 307"):
        dc.connect("https://x.org", key=KEY, transport=httpx.MockTransport(away))
    assert asked == ["x.org"]


def test_without_httpx_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(ArgumentError, match=r"Install discreet\[client\]"):
        dc.connect("https://x.org", key=KEY)
