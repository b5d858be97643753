"""``discreet budget``: what was granted, spent and left, and whether the books are whole."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    Project,
    ProjectOption,
    open_ledger,
)
from discreet.errors import LedgerTampered
from discreet.numerics import format_units
from discreet.plans import copy_of
from discreet.privacy.accounting import ACCOUNTANTS
from discreet.schema import Schema
from discreet.session.settling import settle_later

app = typer.Typer(name="budget", add_completion=False)


@app.callback()
def budget_command() -> None:
    """Look into the ledger, change terms, or store what could not be. Needs no table."""


@app.command()
def show(
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    json: JsonOption = False,
) -> None:
    """Show the budget of a data set: granted, spent, left."""
    name, ledger = open_ledger(project, dataset)
    terms, balance = ledger.account(name).terms, ledger.balance(name, analyst)
    parts = {"budget": balance.budget, "spent": balance.spent, "remaining": balance.remaining}
    if json:
        amounts = {part: amount.to_json() for part, amount in parts.items()}
        print_json(
            {"dataset": name, "relation": terms.relation, "accountant": terms.accountant, **amounts}
        )
        return
    unit = ACCOUNTANTS[terms.accountant].unit
    rows = [[part, format_units(a.loss), format_units(a.delta)] for part, a in parts.items()]
    print_table(f"{name} ({terms.relation}, {terms.accountant})", ["", unit, "delta"], rows)


@app.command()
def history(
    project: ProjectOption = DEFAULT_PROJECT, dataset: DatasetOption = None, json: JsonOption = False
) -> None:
    """List every entry of a data set, oldest first."""
    name, ledger = open_ledger(project, dataset)
    entries = [entry.to_json() for entry in ledger.history(name)]
    if json:
        print_json(entries)
        return
    header = ["sequence", "time", "kind", "analyst", "loss", "delta", "settled"]
    rows = [["" if entry[key] is None else str(entry[key]) for key in header] for entry in entries]
    for row, entry in zip(rows, entries, strict=True):
        row.append(entry["note"].get("plan", {}).get("kind", "") or entry["note"].get("reason", ""))
    header.append("plan or reason")
    print_table(name, header, rows)


@app.command()
def verify(
    releases: Annotated[
        list[Path] | None,
        typer.Argument(help="Saved releases: shows whether one was edited, or entries are missing."),
    ] = None,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Check the hash chain of a data set, and that saved releases are those that were settled."""
    name, ledger = open_ledger(project, dataset)
    found = ledger.verify(name, copies=[copy_of(path) for path in releases or []])
    if json:
        typer.echo(
            json_module.dumps({"ok": found.ok, "entries": found.entries, "problems": found.problems})
        )
    elif found.ok:
        typer.echo(f"{name}: {found.entries} entries, the chain holds")
    if not found.ok:
        if json:
            raise typer.Exit(LedgerTampered.exit_code)
        raise LedgerTampered(" ".join(found.problems))


@app.command()
def change(
    reason: Annotated[str, typer.Option(help="Why; everybody who reads the history sees it.")],
    epsilon: Annotated[
        float | None, typer.Option(help="The whole budget from now on, what was spent included.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The whole delta from now on.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="The TOML file of the corrected schema; sessions are reopened.")
    ] = None,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Change the budget or correct the schema of a data set, as an entry of its history."""
    known = Project.load(project)
    name, entry = known.choose(dataset)
    _, ledger = open_ledger(project, name)
    public = None if schema is None else Schema.load(schema)
    ledger.change_terms(name, reason=reason, epsilon=epsilon, delta=delta, schema=public)
    if schema is not None:
        known.with_entry(name, replace(entry, schema=known.relative(str(schema)))).save()
    show(project, name, None, json)


@app.command()
def settle(
    answer: Annotated[
        Path, typer.Argument(help="The file that 'discreet release' wrote when it failed.")
    ],
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the release to this JSON file.")] = None,
    json: JsonOption = False,
) -> None:
    """Store an answer that was paid for and could not be stored. Charges nothing."""
    _, ledger = open_ledger(project, dataset)
    releases = settle_later(ledger, answer)
    if out is not None:
        releases[0].save(out)
    if json:
        print_json([release.to_json() for release in releases])
    else:
        typer.echo(f"stored {', '.join(release.id for release in releases)}, nothing charged")
