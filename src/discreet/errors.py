"""Every exception discreet raises, and what each one tells a program.

```
DiscreetError
├── ArgumentError        an argument is outside what the call allows
│   └── SchemaError      a schema or a schema file is not usable
├── DataRefused          a table does not fit its schema (decided before any row is read)
├── ModelError           a model cannot be used as given
├── CertificateError     a bound was asked for that was not proven
├── UnsupportedEvent     an accountant has no price for a mechanism
├── BudgetExhausted      a plan costs more than is left
├── AccessDenied         this analyst may not do this
├── ReleaseError         a saved release cannot be read
├── CardError            a card or a plan file cannot be read, or was edited
├── ServerUnreachable    a server did not answer, or is none of discreet's
├── ReleaseFailed        something broke after the reservation; the charge stays spent
│   └── DataChanged      somebody wrote to the data, or took them away, while they were read
├── UnderWay             the same question is being answered for somebody else right now
├── SettlementFailed     the answer is there and paid for, but the ledger did not store it
├── AnswerLost           the question was paid for and its answer is lost; it is not drawn again
├── Cancelled            a job of a service was cancelled before anything was charged
├── NotAuthenticated     a request without a key that is known
├── NotFound             there is nothing of this name, or not for this key
├── TooLarge             a request is larger than the service takes
├── TooManyRequests      a key, or an address, asks too often
└── LedgerError          the ledger cannot be used
    ├── LedgerConflict   what was asked contradicts what the ledger already knows
    ├── LedgerUnavailable  the file or server cannot be read or written
    └── LedgerTampered   the hash chain does not hold, or the ledger was replaced
```

A message is one public sentence: ``<name> must be <constraint>, got <value>. <next step>.`` It speaks
of arguments and of the schema, never of a row, because an error text is itself a release.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LONGEST_MESSAGE = 600
_CREDENTIALS = re.compile(r"""(\w:/+)[^\s'"]*@""")


def _presentable(message: str) -> str:
    """Return a message without the user and password of an address, and without a long middle."""
    hidden = _CREDENTIALS.sub(r"\1***@", message)
    half = _LONGEST_MESSAGE // 2
    return hidden if len(hidden) <= _LONGEST_MESSAGE else f"{hidden[:half]} … {hidden[-half:]}"


class DiscreetError(Exception):
    """Root of the tree; ``code``, ``http_status`` and ``exit_code`` never change their meaning."""

    code = "error"
    http_status = 500
    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(_presentable(message))

    def to_json(self) -> dict[str, Any]:
        """Return the one JSON shape in which the command line and the service show an error."""
        return {"error": {"code": self.code, "message": str(self), **self.fields()}}

    def fields(self) -> dict[str, Any]:
        """Return what a program may read besides the message."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A pool of processes hands errors on; Python would call the class with the message alone.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[DiscreetError], args: tuple[Any, ...], state: dict[str, Any]) -> DiscreetError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ArgumentError(DiscreetError, ValueError):
    """An argument is outside what the call allows."""

    code = "argument"
    http_status = 422
    exit_code = 2


class SchemaError(ArgumentError):
    """A schema, or a schema file, is not usable."""

    code = "schema"
    http_status = 422
    exit_code = 3


class DataRefused(DiscreetError):
    """A table does not fit its schema; decided from names and sizes, never from a value."""

    code = "data-refused"
    http_status = 422
    exit_code = 4

    def __init__(self, message: str, *, column: str | None = None, rule: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.rule = rule

    def fields(self) -> dict[str, Any]:
        """Return the column and the rule it broke."""
        return {"column": self.column, "rule": self.rule}


class ModelError(DiscreetError):
    """A model cannot be used as given: no bounds, wrong columns, or it fails on public rows."""

    code = "model"
    http_status = 422
    exit_code = 5


class CertificateError(DiscreetError):
    """A bound was asked for that was not proven."""

    code = "certificate"
    http_status = 422
    exit_code = 6


class UnsupportedEvent(DiscreetError):
    """An accountant has no price for a mechanism."""

    code = "unsupported-event"
    http_status = 422
    exit_code = 7


class BudgetExhausted(DiscreetError):
    """A plan costs more than is left; nothing was spent by asking."""

    code = "budget-exhausted"
    http_status = 402
    exit_code = 8

    def __init__(self, message: str, *, requested: dict[str, str], remaining: dict[str, str]) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining

    def fields(self) -> dict[str, Any]:
        """Return what was asked for and what is left, as exact decimal strings."""
        return {"requested": self.requested, "remaining": self.remaining}


class AccessDenied(DiscreetError):
    """This analyst may not do this."""

    code = "access-denied"
    http_status = 403
    exit_code = 9


class ReleaseError(DiscreetError):
    """A saved release cannot be read."""

    code = "release"
    http_status = 422
    exit_code = 10


class CardError(DiscreetError):
    """A card of a data set, or a plan file, cannot be read, was edited, or is of something else."""

    code = "card"
    http_status = 422
    exit_code = 18


class ReleaseFailed(DiscreetError):
    """Something broke after the reservation; the charge stays spent and no detail is shown."""

    code = "release-failed"
    http_status = 500
    exit_code = 15


class DataChanged(ReleaseFailed):
    """Somebody wrote to the data, or took them away, while they were read; the charge stays spent."""

    code = "data-changed"
    http_status = 409
    exit_code = 19


class UnderWay(DiscreetError):
    """The same question is being answered for somebody else right now; nothing was charged."""

    code = "under-way"
    http_status = 409
    exit_code = 16

    def __init__(self, message: str, *, since: str = "", reservation: str = "") -> None:
        super().__init__(message)
        self.since = since
        self.reservation = reservation

    def fields(self) -> dict[str, Any]:
        """Return since when, and the reservation that pays for it."""
        return {"since": self.since, "reservation": self.reservation}


class SettlementFailed(DiscreetError):
    """The answer is computed and paid for, but could not be stored; it is in here.

    Attributes:
      releases: the answers, without a place in the ledger yet.
      reservations: what paid for them; these charges stay.
      unsettled: what ``session.settle`` needs to store them later, at no charge.
    """

    code = "settlement-failed"
    http_status = 503
    exit_code = 17

    def __init__(
        self,
        message: str,
        *,
        releases: Sequence[Any],
        reservations: Sequence[Any],
        unsettled: Sequence[dict[str, str]],
    ) -> None:
        super().__init__(message)
        self.releases = list(releases)
        self.reservations = list(reservations)
        self.unsettled = list(unsettled)

    @property
    def release(self) -> Any:
        """The answer; the first of them if several were asked together."""
        return self.releases[0]

    @property
    def reservation(self) -> Any:
        """What paid for it; the first of them if several were asked together."""
        return self.reservations[0]

    def fields(self) -> dict[str, Any]:
        """Return the answers, the ids of their reservations, and what stores them later."""
        return {
            "reservations": [reservation.id for reservation in self.reservations],
            "releases": [release.to_json() for release in self.releases],
            "unsettled": self.unsettled,
        }

    def save(self, path: str | Path) -> Path:
        """Write what ``session.settle`` and ``discreet budget settle`` take to a file of its owner."""
        target = Path(path)
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"unsettled": self.unsettled}, file)
        except OSError as error:
            raise ReleaseError(f"{target} cannot be written: {error.strerror}.") from None
        return target


class AnswerLost(DiscreetError):
    """A question was paid for and its answer is lost; nobody draws it again but the owner, who pays."""

    code = "answer-lost"
    http_status = 410
    exit_code = 20

    def __init__(self, message: str, *, reservations: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reservations = list(reservations)

    def fields(self) -> dict[str, Any]:
        """Return the reservations that stay spent."""
        return {"reservations": self.reservations}


class Cancelled(DiscreetError):
    """A job of a service was cancelled before anything was charged for it."""

    code = "cancelled"
    http_status = 409
    exit_code = 26


class NotAuthenticated(DiscreetError):
    """A request has no key, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    http_status = 401
    exit_code = 21


class NotFound(DiscreetError):
    """There is nothing of this name, or nothing that this key may see."""

    code = "not-found"
    http_status = 404
    exit_code = 22


class TooLarge(DiscreetError):
    """A request is larger, or nested deeper, than the service takes."""

    code = "too-large"
    http_status = 413
    exit_code = 23


class TooManyRequests(DiscreetError):
    """A key, or an address without one, asks more often than the service allows."""

    code = "too-many-requests"
    http_status = 429
    exit_code = 24

    def __init__(self, message: str, *, seconds: float = 1.0) -> None:
        super().__init__(message)
        self.seconds = float(seconds)

    def fields(self) -> dict[str, Any]:
        """Return after how many seconds to ask again."""
        return {"seconds": self.seconds}


class LedgerError(DiscreetError):
    """The ledger cannot be used."""

    code = "ledger"
    http_status = 500
    exit_code = 11


class LedgerConflict(LedgerError):
    """What was asked contradicts what the ledger already knows."""

    code = "ledger-conflict"
    http_status = 409
    exit_code = 12


class LedgerUnavailable(LedgerError):
    """The ledger's file or server cannot be read or written; ``what`` says it without advice."""

    code = "ledger-unavailable"
    http_status = 503
    exit_code = 13

    def __init__(self, message: str, *, what: str | None = None) -> None:
        super().__init__(message)
        self.what = what or message


class LedgerTampered(LedgerError):
    """The ledger's hash chain does not hold, or it is not the ledger that was opened."""

    code = "ledger-tampered"
    http_status = 500
    exit_code = 14


class ServerUnreachable(DiscreetError):
    """A server did not answer, or what answered is none of discreet's.

    Attributes:
      idempotency_key: of a release whose end is not known. Asking the same again with it never charges
        a second time. None for everything else.
    """

    code = "server-unreachable"
    http_status = 502
    exit_code = 25

    def __init__(self, message: str, *, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key

    def fields(self) -> dict[str, Any]:
        """Return the key with which the same may be asked again."""
        return {"idempotency_key": self.idempotency_key}
