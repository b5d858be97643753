"""Exact attributions of linear models.

For f(u) = b + w . u with the identity link the game of a query x against one record z is additive, so
its Shapley values are

    phi_j(x; z) = w_j (x_j - z_j),

and those against a background, for either value function, w_j (x_j - mean of z_j). They hold for the
model as it is; a model whose predictions are clipped is not linear and belongs to the kernel engine.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import ArgumentError
from discreet.models import LinearForm
from discreet.schema import FloatArray


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
