"""Kinds of arguments: what a plan may be given, said once per argument.

A kind checks a value and makes it what the plan works with, writes it as plain data and reads that
back, reads it from a text of the command line, and describes itself for options and forms:

>>> Whole(1, 9, optional=True).settle("k", None, {}) is None
True
>>> Whole(1, 9).form()
{'kind': 'whole number', 'low': 1, 'high': 9}

What a plan holds of a caller's (models, rows, functions) is in ``held``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from discreet.arguments import as_list, as_names, check_flag, check_text, shown
from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.mechanisms.additive.registry import noise_names
from discreet.mechanisms.lattice import given_box
from discreet.numerics import (
    check_choice,
    check_finite,
    check_positive,
    check_positive_or_auto,
    check_probability,
    check_whole,
)
from discreet.privacy.certificate import Box

Check = Callable[[str, Any], Any]
"""A check of a plan's own: the argument's name and what was given, to what the plan works with."""

Objects = Mapping[str, Any]
"""What plain data cannot hold, by fingerprint."""


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """What an argument may be.

    Args:
      optional: whether None may be given.
      auto: whether the word ``auto`` may be given.
      hint: the next step, for whoever gave something else.
      by: a check of the plan's own in place of the kind's.
      identifies: whether it decides the answer, and so is part of the plan's key.
      also: another name of its option.
      unsaid: whether it is left out of the plain form where it is None, as of arguments that came
        later: the same question keeps its key.
    """

    optional: bool = False
    auto: bool = False
    hint: str = ""
    by: Check | None = None
    identifies: bool = True
    also: str = ""
    unsaid: bool = False

    word: ClassVar[str]
    """What forms and reference call it."""
    many: ClassVar[bool] = False
    """Whether its option may be repeated."""
    file: ClassVar[str] = ""
    """What its option names a file of: a model, rows, a function."""

    def settle(self, name: str, value: Any, given: Mapping[str, Any]) -> Any:
        """Return what the plan works with, or raise; what was settled before is left as it is.

        Args:
          name: of the argument.
          value: what was given.
          given: all arguments, for kinds that need another one.
        """
        if (value is None and self.optional) or (self.auto and _is_auto(value)):
            return value
        return self.check(name, value) if self.by is None else self.by(name, value)

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """Return a value as the plan works with it, or raise a sentence."""

    def plain(self, value: Any) -> Any:
        """Return a settled value as plain data."""
        return list(value) if isinstance(value, tuple) else value

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return an argument from plain data; what is wrong with it the check will say."""
        return plain

    def parse(self, text: str) -> Any:
        """Return an argument, or one entry of it, from a text of the command line."""
        return text

    def gather(self, name: str, entries: Iterable[Any]) -> Any:
        """Return the argument from the entries of an option that may be repeated."""
        return list(entries)

    def form(self) -> dict[str, Any]:
        """Return what a form needs to ask for it, as plain data."""
        marks = {"optional": self.optional, "auto": self.auto, "many": self.many}
        return {"kind": self.word, **{name: True for name, set_ in marks.items() if set_}}


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def checked_later(name: str, value: Any) -> Any:
    """Leave a value as it is, as ``by``: which ones will do hangs on other arguments, or on a model."""
    return value


def as_number(text: str) -> Any:
    """Return the number a text says, a whole one if it can be; else the text, for a check to refuse."""
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Column(Kind):
    """The name of one column."""

    word = "column"

    def check(self, name: str, value: Any) -> str:
        """Return the name."""
        if not isinstance(value, str):
            raise ArgumentError(f"{name} must be the name of one column, got {value!r}.")
        return value


@dataclass(frozen=True)
class Columns(Kind):
    """One or several different columns; by ``empty`` also none."""

    empty: bool = False

    word = "columns"
    many = True

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        """Return the names."""
        if self.empty and not isinstance(value, str) and not as_list(name, value):
            return ()
        return as_names(name, value)

    def gather(self, name: str, entries: Iterable[Any]) -> Any:
        """Return the names; one alone by itself, as it is given in Python."""
        found = list(entries)
        return found[0] if len(found) == 1 else found


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number between two others."""

    low: int
    high: int | None = None

    word = "whole number"

    def check(self, name: str, value: Any) -> int:
        """Return the number."""
        check_whole(name, value, self.low, self.high, self.hint)
        return int(value)

    def parse(self, text: str) -> Any:
        """Return the number a text says."""
        return as_number(text)

    def form(self) -> dict[str, Any]:
        """Return what a form needs, with the bounds."""
        high = {} if self.high is None else {"high": self.high}
        return {**super().form(), "low": self.low, **high}


@dataclass(frozen=True)
class RealNumber(Kind):
    """A finite number."""

    word = "number"

    def check(self, name: str, value: Any) -> float:
        """Return the number."""
        check_finite(name, value, self.hint)
        return float(value)

    def plain(self, value: Any) -> Any:
        """Return the number; JSON has no infinite ones."""
        return "inf" if isinstance(value, float) and math.isinf(value) else value

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the number."""
        return math.inf if plain == "inf" else plain

    def parse(self, text: str) -> Any:
        """Return the number a text says."""
        return as_number(text)


