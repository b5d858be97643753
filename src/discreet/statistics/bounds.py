"""Where values of a column are taken to lie: the schema's bounds, or a tighter public clip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import given_box
from discreet.plans import Setting
from discreet.plans.kinds import Interval, Kind, as_number
from discreet.plans.stages.parts import may_lack
from discreet.privacy.certificate import Box
from discreet.schema import Date, Number, Schema


def _public_clip(name: str, value: Any, or_word: str = "") -> Box:
    if isinstance(value, Box):
        return value
    try:
        return given_box(value)
    except ArgumentError:
        raise ArgumentError(
            f"{name} must be a finite low below a finite high{or_word}, got {shown(value)}. Leave it "
            "out for the bounds of the schema."
        ) from None


def _clip(name: str, value: Any) -> Box:
    return _public_clip(name, value, ", or 'auto'")


@dataclass(frozen=True)
class ClipKind(Interval):
    """Both ends of the range values are clipped to."""

    word = "interval"

    def plain(self, value: Any) -> Any:
        """Return both ends, or the word ``auto``."""
        return value if isinstance(value, str) else super().plain(value)

    def parse(self, text: str) -> Any:
        """Return both ends from ``low,high``, or the word."""
        return text if text == "auto" else super().parse(text)


Clip = Annotated[Sequence[float] | Literal["auto"] | None, ClipKind(optional=True, auto=True, by=_clip)]


def number_of(schema: Schema, name: str, argument: str = "column") -> Number:
    """Return a numeric column, or raise a sentence."""
    column = schema[name]
    if not isinstance(column, Number) or isinstance(column, Date):
        kind = "date" if isinstance(column, Date) else "category"
        raise ArgumentError(f"{argument} must be a number, got the {kind} {name!r}.")
    return column


def box_of(schema: Schema, name: str, clip: Any, argument: str = "column") -> Box:
    """Return the range of a numeric column's values, inside a clip if one is given."""
    column = number_of(schema, name, argument)
    if not isinstance(clip, Box):
        return Box(column.low, column.high)
    low, high = max(column.low, clip.low), min(column.high, clip.high)
    if not low < high:
        raise ArgumentError(
            f"clip must overlap the bounds of {name!r}, {column.low:g} to {column.high:g}, got "
            f"{clip.low:g} to {clip.high:g}."
        )
    return Box(low, high)


def known_rows(setting: Setting, columns: Sequence[str]) -> int | None:
    """Return how many records have a value of all columns, if that is public."""
    lacking = any(may_lack(setting.schema[name]) for name in columns)
    return None if lacking else setting.rows


def _clips(name: str, value: Any) -> dict[str, Box]:
    if not isinstance(value, Mapping) or not all(isinstance(column, str) for column in value):
        raise ArgumentError(
            f"{name} must map columns to a (low, high) each, got {shown(value)}. Columns that are left "
            "out keep the bounds of the schema."
        )
    return {column: _public_clip(f"{name} of {column!r}", own) for column, own in value.items()}


@dataclass(frozen=True)
class ClipsKind(Kind):
    """Both ends of the range of some columns each."""

    word = "interval per column"
    many = True

    def check(self, name: str, value: Any) -> dict[str, Box]:
        """Return the ranges by column."""
        return _clips(name, value)

    def plain(self, value: Any) -> Any:
        """Return both ends by column."""
        return None if value is None else {column: [box.low, box.high] for column, box in value.items()}

    def parse(self, text: str) -> Any:
        """Return a column and its ends from ``column=low,high``."""
        column, mark, ends = text.rpartition("=")
        return (column, tuple(map(as_number, ends.split(",")))) if mark else text

    def gather(self, name: str, entries: Iterable[Any]) -> Any:
        """Return the ranges from what the options said."""
        found = list(entries)
        if not all(isinstance(entry, tuple) for entry in found):
            raise ArgumentError(f"{name} must be column=low,high for every column, got {shown(found)}.")
        return dict(found)


Clips = Annotated[Mapping[str, Sequence[float]] | None, ClipsKind(optional=True)]


def boxes_of(
    schema: Schema, columns: Sequence[str], clips: Any, argument: str = "columns"
) -> tuple[Box, ...]:
    """Return the ranges of several numeric columns, inside their clips if they have any."""
    given: Mapping[str, Box] = clips or {}
    strange = [name for name in given if name not in columns]
    if strange:
        raise ArgumentError(
            f"clip must be of columns that are asked for, got {shown(strange[0])} besides "
            f"{', '.join(columns)}."
        )
    return tuple(box_of(schema, name, given.get(name), argument) for name in columns)
