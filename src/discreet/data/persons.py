"""Whose every row is, once, when a table is opened: ids become weights or a choice of rows, and go.

A person's rows are told apart by their order among her own; which of them count follows from that and
from a hash of her id, never from anybody else's rows. So one person decides about her own rows alone.

Per row about 60 bytes are held while it is found out, and 4 or 8 bytes of what it came to after.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataRefused
from discreet.mechanisms.lattice import SHARE
from discreet.randomness import IntArray, mixed
from discreet.schema.person import Person
from discreet.schema.raw import Codes, RawColumn, Texts, as_codes, category_text

_KEY = b"discreet persons"
"""Public and always the same: the proof holds for every key, and equal tables keep equal rows."""

_NOBODY = hashlib.blake2b(b"", digest_size=16, key=b"discreet nobody").digest()
"""Stands for all rows without an id."""

_MOST_DIGITS = 4_000
"""Decimals are written out up to so many digits: one of ten characters could have a billion."""

Words = NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class PersonRows:
    """What the rows of every person came to.

    Args:
      persons: how many there are.
      places: the rows that count, in order; None for all.
      units: per row how many parts of a record it counts, which add up to a whole one for every
        person; None where every row that counts is a record.
    """

    persons: int
    places: IntArray | None = None
    units: NDArray[np.int32] | None = None

    def between(self, first: int, last: int) -> PersonRows:
        """Return what rows between two places came to, counted from the first."""
        places = self.places
        if places is not None:
            start, stop = np.searchsorted(places, [first, last])
            places = places[start:stop] - first
        return PersonRows(self.persons, places, None if self.units is None else self.units[first:last])

    def __repr__(self) -> str:
        return "PersonRows(sealed)"


def joined(rows: Sequence[int], parts: Sequence[PersonRows]) -> PersonRows:
    """Return what the rows of successive parts, each of so many, came to."""
    starts = np.cumsum([0, *rows[:-1]])
    kept = [part.places for part in parts if part.places is not None]
    units = [part.units for part in parts if part.units is not None]
    return PersonRows(
        parts[0].persons,
        np.concatenate([a + b for a, b in zip(starts, kept, strict=True)]) if kept else None,
        np.concatenate(units) if units else None,
    )


def read_persons(columns: Iterable[RawColumn], person: Person) -> PersonRows:
    """Find out whose every row is, and which rows count how much."""
    return tell_apart(hash_ids(columns, person), person)


def hash_ids(columns: Iterable[RawColumn], person: Person) -> Words:
    """Return two words of every row's id, which is all that is looked at of it."""
    hashes = [_hashed(_checked(column, person.column)) for column in columns]
    return np.concatenate([np.empty((0, 2), dtype=np.uint64), *hashes])


def tell_apart(words: Words, person: Person) -> PersonRows:
    """Find out by hashed ids which rows count how much.

    Guarantees:
      - How a row counts follows from the rows of its own person alone. [person-weights] [person-rows]
      - Weights of the rows of a person are whole parts that add up to one. [person-weights]
    """
    rows = len(words)
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable: rows of one person stay in their order
    words = words[order]  # here and below what is not needed any more goes: ids are many
    first = np.ones(rows, dtype=bool)
    first[1:] = np.any(words[1:] != words[:-1], axis=1)
    persons = int(first.sum())
    if persons == rows and person.kept >= 1:
        return PersonRows(persons, units=_all_whole(persons, person))
    owners: NDArray[Any] = np.cumsum(first, dtype=np.int32 if rows < 2**31 else np.int64)
    owners -= 1
    rank = _rank(owners, first)
    drawn = mixed(words[:, 0] ^ mixed(rank.astype(np.uint64)))
    del words, first
    chosen = np.lexsort((drawn, owners))  # owners stay in order, so ranks are those in this order too
    del drawn
    order = order[chosen]
    del chosen
    if person.rows != "weighted":
        return PersonRows(persons, places=np.sort(order[rank < person.kept]))
    units = np.zeros(rows, dtype=np.int32)
    units[order] = _shared_out(rank, np.bincount(owners)[owners], person.kept)
    return PersonRows(persons, units=units)


@dataclass(frozen=True)
class PersonTally:
    """How many rows persons have, for the owner alone.

    Args:
      column: that names them.
      persons: how many there are; all rows without an id are one.
      rows: of all of them.
      most: rows of the person who has the most.
      unnamed: rows without an id.
      unread: rows that do not count, as their person has more than may.
    """

    column: str
    persons: int
    rows: int
    most: int
    unnamed: int
    unread: int

    def __str__(self) -> str:
        told = f"{self.persons:,} persons in {self.rows:,} rows, at most {self.most:,} of one"
        told += "; every row has a person of its own" if 1 < self.persons == self.rows else ""
        told += f"; {self.unnamed:,} rows without an id are one person" if self.unnamed else ""
        return told + (f"; {self.unread:,} rows do not count" if self.unread else "")


