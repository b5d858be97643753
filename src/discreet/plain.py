"""Plain data, as JSON has it, read back into frozen dataclasses by their annotations.

A file may have been edited, cut or made by hand. What is read is checked here once, so that nothing
later fails on it in some other way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from discreet.arguments import shown
from discreet.errors import ReleaseError

T = TypeVar("T")
_NUMBERS = {float: (int, float), int: (int,)}
_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


class Brief:
    """A dataclass that is shown as the call that makes it: arguments that say no more are left out."""

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in signature(type(self)).parameters.items()}
        given = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        # By what is written: the number 1 is not the default True.
        told = [f"{n}={v!r}" for n, v in given.items() if repr(v) != repr(defaults.get(n, MISSING))]
        return f"{type(self).__name__}({', '.join(told)})"


def read_fields(kind: type[T], plain: Mapping[str, Any]) -> T:
    """Return a dataclass made from plain data; fields that are missing keep their default.

    Raises:
      ValueError: naming the first field that is unknown, missing or of another kind.
    """
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    strange = [name for name in plain if name not in known]
    if strange:
        raise ValueError(f"field {shown(strange[0])}, which is unknown")
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in needed if name not in plain]
    if missing:
        raise ValueError(f"field {missing[0]!r}, which is missing")
    hints = _hints(kind)
    return kind(**{name: conform(plain[name], hints[name], name) for name in known if name in plain})


def check_fields(made: Any) -> None:
    """Raise unless every field of a dataclass holds what it is annotated with."""
    hints = _hints(type(made))
    for field in fields(made):
        conform(getattr(made, field.name), hints[field.name], field.name)


def conform(value: Any, hint: Any, name: str) -> Any:
    """Return plain data as an annotation wants it: lists as tuples, objects as dataclasses.

    >>> conform([1, 2.5], tuple[float, ...], "x"), conform(None, str | None, "x")
    ((1, 2.5), None)

    Raises:
      ValueError: if it is of another kind, or a number is not finite.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _one_of(value, get_args(hint), name)
    if origin is tuple:
        return _as_tuple(value, get_args(hint), name)
    if origin is Literal and isinstance(value, str) and value in get_args(hint):
        return value
    if isinstance(hint, type) and issubclass(hint, StrEnum) and value in tuple(hint):
        return hint(value)
    if hint is Any:
        return _as_scalar(value, name)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return read_fields(hint, value)
    if hint in _NUMBERS and _is_number(value, _NUMBERS[hint]):
        return value
    if hint in (str, bool, NoneType) and type(value) is hint:
        return value
    raise ValueError(f"field {name!r}, which holds {shown(value)}")


def _one_of(value: Any, hints: tuple[Any, ...], name: str) -> Any:
    if value is None and NoneType in hints:
        return None
    others = [hint for hint in hints if hint is not NoneType]
    for hint in others[:-1]:
        try:
            return conform(value, hint, name)
        except ValueError:
            continue
    return conform(value, others[-1], name)


def _as_tuple(value: Any, hints: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"field {name!r}, which holds {shown(value)}")
    wanted = hints[:1] * len(value) if hints[1:] == (...,) else hints
    if len(wanted) != len(value):
        raise ValueError(f"field {name!r}, which has {len(value)} entries")
    return tuple(conform(entry, hint, name) for entry, hint in zip(value, wanted, strict=True))


def _as_scalar(value: Any, name: str) -> Any:
    """Return a value of a column: a text, a number, a truth value or None."""
    if value is None or isinstance(value, str | bool) or _is_number(value, (int, float)):
        return value
    raise ValueError(f"field {name!r}, which holds {shown(value)}")


def _is_number(value: Any, kinds: tuple[type, ...]) -> bool:
    known = isinstance(value, kinds) and not isinstance(value, bool)
    return known and abs(value) <= sys.float_info.max


def write_text(target: Path, text: str) -> Path:
    """Write a file, or raise with one sentence."""
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"{target} cannot be written: {error.strerror}.") from None
    return target


def write_json(path: str | Path, plain: Mapping[str, Any]) -> Path:
    """Write plain data to a JSON file that people can read."""
    return write_text(Path(path), json.dumps(plain, indent=2, allow_nan=False) + "\n")
