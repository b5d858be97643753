"""Commands made from declarations: an argument of a plan is an option, its kind reads what is typed.

Required arguments that can be typed stand by themselves (``discreet release histogram age``), all
others are options. Wrong values are answered by the plan's own checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.additive.released.result import AdditiveModel
from discreet.cli.commands import PYTHON_ONLY, as_typed
from discreet.cli.files import load_model, read_rows
from discreet.cli.project import complete_column
from discreet.cli.serving.remote import open_remote
from discreet.client import RemoteModel
from discreet.docstrings import entries, opening, unmarked
from discreet.errors import ArgumentError
from discreet.models import Model
from discreet.plans import Plan
from discreet.plans.declaration import Argument, DeclaredPlan, arguments_of, summary
from discreet.plans.held import ModelKind
from discreet.plans.kinds import Columns, Flag, Interval, Kind, OneOf, Text, Values

_READERS: dict[str, Callable[[Path], Any]] = {"rows": read_rows, "table": Path}
_MODELS: ContextVar[Callable[[Path], Any]] = ContextVar("models", default=load_model)
"""What --model is read by: as a file, or as the name of a server's model."""

_FILES = {
    "model": "A file of skops, XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm) or ONNX, a "
    "saved release of a model, an edited model, CARD#NAME of a card, or a name of --server's",
    "rows": "A CSV or JSON file, or a saved release",
    "table": "A file with rows, as for protect",
}
NONE = "none"
"""What is typed for None, where that is not the default."""

_MODEL_KINDS: Mapping[str, Kind] = {
    "output": OneOf(("auto", "probability", "margin", "value")),
    "class_": Text(optional=True),
    "bounds": Interval(optional=True),
    "isolated": Flag(),
}
"""What of a model is explained, where ``dc.Model`` says it in Python."""

Act = Callable[..., None]
"""What is done with a plan: its first argument is the plan, all others are options."""


def question(declared: type[DeclaredPlan], act: Act) -> Act:
    """Return a function with the options of a plan and of what is done with it."""
    shared = list(inspect.signature(act, eval_str=True).parameters.values())[1:]

    def ask(**values: Any) -> None:
        with models_of(values):
            plan = plan_of(declared, values)
        act(plan, **{p.name: values[p.name] for p in shared})

    own = parameters_of(declared)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *shared)]
    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ask.__annotations__ = {p.name: p.annotation for p in parameters}
    ask.__doc__ = unmarked(summary(declared))
    return ask


@contextmanager
def models_of(values: Mapping[str, Any]) -> Iterator[None]:
    """Read models as what was typed says: by the server's names if it has --server, else from files."""
    server = values.get("server")
    if server is None:
        yield
        return
    session = open_remote(server, values["key_file"], values["dataset"])
    before = _MODELS.set(lambda path: session.model(path.name))
    try:
        yield
    finally:
        _MODELS.reset(before)


def plan_of(declared: type[DeclaredPlan], values: Mapping[str, Any]) -> Plan:
    """Return a plan from what was typed; what was left out keeps its default."""
    given = _read_all(asked_arguments(declared), values)
    options = _read_all(model_arguments(declared), values)
    defaults = {argument.name: argument.default for argument in model_arguments(declared)}
    chosen = {name: value for name, value in options.items() if value != defaults[name]}
    if chosen:
        models = [a.name for a in asked_arguments(declared) if isinstance(a.kind, ModelKind)]
        given |= {name: _modelled(given[name], chosen) for name in models if name in given}
    return declared(**given)


def _read_all(arguments: Iterable[Argument], values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        argument.name: _read(argument, values[argument.name])
        for argument in arguments
        if values.get(argument.name) not in (None, [])
    }


def _modelled(model: Any, options: dict[str, Any]) -> Model:
    """Return a model with what of it is explained; a class is known by how it is written."""
    if isinstance(model, RemoteModel):
        raise ArgumentError(
            f"{next(iter(options))} must be left out with --server, which says it of its models, "
            "got one."
        )
    known = {str(label): label for label in getattr(model, "classes_", ())}
    if "class_" in options:
        options = {**options, "class_": known.get(str(options["class_"]), options["class_"])}
    if isinstance(model, AdditiveModel) and {*options} <= {"class_", "output"}:
        return model.to_model(**options)
    return Model(model, **options)


def _read(argument: Argument, value: Any) -> Any:
    """Return an argument from its text or texts, its file or its flag."""
    if argument.kind.file and isinstance(value, Path):
        read = _MODELS.get() if argument.kind.file == "model" else _READERS[argument.kind.file]
        return read(value)
    if value == NONE and _may_be_none(argument):
        return None
    if isinstance(value, list):
        entries = [argument.kind.parse(one) if isinstance(one, str) else one for one in value]
        return argument.kind.gather(argument.name, entries)
    return argument.kind.parse(value) if isinstance(value, str) else value


