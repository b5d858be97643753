"""``discreet budget``: what was granted, spent and left, and whether the books are whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.commands import as_typed
from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    LedgerOption,
    ProjectOption,
    open_books,
    open_ledger,
)
from discreet.cli.serving.remote import (
    KeyFileOption,
    ServerOption,
    open_remote,
    refuse_here,
    show_budget,
    verify_remote,
)
from discreet.cli.writing import check_file
from discreet.errors import LedgerTampered
from discreet.ledger import Balance, Entry, Terms
from discreet.ledger.showing import other_account
from discreet.plans import copy_of
from discreet.privacy.accounting import ACCOUNTANTS, AccountantName, budget_amount
from discreet.privacy.relation import Relation
from discreet.schema import Schema
from discreet.session import Remaining
from discreet.session.currency import Currency
from discreet.session.project import Project
from discreet.session.settling import settle_later


def budget_command() -> None:
    """Look into the ledger, share the budget out, change terms, or store what could not be.

    Where data sets share the budget of a population, --dataset takes its name, too.
    """


def show(
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    ledger: LedgerOption = None,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
) -> None:
    """Show the budget of a data set or population, and of analysts with a share of it."""
    refuse_here(server, analyst=analyst, ledger=ledger)
    if server is not None:
        show_budget(open_remote(server, key_file, dataset), json)
        return
    books = open_books(project, dataset, ledger)
    name, terms = books.dataset, books.terms
    whole, schema = books.ledger.balance(name, analyst), books.schema
    person = None if schema is None else schema.person
    asked = {} if analyst is not None else _shares(books.ledger.history(name))
    shares = {who: books.ledger.balance(name, who) for who in asked}
    spenders = {} if whole.population is None else books.ledger.members(whole.population)
    spent = {member: Remaining(own, terms.accountant).to_json() for member, own in spenders.items()}
    if json:
        told: dict[str, Any] = {
            "dataset": name,
            "relation": terms.relation,
            "accountant": terms.accountant,
        }
        told |= {} if Relation(terms.relation).rows_public else {"most_rows": terms.rows_cap}
        told |= {} if person is None else {"person": person.to_json()}
        split = {who: _amounts(terms, share) for who, share in shares.items()}
        shared = {} if whole.population is None else {"population": whole.population, "members": spent}
        print_json({**told, **shared, **_amounts(terms, whole), "shares": split})
        return
    rows = [_row(analyst or "", part, terms, whole) for part in _PARTS]
    rows += [_row(who, part, terms, shares[who]) for who in shares for part in _PARTS]
    header = ["analyst", "", *_cells(_amounts(terms, whole)["budget"])]
    print_table(f"{name} ({terms.neighbours}, {terms.accountant})", header, rows)
    if spent:
        typer.echo(f"The budget is that of population {whole.population}. Its data sets:")
        heading = ["data set", *(f"{unit} spent" for unit in _cells(next(iter(spent.values()))))]
        print_table("", heading, [[member, *_cells(own).values()] for member, own in spent.items()])
    if person is not None:
        typer.echo(f"{person.unit[0].upper()}{person.unit[1:]}.")


_PARTS = ("budget", "spent", "remaining")


def _shares(entries: list[Entry]) -> dict[str, None]:
    """Return the analysts who were given a share, in the order of their first."""
    return {str(entry.analyst): None for entry in entries if entry.kind == "allot"}


def _amounts(terms: Terms, balance: Balance) -> dict[str, Any]:
    # Spent rho is told without an epsilon: questions may hang on answers, and the budget is the claim.
    worth = {part: 0.0 if part == "spent" else terms.delta for part in _PARTS}
    return {
        part: Remaining(getattr(balance, part), terms.accountant, worth[part]).to_json()
        for part in _PARTS
    }


def _row(who: str, part: str, terms: Terms, balance: Balance) -> list[str]:
    cells = list(_cells(_amounts(terms, balance)[part]).values())
    return [who, part, *cells, *([] if len(cells) == 2 else [""])]


def _cells(amount: dict[str, Any]) -> dict[str, str]:
    """Return an amount as cells of a table, by their headings."""
    worth = amount.get("worth")
    told = {name: str(value) for name, value in amount.items() if name != "worth"}
    if worth is not None:
        told[f"worth epsilon at delta={worth['delta']:g}"] = f"{worth['epsilon']:.3g}"
    return told


def history(
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    ledger: LedgerOption = None,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
) -> None:
    """List every entry of a data set, oldest first."""
    refuse_here(server, ledger=ledger)
    if server is not None:
        session = open_remote(server, key_file, dataset)
        card = session.card
        _list_entries(card.dataset, card.accountant, card.delta, session.entries(), json)
        return
    books = open_books(project, dataset, ledger)
    plain = [entry.to_json() for entry in books.ledger.history(books.dataset)]
    _list_entries(books.dataset, books.terms.accountant, books.terms.delta, plain, json)


def _list_entries(
    dataset: str, accountant: AccountantName, delta: float, plain: Any, json: bool
) -> None:
    """Print the entries of a ledger, with what a rho is worth by itself."""
    unit, currency = ACCOUNTANTS[accountant].unit, Currency(accountant, delta)
    entries = [_named(currency.told(entry), unit) for entry in plain]
    if json:
        print_json(entries)
        return
    second = "worth epsilon" if currency.counts_rho else "delta"
    header = ["#", "time", "entry", "analyst", unit, second, "answered", "plan or reason"]
    print_table(dataset, header, [_line(entry, unit) for entry in entries])
    unanswered = sum(entry["settled"] is False for entry in entries)
    if unanswered:
        typer.echo(f"{unanswered} without an answer: under way, or ended early. The charge stays.")


def _named(entry: dict[str, Any], unit: str) -> dict[str, Any]:
    """Return an entry with its loss under the name that prices and balances have for it."""
    return {unit if name == "loss" else name: value for name, value in entry.items()}


def _line(entry: dict[str, Any], unit: str) -> list[str]:
    plan = entry["note"].get("plan", {})
    spends = entry["kind"] != "settle"
    return [
        str(entry["sequence"]),
        entry["time"][:19].replace("T", " "),
        entry["kind"],
        entry["analyst"] or "",
        entry[unit] if spends else "",
        _second(entry) if spends else "",
        {True: "yes", False: "NO", None: ""}[entry["settled"]],
        as_typed(plan.get("kind", "")) or entry["note"].get("reason", "") or other_account(entry),
    ]


def _second(entry: dict[str, Any]) -> str:
    """Return what stands beside the loss: delta, or the epsilon that a rho is worth by itself."""
    worth = entry.get("epsilon_worth")
    return str(entry["delta"]) if worth is None else f"{worth:.3g}"


def verify(
    releases: Annotated[
        list[Path] | None,
        typer.Argument(help="Saved releases: shows whether one was edited, or entries are missing."),
    ] = None,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
) -> None:
    """Check the hash chain of a data set, and that saved releases are those that were settled."""
    files = releases or []
    if server is not None:
        verify_remote(open_remote(server, key_file, dataset), files, json)
        return
    name, ledger = open_ledger(project, dataset)
    found = ledger.verify(name, copies=[copy_of(path) for path in files])
    if json:
        print_json({"ok": found.ok, "entries": found.entries, "problems": found.problems})
        raise typer.Exit(0 if found.ok else LedgerTampered.exit_code)
    if not found.ok:
        raise LedgerTampered(" ".join(found.problems))
    typer.echo(f"{name}: {found.entries} entries, the chain holds")
    for path in files:
        typer.echo(f"{path}: as it was settled")


def allot(
    analyst: Annotated[str, typer.Argument(help="Who may ask with --analyst.")],
    epsilon: Annotated[float, typer.Option(help="How much of the budget is theirs.")],
    delta: Annotated[float, typer.Option(help="How much of delta is theirs.")] = 0.0,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Give an analyst a share of the budget, or change it; then nobody without a share may ask."""
    books = open_books(project, dataset)
    accountant = books.terms.accountant
    books.ledger.allot(books.dataset, analyst, budget_amount(accountant, epsilon, delta))
    remaining = books.ledger.balance(books.dataset, analyst).remaining
    left = Remaining(remaining, accountant, books.terms.delta)
    if json:
        print_json({"dataset": books.dataset, "analyst": analyst, "remaining": left.to_json()})
    else:
        typer.echo(f"{analyst} has {left} left of {books.dataset}")


