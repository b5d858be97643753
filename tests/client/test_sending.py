"""Requests are repeated where that is safe and may help, and never otherwise; no network is needed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from discreet.client.sending import LONGEST_PAUSE, MOST_TRIES, Lost, Pause, Reply, Request, ask
from discreet.errors import (
    ArgumentError,
    LedgerUnavailable,
    ServerUnreachable,
    SettlementFailed,
)

PRICE = Request("POST", "/v1/datasets/people/price", body={"plans": []})


def reply(status: int, plain: Any, **headers: str) -> Reply:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, told, json.dumps(plain).encode())


def error(status: int, code: str, **headers: str) -> Reply:
    return reply(status, {"error": {"code": code, "message": "No."}}, **headers)


def drive(answers: Iterable[Reply | Lost]) -> tuple[Any, list[float]]:
    """Return what a request leads to if these are the answers, and the pauses between them."""
    steps, pauses, given = ask(PRICE), [], iter(answers)
    step = next(steps)
    try:
        while True:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = steps.send(None)
            else:
                assert step == PRICE
                step = steps.send(next(given))
    except StopIteration as done:
        assert next(given, None) is None, "an answer was not asked for"
        return done.value, pauses


def test_what_was_lost_is_asked_again_after_growing_pauses() -> None:
    found, pauses = drive([Lost("ReadError")] * 4 + [reply(200, {"ok": 1})])
    assert found == {"ok": 1}
    assert all(0.5 * 0.25 * 2**k <= pause <= 0.25 * 2**k for k, pause in enumerate(pauses))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_cannot_answer_now_is_asked_again_when_it_says(status: int) -> None:
    busy = error(status, "ledger-unavailable", retry_after="3")
    assert drive([busy, reply(200, 1)]) == (1, [3.0])


def test_a_gateway_that_answers_with_a_page_is_asked_again() -> None:
    page = Reply(502, {"content-type": "text/html"}, b"<h1>Bad Gateway</h1>")
    assert drive([page, reply(200, 1)])[0] == 1
    with pytest.raises(ServerUnreachable, match="got status 502 with text/html"):
        drive([page] * MOST_TRIES)


def test_patience_ends() -> None:
    with pytest.raises(ServerUnreachable, match="did not answer POST /v1/datasets/people/price"):
        drive([Lost("ConnectError")] * MOST_TRIES)
    with pytest.raises(LedgerUnavailable):
        drive([error(503, "ledger-unavailable")] * MOST_TRIES)


@pytest.mark.parametrize("told", [str(int(LONGEST_PAUSE) + 1), "9" * 400])
def test_a_pause_of_many_minutes_is_the_callers_to_take(told: str) -> None:
    with pytest.raises(LedgerUnavailable):
        drive([error(503, "ledger-unavailable", retry_after=told)])


@pytest.mark.parametrize("told", ["", "soon", "-1", "1e9", "nan", "²"])
def test_a_pause_that_is_none_counts_as_not_told(told: str) -> None:
    found, pauses = drive([error(429, "too-many-requests", retry_after=told), reply(200, 1)])
    assert found == 1 and pauses[0] <= 0.25


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 410, 413, 422, 500])
def test_a_refusal_is_not_asked_again(status: int) -> None:
    with pytest.raises(ArgumentError):
        drive([error(status, "argument")])


def test_an_answer_that_could_not_be_stored_is_not_asked_again() -> None:
    with pytest.raises(SettlementFailed):
        drive([error(503, "settlement-failed")])


def test_a_certificate_that_is_not_trusted_is_told_at_once() -> None:
    with pytest.raises(ServerUnreachable, match="its certificate is not trusted here"):
        drive([Lost("its certificate is not trusted here", final=True)])


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"[" * 100_000, b"\xff\xfe", b'{"error": 1}', b'{"error": {"code": 1}}']
)
def test_another_kind_of_server_is_told_from_ours(content: bytes) -> None:
    with pytest.raises(ServerUnreachable, match="url must be the address of a discreet server"):
        drive([Reply(404, {}, content)])


def test_a_body_is_not_shown() -> None:
    assert "secret" not in repr(Request("POST", "/", body={"x": "secret"}))
    assert "secret" not in repr(Reply(200, {}, b"secret"))
