"""Commands of the data's owner: draft a schema, protect a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.project import (
    DEFAULT_PROJECT,
    DatasetOption,
    ProjectOption,
    open_session,
)
from discreet.cli.writing import check_file
from discreet.data import PrivateTable
from discreet.data.quality import check_table
from discreet.data.sources.elsewhere.first_rows import first_rows
from discreet.errors import ArgumentError
from discreet.ledger import Ledger
from discreet.privacy.accounting import ACCOUNTANTS
from discreet.privacy.relation import ADD_REMOVE, MOST_ROWS, RELATIONS
from discreet.schema import Schema
from discreet.schema.showing import tell_column
from discreet.session import protect
from discreet.session.project import DatasetEntry, Project, as_rows

DataArgument = Annotated[
    str,
    typer.Argument(
        help="Rows: a CSV, Parquet, Arrow, Stata, SAS or Excel file, a folder of Parquet files or a "
        "pattern of them, a Delta or Iceberg table, an address (s3://), or a database for --query."
    ),
]
QueryOption = Annotated[
    str | None, typer.Option("--query", help="What to ask the database at the address: SELECT ...")
]


def sketch_command(
    data: DataArgument,
    out: Annotated[Path, typer.Option(help="Where to write the draft.")] = Path("schema.toml"),
    target: Annotated[str | None, typer.Option(help="The column models predict.")] = None,
    id: Annotated[str | None, typer.Option(help="The column that names a record.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that names a person, who may have several rows.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many rows to look at.")] = 10_000,
    query: QueryOption = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Be asked about every column, instead of editing the file.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Draft a schema from rows for a person to fill in. The draft itself is private."""
    if out.exists():
        raise ArgumentError(f"--out must be a new file, got {out}. Move the old one away first.")
    check_file("--out", out)
    schema = Schema.sketch(first_rows(data, query, rows), target=target, id=id, person=person)
    if ask:
        from discreet.cli.dialogue import ask_schema

        schema = ask_schema(schema)
    schema.save(out)
    if json:
        print_json(schema.to_json())
        return
    _tell(schema)
    left = len(schema.unconfirmed)
    typer.echo(
        f"{out}: {len(schema)} columns, {left} facts read from data."
        + (
            " Replace them by public facts and delete the lines 'read_from_data' before you protect "
            f"the table; 'discreet schema check {out}' tells what is open."
            if left
            else f" Protect the table with 'discreet protect {data} --schema {out} ...'."
        )
    )


def schema_command() -> None:
    """Look at a schema's file."""


def check_schema(
    file: Annotated[Path, typer.Argument(help="The schema's TOML file.")],
    data: Annotated[str | None, typer.Argument(help="A table to compare it with.")] = None,
) -> None:
    """Tell what a schema says and what is open; with a table also how that fits, for its owner."""
    schema = Schema.load(file)
    rows = [[name, *tell_column(schema[name])] for name in schema]
    print_table(f"{file}: {len(schema)} columns", ["column", "kind", "facts"], rows)
    typer.echo(f"target: {schema.target or 'none'}, id: {schema.id or 'none'}")
    if schema.person is not None:
        typer.echo(schema.person.unit)
    schema.check_confirmed()
    if data is None:
        typer.echo("All facts are confirmed.")
        return
    typer.echo(str(check_table(PrivateTable(data, schema, ADD_REMOVE, MOST_ROWS))))


def _tell(schema: Schema) -> None:
    """Tell what was seen of columns, and which ones are not in the draft."""
    for name, notes in schema.notes.items():
        if notes:
            typer.echo(f"  {name}: {'; '.join(notes)}")
    for name, reason in schema.left_out.items():
        typer.echo(f"  {name}: left out, {reason}")


def protect_command(
    data: DataArgument,
    schema: Annotated[Path, typer.Option(help="The schema's TOML file.")],
    dataset: Annotated[str, typer.Option(help="Name of the data set in the ledger.")],
    ledger: Annotated[str, typer.Option(help="A SQLite file or a PostgreSQL URL.")],
    population: Annotated[
        str | None, typer.Option(help="Of the persons it is about: their data sets share one budget.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The whole budget, the first time.")] = None,
    delta: Annotated[float | None, typer.Option(help="The whole delta, the first time.")] = None,
    relation: Annotated[str | None, typer.Option(help=" or ".join(RELATIONS) + ".")] = None,
    accountant: Annotated[str | None, typer.Option(help=" or ".join(ACCOUNTANTS) + ".")] = None,
    most_rows: Annotated[
        int | None, typer.Option(help="How many rows it may have, under add-remove; 2^24 if left out.")
    ] = None,
    version: Annotated[str, typer.Option(help="Your label of the state of the data.")] = "1",
    query: QueryOption = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Begin an empty ledger beside the key of an earlier one.")
    ] = False,
    project: ProjectOption = DEFAULT_PROJECT,
    json: JsonOption = False,
) -> None:
    """Give a table a budget and remember where it is; later commands name it by --dataset."""
    check_file("--project", project)
    known = Project.load(project)
    places = [known.relative(str(where)) for where in (data, schema, ledger)]
    entry = DatasetEntry(places[0], places[1], places[2], version, query)
    known.with_entry(dataset, entry)  # or one sentence, before anything is registered
    session = protect(
        as_rows(data, query),
        schema,
        dataset=dataset,
        ledger=Ledger.open(ledger, anew=anew),
        population=population,
        epsilon=epsilon,
        delta=delta,
        relation=relation,  # type: ignore[arg-type]  # checked by protect, with a sentence
        accountant=accountant,  # type: ignore[arg-type]
        most_rows=most_rows,
        version=version,
    )
    with known.locked() as newest:
        newest.with_entry(dataset, entry).save()
    shared = session.balance.population
    if json:
        named = {} if shared is None else {"population": shared}
        print_json({"dataset": dataset, **named, "remaining": session.remaining.to_json()})
    else:
        whose = "" if shared is None else f" of population {shared}"
        typer.echo(f"{dataset} is protected, left{whose}: {session.remaining}")


def check_command(project: ProjectOption = DEFAULT_PROJECT, dataset: DatasetOption = None) -> None:
    """Tell how the table fits its schema, for the curator alone. Exact, no release, spends nothing."""
    found = open_session(project, dataset).check()
    typer.echo(f"{found}\n")
    facts = found.to_frame().drop(columns="advice").reset_index()
    typer.echo(facts.to_string(index=False, float_format="{:.1%}".format))
