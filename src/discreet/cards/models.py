"""Models on a card: what is known of each, and the model itself where the card holds its file."""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from discreet.arguments import shown
from discreet.errors import CardError, DiscreetError, ModelError
from discreet.models import BoundModel, Model
from discreet.models.files import read_model
from discreet.models.fingerprint import Kept
from discreet.plain import conform
from discreet.plans.held import as_written
from discreet.privacy.certificate import Box
from discreet.schema import Schema

_WRITTEN = ("kind", "fingerprint", "output")


@dataclass(frozen=True)
class ModelFile:
    """A model's file as a card holds it: its name, whose ending says how it is read, and its bytes."""

    name: str
    content: bytes

    def to_json(self) -> dict[str, str]:
        """Return it as plain data."""
        return {"name": self.name, "content": base64.b64encode(self.content).decode("ascii")}

    @classmethod
    def from_json(cls, plain: Any) -> ModelFile:
        """Read what ``to_json`` wrote; only the last part of a name counts, never a folder."""
        if not isinstance(plain, Mapping) or set(plain) != {"name", "content"}:
            raise ValueError("the file of a model")
        name, content = (conform(plain[field], str, field) for field in ("name", "content"))
        try:
            return cls(Path(name).name, base64.b64decode(content, validate=True))
        except (binascii.Error, ValueError):
            raise ValueError("the content of a model's file") from None

    def read(self) -> Any:
        """Return the model; no code of the file is run."""
        with self.on_disk() as path:
            return read_model(path)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Write the file to a folder that is gone afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / (self.name or "model")
            path.write_bytes(self.content)
            yield path


@dataclass(frozen=True)
class CardModel:
    """A model that may be asked about.

    Attributes:
      name: what the owner calls it.
      form: what it was recognised as; ``opaque`` if its answers alone are known.
      written: kind, fingerprint, output, class and bounds, as plans write models down.
      file: the model itself, if the owner published it.
    """

    name: str
    form: str
    written: Mapping[str, Any]
    file: ModelFile | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        file = None if self.file is None else self.file.to_json()
        return {"form": self.form, "model": dict(self.written), "file": file}

    @classmethod
    def from_json(cls, name: str, plain: Any) -> CardModel:
        """Read what ``to_json`` wrote."""
        if not isinstance(plain, Mapping) or set(plain) != {"form", "model", "file"}:
            raise ValueError(f"model {shown(name)}")
        written, file = plain["model"], plain["file"]
        if not isinstance(written, Mapping):
            raise ValueError(f"model {shown(name)}")
        for field in _WRITTEN:
            conform(written.get(field), str, field)
        conform(written.get("class_index"), int, "class_index")
        conform(written.get("bounds"), tuple[float, float], "bounds")
        held = None if file is None else ModelFile.from_json(file)
        return cls(name, conform(plain["form"], str, "form"), dict(written), held)

    def open(self, dataset: str) -> Model:
        """Return the model, or one that can be named in plans and not be asked."""
        if self.file is None:
            return AbsentModel(self, dataset)
        try:
            model = as_written(self.file.read(), self.written)
        except (DiscreetError, KeyError, IndexError, TypeError, ValueError) as error:
            raise CardError(f"The file of model {self.name!r} cannot be read: {error}") from None
        if model.describe() != dict(self.written):
            raise CardError(
                f"The file of model {self.name!r} holds another model than the card says. "
                "Ask the owner for another card."
            )
        return model


class OwnerPrices(ModelError):
    """A plan is of a model that only the owner has."""


class AbsentModel(Model):
    """A model that a card names without holding its file: plans can be made of it, not priced."""

    def __init__(self, known: CardModel, dataset: str) -> None:
        low, high = known.written["bounds"]
        self.isolated = known.written.get("isolated") is True
        self.output = str(known.written["output"])
        self.class_index = int(known.written["class_index"])
        self.bounds = Box(float(low), float(high))
        self._known, self._dataset = known, dataset

    def __repr__(self) -> str:
        return f"AbsentModel({self._known.name!r} of {self._dataset!r}, the owner has it)"

    @property
    def fingerprint(self) -> str:
        """What equal models share."""
        return str(self._known.written["fingerprint"])

    def held(self) -> Iterable[Kept]:
        """Return nothing: there is nothing that a caller could change."""
        return ()

    def describe(self) -> dict[str, Any]:
        """Return what identifies the model in a plan."""
        return dict(self._known.written)

    def bind(self, schema: Schema) -> NoReturn:
        """Refuse: whoever has the model has to answer."""
        raise OwnerPrices(
            f"The owner prices it: the card of {self._dataset!r} names the model {self._known.name!r} "
            "and does not hold its file. Write the plan to a file and send it to the owner."
        )

    def attach(self, schema: Schema) -> tuple[BoundModel, bool]:
        """Refuse, as ``bind`` does."""
        self.bind(schema)
