"""Which way of computing Shapley values suits a model: question *shapley*, for every form.

| engine | models | values |
|---|---|---|
| linear | a weighted sum of columns, never clipped | exact |
| trees | forests, margins of boosted trees, never clipped | exact |
| kernel | everything else; networks and logistic models without calls | exact up to ten features |

"Never clipped" means that the certified interval of the output lies inside the model's bounds: then
clipping changes nothing, and a formula that knows nothing of clipping is right. A boosted model's
*probability* is not a sum of leaves and goes to the kernel engine; its margin goes to the trees.

*Linear models.* For f(u) = b + w . u with the identity link the game of a query x against one record z
is additive, so its Shapley values are

    phi_j(x; z) = w_j (x_j - z_j),

and those against a background, for either value function, w_j (x_j - mean of z_j). They hold for the
model as it is; a model whose predictions are clipped is not linear and belongs to the kernel engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.data.calls import ThirdParty
from discreet.engines.shapley.coalitions import MaskSet, sample_masks
from discreet.engines.shapley.kernel import Predictor, kernel_values, record_values
from discreet.engines.shapley.tree_tables import most_at_once
from discreet.engines.shapley.trees import BackgroundTables, QueryTables
from discreet.errors import ArgumentError
from discreet.models import BoundModel, LinearForm, NetworkForm, TreeEnsemble
from discreet.models.bounds import Ranges, bound_trees
from discreet.numerics import check_whole
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Schema

EngineName = Literal["linear", "trees", "kernel"]
Vectors = Callable[[FloatArray], FloatArray]
_ALL_UP_TO = 10
_PER_FEATURE = 20
_SAME = 1e-9


def linear_values(form: LinearForm, queries: FloatArray, background: FloatArray) -> FloatArray:
    """Return the attributions of every query, averaged over the background (queries x features).

    Guarantees:
      - The mean of ``linear_record_values`` over the records. [shap-contribution]
    """
    weights = _weights(form)
    return np.asarray(weights * (queries - background.mean(axis=0)))


def linear_record_values(form: LinearForm, queries: FloatArray, background: FloatArray) -> FloatArray:
    """Return w_j (x_j - z_j) for every query and record (queries x records x features).

    Guarantees:
      - The Shapley values of each query against each record, to rounding. [shap-linear-background]
    """
    weights = _weights(form)
    return np.asarray(weights * (queries[:, None, :] - background[None, :, :]))


def _weights(form: LinearForm) -> FloatArray:
    if form.logistic:
        raise ArgumentError(
            "form must have the identity link, got a logistic one. "
            "Explain its margin, or its probability with the kernel engine."
        )
    return form.weights


@dataclass(frozen=True)
class ShapleyValues(ABC):
    """Computes Shapley values of a model whose predictions lie in ``box``."""

    box: Box

    name: ClassVar[EngineName]

    @property
    def third_party(self) -> ThirdParty | None:
        """What is known of a model that is called; None if code of ours evaluates it."""
        return None

    @abstractmethod
    def of_queries(self, queries: FloatArray) -> Vectors:
        """Return a function of records: phi(x; z), records x queries x features."""

    @abstractmethod
    def against(self, background: FloatArray) -> Vectors:
        """Return a function of rows: their attributions against a public background."""


@dataclass(frozen=True)
class LinearValues(ShapleyValues):
    """Exact values of a weighted sum of columns."""

    form: LinearForm
    ranges: Ranges

    name: ClassVar[EngineName] = "linear"

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""
        return lambda records: linear_record_values(self.form, queries, records).transpose(1, 0, 2)

    def against(self, background: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""
        return lambda rows: linear_values(self.form, rows, background)


@dataclass(frozen=True)
class TreeValues(ShapleyValues):
    """Exact values of a sum of trees, by leaf patterns."""

    trees: TreeEnsemble

    name: ClassVar[EngineName] = "trees"

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""
        size = most_at_once(self.trees)
        tables = [
            QueryTables.of(self.trees, queries[start : start + size])
            for start in range(0, len(queries), size)
        ]
        return lambda records: np.concatenate([part.explain(records) for part in tables], axis=1)

    def against(self, background: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""
        return BackgroundTables.of(self.trees, background).explain


@dataclass(frozen=True)
class KernelValues(ShapleyValues):
    """Values of any model on one public set of coalitions."""

    predictor: Predictor
    masks: MaskSet

    name: ClassVar[EngineName] = "kernel"

    @property
    def third_party(self) -> ThirdParty | None:
        """See ``ShapleyValues``."""
        return self.predictor.third_party if isinstance(self.predictor, BoundModel) else None

    def of_queries(self, queries: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""

        def vectors(records: FloatArray) -> FloatArray:
            found = record_values(self.predictor, queries, records, self.masks, bounds=self.box)
            return found.transpose(1, 0, 2)

        return vectors

    def against(self, background: FloatArray) -> Vectors:
        """See ``ShapleyValues``."""
        return lambda rows: kernel_values(self.predictor, rows, background, self.masks, bounds=self.box)


def linear_form_values(
    model: BoundModel, form: LinearForm, schema: Schema, coalitions: int | None, _: int
) -> LinearValues | None:
    """Return the formula of a weighted sum, unless coalitions are asked for or answers are clipped."""
    if coalitions is not None or form.logistic:
        return None
    ranges = Ranges.of(schema, model.columns)
    ends = ranges.weighted(form.weights[:, None], np.array([form.intercept]))
    box = Box(float(ends.low[0]) - _SAME, float(ends.high[0]) + _SAME)
    return LinearValues(box, form, ranges) if _inside(box, model.bounds) else None


def tree_form_values(
    model: BoundModel, trees: TreeEnsemble, schema: Schema, coalitions: int | None, _: int
) -> TreeValues | None:
    """Return the formula of a sum of leaves, unless coalitions are asked for or answers are clipped."""
    if coalitions is not None or trees.link != "identity":
        return None
    leaves = bound_trees(trees)
    return None if leaves is None or not _inside(leaves, model.bounds) else TreeValues(leaves, trees)


def network_values(
    model: BoundModel, form: NetworkForm, schema: Schema, coalitions: int | None, seed: int
) -> KernelValues:
    """Return values on coalitions of a network, which is never called."""
    return KernelValues(model.bounds, form, _masks(len(model.columns), coalitions, seed))


def called_values(
    model: BoundModel, _: None, schema: Schema, coalitions: int | None, seed: int
) -> KernelValues:
    """Return values on coalitions of any model."""
    return KernelValues(model.bounds, model, _masks(len(model.columns), coalitions, seed))


def _masks(features: int, coalitions: int | None, seed: int) -> MaskSet:
    if coalitions is None:
        count = 2**_ALL_UP_TO if features <= _ALL_UP_TO else _PER_FEATURE * features
        return sample_masks(features, count, seed=seed)
    if coalitions < min(2 * features, 2**features - 2):
        raise ArgumentError(
            f"coalitions must be at least {2 * features} for {features} features, got {coalitions}: "
            "fewer leave the regression without a unique solution. Ask for more."
        )
    check_whole("coalitions", coalitions, 1, 2**20)
    return sample_masks(features, coalitions, seed=seed)


def _inside(box: Box, bounds: Box) -> bool:
    """Say whether clipping to the bounds changes next to nothing."""
    room = _SAME * (bounds.high - bounds.low)
    return bounds.low - room <= box.low and box.high <= bounds.high + room
