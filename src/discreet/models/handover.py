"""Which columns a model gets, under which names, and what its categories look like to it.

A model that has the names of its columns gets a frame, one that was fitted on a matrix a matrix. In a
frame categories are *values*: a model that knows its own categories codes them as it did when it was
fitted, whatever their order in the schema. In a matrix they are *codes* in the schema's order, and
nobody can see whether the model was fitted on the same ones: the map is shown, and a model that knows
codes of its own which the schema does not have is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import ModelError
from discreet.models.forms.category_splits import HandedValues, value_key
from discreet.models.inputs import MakeInput, input_makers, sees_encoding
from discreet.models.libraries import (
    Categories,
    feature_count,
    feature_names,
    library,
    own_categories,
)
from discreet.models.sight import Sight
from discreet.privacy.guarantee import CODED
from discreet.schema import Category, Schema

_SHOWN = 12


@dataclass(frozen=True)
class Handover:
    """How rows of a schema are handed to one model.

    Args:
      schema: of the rows.
      columns: the schema's names, in the model's order.
      named: whether the model gets a frame.
      labels: what the model calls the columns.
      categories: the columns that it treats as categories.
      by_place: whether it takes a frame's categories by their places alone, knowing none itself.
    """

    schema: Schema
    columns: tuple[str, ...]
    named: bool
    labels: tuple[Any, ...]
    categories: Categories = field(default_factory=dict)
    by_place: bool = False

    @classmethod
    def of(
        cls, model: Any, schema: Schema, given: Sequence[str] | None = None, as_frame: bool = False
    ) -> Handover:
        """Return the handover of a model's columns, or of those that a caller gave.

        Raises:
          ModelError: if there are other columns than the schema's, or categories that disagree.
        """
        names = feature_names(model)
        columns = _columns(model, schema, names, given)
        found = cls(
            schema,
            columns,
            names is not None or as_frame,
            columns if names is None else names,
            own_categories(model),
            library(model) == "xgboost",
        )
        for _, problem in found._problems():
            raise ModelError(problem)
        return found

    @property
    def plain(self) -> bool:
        """Whether the model sees rows exactly as they are encoded."""
        return sees_encoding(self.schema, self.columns, self.named)

    @property
    def makers(self) -> list[tuple[Sight, MakeInput]]:
        """How rows may be handed over, the likeliest first."""
        return input_makers(
            self.schema, self.columns, self.named, labels=self.labels, categories=self.categories
        )

    def values(self, sight: Sight) -> list[HandedValues | None]:
        """Return what is handed over for the codes of every column; None where it is the number."""
        return [self._values(place, name, sight) for place, name in enumerate(self.columns)]

    def _values(self, place: int, name: str, sight: Sight) -> HandedValues | None:
        column = self.schema[name]
        if not isinstance(column, Category) or not (self.named or place in self.categories):
            return None
        missing = bool(column.reserved) and sight.shows_nan(place)
        if not self.named or (self.by_place and self.categories.get(place, ()) is None):
            return HandedValues(tuple(range(len(column.values))), missing)
        known = self.categories.get(place)
        strange = set() if known is None else set(map(value_key, _besides(column.values, known)))
        values = [None if value_key(value) in strange else value for value in column.values]
        return HandedValues(tuple(values), missing)

    def lines(self) -> list[str]:
        """Return what the model gets, a line per column."""
        return [f"{name}: {self._tell(place, name)}" for place, name in enumerate(self.columns)]

    def told(self) -> tuple[str, ...]:
        """Return what a reader of an answer should know of codes that nobody can check, in words."""
        unchecked = [
            f"{self.columns[place]} ({_map(column.values)})"
            for place, known in self.categories.items()
            if known is None and (self.by_place or not self.named)
            if isinstance(column := self.schema[self.columns[place]], Category)
        ]
        return (f"{CODED} {', '.join(unchecked)}",) if unchecked else ()

    def _tell(self, place: int, name: str) -> str:
        column = self.schema[name]
        if not isinstance(column, Category):
            return "number"
        if not self.named:
            return "codes " + _map(column.values)
        known = self.categories.get(place)
        if known is None:
            return "values " + _listed(column.values)
        strange = _besides(column.values, known)
        unknown = f"; it does not know {_listed(strange)}: missing" if strange else ""
        return f"values, coded by the model as {_map(known)}{unknown}"

    def _problems(self) -> Iterator[tuple[int, str]]:
        for place, known in self.categories.items():
            if place >= len(self.columns):
                continue
            name = self.columns[place]
            column = self.schema[name]
            if not isinstance(column, Category):
                if self.named:
                    yield place, _not_a_category(name, known)
            elif known is not None and not self.named:
                if strange := _besides(known, range(len(column.values))):
                    yield place, _other_codes(name, column, strange)
            elif known is not None and len(_besides(column.values, known)) == len(column.values):
                yield place, _other_values(name, column, known)


def _columns(
    model: Any, schema: Schema, names: tuple[Any, ...] | None, given: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the schema's names of a model's columns, in the model's order."""
    if not schema.features:
        raise ModelError("schema must have a column besides the target, got none.")
    wanted = names if given is None else given
    if wanted is None:
        count = feature_count(model)
        if count is not None and count != len(schema.features):
            raise ModelError(
                f"model must take the schema's {len(schema.features)} features, got one with {count}. "
                "Name the columns it was fitted on with dc.Model(..., columns=[...])."
            )
        return schema.features
    count = feature_count(model) if names is None else len(names)
    if given is not None and count is not None and count != len(given):
        raise ModelError(f"columns must be the {count} that the model takes, got {len(given)}.")
    return tuple(_found(model, schema, name, given is not None) for name in wanted)


def _found(model: Any, schema: Schema, name: Any, given: bool) -> str:
    """Return the schema's name of a column of the model."""
    if name in schema.features:
        return str(name)
    # LightGBM writes an underscore for white space.
    alike = [own for own in schema.features if "_".join(own.split()) == name]
    if library(model) in ("lightgbm", "discreet") and len(alike) == 1:
        return alike[0]
    if given:
        raise ModelError(
            f"columns must be features of the schema ({', '.join(schema.features)}), got {name!r}."
        )
    raise ModelError(
        f"model must use features of the schema, got {str(name)!r} besides. "
        "Add it to the schema, or check that it is not the target."
    )


def _besides(values: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    keys = {value_key(value) for value in known}
    return [value for value in values if value_key(value) not in keys]


def _map(values: Sequence[Any]) -> str:
    pairs = [f"{value}={code}" for code, value in enumerate(values[:_SHOWN])]
    return ", ".join(pairs) + (", ..." if len(values) > _SHOWN else "")


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:_SHOWN])) + (", ..." if len(values) > _SHOWN else "")


def _not_a_category(name: str, known: Sequence[Any] | None) -> str:
    values = "" if known is None else f" of {_listed(known)}"
    return (
        f"{name} must be a Category in the schema, got a Number: the model was fitted with it as a "
        f"category{values}. List its values in the schema."
    )


def _other_codes(name: str, column: Category, strange: Sequence[Any]) -> str:
    return (
        f"model must be fitted on the schema's codes of {name} ({_map(column.values)}), got one that "
        f"knows {_listed(strange)} besides. Fit it on a frame with names, then values are handed over."
    )


def _other_values(name: str, column: Category, known: Sequence[Any]) -> str:
    return (
        f"model must know values of {name} that the schema lists ({_listed(column.values)}), got one "
        f"that knows {_listed(known)} alone. Write them in the schema as the model has them."
    )
