"""Which features a curve is asked of: one, two together, several one by one, or all of a model's.

As in scikit-learn an entry of a list is a curve, and a pair inside it a surface:
``"age"``, ``("age", "income")``, ``["age", "income", ("age", "income")]``, ``"all"``.
Several are one plan each, within one budget and one reservation.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.arguments import did_you_mean, shown, some_of
from discreet.errors import ArgumentError
from discreet.numerics import float_of_units, to_budget_units
from discreet.plans.kinds import Kind, Objects

ALL = "all"
_EACH = "each"

Varied = str | tuple[str, str]
"""One feature, or two that are varied together."""


@dataclass(frozen=True)
class Each:
    """Several questions that differ in their features alone; by None, one for every feature."""

    entries: tuple[Varied, ...] | None

    def shares(self, columns: Iterable[str], budget: Mapping[str, float]) -> list[dict[str, Any]]:
        """Return what the arguments of every question are, budgets in equal whole units."""
        names = tuple(columns) if self.entries is None else self.entries
        budgets = {
            name: float_of_units(to_budget_units(amount) // len(names))
            for name, amount in budget.items()
        }
        return [{"features": name, **budgets} for name in names]


@dataclass(frozen=True)
class Features(Kind):
    """One feature, a list of them, or ``all``; by ``pairs`` also two together."""

    pairs: bool = False

    word = "features"
    many = True

    def check(self, name: str, value: Any) -> Varied | Each:
        """Return the one question, or what several ask."""
        if isinstance(value, Each):
            return value
        if isinstance(value, str):
            return Each(None) if value == ALL else value
        if isinstance(value, tuple) and self.pairs:
            return self._pair(name, value)
        entries = tuple(self._entry(name, entry) for entry in self._listed(name, value))
        if len(set(entries)) < len(entries):
            raise ArgumentError(f"{name} must be different ones, got {shown(value)}.")
        return entries[0] if len(entries) == 1 else Each(entries)

    def _listed(self, name: str, value: Any) -> list[Any]:
        listed = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
        found = list(value) if listed else []
        if not found:
            raise ArgumentError(f"{name} must be {self._wanted}, got {shown(value)}.")
        return found

    def _entry(self, name: str, entry: Any) -> Varied:
        if isinstance(entry, str):
            return str(entry)
        if isinstance(entry, tuple | list) and self.pairs:
            return self._pair(name, entry)
        raise ArgumentError(f"{name} must be {self._wanted}, got {shown(entry)} for one.")

    def _pair(self, name: str, pair: Iterable[Any]) -> tuple[str, str]:
        found = tuple(pair)
        if len(found) != 2 or found[0] == found[1] or not all(isinstance(n, str) for n in found):
            raise ArgumentError(
                f"{name} must be two different columns for a surface, got {shown(found)}. "
                "Several curves are a list."
            )
        return str(found[0]), str(found[1])

    @property
    def _wanted(self) -> str:
        pair = ", a pair of them for a surface" if self.pairs else ""
        return f"the name of a column{pair}, a list of these, or 'all'"

    def plain(self, value: Any) -> Any:
        """Return the one question as it is, several under a name: a pair is a list, too."""
        if isinstance(value, Each):
            listed = None if value.entries is None else [_plain(entry) for entry in value.entries]
            return {_EACH: listed}
        return _plain(value)

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the features from plain data."""
        if isinstance(plain, Mapping) and set(plain) == {_EACH}:
            return ALL if plain[_EACH] is None else plain[_EACH]
        return tuple(plain) if isinstance(plain, list) and self.pairs else plain

    def parse(self, text: str) -> Any:
        """Return one feature, or a pair from ``first,second``; quoted, a name may have commas."""
        names = next(csv.reader([text]), [text]) if self.pairs else [text]
        return names[0] if len(names) == 1 else tuple(names)

    def gather(self, name: str, entries: Iterable[Any]) -> Any:
        """Return one entry by itself, as it is given in Python."""
        found = list(entries)
        return found[0] if len(found) == 1 else found


def _plain(entry: Varied) -> Any:
    return list(entry) if isinstance(entry, tuple) else entry


def check_used(argument: str, name: str, columns: Sequence[str]) -> None:
    """Raise unless a model uses the column of this name."""
    if name not in columns:
        raise ArgumentError(
            f"{argument} must be among those the model uses ({some_of(columns)}), got {name!r}."
            f"{did_you_mean(name, columns)}"
        )


def one_answer(features: Varied | Each) -> tuple[str, ...]:
    """Return the features of one answer, or raise where several are asked."""
    if isinstance(features, Each):
        entries = features.entries
        raise ArgumentError(
            f"features must be those of one answer here, got "
            f"{repr(ALL) if entries is None else shown(list(entries))}. "
            "session.price and session.release take several; else ask one by one."
        )
    return (features,) if isinstance(features, str) else features
