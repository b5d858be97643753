"""The code's own formulas, read over other numbers than floats.

A function's compiled code is run with other meanings of the names in it: ``math`` works on symbols or
on balls, ``up`` adds nothing, a ``Certificate`` is what it was told. So a bound that is proved is the
one in the code, not a copy of it. What floats make of the formula is another question: ``small_floats``
in ``cases`` and the tests that use it.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import z3

from tests.proofs.balls import BALL_MATH, ball_max, ball_min
from tests.proofs.solver import greatest, least, size_of


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
        return _read(target, {"math": math, **_PLAIN, **_CHOICES, **names})


def symbol_arrays() -> Any:
    """Return what a module calls ``np``, for arrays of symbols."""
    chosen = np.frompyfunc(z3.If, 3, 1)
    return SimpleNamespace(
        asarray=lambda array, **_: array,
        cumsum=np.cumsum,
        int64=np.int64,
        abs=np.frompyfunc(size_of, 1, 1),
        maximum=np.frompyfunc(greatest, 2, 1),
        where=lambda *parts: chosen(*parts),
    )


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
