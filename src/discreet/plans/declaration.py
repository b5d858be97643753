"""A plan declared once: the class is the public callable, its fields are the arguments.

```python
class most_frequent(DeclaredPlan):
    # a docstring whose ``Args:`` has an entry for every field, then

    column: Annotated[str, Column()]
    _: KW_ONLY
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[ChoiceName, Choice(CHOICES)] = "auto"

    def prepare(self, setting: Setting) -> Program: ...
```
A subclass is made a frozen dataclass. Every field names its kind, from which come its check, its plain
form, how it is read back, its option and its entry in a form; its help is the entry of ``Args:``. What
follows from other arguments, and checks of several at once, are in ``settle``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, MISSING, Field, dataclass, fields
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self, dataclass_transform, get_type_hints

from discreet.arguments import shown
from discreet.docstrings import entries, headline
from discreet.errors import ArgumentError, SchemaError
from discreet.plans.kinds import UNSAID, Column, Columns, Kind, OneOf, Rho
from discreet.plans.plan import Plan
from discreet.schema.schema import UnknownColumn

PROMISE = ("epsilon", "delta", "rho")
"""What a plan may cost: arguments that are no part of the question."""

_LAST = ("where", "by", "rho")
_TRIED_DELTA = 1e-6
_BY_RHO = ("gaussian", "exponential")


@dataclass(frozen=True)
class Argument:
    """One argument of a plan, as its declaration has it."""

    name: str
    kind: Kind
    help: str
    positional: bool
    required: bool
    default: Any = None

    def describe(self) -> dict[str, Any]:
        """Return it as plain data, for forms and pages."""
        default = {} if self.required else {"default": self.kind.plain(self.default)}
        told = {"name": self.name, "required": self.required, "positional": self.positional}
        return {**told, **self.kind.form(), **default, "help": self.help}


@dataclass_transform(frozen_default=True, eq_default=False)
class Declared(Plan):
    """A plan whose subclasses become frozen dataclasses."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, repr=False, eq=False)(cls)


class _ShownSignature:
    """What help and notebooks show: plain types, and no default of what must be given."""

    def __get__(self, plan: object, kind: type[DeclaredPlan]) -> Signature:
        hints = get_type_hints(kind)
        return Signature(
            [
                Parameter(
                    field.name,
                    Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
                    default=Parameter.empty if field.default in (MISSING, UNSAID) else field.default,
                    annotation=hints[field.name],
                )
                for field in _declared(kind)
            ]
        )


