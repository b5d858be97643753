"""Options that name a data set of the project file, and what they open."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import ArgumentError, DiscreetError
from discreet.ledger import Balance, Ledger, Terms
from discreet.schema import Schema
from discreet.session import Remaining, Session, protect
from discreet.session.project import Project

DEFAULT_PROJECT = Path("discreet.toml")


def complete_dataset(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the data sets of the project that a word may become."""
    with suppress(DiscreetError):
        return [name for name in _project_of(ctx).entries if name.startswith(incomplete)]
    return []


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the data set's schema that a word may become; the schema is public."""
    with suppress(DiscreetError, OSError, ValueError):
        known = _project_of(ctx)
        _, entry = known.choose(ctx.params.get("dataset"))
        plain = tomllib.loads(Path(known.resolve(entry.schema)).read_text(encoding="utf-8"))
        return [name for name in plain.get("columns", {}) if name.startswith(incomplete)]
    return []


def _project_of(ctx: typer.Context) -> Project:
    return Project.load(ctx.params.get("project") or DEFAULT_PROJECT)


DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="Name of the data set; optional if there is one.",
        autocompletion=complete_dataset,
    ),
]
ProjectOption = Annotated[Path, typer.Option("--project", help="The project file.")]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", help="Look into this ledger, without its key, not into the project's."),
]
AnalystOption = Annotated[str | None, typer.Option("--analyst", help="Whose allotment pays.")]


def open_session(project: Path, dataset: str | None, **options: Any) -> Session:
    """Return the session of a data set the project knows."""
    known = Project.load(project)
    name, entry = known.choose(dataset)
    return protect(
        known.rows_of(entry),
        known.resolve(entry.schema),
        dataset=name,
        ledger=known.resolve(entry.ledger),
        version=entry.version,
        **options,
    )


def open_ledger(project: Path, dataset: str | None) -> tuple[str, Ledger]:
    """Return the name and the ledger of a data set, or of a population; no table is needed."""
    known = Project.load(project)
    if dataset is not None and dataset not in known.entries:
        for where in dict.fromkeys(entry.ledger for entry in known.entries.values()):
            ledger = Ledger.open(known.resolve(where), create=False)
            if dataset in ledger.populations():
                return dataset, ledger
            ledger.close()
    name, entry = known.choose(dataset)
    return name, Ledger.open(known.resolve(entry.ledger), create=False)


@dataclass(frozen=True)
class LedgerView:
    """What the ledger says of a data set, as a session says it; no table is needed."""

    dataset: str
    ledger: Ledger

    @property
    def terms(self) -> Terms:
        """What was promised when it was registered."""
        return self.ledger.account(self.dataset).terms

    @property
    def schema(self) -> Schema | None:
        """The public facts of the data set, if the ledger kept them."""
        return self.ledger.schema(self.dataset)

    @property
    def balance(self) -> Balance:
        """What was granted, spent and is left, in exact units."""
        return self.ledger.balance(self.dataset)

    @property
    def remaining(self) -> Remaining:
        """What is left."""
        return Remaining(self.balance.remaining, self.terms.accountant, self.terms.delta)

    def history(self) -> Any:
        """Return every entry as a frame, oldest first."""
        import pandas as pd

        return pd.DataFrame([entry.to_json() for entry in self.ledger.history(self.dataset)])


def open_books(project: Path, dataset: str | None, ledger: str | None = None) -> LedgerView:
    """Return what a ledger says of a data set: that of the project, or another, without its key."""
    if ledger is None:
        return LedgerView(*open_ledger(project, dataset))
    books = Ledger.open(ledger, read_only=True)
    names = books.datasets()
    if dataset is None and len(names) != 1:
        raise ArgumentError(f"--dataset must be one of the ledger's ({', '.join(names)}), got none.")
    return LedgerView(dataset or names[0], books)
