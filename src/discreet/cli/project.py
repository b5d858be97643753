"""The project file: which table, schema and ledger belong to a data set's name.

``discreet protect`` writes it, every other command reads it, so that a data set is named once:

```toml
[census]
data = "census.parquet"
schema = "census.toml"
ledger = "census.db"
version = "1"
```
Paths are relative to the project file; ``data`` may also be an address, of a database with a ``query``.
It holds no row and no budget: the ledger has those.
"""

from __future__ import annotations

import os
import re
import tomllib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.data.sources.elsewhere.queries import SqlQuery
from discreet.errors import ArgumentError, DiscreetError
from discreet.ledger import Balance, Ledger, Terms
from discreet.ledger.store.place import find_place
from discreet.schema import Schema
from discreet.session import Remaining, Session, protect

DEFAULT_PROJECT = Path("discreet.toml")

_PASSWORD = re.compile(r"^[^/]*://[^/@]*:[^/@]+@|[?&](ssl)?password=")


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


@dataclass(frozen=True)
class DatasetEntry:
    """Where a data set's table, schema and ledger are."""

    data: str
    schema: str
    ledger: str
    version: str = "1"
    query: str | None = None


@dataclass(frozen=True)
class Project:
    """The data sets of one folder."""

    path: Path
    entries: dict[str, DatasetEntry]

    @classmethod
    def load(cls, path: Path) -> Project:
        """Read a project file; a missing one is empty."""
        try:
            plain = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            return cls(path, {name: DatasetEntry(**entry) for name, entry in plain.items()})
        except (OSError, TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(
                f"project must be a readable project file, got {path}: {error}."
            ) from None

    def save(self) -> None:
        """Write the project file."""
        import tomlkit

        plain = {name: _written(entry) for name, entry in self.entries.items()}
        self.path.write_text(tomlkit.dumps(plain), encoding="utf-8")

    def with_entry(self, name: str, entry: DatasetEntry) -> Project:
        """Return the project with one data set added or replaced, or raise if it holds a password."""
        changed = Project(self.path, {**self.entries, name: entry})
        for place in (find_place(changed.resolve(kept.ledger)) for kept in changed.entries.values()):
            if place.has_password:
                raise self._has_password("--ledger", place.name)
        for kept in changed.entries.values():
            if _PASSWORD.search(kept.data):
                raise self._has_password("data", "the data")
        return changed

    def _has_password(self, argument: str, place: str) -> ArgumentError:
        return ArgumentError(
            f"{argument} must be an address without a password, because it is written to {self.path}, "
            f"got one with a password for {place}. Put the password into ~/.pgpass, the environment "
            "(PGPASSWORD) or a service file (postgresql://?service=NAME)."
        )

    def choose(self, dataset: str | None) -> tuple[str, DatasetEntry]:
        """Return the named data set, or the only one."""
        if dataset is None and len(self.entries) == 1:
            return next(iter(self.entries.items()))
        if dataset is None or dataset not in self.entries:
            known = ", ".join(self.entries) or "none yet"
            raise ArgumentError(
                f"--dataset must be one of those in {self.path} ({known}), got {dataset!r}. "
                "Run 'discreet protect' first."
            )
        return dataset, self.entries[dataset]

    def resolve(self, where: str) -> str:
        """Return a path relative to the project file as one that works from here."""
        scheme, path = _split(where)
        return where if path is None else f"{scheme}{self.path.parent / path}"

    def relative(self, where: str) -> str:
        """Return a path from here as one relative to the project file."""
        scheme, path = _split(where)
        return where if path is None else f"{scheme}{os.path.relpath(path, self.path.parent)}"

    def rows_of(self, entry: DatasetEntry) -> Any:
        """Return what ``protect`` takes for the rows of a data set."""
        return as_rows(self.resolve(entry.data), entry.query)


def as_rows(data: str, query: str | None) -> Any:
    """Return what ``protect`` takes: a path or an address, or the query of a database."""
    return data if query is None else SqlQuery(data, query)


def _written(entry: DatasetEntry) -> dict[str, str]:
    return {name: value for name, value in asdict(entry).items() if value is not None}


def _split(where: str) -> tuple[str, str | None]:
    """Return a path of this machine, after the scheme of a database in a file; None if elsewhere."""
    for scheme in ("sqlite:///", "duckdb:///"):
        if where.startswith(scheme):
            return scheme, where.removeprefix(scheme)
    return "", None if "://" in where else where


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
