"""Levels above a category: wards within hospitals, hospitals within regions, by public maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.arguments import shown
from discreet.errors import SchemaError
from discreet.schema.bins import MISSING_LABEL, OTHER_LABEL
from discreet.schema.columns import Category, Column, Scalar


@dataclass(frozen=True, init=False)
class Level:
    """Groups of a category's values, each value in one of them.

    Args:
      of: the category's column.
      groups: the name of every group to the values it consists of.

    >>> Level("ward", {"North": ["A1", "A2"], "South": ["B1"]}).names
    ('North', 'South')
    """

    of: str
    groups: tuple[tuple[str, tuple[Scalar, ...]], ...]

    def __init__(self, of: str, groups: Mapping[str, Sequence[Scalar]]) -> None:
        usable = isinstance(groups, Mapping) and all(isinstance(name, str) and name for name in groups)
        listed = usable and all(isinstance(own, list | tuple) for own in groups.values())
        if not listed or not groups:
            raise SchemaError(
                f"groups of a level must map names to lists of values, got {shown(groups)}."
            )
        if {OTHER_LABEL, MISSING_LABEL} & set(groups):
            raise SchemaError(
                f"A group must not be called {OTHER_LABEL} or {MISSING_LABEL}. Rename it."
            )
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "groups", tuple((name, tuple(own)) for name, own in groups.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(name for name, _ in self.groups)

    def places(self, column: Category) -> tuple[int, ...]:
        """Return the group of every code; missing and unlisted values are groups of their own."""
        found: dict[int | None, int] = {}
        for place, (_, values) in enumerate(self.groups):
            found |= {column.code_of(value): place for value in values}
        own = [found[code] for code in range(len(column.values))]
        return (*own, *range(len(self.groups), len(self.groups) + column.reserved))

    def labels(self, column: Category) -> tuple[str, ...]:
        """Return the names of all groups, those of missing and unlisted values included."""
        return (*self.names, *column.labels[len(column.values) :])

    def to_json(self) -> dict[str, Any]:
        """Return the level as plain data."""
        return {"of": self.of, "groups": {name: list(values) for name, values in self.groups}}


def check_levels(levels: Any, columns: Mapping[str, Column]) -> dict[str, Level]:
    """Return the levels of a schema by name, or raise unless every value is in one group of each."""
    if not isinstance(levels, Mapping):
        raise SchemaError(f"levels must map names to dc.Level(...), got {shown(levels)}.")
    for name, level in levels.items():
        if not isinstance(name, str) or not name or name in columns:
            raise SchemaError(f"A level must have a name that no column has, got {shown(name)}.")
        if not isinstance(level, Level):
            raise SchemaError(f"Level {name!r} must be a dc.Level(column, groups), got {shown(level)}.")
        _check_values(name, level, columns)
    return dict(levels)


def _check_values(name: str, level: Level, columns: Mapping[str, Column]) -> None:
    column = columns.get(level.of)
    if not isinstance(column, Category):
        raise SchemaError(f"Level {name!r} must be of a category of the schema, got {shown(level.of)}.")
    codes = [(value, column.code_of(value)) for _, values in level.groups for value in values]
    strange = [value for value, code in codes if code is None]
    if strange:
        raise SchemaError(f"Level {name!r} must group values of {level.of!r}, got {strange[0]!r}.")
    named = [code for _, code in codes]
    twice = _first(code for code in named if named.count(code) > 1)
    left = _first(code for code in range(len(column.values)) if code not in named)
    if twice is not None or left is not None:
        value = column.values[left if left is not None else twice or 0]
        how = "none" if left is not None else "several"
        raise SchemaError(f"Level {name!r} must have every value in one group, got {value!r} in {how}.")


def _first(codes: Iterable[int | None]) -> int | None:
    return next(iter(codes), None)


def levels_from_plain(plain: Any) -> dict[str, Level]:
    """Return the levels of a file."""
    if not isinstance(plain, Mapping):
        raise SchemaError(f"levels must be tables with of and groups, got {shown(plain)}.")
    for name, entry in plain.items():
        if not isinstance(entry, Mapping) or set(entry) != {"of", "groups"}:
            raise SchemaError(f"Level {name!r} must have of and groups alone, got {shown(entry)}.")
    return {name: Level(entry["of"], entry["groups"]) for name, entry in plain.items()}