def change(
    reason: Annotated[str, typer.Option(help="Why; everybody who reads the history sees it.")],
    epsilon: Annotated[
        float | None, typer.Option(help="The whole budget from now on, what was spent included.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The whole delta from now on.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="The TOML file of the corrected schema; sessions are reopened.")
    ] = None,
    most_rows: Annotated[
        int | None, typer.Option(help="How many rows it may have from now on, under add-remove.")
    ] = None,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Change the budget or correct the schema of a data set, as an entry of its history."""
    check_file("--project", project)
    name, ledger = open_ledger(project, dataset)
    public = None if schema is None else Schema.load(schema)
    ledger.change_terms(
        name, reason=reason, epsilon=epsilon, delta=delta, schema=public, most_rows=most_rows
    )
    if schema is not None:
        known = Project.load(project)
        entry = replace(known.entries[name], schema=known.relative(str(schema)))
        known.with_entry(name, entry).save()
    show(project, name, json=json)


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
    check_file("--out", out)
    _, ledger = open_ledger(project, dataset)
    releases = settle_later(ledger, answer)
    if json:
        print_json([release.to_json() for release in releases])
    else:
        typer.echo(f"stored {', '.join(release.id for release in releases)}, nothing charged")
    if out is not None:
        releases[0].save(out)
