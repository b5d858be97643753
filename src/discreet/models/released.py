"""A released model that behaves as scikit-learn's estimators do, without importing the library.

It is fitted for ever: it holds released numbers and the public schema, and ``fit`` refuses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.data.sources import is_frame, open_source
from discreet.errors import ArgumentError
from discreet.schema import Category, FloatArray, Schema
from discreet.schema.files import from_plain, to_plain


@dataclass(frozen=True)
class EncodedRows:
    """Rows that are in a released model's own encoding already."""

    rows: FloatArray


class ReleasedModel:
    """What released models have in common; a dataclass fills in the fields."""

    features: tuple[str, ...]
    target: str
    facts: str

    @cached_property
    def schema(self) -> Schema:
        """The public facts the model was made for: its features and its target."""
        return from_plain(json.loads(self.facts))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features."""
        return np.array(self.features, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.features)

    def encode(self, x: Any) -> FloatArray:
        """Return rows as the model sees them, from a frame by name or from an array by place."""
        if isinstance(x, EncodedRows):
            return x.rows
        if not is_frame(x):
            x = np.asarray(x) if hasattr(x, "dtype") else np.asarray(x, dtype=object)
            if x.ndim != 2 or x.shape[1] != len(self.features):
                raise ArgumentError(
                    f"X must have one column for each of the {len(self.features)} features, "
                    f"got shape {x.shape}. Give a frame with names if in doubt."
                )
        source = open_source(x, self.features)
        missing = [name for name in self.features if name not in source.columns]
        if missing:
            raise ArgumentError(f"X must have a column {missing[0]!r}, got none of that name. Add it.")
        encoded = [
            np.column_stack([self.schema[name].encode(chunk[name]) for name in self.features])
            for chunk in source.chunks(self.features)
        ]
        return np.concatenate([*encoded, np.empty((0, len(self.features)))])

    def fit(self, x: Any, y: Any = None) -> NoReturn:
        """Refuse: the model was released, and training costs budget."""
        raise ArgumentError(
            f"A released {type(self).__name__} cannot be fitted again. Ask for a new plan, or use the "
            "estimator of the same name in discreet.estimators."
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all fields, from which an equal model can be made."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Refuse any change."""
        if params:
            raise ArgumentError(f"A released model cannot be changed, got {sorted(params)[0]!r}.")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what was computed since: equal models are equal whatever they were asked.
        return type(self), tuple(self.get_params().values())

    def __sklearn_is_fitted__(self) -> bool:
        return True


def class_values(schema: Schema, target: str) -> NDArray[Any]:
    """Return the classes of a category to predict, in the order of the schema."""
    column = schema[target]
    assert isinstance(column, Category)
    listed = Category(*column.values, missing=False, other=False)
    return listed.decode(np.arange(len(listed), dtype=np.float64))


def classifier_tags() -> Any:
    """Return what scikit-learn is told of a released classifier."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(allow_nan=True, categorical=True, string=True),
    )


def regressor_tags() -> Any:
    """Return what scikit-learn is told of a released model of a number."""
    from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type="regressor",
        target_tags=TargetTags(required=True),
        regressor_tags=RegressorTags(),
        input_tags=InputTags(allow_nan=True, categorical=True, string=True),
    )


def model_facts(schema: Schema, features: Sequence[str], target: str) -> str:
    """Return the public facts about some columns, as JSON."""
    part = Schema({name: schema[name] for name in (*features, target)}, target=target)
    return json.dumps(to_plain(part), sort_keys=False)
