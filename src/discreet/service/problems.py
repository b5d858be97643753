"""Every error as the one JSON shape, with the status of the error tree; never a trace of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from discreet.errors import ArgumentError, DiscreetError, NotFound, TooManyRequests


@cache
def _statuses() -> dict[str, int]:
    return {kind.code: kind.http_status for kind in _kinds(DiscreetError)}


def _kinds(kind: type[DiscreetError]) -> Iterator[type[DiscreetError]]:
    yield kind
    for own in kind.__subclasses__():
        yield from _kinds(own)


def status_of(code: str) -> int:
    """Return the status of an error's code."""
    return _statuses().get(code, DiscreetError.http_status)


@contextmanager
def without_place(folder: Path) -> Iterator[None]:
    """Let no error tell where on this machine a folder is."""
    try:
        yield
    except DiscreetError as error:
        told = str(error)
        for place in (folder.resolve(), folder):
            told = told.replace(f"{place}/", "")
        if told != str(error):
            error.args = (told,)
        raise


def answer(error: DiscreetError) -> JSONResponse:
    """Return an error as an answer."""
    wait = {"Retry-After": str(int(error.seconds) + 1)} if isinstance(error, TooManyRequests) else {}
    who = {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else {}
    return JSONResponse(error.to_json(), status_code=error.http_status, headers={**wait, **who})


def install(app: FastAPI) -> None:
    """Let an application answer with the one shape whatever goes wrong."""
    app.add_exception_handler(DiscreetError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DiscreetError)
    with suppress(DiscreetError), without_place(request.app.state.office.desks.folder):
        raise error
    return answer(error)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":  # whose place is a number of letters
        return answer(ArgumentError("The body must be JSON that can be read, got another."))
    place = ".".join(
        str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")
    )
    return answer(
        ArgumentError(f"{place or 'The body'} must be as the API describes it: {_said(first)}.")
    )


def _said(fault: Any) -> str:
    """Return what is wrong, without what was sent: it may hold a sealed query."""
    return str(fault["msg"]).rstrip(".").replace("Input", "it")


async def _plain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return answer(NotFound("There is nothing at this path; /openapi.json lists what there is."))
    if error.status_code == 400:  # bytes that are no UTF-8, numbers of thousands of digits
        return answer(ArgumentError("The body must be JSON in UTF-8 that can be read, got another."))
    told = {"code": "request", "message": f"{error.detail}."}
    return JSONResponse({"error": told}, status_code=error.status_code, headers=error.headers)
