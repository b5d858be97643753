"""What only the owner does: data sets, models, shares, terms, keys; and what an auditor looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path

from discreet.arguments import shown
from discreet.cards.models import CardModel
from discreet.errors import ArgumentError, DiscreetError, LedgerConflict, LedgerUnavailable, NotFound
from discreet.ledger.checks import check_name
from discreet.schema import Schema
from discreet.schema.files import from_plain
from discreet.service.office import AnOffice, Anyone, Office, Overseer, Owner
from discreet.service.problems import without_place
from discreet.service.routes.answers import Left, ListedKey, MadeKey, ModelTold, Named, Revoked, shows
from discreet.service.routes.shapes import Allotment, NewDataset, NewKey, NewModel, NewTerms
from discreet.service.settings import path_of
from discreet.session import Session, protect
from discreet.session.project import DatasetEntry, Project

router = APIRouter(prefix="/v1", tags=["owner"])

Name = Annotated[str, Path(max_length=128)]
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@router.post("/datasets", status_code=201, responses=shows(Left, 201))
def register(asked: NewDataset, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Register a data set from a file in the project's folder, and give it a budget."""
    if not _FILE_NAME.fullmatch(asked.dataset):
        raise ArgumentError(
            "dataset must be 1 to 64 letters, digits, points, dashes or lines and begin with a letter "
            f"or a digit, got {shown(asked.dataset)}."
        )
    check_name("version", asked.version)
    schema = from_plain(asked.schema_)
    known = office.desks.project
    with without_place(known.path.parent), _writable(), known.locked() as project:
        if asked.dataset in project.entries:
            raise LedgerConflict(f"dataset must be new, got {asked.dataset!r}, which is registered.")
        ledger, file = _ledger_of(project, asked), f"{asked.dataset}.schema.toml"
        entry = DatasetEntry(_inside(project, asked.data), file, ledger, asked.version)
        changed = project.with_entry(asked.dataset, entry)
        with _new_schema(project, file, schema):
            session = _protect(project, entry, asked, schema)
        changed.save()
    return {"dataset": asked.dataset, "remaining": session.remaining.to_json()}


def _protect(project: Project, entry: DatasetEntry, asked: NewDataset, schema: Schema) -> Session:
    return protect(
        project.resolve(entry.data),
        schema,
        dataset=asked.dataset,
        ledger=project.resolve(entry.ledger),
        epsilon=asked.epsilon,
        delta=asked.delta,
        relation=asked.relation,  # type: ignore[arg-type]  # checked by protect, with a sentence
        accountant=asked.accountant,  # type: ignore[arg-type]
        version=asked.version,
        progress=False,
    )


@contextmanager
def _new_schema(project: Project, file: str, schema: Schema) -> Iterator[None]:
    """Keep a schema in the project's folder if the block ends well; it is written before."""
    path = FilePath(project.resolve(file))
    if path.exists():
        raise LedgerConflict(f"The project's folder must have no file {file} yet, got one.")
    try:
        schema.save(path)
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise LedgerUnavailable("The project's folder cannot be written now.") from None


@router.put("/datasets/{dataset}/allotments/{analyst}", responses=shows(Left))
def allot(
    dataset: Name, analyst: Name, asked: Allotment, caller: Owner, office: AnOffice
) -> dict[str, Any]:
    """Give an analyst a share of the budget, or change it; then nobody without one may ask."""
    session = office.desks.check(caller, dataset)
    session.allot(analyst, epsilon=asked.epsilon, delta=asked.delta)
    left = session.seat(analyst).remaining
    return {"dataset": dataset, "analyst": analyst, "remaining": left.to_json()}


