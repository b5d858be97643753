"""Which commands there are: listed by their first lines, made when they are run.

To import every plan takes seconds. So lists are shown from docstrings that are read from the source,
and only the command that is run imports what it needs.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet import PLANS
from discreet.docstrings import headline, read_docstring, unmarked

COMMANDS = {
    "demo": ("discreet.cli.demo", "demo_command"),
    "sketch": ("discreet.cli.curator", "sketch_command"),
    "protect": ("discreet.cli.curator", "protect_command"),
    "price": ("discreet.cli.asking", "price_plan"),
    "diagnose": ("discreet.cli.asking", "diagnose_plan"),
    "release": ("discreet.cli.asking", "release_plan"),
    "budget": ("discreet.cli.budget", "budget_command"),
    "dataflow": ("discreet.cli.dataflow", "dataflow_command"),
    "audit": ("discreet.cli.audit", "audit_command"),
    "claims": ("discreet.cli.claims", "claims_command"),
    "version": ("discreet.cli", "version_command"),
}
"""Every command and the function that it runs, whose docstring is its help."""

ACTIONS = ("price", "diagnose", "release")
"""Commands that do something with a plan."""

PYTHON_ONLY = {
    "any_curve": "its explainer is a function",
    "any_ranking": "its explainer is a function",
    "choose": "its utility is a function",
    "data_shapley.coreset": "refits are remembered in a running process alone",
}
"""Plans and arguments that cannot be typed, and why."""

ALSO = {"choose": "most-frequent"}
"""Names that commands had before."""


class LazyGroup(TyperGroup):
    """A group that knows the first lines of its commands, and makes one when it is run."""

    def __init__(self, homes: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        lines = {name: first_line(*home) for name, home in homes.items()}
        listed = {name: TyperCommand(name, help=line) for name, line in lines.items()}
        super().__init__(**{**settings, "commands": listed})

    @abstractmethod
    def make(self, name: str) -> Any:
        """Return a command of this group."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command to run, or None if there is none of this name."""
        return self.make(cmd_name) if cmd_name in self.commands else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as a group does whose commands are no more than their first lines."""
        shown = TyperGroup(
            name=self.name,
            help=self.help,
            params=self.params,
            commands=dict(self.commands),
            rich_markup_mode=self.rich_markup_mode,
        )
        shown.format_help(ctx, formatter)


class Commands(LazyGroup):
    """All commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(COMMANDS, **settings)

    def make(self, name: str) -> Any:
        """Return a command, or a group of them."""
        home, function = COMMANDS[name]
        if name in ACTIONS:
            return Questions(name)
        module = importlib.import_module(home)
        if name == "budget":
            return typer.main.get_command(module.app)
        return make_command(name, getattr(module, function))


class Questions(LazyGroup):
    """All plans that can be typed, and one thing to do with them."""

    def __init__(self, action: str) -> None:
        homes = {command: (PLANS[plan], plan) for command, plan in typed_plans().items()}
        super().__init__(homes, name=action, help=first_line(*COMMANDS[action]), no_args_is_help=True)

    def make(self, name: str) -> Any:
        """Return the command that makes a plan of its options and acts on it."""
        from discreet.cli.questions import question
        from discreet.plans.registry import find_plan

        home, function = COMMANDS[str(self.name)]
        act = getattr(importlib.import_module(home), function)
        return make_command(name, question(find_plan(typed_plans()[name]), act))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, also by a name that it had before."""
        return super().get_command(ctx, ALSO.get(cmd_name, cmd_name))


def typed_plans() -> dict[str, str]:
    """Return the plans that can be typed, by the names of their commands."""
    return {as_typed(name): name for name in PLANS if name not in PYTHON_ONLY}


def as_typed(name: str) -> str:
    """Return how a name of Python is typed."""
    return name.replace("_", "-")


def first_line(module: str, name: str) -> str:
    """Return what a command or a plan says of itself first; its module is not imported."""
    return unmarked(headline(read_docstring(module, name)))


def make_command(name: str, function: Callable[..., None]) -> Any:
    """Return the command that calls a function; its annotations are the options."""
    app = typer.Typer(add_completion=False)
    app.command(name)(function)
    return typer.main.get_command(app)
