"""How far one explained row moves a sum of absolute attributions, for any bounded model.

Here the background is public and the explained row is the record. The game of a row x then has a
fixed value of the empty coalition, v(empty) = mean f(background), and all others somewhere in
[lo, hi]: the mirror image of a fixed query, for which v(N) is the fixed one. Taking absolute values
moves no two vectors apart, in any norm.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.explain.shap.bounds.records import SHARED_MASKS, bound_exact, rounding_error
from discreet.explain.shap.bounds.zonotopes import scaled_bounds, shifted_bounds, zonotope_bounds
from discreet.numerics import up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE

PUBLIC_BACKGROUND = "the background is public or was released before"
_CLIPPED = "predictions are clipped to the bounds"
_SAFE = 1 + 1e-9


def bound_rows_exact(features: int, bounds: Box, *, base_value: float) -> Certificate:
    """Certify the sum over explained rows of |phi(row; background)|, exact Shapley values.

    Args:
      features: number of features, d.
      bounds: where every prediction lies.
      base_value: mean prediction of the background.

    Guarantees:
      - Replacing a row moves the vector by at most ``exact_l1(d) r`` in L1 and ``exact_l2(d) r`` in
        L2, and every coordinate by at most r. [shap-importance]
      - Adding or removing one: the reach of Shapley values with v(empty) fixed; at most r in every
        coordinate. [shap-importance]
    """
    mirrored = bound_exact(features, bounds, query_value=base_value)
    width = up((bounds.high - bounds.low) * _SAFE)
    capped = {
        relation: replace(found, linf=min(found.linf, width))
        for relation, found in mirrored.bounds.items()
    }
    return Certificate(
        ("shap-importance",), features, capped, (SHARED_MASKS, _CLIPPED, PUBLIC_BACKGROUND)
    )


def bound_rows_masks(masks: MaskSet, bounds: Box, *, base_value: float) -> Certificate:
    """Certify the same for kernel attributions, for the operator in use.

    Guarantees:
      - The zonotope of the operator without the empty coalition's column: its diameter for a
        replaced row, its reach from zero for one that comes or goes. [shap-importance]
      - The rounding of the computed vectors is added. [shap-rounding]
    """
    error = 2.0 * rounding_error(masks, bounds)
    if masks.kind == "exact":
        exact = bound_rows_exact(masks.features, bounds, base_value=base_value)
        return exact.widen(error, "shap-rounding")
    width = up(bounds.high - bounds.low, 1)
    reach = zonotope_bounds(masks.operator[:, 1:])
    offset = abs(base_value - (bounds.low / 2 + bounds.high / 2))
    shift = np.abs(masks.operator[:, 0]) * offset
    rows = np.abs(masks.operator[:, 1:]).sum(axis=1) * width / 2
    found = {
        REPLACE_ONE: scaled_bounds(reach, width),
        ADD_REMOVE: _with_linf(
            shifted_bounds(scaled_bounds(reach, width / 2), shift), float((rows + shift).max())
        ),
    }
    return Certificate(
        ("shap-importance",),
        masks.features,
        found,
        (SHARED_MASKS, _CLIPPED, PUBLIC_BACKGROUND),
    ).widen(error, "shap-rounding")


def _with_linf(found: Bounds, linf: float) -> Bounds:
    return replace(found, linf=linf * _SAFE)
