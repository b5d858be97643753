"""``discreet sketch --ask``: a schema by questions, for someone who has never seen TOML.

What rows say is shown to the owner, who sits in front of them anyway, and is never taken over by
pressing Enter: a fact that is left open keeps its mark, and ``protect`` refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from discreet.errors import SchemaError
from discreet.schema import Boolean, Category, Column, Date, Number, Schema
from discreet.schema.dates import STEPS
from discreet.schema.person import ROWS_OF_ONE, Person
from discreet.schema.showing import tell_column

_KINDS = {"n": "number", "d": "date", "c": "category", "b": "yes or no", "x": "leave it out"}
_START = """For every column: what is publicly known of it? Say what a person could
know who has not seen these rows: the range a device can measure, the years
of a study, the codes of a questionnaire. What is shown as 'seen' was read
from your rows. Press Enter to leave something open for later."""

_COUNTED = """  weighted: each one over their number, answers are about persons
  capped: so many of them at most, one each, answers are about rows
  one: one of them, drawn; everything can be asked"""


def ask_schema(draft: Schema) -> Schema:
    """Ask about every column of a draft and return the schema that the answers make."""
    typer.echo(_START)
    columns: dict[str, Column] = {}
    for place, name in enumerate(draft, start=1):
        kind, facts = tell_column(draft[name])
        seen = "; ".join([*draft.notes.get(name, ()), facts])
        typer.echo(f"\n{place} of {len(draft)}: {name}\n  seen: {kind}, {seen}")
        column = _ask_column(name, draft)
        if column is not None:
            columns[name] = column
    for name, reason in draft.left_out.items():
        typer.echo(f"\n{name} is left out: it {reason}.")
    target, unit = _ask_target(draft, columns), _ask_person(draft)
    schema = Schema(columns, target=target, id=draft.id, **unit)
    schema.notes, schema.left_out = (
        {name: draft.notes.get(name, ()) for name in columns},
        draft.left_out,
    )
    return schema


def _ask_column(name: str, draft: Schema) -> Column | None:
    """Ask until the answers make a column; None if it is left out."""
    found = draft[name]
    told = ", ".join(f"{letter} = {word}" for letter, word in _KINDS.items())
    kind = _choose(f"  It is ({told})", _letter(found), tuple(_KINDS))
    if kind == "x":
        return None
    while True:
        try:
            return _ASKED[kind](found)
        except SchemaError as error:
            typer.echo(f"  {error}")


def _ask_number(found: Column) -> Column:
    low, high = (_ask_float(f"  {word} possible value") for word in ("Least", "Greatest"))
    whole = _choose("  Whole numbers only? (y/n)", "n" if getattr(found, "step", None) is None else "y")
    unit = _ask("  Unit, if it has one") or None
    step = 1.0 if whole == "y" else None
    if low is not None and high is not None:
        return Number(low, high, step, missing=_ask_missing(), unit=unit)
    return found if isinstance(found, Number) else _open(Number(0, 1, unit=unit), "low", "high")


def _ask_date(found: Column) -> Column:
    low, high = (_ask(f"  {word} possible date, as 2020-01-31") for word in ("Earliest", "Latest"))
    step = _choose(
        f"  Told apart by ({', '.join(STEPS)})", getattr(found, "every", "day"), tuple(STEPS)
    )
    form = getattr(found, "format", None)
    if low and high:
        return Date(low, high, step, format=form, missing=_ask_missing())
    return found if isinstance(found, Date) else _open(Date(1900, 2100, step), "low", "high")


def _ask_category(found: Column) -> Column:
    values = list(getattr(found, "values", ()))
    given = _ask("  All values, with commas between; or 'seen' if the list of seen ones is public")
    listed = values if given == "seen" else [_value(part) for part in given.split(",") if part.strip()]
    if not listed:
        return found if isinstance(found, Category) else _open(Category("unknown"), "values")
    ordered = _choose("  Do the values have an order, as small, middle, large? (y/n)", "n") == "y"
    return Category(*listed, ordered=ordered, missing=_ask_missing())


def _ask_boolean(found: Column) -> Column:
    return Boolean(missing=_ask_missing())


_ASKED: dict[str, Callable[[Column], Column]] = {
    "n": _ask_number,
    "d": _ask_date,
    "c": _ask_category,
    "b": _ask_boolean,
}


def _ask_missing() -> bool:
    return _choose("  Can a value be missing? (y/n)", "y") == "y"


def _ask_target(draft: Schema, columns: dict[str, Column]) -> str | None:
    given = draft.target or _ask("\nWhich column do your models predict, if any")
    while given and given not in columns:
        given = _ask(f"  That is none of the columns ({', '.join(columns)}). Which, if any")
    return given or None


def _ask_person(draft: Schema) -> dict[str, Any]:
    """Ask how the rows of a person count, where a column names persons."""
    if draft.person is None:
        return {}
    column = draft.person.column
    typer.echo(f"\n{column} names persons. How do the rows of one count?\n{_COUNTED}")
    rows = _choose("  They are", draft.person.rows, ROWS_OF_ONE)
    most = None
    while rows == "capped" and most is None:
        try:
            most = Person(column, "capped", _whole(_ask("  At most how many"))).most
        except SchemaError as error:
            typer.echo(f"  {error}")
    return {"person": column, "rows": rows, "most": most}


def _whole(text: str) -> Any:
    return int(text) if text.isdigit() else text


def _ask(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False)).strip()


def _ask_float(question: str) -> float | None:
    while True:
        given = _ask(question)
        try:
            return float(given) if given else None
        except ValueError:
            typer.echo("  Please type a number, as 120 or 0.5.")


def _choose(question: str, default: str, answers: tuple[str, ...] = ("y", "n")) -> str:
    while True:
        given = str(typer.prompt(question, default=default)).strip().lower()
        if given in answers:
            return given
        typer.echo(f"  Please type one of {', '.join(answers)}.")


def _letter(column: Column) -> str:
    kinds = {"Date": "d", "Number": "n", "Boolean": "b"}
    return kinds.get(type(column).__name__, "c")


def _value(text: str) -> Any:
    """Return a typed value: a whole number if it is one and would be written so."""
    plain = text.strip()
    return int(plain) if plain.isdigit() and str(int(plain)) == plain else plain


def _open(column: Column, *facts: str) -> Column:
    """Return a column whose facts are yet to be given."""
    object.__setattr__(column, "read_from_data", facts)
    return column
