"""Which questions there are: the names in ``discreet.PLANS``, found when they are asked for.

They are read back from their plain form. What a text cannot hold (models, rows, functions) is
brought by the reader under its fingerprint. Nothing is imported or unpickled by what a text says:
it names a question of the registry and values.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from discreet.arguments import did_you_mean, shown
from discreet.errors import ArgumentError
from discreet.plans.declaration import PROMISE, DeclaredPlan, arguments_of, kinds_of, summary

# The package's own table; a plain import would count all names it exports as imports of ours.
PLANS: dict[str, str] = importlib.import_module("discreet").PLANS


def declared_plans() -> list[str]:
    """Return the names of all questions that are declarations."""
    return [name for name in PLANS if isinstance(find_plan(name), type)]


def find_plan(name: Any) -> type[DeclaredPlan]:
    """Return the declaration of a question; its module is imported now."""
    if not isinstance(name, str) or name not in PLANS:
        near = did_you_mean(name, PLANS)
        raise ArgumentError(f"kind must be one of {', '.join(PLANS)}, got {shown(name)}.{near}")
    found: type[DeclaredPlan] = getattr(importlib.import_module(PLANS[name]), name)
    return found


def describe_plans() -> dict[str, Any]:
    """Return every question as plain data: arguments with their kinds, defaults, choices and help.

    >>> describe_plans()["histogram"]["arguments"][0]["kind"]
    'columns'
    """
    return {name: describe_declaration(find_plan(name)) for name in declared_plans()}


def describe_declaration(plan: type[DeclaredPlan]) -> dict[str, Any]:
    """Return one question as plain data."""
    told = [argument.describe() for argument in arguments_of(plan)]
    room = plan.__module__.split(".")[1]
    return {"name": plan.__name__, "room": room, "summary": summary(plan), "arguments": told}


_FIELDS = {"kind", "meaning", "epsilon", "delta", "arguments"}
_WITH_RHO = _FIELDS - {"epsilon", "delta"} | {"rho"}


def plan_from_json(
    text: str | Mapping[str, Any], objects: Mapping[str, Any] | None = None
) -> DeclaredPlan:
    """Return the plan that ``plan.to_json()`` wrote, or that a release names as its ``plan``.

    Args:
      text: what was written, as a text or as plain data.
      objects: models, rows and functions by their fingerprint, as the plan's ``arguments()`` show it.

    Raises:
      ArgumentError: if the text is no plan, if an object is missing or another one, or if the plan
        cannot be read back: its functions had no name, or its query was sealed.

    >>> import discreet as dc
    >>> plan = dc.histogram("age", bins=10, epsilon=0.5)
    >>> plan_from_json(plan.to_json()) == plan
    True
    """
    plain = _parsed(text)
    declared, written = find_plan(plain["kind"]), plain["arguments"]
    _check_meaning(declared, plain["meaning"])
    _check_names(declared, written)
    kinds, known = kinds_of(declared), objects or {}
    given = {name: kinds[name].read(name, value, known) for name, value in written.items()}
    plan = declared(**given, **{name: plain[name] for name in PROMISE if name in plain})
    read = plan.describe()["arguments"]
    other = [name for name in read if name not in written or read[name] != written[name]]
    if other:
        raise ArgumentError(
            f"{other[0]} must be what the plan was made of, got another. Bring the same object, or "
            "read a plan that was written by this version."
        )
    return plan


def _parsed(text: str | Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        plain = json.loads(text) if isinstance(text, str | bytes) else text
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, Mapping) or set(plain) not in (_FIELDS, _WITH_RHO):
        raise ArgumentError(
            f"text must be a plan as plan.to_json() writes it, with {', '.join(sorted(_FIELDS))} "
            "(or rho in place of epsilon and delta), "
            f"got {shown(text)}."
        )
    if not isinstance(plain["arguments"], Mapping):
        raise ArgumentError(
            f"arguments must be an object with their names, got {shown(plain['arguments'])}."
        )
    return plain


def _check_meaning(declared: type[DeclaredPlan], meaning: Any) -> None:
    """Raise if a text was written when the same arguments asked for something else."""
    if isinstance(meaning, bool) or meaning != declared.meaning:
        raise ArgumentError(
            f"meaning must be {declared.meaning}, which {declared.__name__} has in this version, got "
            f"{shown(meaning)}: the same arguments asked for something else. Make the plan anew."
        )


def _check_names(declared: type[DeclaredPlan], written: Mapping[str, Any]) -> None:
    """Raise if an argument is missing or strange."""
    known = [argument for argument in arguments_of(declared) if argument.name not in PROMISE]
    strange = [name for name in written if name not in [argument.name for argument in known]]
    if strange:
        raise ArgumentError(
            f"text must hold arguments of {declared.__name__} alone, got {shown(strange[0])} besides."
        )
    missing = [
        argument.name for argument in known if argument.required and argument.name not in written
    ]
    if missing:
        raise ArgumentError(
            f"text must hold every argument of {declared.__name__}, got no {missing[0]}."
        )