def tally_persons(columns: Iterable[RawColumn], person: Person) -> PersonTally:
    """Count the rows of every person: exact, for the curator's check."""
    words = hash_ids(columns, person)
    (nobody,) = np.frombuffer(_NOBODY, dtype="<u8").reshape(1, 2)
    unnamed = int(np.all(words == nobody, axis=1).sum())
    _, counts = np.unique(words, axis=0, return_counts=True)
    unread = int(np.maximum(counts - person.kept, 0).sum())
    most = int(counts.max(initial=0))
    return PersonTally(person.column, len(counts), len(words), most, unnamed, unread)


def _all_whole(persons: int, person: Person) -> NDArray[np.int32] | None:
    """Return the weights of persons that have one row each."""
    return None if person.rows != "weighted" else np.full(persons, round(1 / SHARE), dtype=np.int32)


def _rank(owners: NDArray[Any], first: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the place of every row among those of its person, rows being sorted by person."""
    starts = np.flatnonzero(first).astype(owners.dtype)
    return np.asarray(np.arange(len(owners), dtype=owners.dtype) - starts[owners])


def _shared_out(rank: NDArray[Any], rows: IntArray, most: int) -> NDArray[np.int32]:
    """Return the parts of a record that rows get, of which the first ``most`` of a person count."""
    kept, whole = np.minimum(rows, most), round(1 / SHARE)
    parts = whole // kept + (rank < whole % kept)
    return np.where(rank < kept, parts, 0).astype(np.int32)


def _checked(column: RawColumn, name: str) -> RawColumn:
    """Refuse floats, in whatever a column holds them: by its kind, or among Python's objects.

    It is asked when a table is opened, while nothing is spent. Decimals are exact, so they may be ids.
    """
    if _holds_floats(column):
        raise DataRefused(
            f"column {name!r} must hold whole numbers or texts to name persons, got floats, which may "
            "be rounded. Convert it to texts or to Int64.",
            column=name,
            rule="kind of column",
        )
    return column


def _holds_floats(column: RawColumn) -> bool:
    if isinstance(column, Codes):
        return any(map(_is_float, column.values))
    if not isinstance(column, np.ndarray) or column.dtype.kind != "O":
        return isinstance(column, np.ndarray) and column.dtype.kind == "f"
    return any(map(_is_float, column.tolist()))


def _is_float(value: object) -> bool:
    """Say whether a value is a float; one that is no number is a missing id."""
    try:
        return isinstance(value, float | np.floating) and bool(value == value)
    except Exception:  # a third-party object may do anything when it is asked what it is
        return False


def _hashed(column: RawColumn) -> Words:
    """Return a hash of every row's id: two words each."""
    codes = _distinct(column)
    hashes = [_hash(_written(value)) for value in codes.values] + [_NOBODY]
    table = np.frombuffer(b"".join(hashes), dtype="<u8").reshape(-1, 2)
    return np.asarray(table[codes.index], dtype=np.uint64)


def _distinct(column: RawColumn) -> Codes:
    """Return codes of ids, exact: bytes that are no UTF-8 stay two, as do long decimals."""
    if isinstance(column, Texts):
        return column.distinct()
    if isinstance(column, np.ndarray) and column.dtype.kind in "OS":
        values = column.tolist()
        if any(map(_is_exact, values)):
            places: dict[str | bytes | None, int] = {}
            written = map(_written, values)
            index = [places.setdefault(own, len(places)) for own in written]
            return Codes(np.array(index, dtype=np.int64), list(places))
    return as_codes(column)


def _is_exact(value: object) -> bool:
    """Say whether a value is of a kind that texts of categories would shorten."""
    return issubclass(type(value), bytes | Decimal)


def _written(value: Any) -> str | bytes | None:
    if not _is_exact(value):
        return category_text(value)
    if isinstance(value, bytes):
        return bytes(value)
    return _digits(value) if value.is_finite() else category_text(value)


def _digits(number: Decimal) -> str:
    """Return all digits of a decimal, and none that it can do without: 2.50 is 2.5, 7.0 is 7."""
    sign, digits, power = number.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0")
    if not kept:
        return "0"
    short = Decimal((sign, tuple(map(int, kept)), int(power) + len(digits) - len(kept)))
    return format(short, "f") if abs(short.adjusted()) <= _MOST_DIGITS else str(short)


def _hash(written: str | bytes | None) -> bytes:
    if written is None:
        return _NOBODY
    found = written if isinstance(written, bytes) else written.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(found, digest_size=16, key=_KEY).digest()
