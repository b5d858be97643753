"""Plans as they travel: written down, or asked by their arguments where that cannot be.

A plan that is written has fingerprints in place of its model and of public rows, as in a plan file.
What no fingerprint stands for is asked: sealed queries, which are never written, and whole tables of
public rows. Functions do not travel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.cards.models import AbsentModel
from discreet.cards.plan_files import PlanFile
from discreet.errors import ArgumentError
from discreet.explain.shap.queries import SealedQueries
from discreet.models import Model
from discreet.models.fingerprint import Kept
from discreet.plans import Plan
from discreet.plans.declaration import PROMISE, DeclaredPlan, kinds_of
from discreet.plans.held import Estimator, Function, ModelKind, Table
from discreet.plans.kinds import Kind
from discreet.schema import Schema
from discreet.schema.conditions import Condition

Names = Mapping[str, str]
"""What a server calls its models, by their fingerprints."""


def needs_names(plans: Sequence[Plan]) -> bool:
    """Say whether the names of a server's models are needed: a plan can only be asked, or has ours."""
    return any(_is_asked(plan) or _own_models(plan) for plan in plans)


def as_sent(dataset: str, schema: Schema, plans: Sequence[Plan], names: Names) -> dict[str, Any]:
    """Return plans, and the public rows they were given, as a request holds them.

    Raises:
      ArgumentError: if a plan holds a function, or a model that the server does not have.
    """
    for plan in plans:
        _check_travels(plan)
        for name, model in _own_models(plan).items():
            _called(name, model, names)
    asked = [plan for plan in plans if _is_asked(plan)]
    file = PlanFile.of(dataset, schema, [plan for plan in plans if plan not in asked])
    written = iter(file.plans)
    sent = [_asked(plan, names) if plan in asked else next(written) for plan in plans]
    return {"plans": sent, **({"rows": dict(file.rows)} if file.rows else {})}


def _held(plan: Plan) -> dict[str, tuple[Kind, Any]]:
    """Return the arguments of a plan with their kinds; of one that is not declared, none."""
    kinds = kinds_of(type(plan)) if isinstance(plan, DeclaredPlan) else {}
    return {name: (kind, getattr(plan, name)) for name, kind in kinds.items()}


def _own_models(plan: Plan) -> dict[str, Model]:
    """Return the models of a plan that were not taken from a server."""
    return {
        name: value
        for name, (kind, value) in _held(plan).items()
        if isinstance(kind, ModelKind)
        and isinstance(value, Model)
        and not isinstance(value, AbsentModel)
    }


def _is_asked(plan: Plan) -> bool:
    return any(
        isinstance(value, SealedQueries) or _is_table(kind, value)
        for kind, value in _held(plan).values()
    )


def _is_table(kind: Kind, value: Any) -> bool:
    return isinstance(kind, Table) and not isinstance(kind, Estimator) and value is not None


def _check_travels(plan: Plan) -> None:
    for name, (kind, value) in _held(plan).items():
        if isinstance(kind, Function) and value is not None:
            raise ArgumentError(
                f"{name} must be left out of a question to a server, got a function, which does not "
                f"travel. Ask {plan.plan_name} where the rows are."
            )


def _asked(plan: Plan, names: Names) -> dict[str, Any]:
    """Return a plan by the names and values of its arguments."""
    promise = plan.promise()
    given = {
        name: _value(name, kind, value, names)
        for name, (kind, value) in _held(plan).items()
        if name not in PROMISE and value is not None
    }
    paid = {name: amount for name, amount in promise.items() if name in _held(plan)}
    return {"plan": plan.plan_name, "arguments": given | paid}


def _value(name: str, kind: Kind, value: Any, names: Names) -> Any:
    if isinstance(value, SealedQueries):
        return value.reveal().to_json()
    if isinstance(value, Condition):
        return str(value)
    if isinstance(kind, ModelKind | Estimator):
        return _called(name, value, names)
    if isinstance(kind, Table):
        return _records(name, value)
    return value.to_json() if hasattr(value, "to_json") else kind.plain(value)


def _called(name: str, model: Model | Kept, names: Names) -> str:
    if model.fingerprint not in names:
        known = ", ".join(names.values()) or "none"
        raise ArgumentError(
            f"{name} must be one of the server's models ({known}), got another. "
            "Take it from server.model(name)."
        )
    return names[model.fingerprint]


def _records(name: str, table: Kept) -> Any:
    """Return public rows as records; a number that is missing is null."""
    rows = table.value
    if isinstance(rows, str | Path):
        raise ArgumentError(f"{name} must be rows to be sent to a server, got a file. Read it first.")
    frame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if not hasattr(frame, "to_json"):
        raise ArgumentError(f"{name} must be a frame to be sent to a server, got an array.")
    return json.loads(frame.to_json(orient="records", date_format="iso"))
