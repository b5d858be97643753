"""How far one record moves a sum of attributions, as background or as what is explained.

The attributions of a query x against a background are the mean of phi(x; z_i) over its records. With
predictions in [lo, hi], r = hi - lo, and f(x) public, the vector phi(x; z) is linear in the values of
the coalitions other than the full one, each somewhere in [lo, hi]: it lies in a zonotope around the
point c (f(x) - (lo + hi)/2). One record replaced moves the sum by at most the zonotope's diameter, one
added or removed by its extent from zero - or by half the diameter, if vectors are measured from its
centre.

All certificates are for the *sum* over records of the attribution vectors of one query: scale by 1/n
for the mean under replace-one, stack them for several queries. ``bound_rows_...`` are for records that
are themselves explained, against a public background.

Deviations from Alissaiei (2026): the interventional value function, so that a 1/n bound holds for every
bounded model, trees included; bounds in L1 and L2 far below the box's.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.zonotopes import scaled_bounds, shifted_bounds, zonotope_bounds
from discreet.numerics import UNIT_ROUNDOFF, check_finite, check_whole, up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray
from discreet.schema import FloatArray

SHARED_MASKS = (
    "coalitions and weights are public and the same for all records; the link is the identity"
)
CLIPPED = "predictions are clipped to the bounds"
PUBLIC_BACKGROUND = "the background is public or was released before"
PUBLIC_QUERY = "the query and its prediction are public"
CENTRED = "attributions are measured from the centre of what a record can contribute"

_SAFE = 1 + 1e-9
"""More than the rounding of the formulas below for up to ten thousand features."""

_MOST = 10_000


def bound_exact(
    features: int, bounds: Box, *, query_value: float | None = None, centred: bool = False
) -> Certificate:
    """Certify the sum over records of exact Shapley values of one query.

    Args:
      features: number of features, d.
      bounds: where every prediction lies.
      query_value: f(x), if it may enter the bound under add-remove; its worst case else.
      centred: every coordinate is measured from ``(f(x) - middle) / d``.

    Guarantees:
      - Replacing a record moves every coordinate by at most (2 - 1/d) r; attained. [shap-contribution]
      - It moves the vector by at most ``exact_l1(d) r`` in L1; attained. [shap-l1]
      - It moves the vector by at most ``exact_l2(d) r`` in L2. [shap-l2]
      - Adding or removing one: half of that from the centre; from zero the centre's own size comes
        in. [shap-addremove]
    """
    check_whole("features", features, 1, _MOST)
    width = _width(bounds)
    offset = 0.0 if centred else _offset(bounds, query_value)
    certificate = Certificate(
        ("shap-contribution", "shap-l1", "shap-l2", "shap-addremove"),
        features,
        {
            REPLACE_ONE: Bounds(
                exact_l1(features) * width * _SAFE,
                exact_l2(features) * width * _SAFE,
                (2.0 - 1.0 / features) * width * _SAFE,
            ),
            ADD_REMOVE: _exact_extent(features, width, offset),
        },
        (SHARED_MASKS, CLIPPED, PUBLIC_QUERY),
    )
    return certificate.assume(CENTRED) if centred else certificate


def bound_masks(
    masks: MaskSet, bounds: Box, *, query_value: float | None = None, centred: bool = False
) -> Certificate:
    """Certify the sum over records of kernel attributions of one query, for the operator in use.

    Arguments are those of ``bound_exact``; the centre is ``centre(masks, bounds, f(x))``.

    Guarantees:
      - Replacing a record moves coordinate j by at most w_j r, w_j the sum of the absolute entries of
        its row without the full coalition's; attained. L1 and L2 as the zonotope allows. [shap-masks]
      - Adding or removing one: half of that from the centre. [shap-addremove]
      - The rounding of the computed vectors is added. [shap-rounding]
    """
    error = 2.0 * rounding_error(masks, bounds)
    if masks.kind == "exact":
        certificate = bound_exact(masks.features, bounds, query_value=query_value, centred=centred)
        return certificate.widen(error, "shap-masks", "shap-rounding")
    width = _width(bounds)
    extent = zonotope_bounds(masks.operator[:, :-1])
    radius = scaled_bounds(extent, width / 2)
    offset = 0.0 if centred else _offset(bounds, query_value)
    certificate = Certificate(
        ("shap-contribution", "shap-masks", "shap-addremove"),
        masks.features,
        {
            REPLACE_ONE: scaled_bounds(extent, width),
            ADD_REMOVE: _extent_from_zero(masks, radius, width, offset),
        },
        (SHARED_MASKS, CLIPPED, PUBLIC_QUERY),
    ).widen(error, "shap-rounding")
    return certificate.assume(CENTRED) if centred else certificate


def bound_rows_exact(features: int, bounds: Box, *, base_value: float) -> Certificate:
    """Certify the sum over explained rows of |phi(row; background)|, exact Shapley values.

    The game of a row x has a fixed value of the empty coalition, v(empty) = mean f(background), and all
    others somewhere in [lo, hi]: the mirror image of a fixed query, for which v(N) is the fixed one.
    Taking absolute values moves no two vectors apart, in any norm.

    Args:
      features: number of features, d.
      bounds: where every prediction lies.
      base_value: mean prediction of the background.

    Guarantees:
      - Replacing a row moves the vector by at most ``exact_l1(d) r`` in L1 and ``exact_l2(d) r`` in
        L2, and every coordinate by at most r. [shap-importance]
      - Adding or removing one: the extent of Shapley values with v(empty) fixed; at most r in every
        coordinate. [shap-importance]
    """
    mirrored = bound_exact(features, bounds, query_value=base_value)
    width = up((bounds.high - bounds.low) * _SAFE)
    capped = {
        relation: replace(found, linf=min(found.linf, width))
        for relation, found in mirrored.bounds.items()
    }
    return Certificate(
        ("shap-importance",), features, capped, (SHARED_MASKS, CLIPPED, PUBLIC_BACKGROUND)
    )


def bound_rows_masks(masks: MaskSet, bounds: Box, *, base_value: float) -> Certificate:
    """Certify the same for kernel attributions, for the operator in use.

    Guarantees:
      - The zonotope of the operator without the empty coalition's column: its diameter for a
        replaced row, its extent measured from zero for one that comes or goes. [shap-importance]
      - The rounding of the computed vectors is added. [shap-rounding]
    """
    error = 2.0 * rounding_error(masks, bounds)
    if masks.kind == "exact":
        exact = bound_rows_exact(masks.features, bounds, base_value=base_value)
        return exact.widen(error, "shap-rounding")
    width = _width(bounds)
    extent = zonotope_bounds(masks.operator[:, 1:])
    offset = abs(base_value - (bounds.low / 2 + bounds.high / 2))
    shift = np.abs(masks.operator[:, 0]) * offset
    rows = np.abs(masks.operator[:, 1:]).sum(axis=1) * width / 2
    from_zero = shifted_bounds(scaled_bounds(extent, width / 2), shift)
    found = {
        REPLACE_ONE: scaled_bounds(extent, width),
        ADD_REMOVE: replace(from_zero, linf=float((rows + shift).max()) * _SAFE),
    }
    return Certificate(
        ("shap-importance",),
        masks.features,
        found,
        (SHARED_MASKS, CLIPPED, PUBLIC_BACKGROUND),
    ).widen(error, "shap-rounding")


def centre(masks: MaskSet, bounds: Box, query_value: float) -> FloatArray:
    """Return the centre of what a record can contribute: c (f(x) - middle of the bounds). Public.

    Guarantees:
      - phi(x; z) and 2 centre - phi(x; z) are possible for the same model class. [shap-addremove]
    """
    _check_query_value(bounds, query_value)
    return masks.total * (query_value - (bounds.low / 2 + bounds.high / 2))


def exact_l1(features: int) -> float:
    """Return the L1 diameter of Shapley values over games in [0, 1] with the same v(N).

    Guarantees:
      - The greatest value over sign vectors with p pluses of abs(2p - d)/d + sum_k 4 m (d - p - k + m)
        P_k(m) / (k (d - k)), m = ceil(k p / d), P_k hypergeometric. [shap-l1]
    """
    return max(sign_widths(features))


def exact_l2(features: int) -> float:
    """Return a bound on the L2 diameter of Shapley values over games in [0, 1] with the same v(N).

    Guarantees:
      - sqrt(d/(d-1) (sum_{k=1}^{d-1} 1/sqrt(k(d-k)))^2 + 1/d); pi in the limit. [shap-l2]
    """
    return math.sqrt(_across(features) ** 2 + 1.0 / features)


@lru_cache(maxsize=64)
def sign_widths(features: int) -> tuple[float, ...]:
    """Return the width of Shapley values in the direction of p pluses and d - p minuses, p = 0..d."""
    d = features
    sizes = np.arange(1, d, dtype=np.int64)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, d + 1)))])

    def choose(n: int | IntArray, k: IntArray) -> FloatArray:
        return np.asarray(factorials[n] - factorials[k] - factorials[n - k], dtype=np.float64)

    widths = []
    for p in range(d // 2 + 1):  # swapping pluses and minuses changes nothing
        # The mean absolute deviation of a hypergeometric count of mean k p / d telescopes to the term
        # at the first whole number m that is not below the mean.
        m = -(-sizes * p // d)
        chance = np.exp(choose(p, m) + choose(d - p, sizes - m) - choose(d, sizes))
        spread = 4.0 * m * (d - p - sizes + m) * chance / (sizes * (d - sizes))
        widths.append(float(abs(2 * p - d) / d + spread.sum()))
    return (*widths, *widths[: (d + 1) // 2][::-1])


def rounding_error(masks: MaskSet, bounds: Box) -> float:
    """Return how far a record's computed coordinate is from that of the exact operator.

    Guarantees:
      - 2 (K + 8) units of rounding times the greatest prediction times the greatest row sum of the
        operator, in any order of summation. [shap-rounding]
    """
    heaviest = float(np.abs(masks.operator).sum(axis=1).max())
    return up(2 * (len(masks) + 8) * 1.01 * UNIT_ROUNDOFF * bounds.magnitude * heaviest)


def _exact_extent(features: int, width: float, offset: float) -> Bounds:
    signs = np.abs(2.0 * np.arange(features + 1) - features) / features
    l1 = np.max(np.array(sign_widths(features)) * width / 2 + signs * offset)
    along = (width / 2 + offset) / math.sqrt(features)
    l2 = math.hypot(along, _across(features) * width / 2)
    linf = (2.0 - 1.0 / features) * width / 2 + offset / features
    return Bounds(float(l1) * _SAFE, l2 * _SAFE, linf * _SAFE)


def _extent_from_zero(masks: MaskSet, radius: Bounds, width: float, offset: float) -> Bounds:
    """Return the extent of the zonotope around c * offset; Linf coordinate by coordinate."""
    shift = np.abs(masks.total) * offset
    rows = np.abs(masks.operator[:, :-1]).sum(axis=1) * width / 2
    linf = float((rows + shift).max()) * _SAFE
    return replace(shifted_bounds(radius, shift), linf=linf).tightened(masks.features)


def _across(features: int) -> float:
    """Return the greatest width across the all-ones direction, by Cauchy and Schwarz."""
    if features == 1:
        return 0.0
    layers = sum(1.0 / math.sqrt(k * (features - k)) for k in range(1, features))
    return math.sqrt(features / (features - 1)) * layers


def _width(bounds: Box) -> float:
    return up(bounds.high - bounds.low, 1)


def _offset(bounds: Box, query_value: float | None) -> float:
    """Return how far f(x) is from the middle, at most half the width."""
    if query_value is None:
        return _width(bounds) / 2
    _check_query_value(bounds, query_value)
    return abs(query_value - (bounds.low / 2 + bounds.high / 2))


def _check_query_value(bounds: Box, query_value: float) -> None:
    check_finite("query_value", query_value)
    if not bounds.low <= query_value <= bounds.high:
        raise ArgumentError(
            f"query_value must be in [{bounds.low!r}, {bounds.high!r}], got {query_value!r}. "
            "Clip the query's prediction first."
        )
