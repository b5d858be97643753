"""Schemas in notebooks: a line per column, in the words of a code book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.markup import Html, card, soft, table
from discreet.schema.columns import Category, Column
from discreet.schema.dates import Date

if TYPE_CHECKING:
    from discreet.schema.schema import Schema

_VALUES = 8


def schema_html(schema: Schema) -> Html:
    """Return a schema for a notebook."""
    rows = [(name, *tell_column(schema[name]), _role(schema, name)) for name in schema]
    drafts = schema.unconfirmed
    warning = f"read from data, not public: {', '.join(drafts)}" if drafts else None
    return card(
        table(["column", "kind", "public facts", ""], rows),
        None if schema.id is None else soft(f"records are named by {schema.id}"),
        None if schema.person is None else soft(schema.person.unit),
        None if warning is None else soft(warning),
        title=f"Schema of {len(schema)} columns",
    )


def tell_column(column: Column) -> tuple[str, str]:
    """Return the kind of a column and what is publicly known of it, in words."""
    if isinstance(column, Date):
        facts = f"{column.show(column.low)} to {column.show(column.high)} by {column.every}"
        facts += f", clocks of {column.zone}" if column.zone else ""
    elif isinstance(column, Category):
        shown = [str(value) for value in column.values[:_VALUES]]
        more = len(column.values) - _VALUES
        facts = ", ".join([*shown, f"and {more} more"] if more > 0 else shown)
        facts += " (in this order)" if column.ordered else ""
    else:
        step = f" in steps of {column.step:g}" if column.step is not None else ""
        unit = f" {column.unit}" if column.unit else ""
        facts = f"{column.low:,.12g} to {column.high:,.12g}{unit}{step}"
    facts = f"{column.label}: {facts}" if column.label else facts
    return type(column).__name__.lower(), facts + ("; may be missing" if column.may_be_missing else "")


def _role(schema: Schema, name: str) -> str:
    return "target" if name == schema.target else ""
