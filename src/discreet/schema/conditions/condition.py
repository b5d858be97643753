"""Conditions on columns: which records are in a part of a table. Data, not code.

```python
import discreet as dc

old = (dc.col("age") >= 65) & ~dc.col("home").isin("own", "free")
```
A condition is compared with *encoded* values: clipped to the bounds of their column, on its steps. It
is true, false or, where a value is missing, unknown, as in SQL: a record is in the part where the
condition is true, and in the part of its ``~`` where it is false. A record of which it is unknown is in
neither, unless ``is_missing`` asks for it.

Conditions are written as JSON (``naming``), and as texts (``text``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.schema.bins import MISSING, FloatArray
from discreet.schema.columns import Category, Column
from discreet.schema.schema import Schema

Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Of which records a condition is true, and of which it is false."""


class Encoded(Protocol):
    """Encoded values by the name of their column."""

    def __getitem__(self, name: str) -> FloatArray: ...


class Condition(ABC):
    """Something that is true, false or unknown of a record."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Raise unless its columns are in the schema and its values can be theirs."""

    @abstractmethod
    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return of which records it is true, and of which false."""

    @abstractmethod
    def turns(self, schema: Schema) -> list[float]:
        """Return the encoded numbers at which it may turn."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, which ``condition_from_json`` reads."""

    @abstractmethod
    def understood(self, schema: Schema) -> str:
        """Return it as it is compared: with values as they are encoded."""

    def __and__(self, other: Condition) -> Condition:
        return Both((*_terms(self, Both), *_terms(_condition(other), Both)))

    def __or__(self, other: Condition) -> Condition:
        return Either((*_terms(self, Either), *_terms(_condition(other), Either)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise ArgumentError(
            "A condition must be joined by &, | and ~, got a place where Python asks whether it is "
            "true, as `and`, `or` and `not` do. Put both sides in parentheses: (a) & (b)."
        )


@dataclass(frozen=True)
class Joined(Condition):
    """Several conditions."""

    terms: tuple[Condition, ...]

    name = ""
    word = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all of them."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.columns))

    def check(self, schema: Schema) -> None:
        """Check each of them."""
        for term in self.terms:
            term.check(schema)

    def turns(self, schema: Schema) -> list[float]:
        """Return those of all of them."""
        return [turn for term in self.terms for turn in term.turns(schema)]

    def to_json(self) -> dict[str, Any]:
        """Return all of them under one name."""
        return {self.name: [term.to_json() for term in self.terms]}

    def understood(self, schema: Schema) -> str:
        """Return all of them, joined."""
        return _join(self.word, [(t, t.understood(schema)) for t in self.terms])

    def __str__(self) -> str:
        return _join(self.word, [(t, str(t)) for t in self.terms])


class Both(Joined):
    """True if all are, false if one is."""

    name, word = "all", "and"

    def check(self, schema: Schema) -> None:
        """Raise, besides, where what is said of one column excludes itself."""
        super().check(schema)
        for name in self.columns:
            own = Both(tuple(term for term in self.terms if term.columns == (name,)))
            if len(own.terms) > 1:
                values = _witnesses(schema[name], own.turns(schema))
                if not own.truth(schema, {name: values})[0].any():
                    raise ArgumentError(
                        f"where must be something that a value of {name!r} can be, got {own}, which "
                        "exclude each other."
                    )

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return where all are true, and where one is false."""
        trues, falses = zip(*(term.truth(schema, rows) for term in self.terms), strict=True)
        return np.logical_and.reduce(trues), np.logical_or.reduce(falses)


class Either(Joined):
    """True if one is, false if all are."""

    name, word = "any", "or"

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return where one is true, and where all are false."""
        trues, falses = zip(*(term.truth(schema, rows) for term in self.terms), strict=True)
        return np.logical_or.reduce(trues), np.logical_and.reduce(falses)


@dataclass(frozen=True)
class Not(Condition):
    """True where a condition is false, and false where it is true."""

    term: Condition

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return self.term.columns

    def check(self, schema: Schema) -> None:
        """Check the condition."""
        self.term.check(schema)

    def turns(self, schema: Schema) -> list[float]:
        """Return those of the condition."""
        return self.term.turns(schema)

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return both, the other way round."""
        true, false = self.term.truth(schema, rows)
        return false, true

    def to_json(self) -> dict[str, Any]:
        """Return the condition under "not"."""
        return {"not": self.term.to_json()}

    def understood(self, schema: Schema) -> str:
        """Return the condition with a "not" before it."""
        return f"not ({self.term.understood(schema)})"

    def __invert__(self) -> Condition:
        return self.term

    def __str__(self) -> str:
        return f"not ({self.term})"


def _witnesses(column: Column, turns: list[float]) -> FloatArray:
    """Return encoded values among which is one of every kind that conditions tell apart."""
    if isinstance(column, Category):
        return np.arange(len(column), dtype=np.float64)
    marks = np.unique([column.low, *turns, column.high])
    step = column.step or 0.0
    tried = [marks, (marks[1:] + marks[:-1]) / 2, marks - step, marks + step]
    values = column.nearest(np.concatenate(tried))
    return np.append(values, MISSING) if column.may_be_missing else values


def _condition(value: Any) -> Condition:
    if not isinstance(value, Condition):
        raise ArgumentError(
            f"Both sides of & and | must be conditions, got {shown(value)}. Put each in parentheses: "
            "(dc.col('age') >= 65) & (dc.col('sex') == 'F')."
        )
    return value


def _terms(condition: Condition, kind: type[Joined]) -> tuple[Condition, ...]:
    """Return what a condition joins, so that a long row of terms is no deeper than a short one."""
    return condition.terms if isinstance(condition, kind) else (condition,)


def _join(word: str, terms: list[tuple[Condition, str]]) -> str:
    return f" {word} ".join(f"({text})" if isinstance(t, Joined) else text for t, text in terms)
