"""What every source owes: names, a number of rows, and the rows in order as often as they are asked.

What it yields never raises because of a value; encoding (``schema``) gives every value its one
treatment. What can fail because of a value, as a query or a conversion of somebody else's, is run
when the source is opened or counted: before anything is spent, and refused without the error it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from discreet.data.state import quietly
from discreet.errors import DataRefused
from discreet.schema.raw import RawColumn

CHUNK_ROWS = 65_536

Chunk = dict[str, RawColumn]
T = TypeVar("T")


class Source(Protocol):
    """Rows in order, chunk by chunk.

    One in memory may have ``lying(name)`` too: all numbers of a column where they lie, without a copy,
    or None if they do not lie there as floats side by side.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    def count(self) -> int:
        """Return the number of rows."""

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the named raw columns of successive rows."""


@runtime_checkable
class Watched(Protocol):
    """A source that can tell whether what it reads was written anew since it was opened."""

    def states(self) -> tuple[str, ...]:
        """Return facts that stay as they are while nobody writes; which they are is not told."""


def run_or_refuse(compute: Callable[[], T], what: str, rule: str) -> T:
    """Run what the owner built; what it prints, warns or raises could hold a row, so it is dropped."""
    try:
        with quietly():
            return compute()
    except DataRefused:
        raise
    except Exception:
        pass  # refused below: raised here, the refusal would carry the error
    raise DataRefused(f"data must be {what}.", rule=rule)


def kind_of_column(name: str, got: str) -> DataRefused:
    """Return the refusal of a column whose values nobody can hand over."""
    return DataRefused(
        f"column {name!r} must have a kind that Arrow knows, got {got}.",
        column=name,
        rule="kind of column",
    )


def as_names(names: Any) -> tuple[str, ...]:
    """Return the names of columns as texts; pandas may have numbers for names."""
    return tuple(str(name) for name in names)


def missing_package(what: str, package: str, extra: str) -> DataRefused:
    """Return the refusal of data that a package would read which is not installed."""
    return DataRefused(
        f"data must be something that can be read here, got {what} but no {package}. "
        f"Install it with pip install 'discreet[{extra}]'.",
        rule="package",
    )
