"""Models that may be asked about, by names of the owner's: from the settings, or uploaded.

Files are read without running code from them (``discreet.models.files``). Types of third parties are
shown, and run in a process of their own once the owner trusts them by name; so do models that are known
by their answers alone and whose library is compiled code (``opening``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select

from discreet.arguments import shown
from discreet.cards.models import CardModel, ModelFile
from discreet.errors import ArgumentError, DiscreetError, LedgerConflict, NotFound
from discreet.models import as_model
from discreet.models.apart import Limits
from discreet.schema import Schema
from discreet.service.asked.desks import Desks
from discreet.service.asked.opening import apart_of, is_fitted, open_file, open_path, try_upload
from discreet.service.problems import without_place
from discreet.service.settings import ModelEntry, Settings
from discreet.service.store import Store, models, now

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,16}\Z")


class Models:
    """The models of a service; each is read once."""

    def __init__(self, store: Store, settings: Settings, desks: Desks) -> None:
        self._store, self._settings, self._desks = store, settings, desks
        self._limits = Limits(settings.model_seconds, settings.model_megabytes)
        self._lock = threading.Lock()
        self._read: dict[tuple[str, str], Any] = {}
        self._asked: dict[tuple[str, str, str], Any] = {}
        self._told: dict[tuple[str, str, str], CardModel] = {}

    def entries(self) -> dict[str, tuple[ModelEntry, str]]:
        """Return every model's entry by name, with what changes when it is replaced."""
        with self._store.reading() as connection:
            rows = connection.execute(select(models.c.name, models.c.entry, models.c.created)).all()
        kept = {
            row.name: (ModelEntry.read(row.name, json.loads(row.entry)), row.created) for row in rows
        }
        return kept | {name: (entry, "") for name, entry in self._settings.models.items()}

    def names(self, dataset: str) -> list[str]:
        """Return the names of models that may be asked about with a data set."""
        known = self.entries().items()
        return [name for name, (entry, _) in known if not entry.datasets or dataset in entry.datasets]

    def get(self, name: Any, dataset: str) -> Any:
        """Return a model by its name: an estimator as it is, or a ``Model`` if its entry says more."""
        place, entry = self._find(name, dataset)
        with self._lock:
            if place not in self._read:
                self._read[place] = self._load(*place, entry)
            return self._read[place]

    def asked(self, name: Any, dataset: str) -> Any:
        """Return a model as questions hold it, made once for a data set, because nobody else has it.

        As it is if a question has to say more of it, such as which class is meant.
        """
        place, model = (*self._find(name, dataset)[0], dataset), self.get(name, dataset)
        with self._lock:
            if place not in self._asked:
                try:
                    self._asked[place] = as_model(model).owned()
                except DiscreetError:
                    self._asked[place] = model
            return self._asked[place]

    def _find(self, name: Any, dataset: str) -> tuple[tuple[str, str], ModelEntry]:
        """Return where a model is kept, once it is read, and its entry."""
        found = self.entries().get(name) if isinstance(name, str) else None
        if found is None or (found[0].datasets and dataset not in found[0].datasets):
            known = ", ".join(self.names(dataset)) or "none"
            raise ArgumentError(
                f"model must be one of the service's names for {dataset!r} ({known}), got "
                f"{shown(name)}."
            )
        return (name, found[1]), found[0]

    def by_fingerprint(self, dataset: str) -> dict[str, Any]:
        """Return the models of a data set as written plans name them."""
        found: dict[str, Any] = {}
        for name in self.names(dataset):
            with suppress(DiscreetError):  # one that cannot be read is named in no plan
                model = self.get(name, dataset)
                if is_fitted(model):
                    found[as_model(self.asked(name, dataset)).fingerprint] = model
        return found

    def described(self, dataset: str, schema: Schema) -> dict[str, CardModel]:
        """Return what is public about the fitted models of a data set that answer, by name."""
        told = self.told(dataset, schema)
        return {name: one for name, one in told.items() if isinstance(one, CardModel)}

    def told(self, dataset: str, schema: Schema) -> dict[str, CardModel | DiscreetError]:
        """Return what is public about the fitted models of a data set; of others, what is wrong."""
        found: dict[str, CardModel | DiscreetError] = {}
        for name in self.names(dataset):
            try:
                if is_fitted(self.get(name, dataset)):
                    found[name] = self._describe(name, dataset, schema)
            except DiscreetError as error:
                found[name] = error
        return found

    def _describe(self, name: str, dataset: str, schema: Schema) -> CardModel:
        place = (name, self.entries()[name][1], schema.digest)
        if place not in self._told:
            model = as_model(self.get(name, dataset))
            self._told[place] = CardModel(name, model.bind(schema).kind, model.describe(), None)
        return self._told[place]

    def add(
        self, name: str, file: Any, options: Mapping[str, Any]
    ) -> tuple[ModelEntry, dict[str, Any]]:
        """Keep an uploaded model, once it was read, and tell of it; its name must be new."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(
                f"name must be 1 to 64 letters, digits, points, dashes or lines, got {shown(name)}."
            )
        held = _uploaded(file, self._settings.largest_model)
        entry = ModelEntry.read(name, {"file": held.name, **options})
        told = try_upload(held, entry, self._limits)
        with self._store.writing() as connection:
            known = connection.execute(select(models.c.name).where(models.c.name == name)).first()
            if known is not None or name in self._settings.models:
                raise LedgerConflict(f"name must be new, got {name!r}, which is another model's.")
            # A clock may stand still between two files of one name; what they hold does not.
            since = f"{now()} {hashlib.sha256(held.content).hexdigest()[:16]}"
            row = {"name": name, "file": held.name, "content": held.content, "created": since}
            connection.execute(insert(models), {**row, "entry": json.dumps(_plain(entry))})
        return entry, told

    def remove(self, name: str) -> None:
        """Forget an uploaded model; what was released of it stays."""
        with self._store.writing() as connection:
            if not connection.execute(delete(models).where(models.c.name == name)).rowcount:
                raise NotFound("name must be that of an uploaded model, got another.")
        self._end(name)

    def close(self) -> None:
        """End the processes of models that have one."""
        self._end(*{name for name, _ in self._read})

    def _end(self, *names: str) -> None:
        with self._lock:
            gone = [self._read.pop(place) for place in list(self._read) if place[0] in names]
            self._asked = {place: one for place, one in self._asked.items() if place[0] not in names}
        for model in gone:
            apart = apart_of(model)
            if apart is not None:
                apart.close()

    def _load(self, name: str, since: str, entry: ModelEntry) -> Any:
        if not since:
            path = Path(self._desks.project.resolve(entry.file))
            with without_place(path.parent):
                return open_path(path, entry, self._limits)
        with self._store.reading() as connection:
            row = connection.execute(select(models).where(models.c.name == name)).one()
        return open_file(ModelFile(row.file, row.content), entry, self._limits)


def _uploaded(file: Any, largest: int) -> ModelFile:
    if not isinstance(file, Mapping) or not all(
        isinstance(file.get(part), str) for part in ("name", "content")
    ):
        raise ArgumentError("file must be an object with name and content (base64), got another.")
    try:
        content = base64.b64decode(file["content"], validate=True)
    except (binascii.Error, ValueError):
        raise ArgumentError("file.content must be base64, got something else.") from None
    if len(content) > largest:
        raise ArgumentError(f"file must have at most {largest} bytes, got {len(content)}.")
    # Of its name only the ending says something; the rest could be none that a folder can hold.
    ending = _ENDING.search(file["name"])
    return ModelFile(f"model{ending[0] if ending else ''}", content)


def _plain(entry: ModelEntry) -> dict[str, Any]:
    told = {"file": entry.file, "datasets": list(entry.datasets), "output": entry.output}
    told |= {"trust": list(entry.trust)} if entry.trust else {}
    said = {"class": entry.class_, "bounds": None if entry.bounds is None else list(entry.bounds)}
    return {**told, **{name: value for name, value in said.items() if value is not None}}
