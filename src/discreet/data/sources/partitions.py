"""Sources in parts: every worker of a cluster reads parts of its own, and rows go nowhere else.

This is the seam between kinds of sources and a cluster. A source whose rows lie in pieces that anybody
with access can read (files of a folder, row groups of a file, partitions of a Dask frame, ranges of
a query) has two things besides what every ``Source`` has:

* ``positional``: whether the place of a row is its own, so that nothing a record says decides in which
  part it is. The lengths of parts are then as public as the number of rows is. Where a value decides
  it (Hive keys, a shuffle, a sort), a record that is replaced leaves one part and enters another, and
  all rows behind it move: the price for batches is that of add-remove, and what counts on places is
  refused (``Setting.keeps_places``).
* ``partitions(names, client)``: its parts in the order of the rows, each a ``Source`` by itself that
  can be pickled and opens what it reads only when it is asked for ``chunks`` or ``count``, wherever
  that is. The parts are the same, with the same rows, whatever columns are named. None if it has none
  that could be sent; then this process reads the rows and sends blocks.

A part is counted once, where it lies, when a table is sealed: what cannot be read fails then, before
anything is spent. Parts that Dask holds already are ``Held``: Dask brings them to the task.

``Part`` is what a task gets: a part's source, where its first row stands in the table, how many rows
it was counted to have, and which of them are asked about, or what they count where a person may have
several: found out by the workers, and held by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from discreet.data.sources.source import Chunk, Source
from discreet.randomness import IntArray


@runtime_checkable
class Partitioned(Protocol):
    """Rows in order, chunk by chunk, and in parts that others can read."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    @property
    def positional(self) -> bool:
        """Whether no value decides in which part, and where in it, a row is."""

    def count(self) -> int:
        """Return the number of rows."""

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the named raw columns of successive rows."""

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[Source | Held] | None:
        """Return the parts, ready to read these columns (None for all); None if it has none to send.

        Args:
          names: the columns that will be asked for.
          client: of the cluster that reads them.
        """


@dataclass(frozen=True)
class Held:
    """Something that Dask holds, or makes on the way: a future, and how what it brings is opened."""

    future: Any = field(repr=False)
    opened: Any = field(repr=False)


@dataclass(frozen=True)
class Part:
    """One part of a table for one task.

    Args:
      source: reads the rows.
      start: the place in the table of the first row that is asked about.
      rows: how many rows the source has, as counted.
      places: which of them are asked about; None for all.
      persons: what they count, where a person may have several: held until it is brought, sealed.
    """

    source: Source | Held = field(repr=False)
    start: int = 0
    rows: int = 0
    places: IntArray | None = field(default=None, repr=False)
    persons: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.rows if self.places is None else len(self.places)

    @property
    def waits_for(self) -> tuple[Any, Any]:
        """What Dask has to bring: futures of what it holds of the part."""
        return _future(self.source), _future(self.persons)

    def bare(self) -> Part:
        """Return the part as it is sent: without futures."""
        return replace(self, source=_bare(self.source), persons=_bare(self.persons))

    def brought(self, given: tuple[Any, Any]) -> Part:
        """Return the part where it is read, with what Dask brought."""
        rows, persons = given
        return replace(self, source=_opened(self.source, rows), persons=_opened(self.persons, persons))


def _future(thing: Any) -> Any:
    return thing.future if isinstance(thing, Held) else None


def _bare(thing: Any) -> Any:
    return replace(thing, future=None) if isinstance(thing, Held) else thing


def _opened(thing: Any, given: Any) -> Any:
    return thing.opened(given) if isinstance(thing, Held) else thing


def keeps_places(source: Source) -> bool:
    """Say whether rows of a source stand where they stand whatever they say."""
    return source.positional if isinstance(source, Partitioned) else True


def has_keys(path: str) -> bool:
    """Say whether folders of a path are keys and values, as Hive has them.

    >>> has_keys("/data/year=2026/part.parquet"), has_keys("/data/part=1.parquet")
    (True, False)
    """
    return any("=" in folder for folder in path.split("/")[:-1])
