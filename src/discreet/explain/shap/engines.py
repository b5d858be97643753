"""One face for all engines: which one explains a model, what it computes, what it certifies.

| engine | models | values |
|---|---|---|
| linear | a weighted sum of columns, never clipped | exact |
| trees | forests, margins of boosted trees, never clipped | exact |
| kernel | everything else; networks and logistic models without calls | exact up to ten features |

"Never clipped" means that the certified interval of the output lies inside the model's bounds: then
clipping changes nothing, and a formula that knows nothing of clipping is right. A boosted model's
*probability* is not a sum of leaves and goes to the kernel engine; its margin goes to the trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.data.calls import Pulse, ThirdParty
from discreet.engines.shapley.coalitions import MaskSet, sample_masks
from discreet.engines.shapley.kernel import Predictor, kernel_values, record_values
from discreet.engines.shapley.linear import linear_record_values, linear_values
from discreet.engines.shapley.tree_tables import most_at_once
from discreet.engines.shapley.trees import BackgroundTables, QueryTables, tree_rounding_error
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.operator import bound_linear_box
from discreet.explain.shap.bounds.records import (
    bound_exact,
    bound_masks,
    bound_rows_exact,
    bound_rows_masks,
    centre,
    rounding_error,
)
from discreet.models import BoundModel, LinearForm, NetworkForm, TreeEnsemble
from discreet.models.bounds import Ranges, bound_trees
from discreet.numerics import UNIT_ROUNDOFF, check_whole, up
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray, Schema

EngineName = Literal["linear", "trees", "kernel"]
Vectors = Callable[[FloatArray], FloatArray]

MOST_BACKGROUND = 100_000
"""Rows a public background may have; the rounding of their mean is certified up to here."""

_ALL_UP_TO = 10
_PER_FEATURE = 20
_SAME = 1e-9
_MEAN_ROUNDINGS = 2.0**18


@dataclass(frozen=True)
class Engine(ABC):
    """Explains a model over ``columns``; predictions lie in ``box``."""

    model: BoundModel
    box: Box

    name: ClassVar[EngineName]

    @property
    def third_party(self) -> ThirdParty | None:
        """What is known of a model that is called; None if code of ours evaluates it."""
        return None

    @property
    def pulse(self) -> Pulse | None:
        """Whether third-party code still answers; None if none is called."""
        return None if self.third_party is None else self.third_party.pulse

    @property
    def features(self) -> int:
        """The number of features."""
        return len(self.model.columns)

    @property
    def lipschitz(self) -> float:
        """How far a coordinate moves per unit by which predictions move, at most."""
        return 1.0

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far a computed coordinate may be from the exact one."""

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return predictions in ``box``."""
        return np.clip(self.model.predict(rows), *self.box.limits)

    @abstractmethod
    def of_queries(self, queries: FloatArray) -> Vectors:
        """Return a function of records: phi(x; z), records x queries x features."""

    @abstractmethod
    def against(self, background: FloatArray) -> Vectors:
        """Return a function of rows: their attributions against a public background."""

    @abstractmethod
    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """Certify the sum over records of phi(x; z), or of its distance from ``centre``."""

    @abstractmethod
    def centre(self, query: FloatArray) -> FloatArray:
        """Return the middle of what a record can contribute; public."""

    @abstractmethod
    def certify_rows(self, background: FloatArray) -> Certificate:
        """Certify the sum over explained rows of |phi(row; background)|."""


@dataclass(frozen=True)
class LinearEngine(Engine):
    """Exact values of a weighted sum of columns."""

    form: LinearForm
    ranges: Ranges

    name: ClassVar[EngineName] = "linear"

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``Engine``."""
        return lambda records: linear_record_values(self.form, queries, records).transpose(1, 0, 2)

    def against(self, background: FloatArray) -> Vectors:
        """See ``Engine``."""
        return lambda rows: linear_values(self.form, rows, background)

    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """See ``Engine``."""
        start = (self.ranges.low + self.ranges.high) / 2 if centred else query
        return self._box(start).widen(2 * self.rounding, "shap-rounding")

    def centre(self, query: FloatArray) -> FloatArray:
        """See ``Engine``."""
        return np.asarray(self.form.weights * (query - (self.ranges.low + self.ranges.high) / 2))

    def certify_rows(self, background: FloatArray) -> Certificate:
        """See ``Engine``; |w_j (x_j - m_j)| moves no further than w_j x_j."""
        return self._box(background.mean(axis=0)).widen(2 * self.rounding, "shap-rounding")

    def _box(self, start: FloatArray) -> Certificate:
        return bound_linear_box(self.form.weights, self.ranges.low, self.ranges.high, query=start)

    @property
    def rounding(self) -> float:
        """See ``Engine``: a difference and a product, of a mean of as many rows as there may be."""
        sizes = np.maximum(np.abs(self.ranges.low), np.abs(self.ranges.high))
        return up(_MEAN_ROUNDINGS * UNIT_ROUNDOFF * float((np.abs(self.form.weights) * sizes).max()))


