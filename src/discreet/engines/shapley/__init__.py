"""Shapley values of model predictions, per background record; usable alone, nothing is private.

Engines: ``linear`` (exact, linear models), ``trees`` (exact, sums of trees), ``enumeration`` (exact,
few features), ``kernel`` (any model, one public set of coalitions from ``coalitions``; ``fused`` where
the first layer is a sum of columns). How far a record moves
their sums: ``discreet.explain.shap.bounds``.
"""

from discreet.engines.shapley.coalitions import (
    MaskSet,
    all_masks,
    mask_set,
    sample_masks,
    unconstrained,
)
from discreet.engines.shapley.enumeration import enumerate_values, shapley_values
from discreet.engines.shapley.kernel import kernel_values, record_values
from discreet.engines.shapley.linear import linear_record_values, linear_values
from discreet.engines.shapley.trees import (
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
    "enumerate_values",
    "kernel_values",
    "linear_record_values",
    "linear_values",
    "mask_set",
    "record_values",
    "sample_masks",
    "shapley_values",
    "tree_record_sums",
    "tree_record_values",
    "tree_rounding_error",
    "tree_values",
    "unconstrained",
]
