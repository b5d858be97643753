"""What the engines of Shapley values certify: how far one record moves sums of attributions.

``discreet.engines`` says which way of computing them suits a model; here each way gets its bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.data.calls import Pulse, ThirdParty
from discreet.engines.shapley.coalitions import MaskSet
from discreet.engines.shapley.kernel import Predictor
from discreet.engines.shapley.trees import tree_rounding_error
from discreet.engines.shapley.values import (
    EngineName,
    KernelValues,
    LinearValues,
    ShapleyValues,
    TreeValues,
    Vectors,
)
from discreet.engines.table import engine_for
from discreet.explain.shap.bounds.operator import bound_linear_box
from discreet.explain.shap.bounds.records import (
    bound_exact,
    bound_masks,
    bound_rows_exact,
    bound_rows_masks,
    centre,
    rounding_error,
)
from discreet.models import BoundModel
from discreet.numerics import UNIT_ROUNDOFF, up
from discreet.privacy.certificate import Box, Certificate
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import FloatArray, Schema

MOST_BACKGROUND = 100_000
"""Rows a public background may have; the rounding of their mean is certified up to here."""

_MEAN_ROUNDINGS = 2.0**18


@dataclass(frozen=True)
class ShapEngine(ABC):
    """Explains a model over ``columns`` and certifies what it computes."""

    model: BoundModel
    values: ShapleyValues

    @property
    def name(self) -> EngineName:
        """The way of computing values."""
        return self.values.name

    @property
    def box(self) -> Box:
        """Where predictions lie."""
        return self.values.box

    @property
    def third_party(self) -> ThirdParty | None:
        """What is known of a model that is called; None if code of ours evaluates it."""
        return self.values.third_party

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

    def of_queries(self, queries: FloatArray) -> Vectors:
        """Return a function of records: phi(x; z), records x queries x features."""
        vectors = self.values.of_queries(self.model.seen(queries))
        return lambda records: vectors(self.model.seen(records))

    def against(self, background: FloatArray) -> Vectors:
        """Return a function of rows: their attributions against a public background."""
        vectors = self.values.against(self.model.seen(background))
        return lambda rows: vectors(self.model.seen(rows))

    @abstractmethod
    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """Certify the sum over records of phi(x; z), or of its distance from ``centre``."""

    @abstractmethod
    def centre(self, query: FloatArray) -> FloatArray:
        """Return the middle of what a record can contribute; public."""

    @abstractmethod
    def certify_rows(self, background: FloatArray) -> Certificate:
        """Certify the sum over explained rows of |phi(row; background)|."""

    def value_bound(self, background: FloatArray, place: int) -> float:
        """Return how far a row's value of one feature can be from zero."""
        return self.certify_rows(background).sensitivity("linf", ADD_REMOVE)


@dataclass(frozen=True)
class LinearEngine(ShapEngine):
    """Exact values of a weighted sum of columns."""

    values: LinearValues

    def certify(self, query: FloatArray, *, centred: bool) -> Certificate:
        """See ``Engine``."""
        start = self._middle if centred else self._seen(query)
        return self._box(start).widen(2 * self.rounding, "shap-rounding")

    def centre(self, query: FloatArray) -> FloatArray:
        """See ``Engine``."""
        return np.asarray(self.values.form.weights * (self._seen(query) - self._middle))

    def _seen(self, query: FloatArray) -> FloatArray:
        return np.asarray(self.model.seen(query[None, :])[0])

    @property
    def _middle(self) -> FloatArray:
        return np.asarray((self.values.ranges.low + self.values.ranges.high) / 2)

    def certify_rows(self, background: FloatArray) -> Certificate:
        """See ``Engine``; |w_j (x_j - m_j)| moves no further than w_j x_j."""
        return self._box(self.model.seen(background).mean(axis=0)).widen(
            2 * self.rounding, "shap-rounding"
        )

    def value_bound(self, background: FloatArray, place: int) -> float:
        """See ``Engine``; its features have bounds of their own."""
        mean, ranges = self.model.seen(background).mean(axis=0)[place], self.values.ranges
        ends = abs(ranges.low[place] - mean), abs(ranges.high[place] - mean)
        return float(abs(self.values.form.weights[place]) * max(ends) + 2 * self.rounding)

    def _box(self, start: FloatArray) -> Certificate:
        ranges = self.values.ranges
        return bound_linear_box(self.values.form.weights, ranges.low, ranges.high, query=start)

    @property
    def rounding(self) -> float:
        """See ``Engine``: a difference and a product, of a mean of as many rows as there may be."""
        ranges, weights = self.values.ranges, self.values.form.weights
        sizes = np.maximum(np.abs(ranges.low), np.abs(ranges.high))
        return up(_MEAN_ROUNDINGS * UNIT_ROUNDOFF * float((np.abs(weights) * sizes).max()))


@dataclass(frozen=True)
class TreeEngine(ShapEngine):
    """Exact values of a sum of trees, by leaf patterns."""

    values: TreeValues

    @property
    def rounding(self) -> float:
        """See ``Engine``."""
        return tree_rounding_error(self.values.trees, MOST_BACKGROUND)

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
class KernelEngine(ShapEngine):
    """Any model, on one public set of coalitions."""

    values: KernelValues

    @property
    def predictor(self) -> Predictor:
        """What answers masked rows."""
        return self.values.predictor

    @property
    def masks(self) -> MaskSet:
        """The public coalitions."""
        return self.values.masks

    @property
    def rounding(self) -> float:
        """See ``Engine``."""
        return rounding_error(self.masks, self.box)

    @property
    def lipschitz(self) -> float:
        """See ``Engine``: the operator's heaviest row."""
        return up(float(np.abs(self.masks.operator).sum(axis=1).max()))

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
) -> ShapEngine:
    """Return the engine that explains a model best.

    Args:
      model: bound to the schema.
      schema: where the values of the columns lie.
      coalitions: masks of the kernel engine; all up to ten features, else 20 per feature.
      seed: of the public masks.
    """
    values = engine_for("shapley", model, schema, coalitions, seed)
    return _CERTIFIED[values.name](model, values)


_CERTIFIED: dict[EngineName, type[ShapEngine]] = {
    "linear": LinearEngine,
    "trees": TreeEngine,
    "kernel": KernelEngine,
}


def _middle(box: Box) -> float:
    return box.low / 2 + box.high / 2
