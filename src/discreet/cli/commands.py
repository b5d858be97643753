"""Which commands there are: listed by their first lines, made when they are run.

To import every plan takes seconds. So lists are shown from docstrings that are read from the source,
and only the command that is run imports what it needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet import PLANS
from discreet.docstrings import headline, read_docstring, unmarked
from discreet.errors import ArgumentError, DiscreetError

Homes = Mapping[str, tuple[str, str]]
"""Commands, and the module and function that each runs, whose docstring is its help."""

COMMANDS: Homes = {
    "demo": ("discreet.cli.about.demo", "demo_command"),
    "sketch": ("discreet.cli.curator", "sketch_command"),
    "schema": ("discreet.cli.curator", "schema_command"),
    "protect": ("discreet.cli.curator", "protect_command"),
    "check": ("discreet.cli.curator", "check_command"),
    "price": ("discreet.cli.asking", "price_plan"),
    "diagnose": ("discreet.cli.asking", "diagnose_plan"),
    "release": ("discreet.cli.asking", "release_plan"),
    "show": ("discreet.cli.saved", "show_command"),
    "plot": ("discreet.cli.saved", "plot_command"),
    "report": ("discreet.cli.saved", "report_command"),
    "verify": ("discreet.cli.budget", "verify"),
    "budget": ("discreet.cli.budget", "budget_command"),
    "card": ("discreet.cli.cards", "card_command"),
    "serve": ("discreet.cli.serving.server", "serve_command"),
    "keys": ("discreet.cli.serving.server", "keys_command"),
    "dataflow": ("discreet.cli.about.dataflow", "dataflow_command"),
    "audit": ("discreet.cli.about.audit", "audit_command"),
    "claims": ("discreet.cli.about.claims", "claims_command"),
    "version": ("discreet.cli", "version_command"),
}

GROUPS: Mapping[str, Homes] = {
    "schema": {"check": ("discreet.cli.curator", "check_schema")},
    "budget": {
        "show": ("discreet.cli.budget", "show"),
        "history": ("discreet.cli.budget", "history"),
        "verify": ("discreet.cli.budget", "verify"),
        "allot": ("discreet.cli.budget", "allot"),
        "change": ("discreet.cli.budget", "change"),
        "settle": ("discreet.cli.budget", "settle"),
    },
    "card": {
        "write": ("discreet.cli.cards", "write"),
        "show": ("discreet.cli.cards", "show"),
        "price": ("discreet.cli.cards", "price"),
        "answer": ("discreet.cli.cards", "answer"),
    },
    "keys": {
        "new": ("discreet.cli.serving.server", "new_key"),
        "list": ("discreet.cli.serving.server", "list_keys"),
        "revoke": ("discreet.cli.serving.server", "revoke_key"),
    },
}
"""Commands that are several, and each of them."""

ACTIONS = ("price", "diagnose", "release")
"""Commands that do something with a plan."""

PYTHON_ONLY = {
    "any_curve": "its explainer is a function",
    "any_ranking": "its explainer is a function",
    "choose": "its utility is a function",
    "data_shapley.coreset": "refits are remembered in a running process alone",
}
"""Plans and arguments that cannot be typed, and why."""

BATCH = "--plans"
"""Stands where a plan's name does: several of them, from a file."""


class Spoken(TyperCommand):
    """A command whose errors speak of its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            from discreet.cli.speech import speak

            raise speak(error, {str(known.name): _spelled(known) for known in self.params}) from None


def _spelled(parameter: Any) -> str:
    """Return how an argument is typed: an option by its first name, others by their own."""
    return next((name for name in parameter.opts if name.startswith("--")), str(parameter.name))


class LazyGroup(TyperGroup):
    """A group that knows the first lines of its commands, and makes one when it is run."""

    def __init__(self, homes: Homes, **settings: Any) -> None:
        lines = {name: first_line(*home) for name, home in homes.items()}
        listed = {name: TyperCommand(name, help=line) for name, line in lines.items()}
        super().__init__(**{**settings, "commands": listed})
        self.homes = homes

    def make(self, name: str) -> Any:
        """Return a command of this group."""
        home, function = self.homes[name]
        return make_command(name, getattr(importlib.import_module(home), function))

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

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the commands that a word may become, from their first lines alone."""
        listed = TyperGroup(name=self.name, params=self.params, commands=dict(self.commands))
        shown = type(ctx)(listed, info_name=ctx.info_name, parent=ctx.parent)
        return listed.shell_complete(shown, incomplete)


class Commands(LazyGroup):
    """All commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(COMMANDS, **settings)

    def make(self, name: str) -> Any:
        """Return a command, or a group of them."""
        if name in ACTIONS:
            return Questions(name)
        if name in GROUPS:
            told = read_docstring(*COMMANDS[name])
            return LazyGroup(GROUPS[name], name=name, help=told, no_args_is_help=True)
        return super().make(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named; or say what is done with a question that is."""
        name = args[0]
        if name not in self.commands and name in typed_plans() and not ctx.resilient_parsing:
            ctx.fail(f"{name!r} is a question: 'discreet price {name}' or 'discreet release {name}'.")
        return super().resolve_command(ctx, args)


class Questions(LazyGroup):
    """All plans that can be typed, or those of a file, and one thing to do with them."""

    def __init__(self, action: str) -> None:
        homes = {command: (PLANS[plan], plan) for command, plan in typed_plans().items()}
        homes[BATCH] = ("discreet.cli.plan_files", "batch")
        # What is no option of the group is looked for among the commands: --plans is one of them.
        settings: Any = {"context_settings": {"ignore_unknown_options": True}}
        told = first_line(*COMMANDS[action])
        super().__init__(homes, name=action, help=told, no_args_is_help=True, **settings)

    def make(self, name: str) -> Any:
        """Return the command that makes a plan of its options, or several of a file, and acts."""
        home, function = COMMANDS[str(self.name)]
        act = getattr(importlib.import_module(home), function)
        if name == BATCH:
            from discreet.cli.plan_files import batch

            return make_command(name, batch(act))
        from discreet.cli.questions import question
        from discreet.plans.registry import find_plan

        return make_command(name, question(find_plan(typed_plans()[name]), act))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant: ``--plans`` also after other options, or with ``=``."""
        words = [part for word in args for part in _apart(word)]
        if words[0] not in self.commands and BATCH in words:
            words.remove(BATCH)
            words.insert(0, BATCH)
        why = PYTHON_ONLY.get(words[0].replace("-", "_"))
        if why is not None:
            raise ArgumentError(f"{words[0]} must be asked in Python: {why}.")
        return super().resolve_command(ctx, words if words[0] == BATCH else args)


def _apart(word: str) -> list[str]:
    return word.split("=", 1) if word.startswith(f"{BATCH}=") else [word]


def typed_plans() -> dict[str, str]:
    """Return the plans that can be typed, by the names of their commands."""
    return {as_typed(name): name for name in PLANS if name not in PYTHON_ONLY}


def as_typed(name: str) -> str:
    """Return how a name of Python is typed."""
    return name.strip("_").replace("_", "-")


def first_line(module: str, name: str) -> str:
    """Return what a command or a plan says of itself first; its module is not imported."""
    return unmarked(headline(read_docstring(module, name)))


def make_command(name: str, function: Callable[..., None]) -> Any:
    """Return the command that calls a function; its annotations are the options."""
    app = typer.Typer(add_completion=False)
    app.command(name, cls=Spoken)(function)
    return typer.main.get_command(app)
