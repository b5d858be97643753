"""Where values of a column are taken to lie: the schema's bounds, or a tighter public clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import given_box
from discreet.plans import Setting
from discreet.plans.kinds import Interval
from discreet.plans.stages.parts import may_lack
from discreet.privacy.certificate import Box
from discreet.schema import Date, Number, Schema


def _clip(name: str, value: Any) -> Box:
    if isinstance(value, Box):
        return value
    try:
        return given_box(value)
    except ArgumentError:
        raise ArgumentError(
            f"{name} must be a finite low below a finite high, got {shown(value)}. Leave it out for "
            "the bounds of the schema."
        ) from None


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
PublicClip = Annotated[Sequence[float] | None, ClipKind(optional=True, by=_clip)]


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