def typed_names(declared: type[DeclaredPlan]) -> dict[str, Argument]:
    """Return the arguments of a plan and of its model by all names under which they are typed."""
    known = [*asked_arguments(declared), *model_arguments(declared)]
    return {
        name: argument
        for argument in known
        for name in (as_typed(argument.name), *(o[2:] for o in spellings(argument.kind, argument.name)))
    }


def asked_arguments(declared: type[DeclaredPlan]) -> list[Argument]:
    """Return the arguments that can be typed."""
    name = declared.__name__
    return [a for a in arguments_of(declared) if f"{name}.{a.name}" not in PYTHON_ONLY]


@cache
def _model_options() -> tuple[Argument, ...]:
    defaults, told = inspect.signature(Model).parameters, entries(Model.__doc__ or "")
    return tuple(
        Argument(name, kind, told[name], False, False, defaults[name].default)
        for name, kind in _MODEL_KINDS.items()
    )


def model_arguments(declared: type[DeclaredPlan]) -> tuple[Argument, ...]:
    """Return what can be said of a plan's model, if it has one; the plan's own names come first."""
    taken = {argument.name for argument in asked_arguments(declared)}
    if not any(isinstance(argument.kind, ModelKind) for argument in asked_arguments(declared)):
        return ()
    return tuple(argument for argument in _model_options() if argument.name not in taken)


def parameters_of(declared: type[DeclaredPlan]) -> list[inspect.Parameter]:
    """Return an argument or an option of the command for every argument of a plan."""
    asked = asked_arguments(declared)
    places = [argument for argument in asked if _stands_alone(argument)]
    made = [_place(argument, last=argument is places[-1]) for argument in places]
    made += [_option(argument) for argument in asked if argument not in places]
    made += [_option(argument) for argument in model_arguments(declared)]
    return sorted(made, key=lambda parameter: parameter.default is not inspect.Parameter.empty)


def _stands_alone(argument: Argument) -> bool:
    return argument.positional and argument.required and not argument.kind.file


def _place(argument: Argument, *, last: bool) -> inspect.Parameter:
    """Return an argument without a name; of several lists the last alone can be of any length."""
    many = argument.kind.many and last
    shown = typer.Argument(help=help_of(argument), autocompletion=_completion(argument.kind))
    return _parameter(argument.name, Annotated[list[str] if many else str, shown])


def _option(argument: Argument) -> inspect.Parameter:
    kind, name = argument.kind, argument.name
    if isinstance(kind, Flag):
        shown = typer.Option(help=help_of(argument))
        hint: Any = bool | None if argument.default is None else bool
        return _parameter(name, Annotated[hint, shown], argument.default)
    default = _default(argument)
    typed: Any = list[str] if kind.many else Path if names_file(argument) else str
    if default is None:
        typed = typed | None
    metavar = f"<{'file' if names_file(argument) else kind.word}>"
    shown = typer.Option(
        *spellings(kind, name),
        help=help_of(argument),
        metavar=metavar,
        autocompletion=_completion(kind),
    )
    return _parameter(name, Annotated[typed, shown], default)


def _completion(kind: Kind) -> Callable[..., list[str]] | None:
    """Return what a shell may fill in: columns of the schema, or the words there are."""
    if isinstance(kind, OneOf):
        return lambda incomplete: [word for word in kind.allowed if word.startswith(incomplete)]
    return complete_column if kind.word in ("column", "columns", "features") else None


def names_file(argument: Argument) -> bool:
    """Whether a file is named; what has a word as its default is named by a word."""
    return bool(argument.kind.file) and not isinstance(argument.default, str)


def _default(argument: Argument) -> Any:
    """Return the default as it would be typed."""
    if argument.required:
        return inspect.Parameter.empty
    if not isinstance(argument.default, str | int | float):
        return None
    text = str(argument.default)
    return [text] if argument.kind.many else text


def spellings(kind: Kind, name: str) -> list[str]:
    """Return the names of an option; one that is repeated for every entry is named after one."""
    entry = name.removesuffix("s") if isinstance(kind, Columns | Values) else name
    return [f"--{as_typed(spelled)}" for spelled in (kind.also, entry) if spelled]


def _may_be_none(argument: Argument) -> bool:
    return argument.kind.optional and not argument.required and argument.default is not None


def help_of(argument: Argument) -> str:
    """Return a line of help: how the entry of ``Args:`` begins, and what may be typed."""
    words = argument.kind.allowed if isinstance(argument.kind, OneOf) else ()
    said = opening(argument.help, words=words) + (f" Or {NONE}." if _may_be_none(argument) else "")
    if names_file(argument):
        return f"{_FILES[argument.kind.file]}: {said[:1].lower()}{said[1:]}"
    if isinstance(argument.kind, OneOf):
        unsaid = [word for word in argument.kind.allowed if word not in said]
        return f"{said} One of {', '.join(argument.kind.allowed)}." if unsaid else said
    return said


def _parameter(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, annotation=hint, default=default)
