"""Plans as they travel: as asked (names and values), or as written (``plan.describe()``).

Nothing that is sent is imported or run: it names questions of the registry, models of the owner's and
values. What needs a function cannot be sent, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plans import Plan
from discreet.plans.declaration import Argument, DeclaredPlan, arguments_of, kinds_of
from discreet.plans.held import Estimator, Function, ModelKind, Table
from discreet.plans.kinds import Whole
from discreet.plans.registry import declared_plans, describe_declaration, find_plan, plan_from_json
from discreet.service.asked.models import Models

MOST_PLANS = 100


def describe_all() -> dict[str, Any]:
    """Return every question as plain data, with whether it can be sent and why not."""
    return {name: _described(find_plan(name)) for name in declared_plans()}


def _described(declared: type[DeclaredPlan]) -> dict[str, Any]:
    why = _stays(declared)
    told = describe_declaration(declared)
    kinds = kinds_of(declared)
    sent = [one for one in told["arguments"] if not _is_ours(kinds.get(one["name"]))]
    return {
        **told,
        "arguments": sent,
        "travels": not why,
        "why": why and f"{why}, which is asked in Python",
    }


def _stays(declared: type[DeclaredPlan]) -> str:
    """Return why a plan cannot be sent; empty if it can."""
    functions = [a.name for a in arguments_of(declared) if a.required and isinstance(a.kind, Function)]
    return f"its {functions[0]} is a function" if functions else ""


def read_plans(asked: Any, rows: Any, dataset: str, models: Models) -> list[Plan]:
    """Return the plans of a request.

    Args:
      asked: a list of plans, each as asked or as written.
      rows: public rows of written plans, by their digests.
      dataset: whose models may be named.
      models: of the service.
    """
    if not isinstance(asked, list) or not 1 <= len(asked) <= MOST_PLANS:
        raise ArgumentError(f"plans must be a list of 1 to {MOST_PLANS} plans, got {shown(asked)}.")
    known = _public_rows(rows)
    return [_read(one, known, dataset, models) for one in asked]


def is_sealed(asked: Any) -> bool:
    """Say whether a plan of a request holds a query that is itself protected."""
    given = asked.get("arguments") if isinstance(asked, Mapping) else None
    return isinstance(given, Mapping) and given.get("protects") == "query"


def _read(one: Any, rows: Mapping[str, Any], dataset: str, models: Models) -> Plan:
    if isinstance(one, Mapping) and "kind" in one:
        plan = plan_from_json(one, {**rows, **models.by_fingerprint(dataset)})
        _check_ours(type(plan), one["arguments"])
        return plan
    if not isinstance(one, Mapping) or set(one) != {"plan", "arguments"}:
        raise ArgumentError(
            "A plan must be an object with plan and arguments, or as plan.describe() writes it, got "
            f"{shown(one)}."
        )
    declared, given = find_plan(one["plan"]), one["arguments"]
    why = _stays(declared)
    if why:
        raise ArgumentError(f"{declared.__name__} must be asked in Python: {why}.")
    if not isinstance(given, Mapping):
        raise ArgumentError(f"arguments must be an object with their names, got {shown(given)}.")
    _check_complete(declared, given)
    _check_ours(declared, given)
    return declared(
        **{str(name): _value(declared, name, value, dataset, models) for name, value in given.items()}
    )


def _check_complete(declared: type[DeclaredPlan], given: Mapping[str, Any]) -> None:
    missing = [one.name for one in arguments_of(declared) if one.required and one.name not in given]
    if missing:
        raise ArgumentError(f"{missing[0]} must be given, got none. {_help(declared, missing[0])}")


def _check_ours(declared: type[DeclaredPlan], given: Mapping[str, Any]) -> None:
    kinds = kinds_of(declared)
    for name in (name for name, value in given.items() if value is not None):
        if _is_ours(kinds.get(name)):
            raise ArgumentError(
                f"{name} must be left out of what is sent: how many workers there are is the service's."
            )


def _help(declared: type[DeclaredPlan], name: str) -> str:
    found: Argument = next(one for one in arguments_of(declared) if one.name == name)
    return f"It is {found.help}"


def _value(declared: type[DeclaredPlan], name: Any, value: Any, dataset: str, models: Models) -> Any:
    kind = kinds_of(declared).get(name)
    if value is None:
        return None
    if isinstance(kind, Function):
        raise ArgumentError(f"{name} must be left out of what is sent: it is a function.")
    if isinstance(kind, ModelKind):
        return models.asked(value, dataset)
    if isinstance(kind, Estimator):
        return models.get(value, dataset)
    if isinstance(kind, Table):
        return _frame(str(name), value)
    return value


def _is_ours(kind: Any) -> bool:
    """Say whether an argument is how many workers there are: the service's to decide."""
    return isinstance(kind, Whole) and not kind.identifies


def _frame(name: str, value: Any) -> Any:
    import pandas as pd

    if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
        raise ArgumentError(f"{name} must be a list of records to be sent, got {shown(value)}.")
    return pd.DataFrame(value)


def _public_rows(rows: Any) -> Mapping[str, Any]:
    if rows is None:
        return {}
    # Rows as they are, never a text: it could name a file of the service's.
    if not isinstance(rows, Mapping) or not all(
        isinstance(entry, list) and all(isinstance(row, dict | list) for row in entry)
        for entry in rows.values()
    ):
        raise ArgumentError(f"rows must map digests to lists of rows, got {shown(rows)}.")
    return rows
