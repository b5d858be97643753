"""Persons told apart by workers: each holds the hashes of a range of ids, and none those of all.

A worker that reads some parts hashes their ids and deals the hashes out by range. Whoever gets a range
has all rows of the persons in it, in the order of the table, and finds out what they count; that
goes back to whoever reads the parts. Which rows count how much follows from the rows of a person
alone, so it is the same for any number of ranges.

Everything of single rows that goes from one task to another is sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.persons import PersonRows, Words, hash_ids, tell_apart
from discreet.data.sources.partitions import Part
from discreet.data.workers.sealing import Seal, Sealed
from discreet.errors import DataRefused
from discreet.schema.person import Person

ROWS_PER_RANGE = 2**20
"""Rows for which another worker is worth it: they take about 80 MB."""

Refusal = tuple[str, str | None, str | None]
"""Public words, a column and a rule."""


@dataclass(frozen=True)
class Telling:
    """What all tasks that tell the persons of one table apart share.

    Args:
      person: who they are.
      ranges: of ids, one for a worker.
      seal: for what they hand on.
    """

    person: Person
    ranges: int
    seal: Seal

    def hash_parts(self, parts: Sequence[Part]) -> list[Sealed] | Refusal | None:
        """Return the hashed ids of some parts by range, and last the range of every row, sealed.

        A part that has other rows than it was counted to have gives None.
        """
        try:
            words = [self._hash(part) for part in parts]
        except DataRefused as refusal:
            return str(refusal), refusal.column, refusal.rule
        if [len(own) for own in words] != [part.rows for part in parts]:
            return None
        joined = np.concatenate(words)
        of_rows = _range_of(joined, self.ranges)
        dealt = [self.seal.close(joined[of_rows == place]) for place in range(self.ranges)]
        return [*dealt, self.seal.close(of_rows)]

    def _hash(self, part: Part) -> Words:
        name = self.person.column
        chunks = part.source.chunks([name])  # type: ignore[union-attr]
        return hash_ids((chunk[name] for chunk in chunks), self.person)

    def tell_range(self, runs: Sequence[Any]) -> list[Any] | Refusal | None:
        """Return how many persons of a range there are, and what their rows count, run by run."""
        strange: list[Refusal | None] = [run for run in runs if not isinstance(run, Sealed)]
        if strange:
            return strange[0]
        words = [self.seal.open(run) for run in runs]
        ends = np.cumsum([len(own) for own in words])
        joined = np.concatenate(words)
        del words
        counts, persons = _per_row(tell_apart(joined, self.person), len(joined))
        return [persons, *map(self.seal.close, np.split(counts, ends[:-1]))]

    def join_parts(
        self, hashed: Any, lengths: Sequence[int], persons: int, ranges: Sequence[Any]
    ) -> list[Sealed]:
        """Return what the rows of every part of a run count, sealed."""
        of_rows = self.seal.open(hashed)
        counts = np.zeros(len(of_rows), dtype=np.int32)
        for place, own in enumerate(ranges):
            counts[of_rows == place] = self.seal.open(own)
        parts = np.split(counts, np.cumsum(lengths)[:-1])
        return [self.seal.close(self._of_part(own, persons)) for own in parts]

    def _of_part(self, counts: NDArray[np.int32], persons: int) -> PersonRows:
        if self.person.rows == "weighted":
            return PersonRows(persons, units=counts)
        return PersonRows(persons, places=np.flatnonzero(counts).astype(np.int64))


def take(answer: Any, place: int) -> Any:
    """Return one of what a task answered, or why it answered nothing."""
    return answer[place] if isinstance(answer, list) else answer


def add_persons(answers: Sequence[Any]) -> int | Refusal | None:
    """Return how many persons there are in all ranges, or why it is not known."""
    strange: list[Refusal | None] = [answer for answer in answers if not isinstance(answer, int)]
    return strange[0] if strange else sum(answers)


def ranges_for(rows: int, workers: int) -> int:
    """Return into how many ranges ids are dealt out.

    >>> ranges_for(1_000, 8), ranges_for(3 * 10**6, 8), ranges_for(10**9, 8)
    (1, 3, 8)
    """
    return max(1, min(workers, -(-rows // ROWS_PER_RANGE)))


def _range_of(words: Words, ranges: int) -> NDArray[np.uint16]:
    """Return the range of every id: by the second word, since the first decides about rows."""
    return np.asarray((words[:, 1] >> np.uint64(32)) * np.uint64(ranges) >> np.uint64(32), np.uint16)


def _per_row(found: PersonRows, rows: int) -> tuple[NDArray[np.int32], int]:
    """Return what every row counts, parts of a record or one and none, and how many persons are."""
    if found.units is not None:
        return found.units, found.persons
    counts = np.zeros(rows, dtype=np.int32)
    counts[slice(None) if found.places is None else found.places] = 1
    return counts, found.persons
