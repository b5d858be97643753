"""The public facts about a table: its columns in order, its target, its id, who a person is in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arguments import did_you_mean, shown, some_of
from discreet.errors import SchemaError
from discreet.randomness import public_generator
from discreet.schema.bins import FloatArray
from discreet.schema.columns import Category, Column, Number
from discreet.schema.levels import Level, check_levels
from discreet.schema.person import Person, RowsOfOne

_PROBE_SEED = 20_260_415


class UnknownColumn(SchemaError):
    """A name that is none of a schema's columns; ``told`` lists them, and what was given."""

    def __init__(self, message: str, name: object = None, told: str = "") -> None:
        super().__init__(message)
        self.name, self.told = name, told


class Schema:
    """Ordered columns with public bounds and values.

    Args:
      columns: name to ``Number``, ``Category``, ``Date`` or ``Boolean``, in the order models see them.
        A name is any text; a whole number, as frames without names have them, is its text.
      target: the column models predict; never shown to a model.
      id: a column that names a record. It only ever feeds the keyed hash that assigns rows to
        subsets, and needs no bounds.
      levels: names of levels above a category to ``dc.Level(column, groups)``: hospitals, of which
        every ward is in one. ``by="hospital"`` groups records by them.
      person: a column that names a person where she may have several rows, as patients have visits. All
        rows of one person are protected together, and answers are about persons. It needs no bounds,
        its values are never shown, and rows without one are together one person.
      rows: how the rows of a person count. ``weighted`` (default): each one over their number, so that
        a person counts one. ``capped``: at most ``most`` of them count, one each, and answers are about
        rows. ``one``: one of them, so that whatever can be asked of records can be asked.
      most: the rows of a person that count where they are ``capped``; noise grows with it.

    Guarantees:
      - Nothing here is read from rows, except by ``sketch``, whose drafts carry marks that
        ``protect`` refuses.

    >>> schema = Schema({"age": Number(18, 90, step=1), "home": Category("rent", "own")})
    >>> list(schema.features)
    ['age', 'home']
    """

    def __init__(
        self,
        columns: Mapping[Any, Column],
        *,
        target: str | int | None = None,
        id: str | int | None = None,
        levels: Mapping[str, Level] | None = None,
        person: str | int | None = None,
        rows: RowsOfOne | None = None,
        most: int | None = None,
    ) -> None:
        if not isinstance(columns, Mapping):
            raise SchemaError(f"columns must map names to columns, got {shown(columns)}.")
        if not columns:
            raise SchemaError("columns must hold at least one column, got none.")
        named: dict[str, Column] = {}
        for given, column in columns.items():
            name = _name(given)
            if name in named:
                raise SchemaError(f"Column names must differ as texts, got {name!r} twice. Rename one.")
            if not isinstance(column, Number | Category):
                raise SchemaError(
                    f"Column {name!r} must be a Number, Category, Date or Boolean, got "
                    f"{type(column).__name__}."
                )
            named[name] = column
        target, id, person = (str(role) if _is_whole(role) else role for role in (target, id, person))
        columns = named
        if target is not None and not (isinstance(target, str) and target in columns):
            raise SchemaError(
                f"target must be one of the columns, got {target!r}.{did_you_mean(target, columns)}"
            )
        if id is not None and not (isinstance(id, str) and id):
            raise SchemaError(f"id must be the name of a column, got {id!r}.")
        if id in columns:
            raise SchemaError(f"id must not be one of the columns, got {id!r}. Leave it out of them.")
        self.person = _person(person, rows, most, id, named)  # type: ignore[arg-type]
        self._columns = named
        self.levels = check_levels(levels or {}, named)
        self.notes: dict[str, tuple[str, ...]] = {}
        self.left_out: dict[str, str] = {}
        self.target: str | None = target
        self.id: str | None = id

    def __getitem__(self, name: str) -> Column:
        if name not in self:
            told = f"{some_of(self)}, got {shown(name)}.{did_you_mean(name, self)}"
            raise UnknownColumn(f"column must be one of {told}", name, told)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        lines = [f"  {name}: {column}" for name, column in self._columns.items()]
        unit = "" if self.person is None else f", person={self.person.column!r}"
        return "\n".join(["Schema(", *lines, f"  target={self.target!r}, id={self.id!r}{unit})"])

    def _repr_html_(self) -> str:
        from discreet.schema.showing import schema_html

        return schema_html(self)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns a model sees: all but the target."""
        return tuple(name for name in self._columns if name != self.target)

    @property
    def read_besides(self) -> tuple[str, ...]:
        """The columns that are read and have no bounds: who a record is, or a person."""
        roles = (self.id, None if self.person is None else self.person.column)
        return tuple(name for name in roles if name is not None)

    def position(self, name: str) -> int:
        """Return the place of a column in encoded rows."""
        self[name]
        return list(self._columns).index(name)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Bounds a draft read from data, as ``column.bound``; must be empty to protect a table."""
        return tuple(
            f"{name}.{bound}"
            for name, column in self._columns.items()
            for bound in column.read_from_data
        )

    def check_confirmed(self) -> None:
        """Raise if a draft's marks say that facts were read from data."""
        if self.unconfirmed:
            raise SchemaError(
                "schema must hold public facts only, but these were read from data: "
                f"{', '.join(self.unconfirmed)}. Replace them and remove their marks."
            )

    @property
    def facts(self) -> str:
        """What decides how a row is encoded, in order, as one text; what is for people is left out."""
        from discreet.schema.files import to_plain

        return json.dumps(to_plain(self, words=False), sort_keys=False)

    @property
    def digest(self) -> str:
        """A fingerprint of the facts."""
        return hashlib.sha256(self.facts.encode()).hexdigest()

    def draw(self, rows: int) -> FloatArray:
        """Return public encoded rows that probe a model: the same ones for the same schema."""
        generator = public_generator(_PROBE_SEED)
        return np.column_stack([c.draw(generator, rows) for c in self._columns.values()])

    def landmarks(self) -> FloatArray:
        """Return the fewest public rows with both ends, a middle and every category of columns."""
        marks = [column.landmarks() for column in self._columns.values()]
        rows = max(map(len, marks))
        return np.column_stack([np.resize(values, rows) for values in marks])

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain data, the same shape as the TOML file."""
        from discreet.schema.files import to_plain

        return to_plain(self)

    @classmethod
    def of(cls, schema: Schema | str | Path) -> Schema:
        """Return a schema that is given as such or as the path of its TOML file."""
        if isinstance(schema, Schema):
            return schema
        if not isinstance(schema, str | Path):
            raise SchemaError(
                f"schema must be a Schema or the path of a TOML file, got {shown(schema)}. "
                "Make one with dc.Schema({...}) or Schema.sketch."
            )
        return cls.load(schema)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file."""
        from discreet.schema.files import load_schema

        return load_schema(Path(path))

    def save(self, path: str | Path) -> Path:
        """Write the schema to a TOML file; bounds read from data are commented as such."""
        from discreet.schema.files import save_schema

        return save_schema(self, Path(path))

    @classmethod
    def sketch(
        cls,
        frame: Any,
        *,
        target: str | None = None,
        id: str | None = None,
        person: str | None = None,
    ) -> Schema:
        """Draft a schema from rows, for a person to fill in. The draft is private: do not share it.

        Every bound and value list in it is marked *read from data, not public*; ``protect``
        refuses the schema until a person has replaced them and removed the marks. ``notes`` says what
        was seen of columns (dates, missing values, lists that were cut), ``left_out`` which ones look
        like names of records or free text and are not in it; the file has both as comments.
        """
        from discreet.schema.sketch import sketch_columns

        draft = sketch_columns(frame, target=target, id=id if person is None else person)
        if str(target) in draft.left_out:
            raise SchemaError(f"target must be a column with few values, got {target!r}.")
        schema = cls(draft.columns, target=target, id=id, person=person)
        schema.notes, schema.left_out = draft.notes, draft.left_out
        return schema


def _person(
    column: str | None,
    rows: RowsOfOne | None,
    most: int | None,
    id: str | None,
    columns: Mapping[str, Column],
) -> Person | None:
    """Return who a person is; None where every record is one."""
    if column is None:
        if rows is not None or most is not None:
            raise SchemaError(
                f"person must be given with {'rows' if rows is not None else 'most'}, got none. "
                "It names the column that tells whose a row is."
            )
        return None
    found = Person(column, "weighted" if rows is None else rows, most)
    if id is not None:
        raise SchemaError(
            f"id must be left out where person is given, got {id!r}. The person takes its place."
        )
    if found.column in columns:
        raise SchemaError(
            f"person must not be one of the columns, got {found.column!r}. Leave it out of them."
        )
    return found


def _is_whole(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def _name(given: object) -> str:
    if (not isinstance(given, str) or not given) and not _is_whole(given):
        raise SchemaError(f"A column name must be a non-empty text or a whole number, got {given!r}.")
    return str(given)
