"""A model's file as an estimator whose code runs in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.models.apart.limits import Limits
from discreet.models.apart.process import Ended, Failed, ModelProcess
from discreet.models.files import types_of
from discreet.models.inputs import METHODS
from discreet.privacy.certificate import NOT_PROVEN

ENDS_BY_ITSELF = (
    "a record that ends a call of the model, by its time, its memory or a crash, does so whatever rows "
    f"are beside it{NOT_PROVEN}"
)


class ModelApart:
    """A model in a process of its own, from its file; give it to ``dc.Model`` like any estimator.

    Args:
      file: the path of a model file: skops, XGBoost, LightGBM, CatBoost, ONNX. It is read once.
      trust: the types of third parties that the file may be made of, by their full names. Without it a
        file with such types is refused, and all of them are shown.
      limits: what a call may take.

    The process has nothing of our environment but paths of libraries, no file of ours is open in it, it
    can write none, ends with this process and has no network where the kernel allows that
    (``network_closed`` tells). It reads with the rights of its user.

    ``limits`` must leave room for calls of public rows: a model that takes more is refused.

    Guarantees:
      - Code that crashes, hangs or takes more than its limits on a record gives that record the middle
        of the bounds, and does nothing to other records' answers: [own-process], and what it assumes.
      - Every call starts from the state in which the file was read.
    """

    def __init__(
        self, file: str | Path, *, trust: Sequence[str] = (), limits: Limits | None = None
    ) -> None:
        if not hasattr(os, "fork"):
            raise ModelError("A model in a process of its own needs Linux or macOS.")
        if isinstance(trust, str) or not all(isinstance(name, str) for name in trust):
            raise ModelError(f"trust must be a list of names of types, got {trust!r}.")
        path = Path(file)
        types_of(path).check(trust)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ModelError(
                f"file must be one that can be read, got {path}: {error.strerror}."
            ) from None
        state = {"name": path.name, "content": content, "trust": tuple(trust)}
        self.__setstate__({**state, "limits": limits or Limits()})

    def __getstate__(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "content": self._content,
            "trust": self._trust,
            "limits": self.limits,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._name, self._content, self._trust = state["name"], state["content"], state["trust"]
        self.limits: Limits = state["limits"]
        self._process = ModelProcess(self._name, self._content, self._trust)
        self._facts = self._process.facts()

    def __repr__(self) -> str:
        return f"ModelApart({self._name}, {self.kind})"

    @property
    def kind(self) -> str:
        """The full name of the model's class."""
        return str(self._facts["kind"])

    @property
    def library(self) -> str:
        """The package of the model's class."""
        return str(self._facts["library"])

    @property
    def categories(self) -> dict[int, list[Any] | None]:
        """The columns that the model treats as categories, with the values it knows, if it does."""
        return dict(self._facts["categories"])

    @property
    def network_closed(self) -> bool:
        """Whether the kernel keeps the process from the network."""
        return bool(self._facts["network_closed"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_facts":
            raise AttributeError(name)
        if name in METHODS.values() and name in self._facts["methods"]:
            return partial(self._ask, name)
        fact = self._facts.get(_FACTS.get(name, ""))
        if fact is None:
            raise AttributeError(f"The model has no {name}.")
        return _objects(fact) if isinstance(fact, list) else fact

    def alone(self) -> AskedAlone:
        """Return the model as it is asked for one record: with more patience."""
        return AskedAlone(self)

    def close(self) -> None:
        """End the process; it is started again when the model is asked."""
        self._process.close()

    def _ask(self, method: str, rows: Any, alone: bool = False) -> NDArray[Any]:
        try:
            return self._process.ask(method, rows, self.limits.of_call(alone))
        except (Failed, Ended) as error:
            # Seen only when public rows are tried: afterwards no text of a model's is kept.
            raise ModelError(str(error)) from None


class AskedAlone:
    """A model apart that is asked for one record, or for none but public rows."""

    def __init__(self, model: ModelApart) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_model":
            raise AttributeError(name)
        found = getattr(self._model, name)
        return partial(found, alone=True) if name in METHODS.values() else found


_FACTS = {"feature_names_in_": "names", "classes_": "classes", "n_features_in_": "count"}


def _objects(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
