"""A released model that behaves as scikit-learn's classifiers do, without importing the library.

It is fitted for ever: it holds released numbers and the public schema, and ``fit`` refuses. For
explanations its trees are compiled: a beginning of a range is one threshold; a category against the
rest is an interval, hence two thresholds, with the rest's subtree below both of them.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.data.calls import PROVEN, ThirdParty
from discreet.data.sources import is_frame, open_source
from discreet.errors import ArgumentError
from discreet.models import Model
from discreet.models.forms.trees import LEAF, RawTree, TreeEnsemble, join_trees
from discreet.models.model import BoundModel
from discreet.models.sight import EncodedSight
from discreet.schema import Category, FloatArray, Schema
from discreet.schema.files import from_plain, to_plain
from discreet.trees.columns import IntArray

_MOST_NODES = 2**16
"""A tree that would have more nodes is evaluated as it is."""


class TreeModel(Model):
    """A released classifier as a model; bound to its own schema it is evaluated by compiled trees."""

    def __init__(self, classifier: Any, class_: Any = None) -> None:
        super().__init__(classifier, output="probability", class_=class_)
        self._classifier = classifier

    def _third_party(self, bound: BoundModel, schema: Schema, single: bool) -> ThirdParty:
        """Return the evidence of code of ours, which need not be tried."""
        return ThirdParty.of(PROVEN, bound.calls.pulse)

    def bind(self, schema: Schema) -> BoundModel:
        """Return the model for a schema's encoding, with trees if the encoding is the model's own."""
        bound = super().bind(schema)
        own = self._classifier.schema
        if any(schema[name] != own[name] for name in bound.columns):
            return bound
        trees = self.ensemble(len(bound.columns))
        if trees is None:
            return bound
        own_codes = EncodedSight(bound.sight.columns, takes_missing=True)
        return replace(bound, form=trees, sight=own_codes, third_party=None)

    def ensemble(self, width: int) -> TreeEnsemble | None:
        """Return the probability of the class as an ensemble over the model's features."""
        raw = self._classifier.raw_trees(self.class_index)
        return None if raw is None else join_trees(raw, base=0.0, link="identity", width=width)


class ReleasedClassifier:
    """What a released tree and a released forest have in common; a dataclass fills in the fields."""

    features: tuple[str, ...]
    target: str
    facts: str

    @abstractmethod
    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes."""

    @abstractmethod
    def raw_trees(self, class_index: int) -> list[RawTree] | None:
        """Return trees whose leaf values add up to the probability of a class; None if too many."""

    @cached_property
    def schema(self) -> Schema:
        """The public facts the model was made for: its features and its target."""
        return from_plain(json.loads(self.facts))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the schema."""
        column = self.schema[self.target]
        assert isinstance(column, Category)
        listed = Category(*column.values, missing=False, other=False)
        return listed.decode(np.arange(len(listed), dtype=np.float64))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features."""
        return np.array(self.features, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.features)

    def encode(self, x: Any) -> FloatArray:
        """Return rows as the trees see them, from a frame by name or from an array by place."""
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

    def predict_proba(self, x: Any) -> FloatArray:
        """Return the probability of every class, in the order of ``classes_``."""
        return self.encoded_shares(self.encode(x))

    def predict_log_proba(self, x: Any) -> FloatArray:
        """Return the logarithms of the probabilities; all are finite."""
        return np.log(self.predict_proba(x))

    def predict(self, x: Any) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(x), axis=1)])

    def score(self, x: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted right."""
        return float(np.mean(self.predict(x) == np.asarray(y)))

    def to_model(self, class_: Any = None) -> TreeModel:
        """Return the probability of a class as a ``dc.Model`` that explanations evaluate quickly.

        ``class_`` may be left out if there are two; then the second is meant.
        """
        return TreeModel(self, class_=class_)

    def fit(self, x: Any, y: Any = None) -> NoReturn:
        """Refuse: the model was released, and training costs budget."""
        raise ArgumentError(
            f"A released {type(self).__name__} cannot be fitted again. Ask for a new plan, or use the "
            "estimator of the same name in discreet.estimators."
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all fields, from which an equal model can be made."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> ReleasedClassifier:
        """Refuse any change."""
        if params:
            raise ArgumentError(f"A released model cannot be changed, got {sorted(params)[0]!r}.")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what was computed since: equal models are equal whatever they were asked.
        return type(self), tuple(self.get_params().values())

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(allow_nan=True, categorical=True, string=True),
        )


def model_facts(schema: Schema, features: Sequence[str], target: str) -> str:
    """Return the public facts about some columns, as JSON."""
    part = Schema({name: schema[name] for name in (*features, target)}, target=target)
    return json.dumps(to_plain(part), sort_keys=False)


def raw_tree(
    feature: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    value: FloatArray,
    root: int = 0,
) -> RawTree | None:
    """Return a tree of thresholds with the leaves' values, or None if it would be too large.

    Guarantees:
      - A row falls into a leaf with the value of the leaf it falls into by intervals. [tree-intervals]
    """
    columns: list[int] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    values: list[float] = []
    waiting = [(root, -1, 0, False)]  # a node, where it hangs, and whether its lower end is settled
    while waiting:
        node, parent, side, above = waiting.pop()
        here = len(columns)
        if here >= _MOST_NODES:
            return None
        if parent >= 0:
            children[parent][side] = here
        leaf = feature[node] == LEAF
        below = not leaf and not above and np.isfinite(low[node])
        columns.append(int(feature[node]))
        thresholds.append(float(np.inf if leaf else low[node] if below else high[node]))
        values.append(float(value[node]) if leaf else 0.0)
        children.append([-1, -1])
        if below:
            waiting += [(int(left[node]) + 1, here, 0, False), (node, here, 1, True)]
        elif not leaf:
            waiting += [(int(left[node]), here, 0, False), (int(left[node]) + 1, here, 1, False)]
    pairs = np.array(children, dtype=np.int64)
    return RawTree(
        feature=np.array(columns, dtype=np.int64),
        threshold=np.array(thresholds),
        missing_left=np.zeros(len(columns), dtype=bool),
        left=pairs[:, 0],
        right=pairs[:, 1],
        value=np.array(values),
    )
