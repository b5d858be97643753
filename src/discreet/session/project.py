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
It holds no row and no budget: the ledger has those. The table ``[service]`` is what ``discreet serve``
needs to know.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet.arguments import shown
from discreet.data.sources.elsewhere.queries import SqlQuery
from discreet.errors import ArgumentError
from discreet.ledger.store.place import find_place

if sys.platform != "win32":  # pragma: no branch - Windows registers one data set at a time
    import fcntl

SERVICE = "service"
"""The table of the project file that is no data set."""

_PASSWORD = re.compile(r"^[^/]*://[^/@]*:[^/@]+@|[?&](ssl)?password=")


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
    """The data sets of one folder, and what a service of them is told."""

    path: Path
    entries: dict[str, DatasetEntry]
    service: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Project:
        """Read a project file; a missing one is empty."""
        try:
            plain = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            service = plain.pop(SERVICE, {})
            return cls(path, {name: _read(name, entry) for name, entry in plain.items()}, service)
        except (OSError, TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(
                f"project must be a readable project file, got {path}: {error}."
            ) from None

    def save(self) -> None:
        """Write the project file."""
        import tomlkit

        plain: dict[str, Any] = {name: _written(entry) for name, entry in self.entries.items()}
        plain |= {SERVICE: self.service} if self.service else {}
        _write_whole(self.path, tomlkit.dumps(plain))

    @contextmanager
    def locked(self) -> Iterator[Project]:
        """Give the project as it is now, which nobody else adds to inside the block."""
        descriptor = os.open(self.path.parent, os.O_RDONLY) if sys.platform != "win32" else None
        try:
            if descriptor is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # of the folder: no file is left behind
            yield Project.load(self.path)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def with_entry(self, name: str, entry: DatasetEntry) -> Project:
        """Return the project with one data set added or replaced, or raise if it holds a password."""
        if name == SERVICE:
            raise ArgumentError(f"dataset must not be called {SERVICE!r}, which {self.path} needs.")
        changed = Project(self.path, {**self.entries, name: entry}, self.service)
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
            known, got = ", ".join(self.entries) or "none yet", repr(dataset) if dataset else "none"
            unnamed = dataset is None and self.entries
            raise ArgumentError(
                f"--dataset must be one of those in {self.path} ({known}), got {got}. "
                + ("Name one." if unnamed else "Run 'discreet protect' first.")
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


def _write_whole(path: Path, text: str) -> None:
    """Write a file that others read meanwhile: they see the old one or the new one."""
    target = path.resolve()
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        scratch.write_text(text, encoding="utf-8")
        if target.exists():
            shutil.copymode(target, scratch)
        os.replace(scratch, target)
    except OSError:  # a file that is mounted alone can be written, and not replaced
        target.write_text(text, encoding="utf-8")
    finally:
        scratch.unlink(missing_ok=True)


def _read(name: str, plain: Any) -> DatasetEntry:
    """Return an entry of a project file; the rest of us counts on texts."""
    if not isinstance(plain, dict):
        raise TypeError(f"{name} must be a table, got {shown(plain)}")
    given = dict(plain)
    if isinstance(given.get("version"), int):  # version = 1
        given["version"] = str(given["version"])
    for key, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{key} of {name} must be a text, got {shown(value)}")
    return DatasetEntry(**given)


def _written(entry: DatasetEntry) -> dict[str, str]:
    return {name: value for name, value in asdict(entry).items() if value is not None}


def _split(where: str) -> tuple[str, str | None]:
    """Return a path of this machine, after the scheme of a database in a file; None if elsewhere."""
    for scheme in ("sqlite:///", "duckdb:///"):
        if where.startswith(scheme):
            return scheme, where.removeprefix(scheme)
    return "", None if "://" in where else where
