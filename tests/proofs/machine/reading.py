"""The code's own formulas, read over other numbers than floats.

A function's compiled code is run with other meanings of the names in it: ``math`` works on symbols or
on balls, ``up`` adds nothing, a ``Certificate`` is what it was told. So a bound that is proved is the
one in the code, not a copy of it. What floats make of the formula is another question: ``small_floats``
in ``cases`` and the tests that use it.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType, SimpleNamespace
from typing import Any

import z3
from flint import arb

from discreet.privacy.certificate import NORMS, Bounds, Certificate
from tests.proofs.machine.balls import BALL_MATH, ball_max, ball_min
from tests.proofs.machine.solver import greatest, least, size_of


@dataclass(frozen=True)
class Told:
    """Three bounds, or a certificate of them, as the code tells them."""

    l1: Any
    l2: Any
    linf: Any


@dataclass(frozen=True)
class ToldCertificate:
    """What is written into a certificate."""

    statements: tuple[str, ...]
    size: Any
    bounds: Mapping[str, Told]
    assumptions: tuple[str, ...] = ()

    def widen(self, *_: Any) -> ToldCertificate:
        """Leave out what pays for rounding."""
        return self

    def assume(self, *_: Any) -> ToldCertificate:
        """Leave out words."""
        return self


@dataclass
class Symbols:
    """Names for reading code over z3's reals; ``facts`` say what square roots are."""

    facts: list[Any] = field(default_factory=list)

    def sqrt(self, square: Any) -> Any:
        """Return a number that is not negative and has this square."""
        root = z3.FreshReal("root")
        self.facts += [root >= 0, root * root == square]
        return root

    def read(self, target: Any, **names: Any) -> Callable[..., Any]:
        """Return the code of a function over symbols."""
        math = SimpleNamespace(sqrt=self.sqrt, hypot=lambda a, b: self.sqrt(a * a + b * b))
        found = _read(target, {"math": math, **_PLAIN, **_CHOICES, **names})

        def run(*arguments: Any, **options: Any) -> Any:
            with _no_branches():
                return found(*arguments, **options)

        return run


def floats_cover(target: Callable[..., Any], *numbers: Any) -> bool:
    """Say whether a certificate of floats is no less than the code's formula over exact numbers."""
    told = read_over_balls(target)(*(arb(x) if isinstance(x, float) else x for x in numbers))
    return is_covered(told, target(*numbers))


def is_covered(told: ToldCertificate, found: Certificate) -> bool:
    """Say whether bounds of floats are no less than told ones, which are known to 45 digits.

    Told bounds are tightened first, as the code does it: what follows from other norms is proved.
    """
    tightened = read_over_balls(Bounds.tightened)
    for relation, bounds in found.bounds.items():
        least_told = tightened(told.bounds[relation], told.size)
        if not all(arb(getattr(bounds, norm)) >= getattr(least_told, norm).lower() for norm in NORMS):
            return False
    return True


class Row:
    """An array of symbols. NumPy's own arrays would compare symbols as objects: equal or not, now."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __getitem__(self, place: int) -> Any:
        return self.entries[place]

    def __neg__(self) -> Row:
        return Row(*(-entry for entry in self.entries))

    def sum(self) -> Row:
        """Return the sum, as an array of one number."""
        return Row(sum(self.entries))

    def min(self) -> Any:
        """Return the least entry."""
        return least(*self.entries)


def each(function: Callable[..., Any], *arrays: Any) -> Row:
    """Apply a function entry by entry; numbers and arrays of one entry stand for all entries."""
    entries = [array.entries if isinstance(array, Row) else (array,) for array in arrays]
    size = max(len(part) for part in entries)
    columns = [part * size if len(part) == 1 else part for part in entries]
    return Row(*(function(*parts) for parts in zip(*columns, strict=True)))


def _operator(
    function: Callable[[Any, Any], Any], *, swapped: bool = False
) -> Callable[[Row, Any], Row]:
    def applied(row: Row, other: Any) -> Row:
        return each(function, other, row) if swapped else each(function, row, other)

    return applied


for _name in ("add", "sub", "mul", "floordiv", "gt", "lt", "ge", "le", "eq"):
    setattr(Row, f"__{_name}__", _operator(getattr(operator, _name)))
for _name in ("add", "sub", "mul"):
    setattr(Row, f"__r{_name}__", _operator(getattr(operator, _name), swapped=True))

SYMBOL_ARRAYS: dict[str, Any] = {
    "np": SimpleNamespace(
        asarray=lambda array, **_: array,
        cumsum=lambda row: Row(*itertools.accumulate(row.entries)),
        int64=None,
        abs=lambda row: each(size_of, row),
        maximum=lambda *rows: each(greatest, *rows),
        where=lambda *rows: each(z3.If, *rows),
    ),
    "max": lambda *rows: each(greatest, *rows),
    "int": lambda number: number,
}
"""What a module calls ``np``, ``max`` and ``int``, for arrays of symbols."""


def whole_quotient(dividend: Any, divisor: Any) -> Any:
    """Return the quotient rounded down, as ``//`` does; z3 rounds so for divisors above zero."""
    return dividend / divisor


z3.ArithRef.__floordiv__ = whole_quotient


def read_over_balls(target: Any, **names: Any) -> Callable[..., Any]:
    """Return the code of a function over balls and duals.

    A comparison is true if it is certain. So an ``if`` is read on ranges where it is, and ``max`` and
    ``min`` hold whichever number it may be.
    """
    choices = {"max": ball_max, "min": ball_min}
    return _read(target, {"math": BALL_MATH, **_PLAIN, **choices, **names})


@contextmanager
def _no_branches() -> Iterator[None]:
    """Let no code decide by a symbol: z3 takes ``a == b`` for false unless they look the same."""

    def decide(condition: Any) -> bool:
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        raise z3.Z3Exception(f"the code branches on {condition}")

    usual, z3.BoolRef.__bool__ = z3.BoolRef.__bool__, decide
    try:
        yield
    finally:
        z3.BoolRef.__bool__ = usual


def _nothing(*_: Any, **__: Any) -> None:
    return None


_PLAIN: dict[str, Any] = {
    "up": lambda value, *_: value,
    "down": lambda value, *_: value,
    "float": lambda value: value,
    "Bounds": Told,
    "Certificate": ToldCertificate,
    **dict.fromkeys(("check_whole", "check_positive", "check_finite", "check_probability"), _nothing),
}

_CHOICES: dict[str, Any] = {"max": greatest, "min": least, "abs": size_of}


def _read(target: Any, names: Mapping[str, Any]) -> Callable[..., Any]:
    function = inspect.unwrap(target.fget if isinstance(target, property) else target)
    scope = {**function.__globals__, **names}
    scope["__builtins__"] = {**vars(builtins), "__import__": _importer(names.get("imports", {}))}
    for name, value in list(scope.items()):
        if name not in names and callable(value) and not inspect.isclass(value):
            plain = inspect.unwrap(value)
            if isinstance(plain, FunctionType) and plain.__module__ == function.__module__:
                scope[name] = _with_scope(plain, scope)
    return _with_scope(function, scope)


def _importer(modules: Mapping[str, Any]) -> Callable[..., Any]:
    """Return an import that knows other modules by the names of slow ones."""

    def find(name: str, *rest: Any) -> Any:
        return modules[name] if name in modules else builtins.__import__(name, *rest)

    return find


def _with_scope(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    copy = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
