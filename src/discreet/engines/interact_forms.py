"""Means over exchanged rows for models of a known form: no exchanged row is ever made.

* ``NetworkDependences``: linear and logistic models and networks with one hidden layer; the first
  layer moves along one row of its weights.
* ``TreeDependences``: trees of up to 64 leaves; a tree answers alike for all donors between two of its
  thresholds.
* any other model is called with the exchanged rows (``h_statistic.CalledDependences``).

Compiled code goes through the rows of many subsets, none of which sees another's; a model that is not
ours is called for one subset at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.engines.interact import (
    CalledDependences,
    Dependences,
    Means,
    answer_terms,
)
from discreet.engines.interact_trees import TreeDependences
from discreet.models import BoundModel, NetworkForm, TreeEnsemble
from discreet.models.forms.compiled import fits_masks
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray


def network_dependences(model: BoundModel, form: NetworkForm) -> Dependences:
    """Return dependences of a network with one hidden layer."""
    return NetworkDependences(form, model.bounds)


def tree_dependences(model: BoundModel, trees: TreeEnsemble) -> Dependences | None:
    """Return dependences of trees; None if a tree has too many leaves for a mask."""
    return TreeDependences(trees, model.bounds) if fits_masks(trees) else None


def called_dependences(model: BoundModel, _: None = None) -> Dependences:
    """Return dependences by calls, of answers scaled to -1 .. 1: no square may overflow."""
    _, _, fill, scale = answer_terms(model.bounds)

    def predict(rows: FloatArray) -> FloatArray:
        return np.asarray((model.predict(rows, len(rows)) - fill) * scale)  # all of one subset

    return CalledDependences(predict, model.pulse)


@dataclass(frozen=True)
class NetworkDependences(Dependences):
    """A network with one hidden layer; linear and logistic models have one unit."""

    form: NetworkForm
    bounds: Box

    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """See ``Dependences``."""
        return self._exchange(rows, starts, _alone(np.arange(rows.shape[1])))

    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """See ``Dependences``."""
        used, given = np.unique(pairs), np.zeros(rows.shape[::-1])
        own, means, _ = self._exchange(rows, starts, np.concatenate([_alone(used), pairs]))
        given[used] = means[: len(used)]
        return own, given, means[len(used) :]

    def _exchange(self, rows: FloatArray, starts: IntArray, sets: IntArray) -> Means:
        from discreet.engines.kernels.interact_network import exchange_network

        form, shape = self.form, (len(sets), len(rows))
        own, given, rest = np.empty(len(rows)), np.empty(shape), np.empty(shape)
        exchange_network(
            *(np.array(rows.T, order="C"), starts, sets),
            *(form.weights, form.bias, form.outer, form.outer_bias),
            *(form.curve, form.rate, form.logistic),
            *(answer_terms(self.bounds), own, given, rest),
        )
        return own, given, rest


def _alone(places: IntArray) -> IntArray:
    """Return sets of one feature each."""
    return np.column_stack([places, np.full_like(places, -1)])
