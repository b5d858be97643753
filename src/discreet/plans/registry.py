"""Which questions there are: the names in ``discreet.PLANS``, found when they are asked for."""

from __future__ import annotations

import importlib
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plans.declaration import DeclaredPlan, arguments_of, summary

# The package's own table; a plain import would count all names it exports as imports of ours.
PLANS: dict[str, str] = importlib.import_module("discreet").PLANS


def declared_plans() -> list[str]:
    """Return the names of all questions that are declarations."""
    return [name for name in PLANS if isinstance(find_plan(name), type)]


def find_plan(name: Any) -> type[DeclaredPlan]:
    """Return the declaration of a question; its module is imported now."""
    if not isinstance(name, str) or name not in PLANS:
        raise ArgumentError(f"kind must be one of {', '.join(PLANS)}, got {shown(name)}.")
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
    return {"name": plan.__name__, "summary": summary(plan), "arguments": told}
