"""All classes of a classifier at once: one bounded score per row and class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import ArgumentError
from discreet.models import BoundModel, Model
from discreet.models.fingerprint import Kept
from discreet.models.libraries import classes
from discreet.plans.held import ModelKind, find_object, written_fingerprint
from discreet.plans.kinds import Objects
from discreet.schema import Schema


@dataclass(frozen=True)
class ClassModels:
    """A classifier of more than two classes, seen as one ``dc.Model`` per class."""

    members: tuple[Model, ...]
    names: tuple[Any, ...]

    output = "classes"

    @classmethod
    def of(cls, model: Any) -> ClassModels | None:
        """Return all classes of an estimator that has more than two; None for anything else."""
        known = None if isinstance(model, Model) else classes(model)
        if known is None or len(known) < 3 or not hasattr(model, "predict_proba"):
            return None
        members = tuple(Model(model, class_=name, output="probability") for name in known)
        plain = tuple(name.item() if hasattr(name, "item") else name for name in known)
        return cls(members, plain)

    @property
    def fingerprint(self) -> str:
        """What equal models share."""
        return self.members[0].fingerprint

    def held(self) -> Iterable[Kept]:
        """Return what a caller could change."""
        return self.members[0].held()

    def fills(self) -> tuple[str, ...]:
        """Return what it was last shown for values it does not take, in words."""
        return self.members[0].fills()

    def describe(self) -> dict[str, Any]:
        """Return what identifies the model in a plan; never the model itself."""
        told = self.members[0].describe()
        return {
            "kind": told["kind"],
            "fingerprint": told["fingerprint"],
            "output": self.output,
            "classes": [str(name) for name in self.names],
        }

    def bind(self, schema: Schema) -> tuple[BoundModel, ...]:
        """Return every class's scores on a schema's encoding; one pulse tells whether it answers."""
        bound = [member.bind(schema) for member in self.members]
        pulse = bound[0].pulse
        if pulse is None:
            return tuple(bound)
        return tuple(
            one
            if one.third_party is None
            else replace(
                one,
                calls=replace(one.calls, pulse=pulse),
                third_party=replace(one.third_party, pulse=pulse),
            )
            for one in bound
        )


@dataclass(frozen=True)
class EvaluatedModel(ModelKind):
    """A model to evaluate: what a ``ModelKind`` takes, and classifiers of many classes."""

    def check(self, name: str, value: Any) -> Any:
        """Return the model with all its classes, or with what of it is evaluated."""
        if isinstance(value, ClassModels):
            return value
        return ClassModels.of(value) or super().check(name, value)

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the model with this fingerprint, with the classes it had."""
        if not isinstance(plain, Mapping) or plain.get("output") != ClassModels.output:
            return super().read(name, plain, objects)
        found = ClassModels.of(find_object(name, written_fingerprint(name, plain), objects))
        if found is None or found.describe() != dict(plain):
            raise ArgumentError(
                f"{name} must be the one that the plan was made of, got another. "
                "It was fitted again, or its classes differ."
            )
        return found