@dataclass(frozen=True)
class TreeEngine(Engine):
    """Exact values of a sum of trees, by leaf patterns."""

    trees: TreeEnsemble

    name: ClassVar[EngineName] = "trees"

    @property
    def rounding(self) -> float:
        """See ``Engine``."""
        return tree_rounding_error(self.trees, MOST_BACKGROUND)

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``Engine``."""
        size = most_at_once(self.trees)
        tables = [
            QueryTables.of(self.trees, queries[start : start + size])
            for start in range(0, len(queries), size)
        ]
        return lambda records: np.concatenate([part.explain(records) for part in tables], axis=1)

    def against(self, background: FloatArray) -> Vectors:
        """See ``Engine``."""
        return BackgroundTables.of(self.trees, background).explain

    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """See ``Engine``."""
        value = float(self.predict(query[None, :])[0])
        exact = bound_exact(self.features, self.box, query_value=value, centred=centred)
        return exact.widen(2 * self.rounding, "tree-rounding")

    def centre(self, query: FloatArray) -> FloatArray:
        """See ``Engine``."""
        value = float(self.predict(query[None, :])[0])
        return np.full(self.features, (value - _middle(self.box)) / self.features)

    def certify_rows(self, background: FloatArray) -> Certificate:
        """See ``Engine``."""
        base = float(np.mean(self.predict(background)))
        exact = bound_rows_exact(self.features, self.box, base_value=base)
        return exact.widen(2 * self.rounding, "tree-rounding")


@dataclass(frozen=True)
class KernelEngine(Engine):
    """Any model, on one public set of coalitions."""

    predictor: Predictor
    masks: MaskSet

    name: ClassVar[EngineName] = "kernel"

    @property
    def third_party(self) -> ThirdParty | None:
        """See ``Engine``."""
        return self.predictor.third_party if isinstance(self.predictor, BoundModel) else None

    @property
    def rounding(self) -> float:
        """See ``Engine``."""
        return rounding_error(self.masks, self.box)

    @property
    def lipschitz(self) -> float:
        """See ``Engine``: the operator's heaviest row."""
        return up(float(np.abs(self.masks.operator).sum(axis=1).max()))

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``Engine``."""

        def vectors(records: FloatArray) -> FloatArray:
            found = record_values(self.predictor, queries, records, self.masks, bounds=self.box)
            return found.transpose(1, 0, 2)

        return vectors

    def against(self, background: FloatArray) -> Vectors:
        """See ``Engine``."""
        return lambda rows: kernel_values(self.predictor, rows, background, self.masks, bounds=self.box)

    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """See ``Engine``."""
        value = float(self.predict(query[None, :])[0])
        return bound_masks(self.masks, self.box, query_value=value, centred=centred)

    def centre(self, query: FloatArray) -> FloatArray:
        """See ``Engine``."""
        return centre(self.masks, self.box, float(self.predict(query[None, :])[0]))

    def certify_rows(self, background: FloatArray) -> Certificate:
        """See ``Engine``."""
        base = float(np.mean(self.predict(background)))
        return bound_rows_masks(self.masks, self.box, base_value=base)


def choose_engine(
    model: BoundModel, schema: Schema, *, coalitions: int | None = None, seed: int = 0
) -> Engine:
    """Return the engine that explains a model best.

    Args:
      model: bound to the schema.
      schema: where the values of the columns lie.
      coalitions: masks of the kernel engine; all up to ten features, else 20 per feature.
      seed: of the public masks.
    """
    ranges, form = Ranges.of(schema, model.columns), model.form
    if coalitions is None:
        if isinstance(form, LinearForm) and not form.logistic:
            ends = ranges.weighted(form.weights[:, None], np.array([form.intercept]))
            box = Box(float(ends.low[0]) - _SAME, float(ends.high[0]) + _SAME)
            if _inside(box, model.bounds):
                return LinearEngine(model, box, form, ranges)
        if isinstance(form, TreeEnsemble) and form.link == "identity":
            leaves = bound_trees(form)
            if leaves is not None and _inside(leaves, model.bounds):
                return TreeEngine(model, leaves, form)
    features = len(model.columns)
    if coalitions is not None and coalitions < min(2 * features, 2**features - 2):
        raise ArgumentError(
            f"coalitions must be at least {2 * features} for {features} features, got {coalitions}: "
            "fewer leave the regression without a unique solution. Ask for more."
        )
    masks = sample_masks(features, _masks(coalitions, features), seed=seed)
    predictor = form if isinstance(form, NetworkForm) else model
    return KernelEngine(model, model.bounds, predictor, masks)


def _masks(coalitions: int | None, features: int) -> int:
    if coalitions is not None:
        check_whole("coalitions", coalitions, 1, 2**20)
        return coalitions
    return 2**_ALL_UP_TO if features <= _ALL_UP_TO else _PER_FEATURE * features


def _inside(box: Box, bounds: Box) -> bool:
    """Say whether clipping to the bounds changes next to nothing."""
    room = _SAME * (bounds.high - bounds.low)
    return bounds.low - room <= box.low and box.high <= bounds.high + room


def _middle(box: Box) -> float:
    return box.low / 2 + box.high / 2
