"""Commands of plans that are not declarations yet."""

from __future__ import annotations

from collections.abc import Callable

from discreet.cli.questions_explain import (
    ask_accumulated_effects,
    ask_feature_interaction,
    ask_permutation_importance,
)
from discreet.cli.questions_shap import (
    ask_background,
    ask_shap_dependence,
    ask_shap_importance,
    ask_shap_ranking,
    ask_shap_values,
)
from discreet.cli.questions_synthesis import ask_deniable_rows, ask_functional_mean, ask_synthesize
from discreet.cli.questions_tables import ask_entropy, ask_mutual_information
from discreet.cli.questions_trees import ask_decision_tree, ask_random_forest
from discreet.cli.questions_value import ask_data_shapley
from discreet.plans import Plan

QUESTIONS: dict[str, Callable[..., Plan]] = {
    "shap_ranking": ask_shap_ranking,
    "shap_values": ask_shap_values,
    "shap_importance": ask_shap_importance,
    "background": ask_background,
    "shap_dependence": ask_shap_dependence,
    "feature_interaction": ask_feature_interaction,
    "accumulated_effects": ask_accumulated_effects,
    "permutation_importance": ask_permutation_importance,
    "decision_tree": ask_decision_tree,
    "random_forest": ask_random_forest,
    "data_shapley": ask_data_shapley,
    "entropy": ask_entropy,
    "mutual_information": ask_mutual_information,
    "synthesize": ask_synthesize,
    "deniable_rows": ask_deniable_rows,
    "functional_mean": ask_functional_mean,
}
