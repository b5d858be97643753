"""Several plans in a file, asked together: one price, one reservation, all or nothing.

```toml
[ages]
plan = "histogram"
columns = "age"
epsilon = 0.2

[score]
plan = "partial-dependence"
model = "model.skops"
features = "credit_score"
epsilon = 0.5
```

Every table is a plan, known by the table's name; its entries are the options of the plan's command,
without their dashes. Paths are relative to the file.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.arguments import shown
from discreet.cli.commands import as_typed, typed_plans
from discreet.cli.questions import (
    Act,
    asked_arguments,
    models_of,
    names_file,
    plan_of,
    typed_names,
)
from discreet.errors import ArgumentError, DiscreetError
from discreet.plans import Plan
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.registry import find_plan


def batch(act: Act) -> Act:
    """Several plans from a TOML file, together: all of them or none."""
    first, *shared = inspect.signature(act, eval_str=True).parameters.values()
    file = Annotated[Path, typer.Argument(metavar="file", help="A table of options for every plan.")]

    def ask(**values: Any) -> None:
        with models_of(values):
            plans = read_plans(values.pop(first.name))
        act(plans, **values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(first.name, keyword, annotation=file)]
    parameters += [parameter.replace(kind=keyword) for parameter in shared]
    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ask.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    ask.__doc__ = batch.__doc__
    return ask


def read_plans(path: Path) -> dict[str, Plan]:
    """Return the plans of a file by their names; a mistake is told with the name of its table."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"--plans must be a TOML file that can be read, got {path}: {error}."
        ) from None
    if not tables or not all(isinstance(table, Mapping) for table in tables.values()):
        raise ArgumentError(
            f"--plans must be a file with a table for every plan, such as [ages], got {path}."
        )
    return {name: _read_plan(name, table, path.parent) for name, table in tables.items()}


def _read_plan(name: str, table: Mapping[str, Any], folder: Path) -> Plan:
    if Path(name).name != name or name.startswith("."):
        raise ArgumentError(f"A plan's name must do for a file's, got [{name}].")
    try:
        return _made(table, folder)
    except DiscreetError as error:
        error.args = (f"[{name}]: {error}", *error.args[1:])
        raise


def _made(table: Mapping[str, Any], folder: Path) -> Plan:
    known, asked = typed_plans(), table.get("plan")
    if not isinstance(asked, str) or as_typed(asked) not in known:
        raise ArgumentError(f"plan must be one of {', '.join(known)}, got {shown(asked)}.")
    declared = find_plan(known[as_typed(asked)])
    names, values = typed_names(declared), {}
    for entry, value in table.items():
        argument = names.get(as_typed(entry))
        if argument is not None:
            is_path = isinstance(value, str) and names_file(argument)
            values[argument.name] = folder / value if is_path else value
        elif entry != "plan":
            raise ArgumentError(
                f"Entries must be options of {asked}, got {entry}. It has {', '.join(names)}."
            )
    _check_complete(declared, values)
    return plan_of(declared, values)


def _check_complete(declared: type[DeclaredPlan], values: Mapping[str, Any]) -> None:
    required = [argument.name for argument in asked_arguments(declared) if argument.required]
    missing = [name for name in required if name not in values]
    if missing:
        raise ArgumentError(f"{as_typed(missing[0])} must be given, got none.")
