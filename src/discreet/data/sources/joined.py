"""Successive parts of a table as one source, where they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.data.sources.partitions import Held, Part
from discreet.data.sources.source import Chunk
from discreet.errors import DataRefused


@dataclass(frozen=True)
class JoinedSource:
    """One part after the other; each must have as many rows as it was counted to have."""

    parts: tuple[Part, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names of the first part."""
        first = self.parts[0].source
        assert not isinstance(first, Held)
        return first.columns

    def count(self) -> int:
        """Return the number of rows, as counted."""
        return sum(part.rows for part in self.parts)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks of all parts."""
        for part in self.parts:
            assert not isinstance(part.source, Held)
            left = part.rows
            for chunk in part.source.chunks(names):
                left -= len(chunk[names[0]])
                yield chunk
            if left:
                raise DataRefused("data must be as it was counted, got other rows.", rule="changed")
