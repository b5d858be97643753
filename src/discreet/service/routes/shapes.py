"""The shapes of what is sent to the service, as its OpenAPI description shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

_LONGEST = 128

PlanShape = Annotated[
    dict[str, Any],
    Field(
        description="A plan as asked: {plan: its name, arguments: {...}}, with models by the service's "
        "names; or as plan.describe() writes it.",
        examples=[{"plan": "histogram", "arguments": {"columns": "age", "epsilon": 0.1}}],
    ),
]


class Sent(BaseModel):
    """What is sent must have these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class PriceAsked(Sent):
    """Plans to be priced."""

    plans: list[PlanShape] = Field(min_length=1, max_length=100)
    rows: dict[str, list[Any]] | None = Field(
        None, description="Public rows of written plans, by digest."
    )
    queries: int | None = Field(
        None, ge=1, le=10**9, description="So many questions like it are wanted."
    )


class ReleaseAsked(Sent):
    """Plans to be answered, together or not at all."""

    plans: list[PlanShape] = Field(min_length=1, max_length=100)
    rows: dict[str, list[Any]] | None = Field(
        None, description="Public rows of written plans, by digest."
    )
    fresh: bool = Field(False, description="Pay for new noise although it was answered before.")


class NewKey(Sent):
    """A key to be made."""

    role: str
    analyst: str | None = Field(None, max_length=_LONGEST, description="Whose share pays.")
    datasets: list[str] | None = Field(None, description="The only data sets that it opens.")
    days: int | None = Field(90, description="How long it is valid; null until it is revoked.")
    note: str = Field("", max_length=200)


class Allotment(Sent):
    """A share of a budget."""

    epsilon: float
    delta: float = 0.0


class NewTerms(Sent):
    """A budget to be changed."""

    reason: str = Field(max_length=500)
    epsilon: float | None = None
    delta: float | None = None


class NewModel(Sent):
    """A model's file to be kept."""

    name: str = Field(max_length=64)
    file: dict[str, str] = Field(
        description="name, whose ending says how it is read, and content (base64)."
    )
    datasets: list[str] = Field(default_factory=list)
    output: str = "auto"
    class_: str | int | None = Field(None, alias="class")
    bounds: tuple[float, float] | None = None
    trust: list[str] = Field(
        default_factory=list,
        description="Types of third parties in the file that may run, in a process of their own.",
    )


class NewDataset(Sent):
    """A data set to be registered, from a file in the project's folder."""

    dataset: str = Field(max_length=_LONGEST)
    data: str = Field(max_length=500, description="The file of its rows, inside the project's folder.")
    schema_: dict[str, Any] = Field(alias="schema", description="Public facts, as Schema.to_json().")
    epsilon: float
    delta: float = 0.0
    relation: str | None = None
    accountant: str | None = None
    version: str = Field("1", max_length=_LONGEST)
    ledger: str | None = Field(None, description="Of a data set that is registered, to share it.")


class Problem(BaseModel):
    """What went wrong: a code that never changes its meaning, and one sentence."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class ProblemShape(BaseModel):
    """The one shape of all errors."""

    error: Problem


def faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors that a route documents, besides those that every route has."""
    return {status: {"model": ProblemShape, "description": _TOLD[status]} for status in statuses}


_TOLD = {
    400: "It is no HTTP that can be read.",
    401: "The key is missing, unknown, expired or revoked.",
    402: "It costs more than is left; nothing was spent.",
    403: "This key may not do this.",
    404: "There is nothing of this name, or not for this key.",
    405: "This path takes other methods; Allow says which.",
    409: "It contradicts what is known already.",
    410: "It was paid for and its answer is lost.",
    413: "The request is too large.",
    422: "An argument is outside what is allowed; the sentence says what is.",
    429: "Too many requests; Retry-After says when to come again.",
    500: "The ledger contradicts itself, or the service failed; what it was is not shown.",
    503: "The ledger cannot be reached now.",
}

ALWAYS = faults(400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503)
"""Errors that every path may answer with, whatever comes to it."""
