"""Shapley values of model predictions, per background record; usable alone, nothing is private.

``values`` has the formula of linear models and says which way suits a model, ``trees`` sums of trees
(exact), ``coalitions`` enumeration (exact, few features) and the one public set of coalitions on which
``kernel`` explains any model. How far a record moves their sums: ``discreet.explain.shap.bounds``.
"""

from discreet.engines.shapley.coalitions import (
    MaskSet,
    all_masks,
    enumerate_values,
    mask_set,
    sample_masks,
    shapley_values,
    unconstrained,
)
from discreet.engines.shapley.kernel import kernel_values, record_values
from discreet.engines.shapley.trees import (
    BackgroundTables,
    QueryTables,
    tree_record_sums,
    tree_record_values,
    tree_rounding_error,
    tree_values,
)
from discreet.engines.shapley.values import linear_record_values, linear_values

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
