"""What records are worth: Shapley values of training rows, and utilities to measure them by.

Nothing in the core is private; releases are built on it.
"""

from discreet.value.designs import (
    LayeredDesign,
    balanced_design,
    independent_design,
    layer_rounds,
    others,
    stated_error,
)
from discreet.value.enumeration import exact_shapley, leave_one_out
from discreet.value.estimates import Estimates
from discreet.value.games import CachedGame, Chains, FunctionGame, Game, GroupedGame
from discreet.value.layered import layer_clips, layered_shapley, layered_value, marginals
from discreet.value.neighbours import (
    knn_shapley,
    near_and_right,
    threshold_counts,
    threshold_knn_shapley,
    value_from_counts,
)
from discreet.value.permutations import permutation_shapley
from discreet.value.running import Work, run_chains
from discreet.value.scores import Score, custom_score, named_score
from discreet.value.stability import Stability, claimed_stability, stable_fits
from discreet.value.utilities import Utility, UtilityGame

__all__ = [
    "CachedGame",
    "Chains",
    "Estimates",
    "FunctionGame",
    "Game",
    "GroupedGame",
    "LayeredDesign",
    "Score",
    "Stability",
    "Utility",
    "UtilityGame",
    "Work",
    "balanced_design",
    "claimed_stability",
    "custom_score",
    "exact_shapley",
    "independent_design",
    "knn_shapley",
    "layer_clips",
    "layer_rounds",
    "layered_shapley",
    "layered_value",
    "leave_one_out",
    "marginals",
    "named_score",
    "near_and_right",
    "others",
    "permutation_shapley",
    "run_chains",
    "stable_fits",
    "stated_error",
    "threshold_counts",
    "threshold_knn_shapley",
    "value_from_counts",
]
