"""A table whose rows nobody sees: a schema and a sealed source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.data.persons import PersonRows, joined, read_persons
from discreet.data.sources import Source, open_source
from discreet.data.sources.joined import JoinedSource
from discreet.data.sources.partitions import Part, Partitioned, keeps_places
from discreet.data.sources.source import Watched
from discreet.data.state import quietly
from discreet.errors import AccessDenied, ArgumentError, DataRefused
from discreet.mechanisms.lattice import MOST_SHARED
from discreet.privacy.relation import (
    MOST_ROWS,
    REPLACE_ONE,
    ROWS_CAP,
    Relation,
    RelationName,
    registered,
)
from discreet.randomness import IntArray
from discreet.schema import Schema
from discreet.schema.person import Person

if TYPE_CHECKING:
    from discreet.data.workers.cluster import Cluster


class PrivateTable:
    """Sealed rows and their public schema.

    With a ``cluster`` a source in parts is counted by the workers, each part where it lies, and is
    read by them alone.

    Guarantees:
      - Its text shows the schema and no value; it cannot be iterated, indexed, copied or pickled.
      - Whether it is accepted depends on the names and kinds of its columns and the number of its
        rows alone; a file must besides be readable as what its name says, and Python objects that
        name persons must be no floats.
    """

    __slots__ = (
        "__facts",
        "__held",
        "__lengths",
        "__persons",
        "__places",
        "__rows",
        "__source",
        "__states",
        "__units",
        "schema",
        "start",
    )

    def __init__(
        self,
        data: Any,
        schema: Schema,
        relation: Relation | RelationName = REPLACE_ONE,
        most_rows: int = ROWS_CAP,
        *,
        cluster: Cluster | None = None,
    ) -> None:
        agreed = registered(relation)
        schema.check_confirmed()
        source = open_source(data, [*schema, *schema.read_besides])
        _check_columns(source, schema)
        self.__states = _states(source)
        self.__lengths = None if cluster is None else cluster.count_parts(source)
        self.__rows = source.count() if self.__lengths is None else sum(self.__lengths)
        _check_count(self.__rows, agreed, most_rows)
        self.schema, self.start = schema, 0
        self.__source = source
        self.__places: IntArray | None = None
        self.__units: NDArray[np.int32] | None = None
        self.__persons: int | None = None
        self.__held: list[Any] | None = None
        if schema.person is not None:
            self._tell_persons_apart(schema.person, cluster)
            _check_persons(self.count(), schema.person, agreed)
        self.__facts = self._find_facts(agreed)

    def _tell_persons_apart(self, person: Person, cluster: Cluster | None) -> None:
        if cluster is not None and self.__lengths is not None:
            assert isinstance(self.__source, Partitioned)
            told = cluster.tell_persons_apart(self.__source, self.__lengths, person)
            self.__persons, self.__held = told
        else:
            chunks = self.__source.chunks([person.column])
            with quietly():  # what an object warns or prints when it is written could hold a row
                self._count_as(read_persons((chunk[person.column] for chunk in chunks), person))

    def _find_facts(self, relation: Relation) -> dict[str, Any]:
        """Return what is public of the state of the data.

        Kinds of columns are not among it: frames and files make them of values, and one that is missing
        makes floats of whole numbers. Lengths of parts are where the number of rows is.
        """
        source = self.__source
        facts: dict[str, Any] = {"source": _digest([type(source).__name__, *source.columns])}
        if relation.rows_public:
            facts["records"] = self.count()
        if relation.rows_public and self.__lengths and self.__persons is None and self.keeps_places:
            facts["parts"] = _digest(self.__lengths)
        if state := getattr(source, "state", ""):
            facts["state"] = state
        return facts

    def _count_as(self, found: PersonRows) -> None:
        self.__persons, self.__places, self.__units = found.persons, found.places, found.units

    def at(self, places: Sequence[int]) -> PrivateTable:
        """Return a table of the rows at public places, in the order of this one.

        Guarantees:
          - No row is in it twice, so that one record is one row of it. [given-rows]
        """
        if self.__persons is not None:
            raise ArgumentError(
                "rows must be left out where a person may have several, got some. Ask of a part of the "
                "table by a condition."
            )
        if not self.keeps_places:
            raise ArgumentError(
                "rows must be left out where a value decides where a row stands (keys of files, a "
                "shuffle), got some. Ask of a part of the table by a condition."
            )
        wanted = np.asarray(places)
        usable = wanted.ndim == 1 and wanted.dtype.kind in "iu" and len(wanted) > 0
        if not usable or wanted.min() < 0 or wanted.max() >= self.__rows:
            raise ArgumentError(
                f"rows must be places from 0 to {self.__rows - 1}, got {_brief(places)}."
            )
        if len(np.unique(wanted)) < len(wanted):
            raise ArgumentError(
                "rows must be different places, got one twice: a record would count twice."
            )
        part = object.__new__(PrivateTable)
        part.schema, part.start = self.schema, 0
        part.__source, part.__lengths = self.__source, self.__lengths
        part.__states, part.__facts = self.__states, self.__facts
        part.__rows, part.__places = len(wanted), np.sort(wanted).astype(np.int64)
        part.__persons = part.__units = part.__held = None
        return part

    @classmethod
    def of_parts(cls, parts: Sequence[Part], schema: Schema) -> PrivateTable:
        """Return the table of successive parts of one, where they are read."""
        found = object.__new__(cls)
        found.schema, found.start = schema, parts[0].start
        found.__source, found.__lengths = JoinedSource(tuple(parts)), None
        found.__rows, found.__places = sum(map(len, parts)), _joined_places(parts)
        found.__persons = found.__units = found.__held = None
        if parts[0].persons is not None:
            found._count_as(joined([part.rows for part in parts], [part.persons for part in parts]))
        return found

    def parts(self, names: Sequence[str], cluster: Cluster) -> list[Part] | None:
        """Return the parts that the workers of a cluster read; None if this process reads the rows."""
        if self.__lengths is None:
            return None
        assert isinstance(self.__source, Partitioned)
        found = self.__source.partitions(names, cluster.client)
        assert found is not None
        parts: list[Part] = []
        start = 0
        held = self.__held or [None] * len(found)
        ends = accumulate(self.__lengths)
        for source, rows, end, persons in zip(found, self.__lengths, ends, held, strict=True):
            parts.append(Part(source, start, rows, self.places_between(end - rows, end), persons))
            start += len(parts[-1])
        return [part for part in parts if len(part)] or parts[:1]

    @property
    def in_parts(self) -> bool:
        """Whether the workers of a cluster read it, and this process does not."""
        return self.__lengths is not None

    @property
    def keeps_places(self) -> bool:
        """Whether no value decides where a row stands: public, as it follows from the layout."""
        return keeps_places(self.__source)

    def places_between(self, first: int, last: int) -> IntArray | None:
        """Return which rows of its source between two places are in it; None for all."""
        if self.__places is None:
            return None
        start, stop = np.searchsorted(self.__places, [first, last])
        return self.__places[start:stop] - first

    def units_between(self, first: int, last: int) -> NDArray[np.int32] | None:
        """Return how many parts of a record the rows between two places count; None for all."""
        return None if self.__units is None else self.__units[first - self.start : last - self.start]

    @property
    def shares_records(self) -> bool:
        """Whether the rows of a person share one record."""
        return self.__units is not None

    def has_changed(self) -> bool:
        """Say whether somebody wrote to what it is read from, or took it away, since it was opened."""
        return _states(self.__source) != self.__states

    @property
    def facts(self) -> dict[str, Any]:
        """What is public of the state it was opened in, by name.

        How many records, which state of a lake, and digests of the kind of its source with the names of
        its columns and of the lengths of its parts.
        """
        return dict(self.__facts)

    def check_unchanged(self) -> None:
        """Raise, while nothing is spent, if it is no longer what it was when it was opened."""
        if self.has_changed():
            raise DataRefused(
                "data must stay as they were when they were opened, got files that were written or "
                "taken away since. Call protect again, with a new version if the rows are others.",
                rule="changed",
            )

    def unseal(self) -> Source:
        """Return the source, for ``data.rows`` alone."""
        return self.__source

    def count(self) -> int:
        """Return the number of records: public under replace-one, private under add-remove."""
        return self.__rows if self.__persons is None else self.__persons

    def rows_read(self) -> int:
        """Return the number of rows that are read: more than records where persons have several."""
        return self.__rows if self.__places is None else len(self.__places)

    def __repr__(self) -> str:
        return f"PrivateTable(sealed rows of {self.schema!r})"

    def __iter__(self) -> NoReturn:
        _refuse()

    def __getitem__(self, key: object) -> NoReturn:
        _refuse()

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        _refuse()

    def __copy__(self) -> NoReturn:
        _refuse()

    def __deepcopy__(self, memo: object) -> NoReturn:
        _refuse()

    def __getstate__(self) -> NoReturn:
        _refuse()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse()


def _check_columns(source: Source, schema: Schema) -> None:
    for name in (*schema, *schema.read_besides):
        found = source.columns.count(name)
        if found == 0:
            raise DataRefused(
                f"data must have a column {name!r}, got none of that name. "
                "Rename it or take it out of the schema.",
                column=name,
                rule="missing column",
            )
        if found > 1:
            raise DataRefused(
                f"data must have one column {name!r}, got {found} of that name. Rename the others.",
                column=name,
                rule="duplicate column",
            )


def _check_count(count: int, relation: Relation, most_rows: int) -> None:
    if relation.rows_public and count == 0:
        raise DataRefused(
            "data must have at least one row under replace-one, got none. "
            "Use relation='add-remove' if the number of rows is private.",
            rule="empty",
        )
    if not relation.rows_public and count > most_rows:
        raise DataRefused(
            f"data must have at most {most_rows} rows under add-remove, got more. "
            "Register more (most_rows=), use relation='replace-one', or split the table by a public "
            "rule.",
            rule="too many rows",
        )
    if count > MOST_ROWS:
        raise DataRefused(
            f"data must have at most {MOST_ROWS} rows, got {count}. Split the table by a public rule.",
            rule="too many rows",
        )


def _joined_places(parts: Sequence[Part]) -> IntArray | None:
    """Return which of all rows of successive parts are asked about; None for all."""
    if all(part.places is None for part in parts):
        return None
    ends = accumulate(part.rows for part in parts)
    return np.concatenate(
        [
            end - part.rows + (np.arange(part.rows) if part.places is None else part.places)
            for part, end in zip(parts, ends, strict=True)
        ]
    )


def _check_persons(persons: int, person: Person, relation: Relation) -> None:
    """Refuse a table of one person.

    Where the number of persons is private, nothing but a bound on it is refused; how many rows they
    have never decides.
    """
    if persons > MOST_SHARED:
        raise DataRefused(
            f"data must be about at most {MOST_SHARED:.0f} persons, got more. "
            "Split it by a public rule.",
            rule="too many rows",
        )
    if relation.rows_public and persons == 1:
        raise DataRefused(
            f"column {person.column!r} must name at least two persons, got the same one in all rows. "
            "Name another column, leave person out of the schema, or use relation='add-remove'.",
            column=person.column,
            rule="one person",
        )


def _states(source: Source) -> tuple[str, ...] | None:
    """Return what changes if somebody writes to what a source reads; None if it cannot be reached."""
    if not isinstance(source, Watched):
        return ()
    with suppress(Exception), quietly():
        return source.states()
    return None


def _digest(facts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(list(facts)).encode()).hexdigest()[:16]


def _brief(places: object) -> str:
    text = repr(places)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _refuse() -> NoReturn:
    raise AccessDenied(
        "A PrivateTable shows no rows. Ask through a plan: session.release(dc.histogram(...))."
    )
