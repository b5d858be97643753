"""Schemas as TOML files.

```toml
target = "defaulted"

[person]                 # where a person may have several rows; left out, a row is a record
column = "customer"
rows = "weighted"        # or "capped" with most = 8, or "one"

[columns.age]
kind = "number"
low = 18.0
high = 90.0
step = 1.0
missing = false          # no value is missing; left out, missing is a value of its own
unit = "years"           # for people alone, like label

[columns.home]
kind = "category"
values = ["rent", "own"]  # unlisted and missing values are cells of their own

[columns.opened]
kind = "date"
low = "2015-01-01"       # or 2015-01-01, as TOML writes dates
high = "2024-12-31"
step = "month"           # minute, hour, day, week, month or year

[columns.insured]
kind = "boolean"

[levels.tenure]          # groups of a category's values, to ask for by="tenure"
of = "home"
groups = { tenants = ["rent"], owners = ["own"] }
```
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.schema.booleans import Boolean
from discreet.schema.columns import Category, Column, Number
from discreet.schema.dates import Date
from discreet.schema.levels import levels_from_plain
from discreet.schema.person import person_from_plain

if TYPE_CHECKING:
    from discreet.schema.schema import Schema

_MARK = "read from data, not public: replace by public facts, then delete this line"


def to_plain(schema: Schema, *, words: bool = True) -> dict[str, Any]:
    """Return a schema as plain data, with the words that are for people or without."""
    plain: dict[str, Any] = {}
    if schema.target is not None:
        plain["target"] = schema.target
    if schema.id is not None:
        plain["id"] = schema.id
    if schema.person is not None:
        plain["person"] = schema.person.to_json()
    plain["columns"] = {name: _column_to_plain(schema[name], words) for name in schema}
    if schema.levels:
        plain["levels"] = {name: level.to_json() for name, level in schema.levels.items()}
    return plain


def from_plain(plain: dict[str, Any]) -> Schema:
    """Build a schema from plain data."""
    from discreet.schema.schema import Schema

    columns = plain.get("columns")
    if not isinstance(columns, dict):
        raise SchemaError("A schema must have a table named 'columns', got none.")
    unknown = set(plain) - {"columns", "target", "id", "person", "levels"}
    if unknown:
        raise SchemaError(
            f"A schema has target, id, person, columns and levels, got {sorted(unknown)[0]!r} besides."
        )
    unit = person_from_plain(plain.get("person"))
    built = {name: _column_from_plain(name, entry) for name, entry in columns.items()}
    levels = levels_from_plain(plain.get("levels", {}))
    roles = {"target": plain.get("target"), "id": plain.get("id")}
    told = {} if unit is None else {"person": unit.column, "rows": unit.rows, "most": unit.most}
    return Schema(built, levels=levels, **roles, **told)  # type: ignore[arg-type]


def load_schema(path: Path) -> Schema:
    """Read a schema file."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SchemaError(f"Schema file {path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise SchemaError(f"Schema file {path} must be TOML without deep nesting, got some.") from None
    except ValueError as error:  # not TOML, not UTF-8, or a number too long to read
        raise SchemaError(f"Schema file {path} must be TOML, got an error: {error}.") from None
    return from_plain(plain)


def save_schema(schema: Schema, path: Path) -> Path:
    """Write a schema file."""
    import tomlkit

    document = tomlkit.document()
    plain = to_plain(schema)
    for key in ("target", "id"):
        if key in plain:
            document.add(key, plain[key])
    if schema.person is not None:
        document.add("person", _person_table(plain["person"]))
    columns = tomlkit.table(is_super_table=True)
    for name in schema:
        table = tomlkit.table()
        for note in schema.notes.get(name, ()):
            table.add(tomlkit.comment(note))
        for key, value in _column_to_plain(schema[name]).items():
            table.add(key, value)
            if key == "read_from_data":
                table[key].comment(_MARK)
        columns.add(name, table)
    document.add("columns", columns)
    if schema.levels:
        document.add("levels", plain["levels"])
    if schema.left_out:
        document.add(tomlkit.nl())
    for name, reason in schema.left_out.items():
        document.add(tomlkit.comment(f"{json.dumps(name)} is left out: {reason}"))
    try:
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
    except OSError as error:
        raise SchemaError(f"Schema file {path} cannot be written: {error.strerror}.") from None
    except UnicodeEncodeError:
        raise SchemaError("Names and values must be valid Unicode to be written to a file.") from None
    return path


def _person_table(plain: dict[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.table()
    table.update(plain)
    table["rows"].comment('"weighted", "capped" with most = 8, or "one"')
    return table


def _column_to_plain(column: Column, words: bool = True) -> dict[str, Any]:
    plain = _facts(column)
    if words:
        told = {"unit": getattr(column, "unit", None), "label": column.label}
        plain |= {key: word for key, word in told.items() if word is not None}
    if column.read_from_data:
        plain["read_from_data"] = list(column.read_from_data)
    return plain


def _facts(column: Column) -> dict[str, Any]:
    """Return what decides how a value is encoded; what is as by default is left out."""
    plain: dict[str, Any]
    match column:
        case Date():
            ends = {"low": column.show(column.low), "high": column.show(column.high)}
            more = {"zone": column.zone, "format": column.format}
            plain = {"kind": "date", **ends, "step": column.every}
            plain |= {key: value for key, value in more.items() if value is not None}
            return plain | ({} if column.missing is True else {"missing": column.shown_missing})
        case Number():
            plain = {"kind": "number", "low": column.low, "high": column.high}
            plain |= {} if column.step is None else {"step": column.step}
            return plain | ({} if column.missing is True else {"missing": column.missing})
        case Boolean():
            texts = {"true": list(column.true), "false": list(column.false)}
            return {"kind": "boolean", **{k: v for k, v in texts.items() if v}, **_flags(column)}
    plain = {"kind": "category", "values": list(column.values)}
    plain |= {"ordered": True} if column.ordered else {}
    return plain | (_flags(column) if column.unknown is None else {"unknown": column.unknown})


def _flags(column: Category) -> dict[str, bool]:
    flags = {"missing": column.missing, "other": column.other}
    return {key: False for key, reserved in flags.items() if not reserved}


KINDS: dict[str, tuple[Any, str]] = {
    "number": (Number, "low, high, step, missing, unit and label"),
    "category": (Category, "values, ordered, unknown, missing, other and label"),
    "date": (Date, "low, high, step, zone, format, missing and label"),
    "boolean": (Boolean, "true, false, missing, other and label"),
}
"""The kinds of columns in a file, what makes them and what they take."""


def _column_from_plain(name: str, entry: Any) -> Column:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"Column {name!r} must have kind = {' or '.join(map(repr, KINDS))}.")
    fields = {key: value for key, value in entry.items() if key != "kind"}
    for key in ("values", "read_from_data"):
        if not isinstance(fields.get(key, []), list):
            raise SchemaError(f"Column {name!r}: {key} must be a list, got {fields[key]!r}.")
    make, taken = KINDS[kind]
    try:
        fields["read_from_data"] = tuple(map(str, fields.get("read_from_data", ())))
        column: Column = make(*fields.pop("values", ()), **fields)
        return column
    except TypeError:
        raise SchemaError(
            f"Column {name!r} has a missing or unknown entry: a {kind} takes {taken}."
        ) from None
    except SchemaError as error:
        raise SchemaError(f"Column {name!r}: {error}") from None
