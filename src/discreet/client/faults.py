"""Errors of a server as errors here: the same classes, found by their codes, with their fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from discreet.errors import DiscreetError, ServerUnreachable, SettlementFailed
from discreet.plans import Release

__all__ = ["ServerUnreachable", "error_of"]


def error_of(status: int, plain: Any) -> DiscreetError:
    """Return the error that a server answered with.

    A code that this version does not know becomes a ``DiscreetError`` with this code and status.
    """
    told = plain.get("error") if isinstance(plain, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(told.get("message"), str):
        return ServerUnreachable(
            f"url must be the address of a discreet server, got status {status} in a shape of another. "
            "Check the address."
        )
    fields = {name: value for name, value in told.items() if name not in ("code", "message")}
    kind = _kinds().get(str(told.get("code")))
    if kind is None:
        return _unknown(status, str(told.get("code")), told["message"])
    if issubclass(kind, SettlementFailed):
        return _settlement_failed(told["message"], fields)
    try:
        return kind(told["message"], **fields)
    except TypeError:  # a newer server tells more, or an older one less
        return _bare(kind, told["message"], fields)


@cache
def _kinds() -> dict[str, type[DiscreetError]]:
    return {kind.code: kind for kind in _below(DiscreetError) if kind.__module__ == "discreet.errors"}


def _below(kind: type[DiscreetError]) -> Iterator[type[DiscreetError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


def _bare(kind: type[DiscreetError], message: str, fields: Mapping[str, Any]) -> DiscreetError:
    error = kind.__new__(kind, message)
    DiscreetError.__init__(error, message)
    error.__dict__.update(fields)
    return error


def _unknown(status: int, code: str, message: str) -> DiscreetError:
    error = DiscreetError(message)
    error.__dict__.update(code=code, http_status=status)
    return error


def _settlement_failed(message: str, fields: Mapping[str, Any]) -> DiscreetError:
    """Return the error with its answers read: they were paid for and may be nowhere else."""
    return SettlementFailed(
        message,
        releases=[Release.loads(json.dumps(release)) for release in fields.get("releases", [])],
        reservations=[SimpleNamespace(id=name) for name in fields.get("reservations", [])],
        unsettled=fields.get("unsettled", []),
    )