@router.put("/datasets/{dataset}/terms", responses=shows(Left))
def change(dataset: Name, asked: NewTerms, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Change the budget of a data set, as an entry of its history."""
    session = office.desks.check(caller, dataset)
    session.change_terms(reason=asked.reason, epsilon=asked.epsilon, delta=asked.delta)
    return {"dataset": dataset, "remaining": session.remaining.to_json()}


@router.get("/models", responses=shows(list[ModelTold]))
def models(caller: Anyone, office: AnOffice) -> list[dict[str, Any]]:
    """Return the models that may be asked about, with the data sets of this key.

    One that cannot be asked has a reason instead of a form and a fingerprint.
    """
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for dataset in office.desks.names(caller):
        try:
            told = office.models.told(dataset, office.desks.owner(dataset).schema)
        except DiscreetError:  # GET /v1/datasets says why it cannot be asked
            continue
        for name, model in told.items():
            entry = _told(model)
            place = (name, entry["reason"])
            found.setdefault(place, {"name": name, "datasets": [], **entry})["datasets"].append(dataset)
    return list(found.values())


def _told(model: CardModel | DiscreetError) -> dict[str, Any]:
    if isinstance(model, DiscreetError):
        return {"form": None, "fingerprint": None, "reason": str(model)}
    written = {name: value for name, value in model.written.items() if name != "class_index"}
    return {"form": model.form, **written, "reason": None}


@router.post("/models", status_code=201, responses=shows(Named, 201))
def add_model(asked: NewModel, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Keep a model's file, and tell the types in it; those of third parties must be trusted by name.

    A file that is refused is not kept, and the sentence shows all that would have to be trusted.
    """
    options: dict[str, Any] = {"datasets": asked.datasets, "output": asked.output}
    options |= {} if asked.class_ is None else {"class": asked.class_}
    options |= {} if asked.bounds is None else {"bounds": list(asked.bounds)}
    options |= {"trust": asked.trust} if asked.trust else {}
    entry, told = office.models.add(asked.name, asked.file, options)
    return {"name": asked.name, "datasets": list(entry.datasets), **told}


@router.delete("/models/{name}", responses=shows(Named))
def remove_model(name: Name, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Forget an uploaded model; what was released of it stays."""
    office.models.remove(name)
    return {"name": name}


@router.get("/keys", responses=shows(list[ListedKey]))
def keys(caller: Owner, office: AnOffice) -> list[dict[str, Any]]:
    """Return every key without its secret."""
    return office.keys.told()


@router.post("/keys", status_code=201, responses=shows(MadeKey, 201))
def new_key(asked: NewKey, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Make a key; this is the only time that it is shown."""
    for name in (asked.datasets or ()) if asked.role != "owner" else ():  # hers is limited to nothing
        _check_registered(name, office)
    key, holder = office.keys.new(
        asked.role,  # type: ignore[arg-type]  # checked there, with a sentence
        analyst=asked.analyst,
        datasets=asked.datasets,
        days=asked.days,
        note=asked.note,
    )
    return {**holder.to_json(), "id": holder.key, "key": key}


def _check_registered(name: str, office: Office) -> None:
    """Refuse a name that is misspelt: its key would open nothing."""
    known = list(office.desks.project.entries)
    if name not in known:
        raise ArgumentError(
            f"datasets must be among those registered here ({', '.join(known) or 'none yet'}), got "
            f"{shown(name)}."
        )


@router.delete("/keys/{id}", responses=shows(Revoked))
def revoke(id: Name, caller: Owner, office: AnOffice) -> dict[str, Any]:
    """Let a key open nothing any more, from now on."""
    office.keys.revoke(id)
    return {"id": id, "revoked": True}


@router.get("/audit")
def audit(caller: Overseer, office: AnOffice) -> dict[str, Any]:
    """Return the report that the owner's last audit wrote."""
    path = path_of(office.desks.project, office.settings.audit)
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NotFound(
            f"There must be a report for auditors, got none. The owner writes it with 'discreet audit "
            f"--out {path.name}' beside the project file."
        ) from None
    return found


def _inside(project: Project, where: str) -> str:
    """Return the path of a file that is in the project's folder, or raise."""
    folder = project.path.parent.resolve()
    try:
        found = (folder / where).resolve()
        inside = "://" not in where and found.is_relative_to(folder) and found.is_file()
    except (OSError, ValueError):  # longer than a path can be, or with a NUL
        inside = False
    if not inside:
        raise ArgumentError("data must be the path of a file inside the project's folder, got another.")
    return str(found.relative_to(folder))


def _ledger_of(project: Project, asked: NewDataset) -> str:
    """Return the ledger of a new data set: of the one it names, or the first's, or a new file."""
    if asked.ledger is None:
        known = [entry.ledger for entry in project.entries.values()]
        return known[0] if known else "ledger.db"
    if asked.ledger not in project.entries:
        raise ArgumentError("ledger must be the name of a registered data set, got another.")
    return project.entries[asked.ledger].ledger
