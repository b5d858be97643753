"""What a caller hands over: how it is shown in a message, and lists, names and flags made plain."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Number
from typing import Any

from discreet.errors import ArgumentError

_LONGEST, _LISTED = 60, 20


class _Shown(reprlib.Repr):
    """Short texts of plain values; of everything else the type alone, because it may hold rows."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = _LONGEST

    def repr_instance(self, x: Any, level: int) -> str:
        """Return numbers as they are, other objects by the name of their type."""
        plain = x is None or isinstance(x, Number | bytes)
        return super().repr_instance(x, level) if plain else type(x).__name__

    repr_array = repr_instance

    def repr_int(self, x: int, level: int) -> str:
        """Return a whole number, or how long it is: Python refuses to write the longest."""
        long = x.bit_length() > 4 * _LONGEST
        return f"a number of {x.bit_length()} bits" if long else super().repr_int(x, level)


_SHORT = _Shown()


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and never a row of a table.

    >>> shown("x" * 1000)[:5], shown([1, None]), shown(object())
    ("'xxxx", '[1, None]', 'object')
    """
    return _SHORT.repr(value)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a message that names what was probably meant; empty if nothing is near.

    >>> did_you_mean("AGEE", ["age", "income"]), did_you_mean("x", ["age"])
    (" Did you mean 'age'?", '')
    """
    by_case = {one.lower(): one for one in known}
    near = get_close_matches(str(name).lower(), by_case, 1) if isinstance(name, str) else ()
    return "".join(f" Did you mean {shown(by_case[one])}?" for one in near)


def some_of(names: Iterable[str]) -> str:
    """Return names as a message lists them: the first twenty, and how many more there are.

    >>> some_of(["age", "income"]), some_of(map(str, range(23)))[-24:]
    ('age, income', ' 17, 18, 19 and 3 others')
    """
    every = tuple(names)
    more = f" and {len(every) - _LISTED} others" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more


def as_list(name: str, value: Iterable[Any], hint: str = "") -> tuple[Any, ...]:
    """Return the entries of a sequence; texts and mappings are none."""
    found = _entries(value)
    if found is None:
        raise ArgumentError(
            f"{name} must be a list, got {shown(value)}." + (f" {hint}" if hint else "")
        )
    return found


def _entries(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, str | bytes | Mapping):
        return None
    try:
        return tuple(value)
    except TypeError:
        return None


def as_names(name: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """Return one or several different names, given as a text or as a list of texts.

    >>> as_names("columns", "age"), as_names("columns", ["age", "job"])
    (('age',), ('age', 'job'))
    """
    found = (value,) if isinstance(value, str) else _entries(value) or ()
    texts = all(isinstance(entry, str) for entry in found)
    if not found or not texts or len(set(found)) < len(found):
        raise ArgumentError(f"{name} must be one or more different names, got {shown(value)}.")
    return found


def some_names(name: str, value: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return names as ``as_names`` does, or None where none were given."""
    return None if value is None else as_names(name, value)


def check_flag(**flags: object) -> None:
    """Raise unless every value is True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"{name} must be True or False, got {shown(value)}.")


def check_text(name: str, value: object, hint: str = "") -> None:
    """Raise unless ``value`` is a text."""
    if not isinstance(value, str):
        raise ArgumentError(
            f"{name} must be a text, got {shown(value)}." + (f" {hint}" if hint else "")
        )
