"""What ``discreet serve --demo`` serves: example loans, two models, and a key for every role."""

from __future__ import annotations

import json
import os
from pathlib import Path

from discreet.cli.about.demo_questions import train_forest, train_model
from discreet.samples import loan_schema, loans
from discreet.service.access.keys import KeyRing
from discreet.service.settings import Settings, path_of
from discreet.service.store import Store
from discreet.session import protect
from discreet.session.project import DatasetEntry, Project

_KEYS = "keys.json"
_ANALYST = "ann"


def prepare(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the project file of the demo and its keys by role, made if they are not there."""
    project, kept = folder / "discreet.toml", folder / _KEYS
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _make(project)
        _keep(kept, _make_keys(project))
    keys: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
    return project, keys


def _make(project: Path) -> None:
    from skops.io import dump

    folder = project.parent
    loans().to_parquet(folder / "loans.parquet", index=False)
    loan_schema().save(folder / "loans.toml")
    session = protect(
        folder / "loans.parquet",
        folder / "loans.toml",
        dataset="loans",
        ledger=folder / "loans.db",
        epsilon=8.0,
        delta=1e-6,
    )
    session.allot(_ANALYST, epsilon=3.0, delta=5e-7)
    dump(train_model(), folder / "boosted.skops")
    dump(train_forest(), folder / "forest.skops")
    models = {name: {"file": f"{name}.skops"} for name in ("boosted", "forest")}
    entry = DatasetEntry("loans.parquet", "loans.toml", "loans.db")
    Project(project, {"loans": entry}, {"models": models}).save()


def _make_keys(project: Path) -> dict[str, str]:
    known = Project.load(project)
    settings = Settings.of(known)
    store = Store(known.resolve(settings.store))
    ring = KeyRing(store, path_of(known, settings.secret))
    made = {
        "owner": ring.new("owner", note="demo")[0],
        "analyst": ring.new("analyst", analyst=_ANALYST, note="demo")[0],
        "auditor": ring.new("auditor", note="demo")[0],
    }
    store.close()
    return made


def _keep(path: Path, keys: dict[str, str]) -> None:
    """Write the keys of the demo, which protect nobody, where its owner finds them again."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(keys, file, indent=2)
