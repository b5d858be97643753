"""Schemas as TOML files.

```toml
target = "defaulted"

[columns.age]
kind = "number"
low = 18.0
high = 90.0
step = 1.0
missing = false          # no value is missing; left out, missing is a value of its own

[columns.home]
kind = "category"
values = ["rent", "own"]  # unlisted and missing values are cells of their own
```
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.schema.columns import Category, Column, Number

if TYPE_CHECKING:
    from discreet.schema.schema import Schema

_MARK = "read from data, not public: replace by public facts, then delete this line"


def to_plain(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain data."""
    plain: dict[str, Any] = {}
    if schema.target is not None:
        plain["target"] = schema.target
    if schema.id is not None:
        plain["id"] = schema.id
    plain["columns"] = {name: _column_to_plain(schema[name]) for name in schema}
    return plain


def from_plain(plain: dict[str, Any]) -> Schema:
    """Build a schema from plain data."""
    from discreet.schema.schema import Schema

    columns = plain.get("columns")
    if not isinstance(columns, dict):
        raise SchemaError("A schema must have a table named 'columns', got none.")
    unknown = set(plain) - {"columns", "target", "id"}
    if unknown:
        raise SchemaError(f"A schema has target, id and columns, got {sorted(unknown)[0]!r} besides.")
    built = {name: _column_from_plain(name, entry) for name, entry in columns.items()}
    return Schema(built, target=plain.get("target"), id=plain.get("id"))


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
    for key, value in to_plain(schema).items():
        if key != "columns":
            document.add(key, value)
    columns = tomlkit.table(is_super_table=True)
    for name in schema:
        table = tomlkit.table()
        for key, value in _column_to_plain(schema[name]).items():
            table.add(key, value)
            if key == "read_from_data":
                table[key].comment(_MARK)
        columns.add(name, table)
    document.add("columns", columns)
    try:
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
    except OSError as error:
        raise SchemaError(f"Schema file {path} cannot be written: {error.strerror}.") from None
    except UnicodeEncodeError:
        raise SchemaError("Names and values must be valid Unicode to be written to a file.") from None
    return path


def _column_to_plain(column: Column) -> dict[str, Any]:
    plain: dict[str, Any]
    if isinstance(column, Number):
        plain = {"kind": "number", "low": column.low, "high": column.high}
        plain |= {} if column.step is None else {"step": column.step}
        plain |= {} if column.missing is True else {"missing": column.missing}
    else:
        plain = {"kind": "category", "values": list(column.values)}
        if column.unknown is not None:
            plain["unknown"] = column.unknown
        else:
            flags = {"missing": column.missing, "other": column.other}
            plain |= {key: False for key, reserved in flags.items() if not reserved}
    if column.read_from_data:
        plain["read_from_data"] = list(column.read_from_data)
    return plain


def _column_from_plain(name: str, entry: Any) -> Column:
    if not isinstance(entry, dict) or entry.get("kind") not in ("number", "category"):
        raise SchemaError(f"Column {name!r} must have kind = 'number' or 'category'.")
    fields = {key: value for key, value in entry.items() if key != "kind"}
    for key in ("values", "read_from_data"):
        if not isinstance(fields.get(key, []), list):
            raise SchemaError(f"Column {name!r}: {key} must be a list, got {fields[key]!r}.")
    marks = tuple(str(mark) for mark in fields.pop("read_from_data", ()))
    try:
        if entry["kind"] == "number":
            return Number(**fields, read_from_data=marks)
        return Category(*fields.pop("values", ()), **fields, read_from_data=marks)
    except TypeError:
        raise SchemaError(
            f"Column {name!r} has a missing or unknown entry: a number takes low, high, step and "
            "missing; a category takes values, unknown, missing and other."
        ) from None
    except SchemaError as error:
        raise SchemaError(f"Column {name!r}: {error}") from None
