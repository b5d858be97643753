"""How far attributions move when the values of the coalitions move by known amounts.

For phi = M (y - f0) + c (f(x) - f0), with the value y_k of coalition k moving by at most a_k and the
empty coalition's f0 by at most a_0, coordinate j moves by at most

    sum_k |M_jk| a_k + |sum_k M_jk + c_j| a_0.

The second term is the *centering* term: f0 is subtracted from every value, once, in common. These
certificates are for the attributions themselves, not for a sum over records; most are for the value
function "mean", in which a background enters through its mean alone.

Deviations from Alissaiei (2026): its Lipschitz form drops the centering term and is false (d = 2); its
range form uses 4 F_max per coalition where the range r, once for f0, is enough. Its logistic lemma
holds, only its proof has a gap.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.zonotopes import (
    greatest_bounds,
    least_bounds,
    scaled_bounds,
    shifted_bounds,
    zonotope_bounds,
)
from discreet.numerics import check_positive, check_whole, up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import FloatArray

_SAFE = 1 + 1e-9
_TRIED_UP_TO = 12
_QUERY_MOVES = "neighbours: the query with one coordinate moved by at most the radius"
_MEAN_VALUE = "the background enters through its mean; its records are clipped to the L2 ball"
_CONSERVATIVE = "conservative: from the smallest singular value of the masks alone"


def bound_operator(masks: MaskSet, changes: FloatArray, base_change: float) -> Certificate:
    """Certify attributions whose values move by at most ``changes`` and the empty one by its own.

    Guarantees:
      - Coordinate j moves by at most sum_k |M_jk| a_k + |sum_k M_jk + c_j| a_0. [shap-operator]
    """
    extent = _operator_extent(masks, changes, base_change)
    return Certificate(("shap-operator",), masks.features, {REPLACE_ONE: extent})


def bound_operator_range(masks: MaskSet, bounds: Box) -> Certificate:
    """Certify attributions of a model with predictions in ``bounds``, whatever happens to the data.

    Guarantees:
      - The operator bound with a_k = a_0 = r, for the value function "mean" of any bounded model and
        either relation; it does not shrink with n. [shap-operator]
    """
    width = up(bounds.high - bounds.low, 1)
    extent = _operator_extent(masks, np.full(len(masks), width), width)
    return Certificate(
        ("shap-operator",),
        masks.features,
        {REPLACE_ONE: extent, ADD_REMOVE: extent},
        ("predictions are clipped to the bounds",),
    )


def bound_operator_lipschitz(
    masks: MaskSet, *, lipschitz: float, clip: float, rows: int
) -> Certificate:
    """Certify attributions ("mean") of a Lipschitz model, for records clipped to an L2 ball.

    Args:
      masks: the coalitions.
      lipschitz: |f(u) - f(v)| <= lipschitz |u - v|_2.
      clip: radius of the ball the records are clipped to.
      rows: number of records, public.

    Guarantees:
      - With dmu the change of the mean, |dmu| <= 2 clip / rows: a_k = lipschitz |dmu outside mask k|
        and a_0 = lipschitz |dmu|, the centering term included. [shap-operator]
    """
    check_positive("lipschitz", lipschitz)
    step = lipschitz * _mean_step(clip, rows)
    extent = _operator_extent(masks, np.full(len(masks), step), step)
    # |dmu outside mask k| <= |dmu| for each k, but not for all at once: by Cauchy and Schwarz
    # sum_k m_k |dmu outside k| <= |dmu| sqrt(sum_k m_k) sqrt(max_i sum of m_k over masks without i).
    sizes = np.abs(masks.response)
    outside = (sizes @ ~masks.masks).max(axis=1, initial=0.0)
    together = np.sqrt(sizes.sum(axis=1) * outside) + np.abs(masks.operator[:, 0])
    finer = Bounds(math.inf, math.inf, float(together.max()) * step * _SAFE)
    best = least_bounds(extent, finer)
    return Certificate(("shap-operator",), masks.features, {REPLACE_ONE: best}, (_MEAN_VALUE,))


def bound_linear_query(weights: FloatArray, *, radius: float) -> Certificate:
    """Certify attributions of a linear model when the query moves in one coordinate.

    Guarantees:
      - One coordinate moves, by at most radius max|w_j|: in every norm. [shap-linear-query]
    """
    check_positive("radius", radius)
    most = float(np.abs(weights).max()) * radius * _SAFE
    bounds = Bounds(most, most, most)
    return Certificate(("shap-linear-query",), len(weights), {REPLACE_ONE: bounds}, (_QUERY_MOVES,))


def bound_linear_background(
    weights: FloatArray, *, clip: float, query: FloatArray | None = None
) -> Certificate:
    """Certify the sum over records of w_j (x_j - z_j), records clipped to an L2 ball.

    Args:
      weights: of the model, with the identity link and unclipped predictions.
      clip: radius of the ball.
      query: the public query; needed under add-remove.

    Guarantees:
      - Replacing a record: Linf and L2 2 clip max|w_j|, L1 2 clip |w|_2. [shap-linear-background]
      - Adding or removing one: half of that and the size of w_j x_j. [shap-linear-background]
    """
    check_positive("clip", clip)
    length, most = float(np.linalg.norm(weights)), float(np.abs(weights).max())
    radius = Bounds(length * clip * _SAFE, most * clip * _SAFE, most * clip * _SAFE)
    found: dict[Relation, Bounds] = {REPLACE_ONE: scaled_bounds(radius, 2.0)}
    if query is not None:
        found[ADD_REMOVE] = shifted_bounds(radius, weights * query)
    return Certificate(("shap-linear-background",), len(weights), found)


def bound_linear_box(
    weights: FloatArray, low: FloatArray, high: FloatArray, *, query: FloatArray | None = None
) -> Certificate:
    """Certify the sum over records of w_j (x_j - z_j), every z_j between public ``low`` and ``high``.

    Guarantees:
      - Replacing a record moves coordinate j by at most |w_j| (high_j - low_j), adding or removing
        one by at most |w_j| max(|x_j - low_j|, |x_j - high_j|). [shap-linear-background]
    """
    if not np.all(low <= high):
        raise ArgumentError("low must not be above high in any coordinate.")
    widths = np.abs(weights) * (high - low)
    found: dict[Relation, Bounds] = {REPLACE_ONE: _coordinate_bounds(widths)}
    if query is not None:
        farthest = np.maximum(np.abs(query - low), np.abs(query - high))
        found[ADD_REMOVE] = _coordinate_bounds(np.abs(weights) * farthest)
    return Certificate(("shap-linear-background",), len(weights), found)


def bound_logistic_query(
    weights: FloatArray, masks: MaskSet, *, radius: float, slope: float = 0.25
) -> Certificate:
    """Certify attributions of g(b + w . x), g rising by at most ``slope``, when the query moves.

    The background is public; either value function. A quarter is the logistic curve's slope; a clipped
    linear model has slope 1.

    Guarantees:
      - Moving coordinate i by at most radius: only coalitions with i move, all in one direction, each
        by at most slope |w_i| radius. For all masks Linf slope max|w_i| radius. [shap-logistic-query]
    """
    check_positive("radius", radius)
    check_positive("slope", slope)
    _check_weights(weights, masks)
    steps = np.abs(weights) * (radius * slope)
    if masks.kind == "exact":
        extent = scaled_bounds(_exact_query_extent(masks), float(steps.max()))
    else:
        extent = Bounds(0.0, 0.0, 0.0)
        for i, step in enumerate(steps):
            moved = masks.operator[:, masks.coalitions[:, i]]
            extent = greatest_bounds(extent, scaled_bounds(_one_way_extent(moved), float(step)))
    return Certificate(("shap-logistic-query",), masks.features, {REPLACE_ONE: extent}, (_QUERY_MOVES,))


def bound_logistic_background(
    weights: FloatArray, masks: MaskSet, *, clip: float, rows: int, slope: float = 0.25
) -> Certificate:
    """Certify attributions ("mean") of g(b + w . x), g rising by at most ``slope``.

    Guarantees:
      - The lesser of two: the operator bound with a_k = slope |w outside mask k| |dmu|, and the one
        with every y_k - f0 moving by at most slope |w| |dmu| (a monotone curve loses nothing to
        centering). [shap-logistic-background]
    """
    check_positive("slope", slope)
    _check_weights(weights, masks)
    step = slope * _mean_step(clip, rows)
    outside = np.sqrt(~masks.masks @ weights**2)
    whole = float(np.linalg.norm(weights)) * step
    apart = _operator_extent(masks, outside * step, whole)
    together = zonotope_bounds(np.column_stack([masks.response, masks.total]) * whole)
    return Certificate(
        ("shap-logistic-background", "shap-operator"),
        masks.features,
        {REPLACE_ONE: scaled_bounds(least_bounds(apart, together), 1.0)},
        (_MEAN_VALUE,),
    )


def bound_rank_condition(
    masks: MaskSet, *, response_change: float, total_change: float = 0.0
) -> Certificate:
    """Certify attributions from the smallest singular value of the masks: a conservative bound.

    Args:
      masks: the coalitions, with either operator.
      response_change: bound on the L2 change of the vector y - f0 (all coalitions together).
      total_change: bound on the change of f(x) - f0; it enters the constrained operator alone.

    Guarantees:
      - In L2 by at most response_change sqrt(w_max / w_min) / sigma_d(Z) + |c|_2 total_change, and
        so in Linf. [shap-rank-condition]
    """
    check_positive("response_change", response_change)
    weakest = float(np.linalg.svd(masks.masks.astype(np.float64), compute_uv=False)[-1])
    if len(masks) < masks.features or weakest <= 1e-9:
        raise ArgumentError("masks must have full column rank for the rank condition, got fewer.")
    ratio = math.sqrt(float(masks.weights.max() / masks.weights.min()))
    own = response_change * ratio / weakest
    most = (own + float(np.linalg.norm(masks.total)) * abs(total_change)) * _SAFE
    bounds = Bounds(math.sqrt(masks.features) * most * _SAFE, most, most)
    return Certificate(
        ("shap-rank-condition",), masks.features, {REPLACE_ONE: bounds}, (_CONSERVATIVE,)
    )


def bound_stumps(weights: FloatArray) -> Certificate:
    """Certify attributions of sum_j u_j 1[x_j > t_j]: no margin is assumed, nothing shrinks with n.

    The same numbers hold for the attributions against the mean, and for the sum over records.

    Guarantees:
      - Coordinate j moves by at most |u_j|, under either relation. [stump-margin]
    """
    extent = _coordinate_bounds(np.abs(weights))
    return Certificate(("stump-margin",), len(weights), {REPLACE_ONE: extent, ADD_REMOVE: extent})


def stump_sensitivity(
    weights: FloatArray, thresholds: FloatArray, mean: FloatArray, *, clip: float, rows: int
) -> FloatArray:
    """Return how far each attribution ("mean") of a sum of stumps can move at this background.

    A function of the private mean: for the curator's eyes, never a certificate.

    Guarantees:
      - Zero where the mean is farther than 2 clip / rows from the threshold, |u_j|
        elsewhere. [stump-margin]
    """
    near = np.abs(mean - thresholds) <= _mean_step(clip, rows)
    return np.where(near, np.abs(weights), 0.0)


def _operator_extent(masks: MaskSet, changes: FloatArray, base_change: float) -> Bounds:
    moves = np.append(base_change, np.asarray(changes, dtype=np.float64))
    if moves.shape != (len(masks) + 1,) or not np.all((moves >= 0) & (moves < np.inf)):
        raise ArgumentError("changes must be one finite number per mask, none of them negative.")
    return zonotope_bounds(masks.operator[:, :-1] * moves)


def _check_weights(weights: FloatArray, masks: MaskSet) -> None:
    if np.shape(weights) != (masks.features,):
        raise ArgumentError(
            f"weights must be one number per feature of the masks ({masks.features}), "
            f"got shape {np.shape(weights)}."
        )


def _one_way_extent(generators: FloatArray) -> Bounds:
    """Return the extent of all sums of t_k g_k with every t_k in [0, 1] (or every one in [-1, 0])."""
    rising = np.where(generators > 0, generators, 0.0).sum(axis=1)
    falling = np.where(generators < 0, -generators, 0.0).sum(axis=1)
    linf = float(np.maximum(rising, falling).max()) * _SAFE
    if len(generators) > _TRIED_UP_TO:  # plain sums: the finer bound takes seconds for each feature
        lengths = float(np.linalg.norm(generators, axis=0).sum())
        return Bounds(float(np.abs(generators).sum()) * _SAFE, lengths * _SAFE, linf).tightened(
            len(generators)
        )
    whole = shifted_bounds(zonotope_bounds(generators / 2), generators.sum(axis=1) / 2)
    return Bounds(whole.l1, whole.l2, linf).tightened(len(generators))


def _exact_query_extent(masks: MaskSet) -> Bounds:
    """Return the same for all coalitions with one feature: Shapley's operator treats all alike."""
    d = masks.features
    spread = sum(math.sqrt((k - 1) / ((d - k) * (d - 1) * (d - 2))) for k in range(2, d))
    l2 = math.sqrt(1.0 + spread**2 / 4) * _SAFE
    closed = Bounds((1.0 + (d - 1) / 2) * _SAFE, l2, _SAFE).tightened(d)
    if d > _TRIED_UP_TO:
        return closed
    return least_bounds(closed, _one_way_extent(masks.operator[:, masks.coalitions[:, 0]]))


def _coordinate_bounds(widths: FloatArray) -> Bounds:
    return Bounds(
        float(widths.sum()) * _SAFE,
        float(np.linalg.norm(widths)) * _SAFE,
        float(widths.max()) * _SAFE,
    )


def _mean_step(clip: float, rows: int) -> float:
    """Return how far the mean of ``rows`` records in a ball moves when one is replaced."""
    check_positive("clip", clip)
    check_whole("rows", rows, 1)
    return up(2.0 * clip / rows)