class DeclaredPlan(Declared):
    """A question whose arguments are the fields of its class.

    Args:
      rho: the whole budget of the plan in zero-concentrated differential privacy, instead of epsilon
        and delta, for data sets that count it (``accountant="zcdp"``). ``mechanism="auto"`` takes what
        errs least at this rho.
    """

    _: KW_ONLY
    rho: Rho = None

    __signature__ = _ShownSignature()

    whole_only: ClassVar[str] = "It is about all records of a table."
    """Why a plan that has no ``where`` and ``by`` has none."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Refuse arguments it does not have: parts of the records if it is about all, misspelt ones."""
        for name in ("where", "by"):
            if name in given and name not in kinds_of(cls):
                raise ArgumentError(
                    f"{name} must be left out of {cls.__name__}, got {shown(given[name])}. "
                    f"{cls.whole_only}"
                )
        known = kinds_of(cls)
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1, 0.4)
                raise ArgumentError(
                    f"arguments must be ones of {cls.__name__} ({', '.join(known)}), got {name!r}."
                    + "".join(f" Did you mean {other}?" for other in near)
                )
        cls._check_places(args)
        return super().__new__(cls)

    @classmethod
    def _check_places(cls, args: tuple[Any, ...]) -> None:
        """Refuse arguments without a name beyond those that need none."""
        placed = [one.name for one in fields(cls) if not one.kw_only]
        if len(args) > len(placed):
            named = ", ".join(name for name in kinds_of(cls) if name not in placed)
            raise ArgumentError(
                f"{cls.__name__} must be given all but {' and '.join(placed) or 'nothing'} by name, "
                f"got {shown(args[len(placed)])} by its place. Write epsilon=..., or one of {named}."
            )

    def __post_init__(self) -> None:
        if self.rho is not None:
            self._settle_by_rho()
            return
        if self.epsilon is UNSAID:
            raise ArgumentError(
                "epsilon must be given, got none. It is the whole budget of this plan; for a data set "
                "that counts rho, give rho instead."
            )
        given = {name: getattr(self, name) for name in kinds_of(type(self))}
        for name, kind in kinds_of(type(self)).items():
            self._set(name, kind.settle(name, given[name], given))
        for name, value in self.settle().items():
            self._set(name, value)

    def _settle_by_rho(self) -> None:
        """Settle arguments as those of a plan with an epsilon and a delta: rho takes their place."""
        for name in ("epsilon", "delta"):
            default = getattr(type(self), name, 0.0)
            if getattr(self, name, default) not in (default, UNSAID):
                raise ArgumentError(
                    f"{name} must be left out of a plan with a rho, got "
                    f"{shown(getattr(self, name))}. Rho is its whole budget."
                )
        rho = kinds_of(type(self))["rho"].settle("rho", self.rho, {})
        settled = self.paid(1.0, _TRIED_DELTA)
        for name in kinds_of(type(self)):
            if name not in PROMISE:
                self._set(name, getattr(settled, name))
        self._set("rho", rho)

    def paid(self, epsilon: float, delta: float, mechanism: str | None = None) -> Self:
        """Return the same question for an epsilon and a delta, by another mechanism if one is given."""
        known = kinds_of(type(self))
        changes: dict[str, Any] = {"rho": None, "epsilon": epsilon}
        changes |= {"delta": delta} if "delta" in known else {}
        return self._with(changes | ({} if mechanism is None else {"mechanism": mechanism}))

    def laws(self) -> tuple[str, ...]:
        """Return what ``mechanism="auto"`` is compared with where rho is counted; empty if not asked.

        At equal rho the exponential mechanism has twice the epsilon of other pure choices, and Gaussian
        noise gains on sums of many numbers; ``auto`` itself is the best of the pure ones.
        """
        kind = kinds_of(type(self)).get("mechanism")
        if not isinstance(kind, OneOf) or getattr(self, "mechanism", None) != "auto":
            return ()
        return tuple(law for law in _BY_RHO if law in kind.allowed)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the way of dataclasses, while a frozen one is made

    def settle(self) -> Mapping[str, Any]:
        """Check arguments against each other, and return those that follow from others."""
        return {}

    @property
    def plan_name(self) -> str:
        """The name of the question."""
        return type(self).__name__

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, as plain data."""
        return {
            name: kind.plain(getattr(self, name))
            for name, kind in kinds_of(type(self)).items()
            if kind.identifies
            and name not in PROMISE
            and not (kind.unsaid and getattr(self, name) is None)
        }

    def at(self, epsilon: float) -> Self:
        """Return the same question with another epsilon."""
        return self._with({"epsilon": epsilon})

    def whole(self) -> Self:
        """Return the same question without clips."""
        return self._with(dict(self.clips))

    def _with(self, changes: dict[str, Any]) -> Self:
        # What is cached belongs to the old arguments: made anew, and checked as cheaply as settled.
        return type(self)(**{name: getattr(self, name) for name in kinds_of(type(self))} | changes)

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in kinds_of(type(self))]

    def to_json(self) -> str:
        """Return the plan as a text that ``plan_from_json`` reads."""
        return json.dumps(self.describe(), sort_keys=True, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeclaredPlan):
            return NotImplemented
        return self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self.key)


@contextmanager
def named_by_argument(plan: Plan) -> Iterator[None]:
    """Let a column that no schema knows be told by the argument that asks for it."""
    try:
        yield
    except UnknownColumn as error:
        for argument, kind in kinds_of(type(plan)).items() if isinstance(plan, DeclaredPlan) else ():
            given = getattr(plan, argument)
            if isinstance(kind, Column) and given == error.name:
                raise SchemaError(f"{argument} must be one of {error.told}") from None
            if isinstance(kind, Columns) and isinstance(given, tuple) and error.name in given:
                raise SchemaError(f"{argument} must be among {error.told}") from None
        raise


@cache
def kinds_of(plan: type[DeclaredPlan]) -> dict[str, Kind]:
    """Return the kind of every argument, in the order of the declaration."""
    hints = get_type_hints(plan, include_extras=True)
    return {field.name: _kind(plan, field, hints[field.name]) for field in _declared(plan)}


def _declared(plan: type[DeclaredPlan]) -> list[Field[Any]]:
    """Return the fields of a plan; what many plans have comes last."""
    return sorted(
        fields(plan), key=lambda field: _LAST.index(field.name) if field.name in _LAST else -1
    )


def _kind(plan: type, field: Field[Any], hint: Any) -> Kind:
    named = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Kind)]
    if len(named) != 1:
        raise TypeError(f"{plan.__name__}.{field.name} must name one kind, as Annotated[type, Kind()].")
    return named[0]


@cache
def arguments_of(plan: type[DeclaredPlan]) -> tuple[Argument, ...]:
    """Return the arguments of a plan with their kinds, defaults and help."""
    documented = [kind.__doc__ or "" for kind in reversed(plan.__mro__) if issubclass(kind, Plan)]
    told = {name: text for doc in documented for name, text in entries(doc).items()}
    kinds = kinds_of(plan)
    missing = [name for name in kinds if name not in told]
    if missing:
        raise TypeError(f"{plan.__name__} must say what {missing[0]} is under Args:.")
    return tuple(
        Argument(
            field.name,
            kinds[field.name],
            told[field.name],
            not field.kw_only,
            field.default is MISSING,
            None if field.default in (MISSING, UNSAID) else field.default,
        )
        for field in _declared(plan)
    )


def summary(plan: type[DeclaredPlan]) -> str:
    """Return what a plan answers: the first line of its docstring, without its verb."""
    return headline(plan.__doc__ or "")
