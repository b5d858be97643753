"""Shapley values of model predictions, per background record, and how far a record can move them.

Engines: ``linear`` (exact, linear models), ``trees`` (exact, sums of trees), ``enumeration`` (exact,
few features), ``kernel`` (any model, one public set of coalitions from ``coalitions``; ``fused`` where
the first layer is a sum of columns). Certificates: ``bounds`` (sums over background records, any
bounded model) and ``operator_bounds`` (the attributions themselves: mean value function, moving
queries).
"""

from discreet.explain.shapley.bounds import bound_exact, bound_masks, centre
from discreet.explain.shapley.coalitions import (
    MaskSet,
    all_masks,
    mask_set,
    sample_masks,
    unconstrained,
)
from discreet.explain.shapley.enumeration import enumerate_values, shapley_values
from discreet.explain.shapley.kernel import kernel_values, record_values
from discreet.explain.shapley.linear import linear_record_values, linear_values
from discreet.explain.shapley.operator_bounds import (
    bound_linear_background,
    bound_linear_box,
    bound_linear_query,
    bound_logistic_background,
    bound_logistic_query,
    bound_operator,
    bound_operator_lipschitz,
    bound_operator_range,
    bound_rank_condition,
    bound_stumps,
    stump_sensitivity,
)
from discreet.explain.shapley.trees import (
    BackgroundTables,
    QueryTables,
    tree_record_sums,
    tree_record_values,
    tree_rounding_error,
    tree_values,
)

__all__ = [
    "BackgroundTables",
    "MaskSet",
    "QueryTables",
    "all_masks",
    "bound_exact",
    "bound_linear_background",
    "bound_linear_box",
    "bound_linear_query",
    "bound_logistic_background",
    "bound_logistic_query",
    "bound_masks",
    "bound_operator",
    "bound_operator_lipschitz",
    "bound_operator_range",
    "bound_rank_condition",
    "bound_stumps",
    "centre",
    "enumerate_values",
    "kernel_values",
    "linear_record_values",
    "linear_values",
    "mask_set",
    "record_values",
    "sample_masks",
    "shapley_values",
    "stump_sensitivity",
    "tree_record_sums",
    "tree_record_values",
    "tree_rounding_error",
    "tree_values",
    "unconstrained",
]
