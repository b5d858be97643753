"""The shapes of what the service answers, as its OpenAPI description shows them.

They document; nothing is filtered by them. More fields may come with time, none of these goes away.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from discreet.service.access.keys import Role
from discreet.service.asked.job import State


class Told(BaseModel):
    """What is answered has at least these fields."""

    model_config = ConfigDict(extra="allow")


class Health(Told):
    """That the service is there."""

    status: Literal["ok"]
    version: str


class Holder(Told):
    """What a key says of who holds it."""

    key: str
    role: Role
    analyst: str | None
    datasets: list[str] | None
    expires: str | None


class ListedKey(Holder):
    """A key without its secret."""

    note: str
    created: str
    revoked: str | None


class MadeKey(Holder):
    """A key with its secret, which is shown this once."""

    id: str


class Money(Told):
    """Amounts of a budget: texts, because they are exact."""

    budget: dict[str, Any]
    spent: dict[str, Any]
    remaining: dict[str, Any]


class ListedDataset(Money):
    """A data set, and what is left of its budget."""

    dataset: str
    version: str
    relation: str
    rows: int | None
    accountant: str
    epsilon: float
    delta: float
    unit: str
    yours: Money | None
    columns: int
    models: list[str]


class ClosedDataset(Told):
    """A data set that cannot be asked now: its table or its schema is not what it was."""

    dataset: str
    reason: str


class Left(Told):
    """What is left of a budget after a change of it."""

    dataset: str
    remaining: dict[str, Any]


class BudgetTold(Money):
    """A budget, its shares and what it was spent on."""

    unit: str
    population: str | None
    yours: Money | None
    shares: list[dict[str, Any]]
    spent_on: list[dict[str, Any]]


class LedgerEntry(Told):
    """An entry of the ledger."""

    sequence: int
    time: str
    kind: str
    id: str
    analyst: str | None
    loss: str
    delta: str
    settled: bool | None
    note: dict[str, Any]
    digest: str


class Checked(Told):
    """What came of checking a ledger's chain."""

    ok: bool
    entries: int
    problems: list[str]


class JobTold(Told):
    """A job: how far it is, and what it was charged for."""

    id: str
    dataset: str
    state: State
    phase: str
    created: str
    finished: str | None
    plans: list[str]
    reservations: list[str]
    error: dict[str, Any] | None


class ReleaseTold(Told):
    """A release as ``dc.Release.loads`` reads it; for an auditor without its value."""

    id: str
    dataset: str
    version: str
    created: str
    plan: dict[str, Any]
    guarantee: dict[str, Any]


class ListedRelease(Told):
    """A stored answer without its value."""

    id: str
    title: str
    plan: dict[str, Any]
    created: str
    dataset: str
    version: str
    epsilon: float
    delta: float
    certified: bool
    grade: str
    public: bool
    analyst: str | None


class JobUnderWay(Told):
    """A job that has not come to its end, or was cancelled."""

    job: JobTold


class AnswersTold(Told):
    """Answers with the job that gave them; none, if all of them were stored before."""

    job: JobTold | None
    releases: list[ReleaseTold] = []


class ModelTold(Told):
    """A model that may be asked about, or the reason why it cannot be."""

    name: str
    datasets: list[str]
    form: str | None
    fingerprint: str | None
    reason: str | None


class Named(Told):
    """A model by its name."""

    name: str


class Revoked(Told):
    """A key that opens nothing any more."""

    id: str
    revoked: bool


def shows(model: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of an answer of a shape."""
    return {status: {"model": model, "description": "As asked."}}


def sends(media: str) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of an answer that is no JSON."""
    schema = {"type": "string"} if media.startswith("text/") else {"type": "string", "format": "binary"}
    return {200: {"content": {media: {"schema": schema}}, "description": "As asked."}}