@dataclass(frozen=True)
class Positive(RealNumber):
    """A positive finite number."""

    word = "positive number"

    def check(self, name: str, value: Any) -> float:
        """Return the number."""
        check = check_positive_or_auto if self.auto else check_positive
        check(name, value, self.hint)
        return float(value)


@dataclass(frozen=True)
class Probability(RealNumber):
    """A number of at least 0 and below 1."""

    word = "probability"

    def check(self, name: str, value: Any) -> float:
        """Return the number."""
        check_probability(name, value, self.hint)
        return float(value)


@dataclass(frozen=True)
class OneOf(Kind):
    """One of several words, given as they are or by a function that a registry answers."""

    names: tuple[str, ...] | Callable[[], tuple[str, ...]]

    word = "choice"

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words."""
        return self.names() if callable(self.names) else self.names

    def check(self, name: str, value: Any) -> str:
        """Return the word."""
        check_choice(name, value, self.allowed, self.hint)
        return str(value)

    def form(self) -> dict[str, Any]:
        """Return what a form needs, with the words."""
        return {**super().form(), "choices": list(self.allowed)}


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    word = "flag"

    def check(self, name: str, value: Any) -> bool:
        """Return the flag."""
        check_flag(**{name: value})
        return bool(value)


@dataclass(frozen=True)
class Text(Kind):
    """A text."""

    word = "text"

    def check(self, name: str, value: Any) -> str:
        """Return the text."""
        check_text(name, value, self.hint)
        return str(value)


@dataclass(frozen=True)
class Values(Kind):
    """A list of texts, numbers or truth values; ``by`` says which lists will do."""

    word = "values"
    many = True

    def check(self, name: str, value: Any) -> tuple[Any, ...]:
        """Return the entries."""
        return as_list(name, value, self.hint)

    def parse(self, text: str) -> Any:
        """Return one entry: a number if it reads like one."""
        return as_number(text)


@dataclass(frozen=True)
class TextList(Values):
    """A list of texts."""

    word = "texts"

    def parse(self, text: str) -> Any:
        """Return one entry as it is."""
        return text


@dataclass(frozen=True)
class PerColumn(Kind):
    """A number for all columns, or one each by a mapping; ``by`` says which numbers will do."""

    word = "number, or one per column"
    many = True

    def check(self, name: str, value: Any) -> Any:
        """Return the number, or the mapping as a dict."""
        return dict(value) if isinstance(value, Mapping) else value

    def parse(self, text: str) -> Any:
        """Return a number, or a column and its number from ``column=number``."""
        column, mark, number = text.rpartition("=")
        return (column, as_number(number)) if mark else as_number(text)

    def gather(self, name: str, entries: Iterable[Any]) -> Any:
        """Return the argument from what its options said: one number, or columns and theirs."""
        found = list(entries)
        if len(found) == 1 and not isinstance(found[0], tuple):
            return found[0]
        if not all(isinstance(entry, tuple) for entry in found):
            raise ArgumentError(
                f"{name} must be one number, or column=number for every column, got {shown(found)}."
            )
        return dict(found)


@dataclass(frozen=True)
class Interval(Kind):
    """A finite low below a finite high."""

    word = "interval"

    def check(self, name: str, value: Any) -> Box:
        """Return the interval."""
        return value if isinstance(value, Box) else given_box(value, self.hint)

    def plain(self, value: Any) -> Any:
        """Return both ends."""
        return None if value is None else [value.low, value.high]

    def parse(self, text: str) -> Any:
        """Return both ends from ``low,high``."""
        return tuple(map(as_number, text.split(",")))


UNSAID = math.inf
"""The epsilon of a plan that has a rho instead."""

Epsilon = Annotated[float, Positive(hint="It is the whole budget of this plan.")]
Rho = Annotated[float | None, Positive(optional=True, hint="It is the whole budget of this plan.")]
Delta = Annotated[float, Probability()]
Switch = Annotated[bool, Flag()]
NoiseChoice = Annotated[NoiseName, OneOf(noise_names)]
