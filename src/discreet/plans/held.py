"""Kinds of arguments that a plan holds and plain data cannot: models, rows, functions.

They are written down by fingerprints and read back from ``objects``, which the reader of a plan brings:
nothing is ever imported or unpickled for a text. Whatever is settled here remembers what it was like
when the plan was made (``Kept``), so that a model that was fitted again is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.models import Model, as_model
from discreet.models.fingerprint import Kept
from discreet.plans.kinds import Kind, Objects

_LONGEST_FINGERPRINT = 128


def find_object(name: str, fingerprint: Any, objects: Objects) -> Any:
    """Return the object with a fingerprint, or raise a sentence that says what is missing."""
    if isinstance(fingerprint, str) and fingerprint.startswith("once:"):
        raise ArgumentError(
            f"{name} must have a name to be read back, got one without. "
            "Make the plan again, with a name for every function."
        )
    if not isinstance(fingerprint, str) or fingerprint not in objects:
        # Whole, so that it can be copied; what is no fingerprint is as long as a text likes.
        whole = isinstance(fingerprint, str) and len(fingerprint) <= _LONGEST_FINGERPRINT
        raise ArgumentError(
            f"objects must have {name} under its fingerprint "
            f"{repr(fingerprint) if whole else shown(fingerprint)}, got none. "
            f"Pass objects={{fingerprint: {name}}}."
        )
    return objects[fingerprint]


def written_fingerprint(name: str, plain: Any) -> Any:
    """Return the fingerprint in what was written of a model or a function."""
    if not isinstance(plain, Mapping) or "fingerprint" not in plain:
        raise ArgumentError(f"{name} must be written with its fingerprint, got {shown(plain)}.")
    return plain["fingerprint"]


def as_written(model: Any, plain: Mapping[str, Any]) -> Model:
    """Return an estimator or a function with the output, class and bounds that were written down."""
    output, classes = plain.get("output", "auto"), getattr(model, "classes_", None)
    called = str(plain["fingerprint"])
    return Model(
        model,
        output=output,
        class_=None if classes is None or output == "value" else classes[int(plain["class_index"])],
        bounds=tuple(plain["bounds"]),
        name=called.removeprefix("name:") if called.startswith("name:") else None,
        isolated=plain.get("isolated", False),
    )


@dataclass(frozen=True)
class ModelKind(Kind):
    """A fitted estimator, a pipeline, a released tree, or a ``dc.Model``."""

    word = "model"
    file = "model"

    def check(self, name: str, value: Any) -> Model:
        """Return the model with what of it is explained."""
        return as_model(value)

    def plain(self, value: Any) -> Any:
        """Return what identifies the model, never the model itself."""
        return None if value is None else value.describe()

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the model with this fingerprint, with the output and bounds it had."""
        if plain is None:
            return None
        found = find_object(name, written_fingerprint(name, plain), objects)
        try:
            model = found if isinstance(found, Model) else as_written(found, plain)
        except (KeyError, IndexError, TypeError, ValueError):
            model = None
        if model is None or model.describe() != dict(plain):
            raise ArgumentError(
                f"{name} must be the one that the plan was made of, got another. "
                "It was fitted again, or its output or bounds differ."
            )
        return model


@dataclass(frozen=True)
class Function(Kind):
    """A caller's function, known by the ``name`` that another argument gives it.

    Args:
      name_from: from all arguments and the function's own, its name or None.
      title: what is written down as its kind; what it is called if this is empty.
    """

    name_from: Callable[[Mapping[str, Any], str], str | None]
    title: str = "function"

    word = "function"
    file = "function"

    def settle(self, name: str, value: Any, given: Mapping[str, Any]) -> Any:
        """Return the function, kept; one that was kept under the same name is the same."""
        if value is None and self.optional:
            return None
        called = self.name_from(given, name)
        if isinstance(value, Kept):
            return value if value.name == called else Kept(name, value.value, called)
        return Kept(name, self.check(name, value) if self.by is None else self.by(name, value), called)

    def check(self, name: str, value: Any) -> Any:
        """Return the function."""
        if not callable(value):
            raise ArgumentError(f"{name} must be a function{self.hint}, got {shown(value)}.")
        return value

    def plain(self, value: Any) -> Any:
        """Return what identifies the function."""
        if value is None:
            return None
        return {"kind": self.title or function_name(value), "fingerprint": value.fingerprint}

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the function that was named."""
        if plain is None:
            return None
        return find_object(name, written_fingerprint(name, plain), objects)


@dataclass(frozen=True)
class Rows(Kind):
    """Public rows: a frame, mappings, numbers, or a released background.

    Args:
      make: reads what was given; the answer has ``digest`` and ``to_json()``.
      inline: whether the rows themselves are written down, or their digest.
      mark: what stands before a digest.
    """

    make: Callable[[Any], Any]
    inline: bool = False
    mark: str = ""

    word = "rows"
    file = "rows"

    def check(self, name: str, value: Any) -> Any:
        """Return the rows as plain values."""
        return self.make(value)

    def plain(self, value: Any) -> Any:
        """Return the rows, or their digest."""
        if value is None:
            return None
        return value.to_json() if self.inline else f"{self.mark}{value.digest}"

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return rows that were written down, or those with this digest."""
        return plain if self.inline or plain is None else find_object(name, plain, objects)


@dataclass(frozen=True)
class Table(Kind):
    """Public rows of a whole table (a frame, an array, a file), known by value; ``make`` keeps them."""

    make: Callable[[str, Any], Kept] = Kept

    word = "table"
    file = "table"

    def check(self, name: str, value: Any) -> Kept:
        """Return it, kept."""
        return value if isinstance(value, Kept) else self.make(name, value)

    def plain(self, value: Any) -> Any:
        """Return its fingerprint."""
        return None if value is None else value.fingerprint

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the one with this fingerprint."""
        return None if plain is None else find_object(name, plain, objects)


@dataclass(frozen=True)
class Estimator(Table):
    """An estimator that has not been fitted: known by its value, written with its kind."""

    word = "estimator"
    file = "model"

    def plain(self, value: Any) -> Any:
        """Return its kind and its fingerprint."""
        if value is None:
            return None
        return {"kind": type(value.value).__name__, "fingerprint": value.fingerprint}

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the one with this fingerprint."""
        return None if plain is None else find_object(name, written_fingerprint(name, plain), objects)


def named_by_name(given: Mapping[str, Any], name: str) -> str | None:
    """Return the name that the argument ``name`` gives the plan's only function."""
    named: str | None = given["name"]
    if named is not None and (not isinstance(named, str) or not named):
        raise ArgumentError(f"name must be a text, got {shown(named)}.")
    return named


def function_name(function: Kept) -> str:
    """Return what a function is called: by the name it was given, or by its own."""
    own = getattr(function.value, "__name__", type(function.value).__name__)
    return function.name or str(own)


FittedModel = Annotated[Any, ModelKind()]
