"""Plans that explain a model."""

from discreet.explain.accumulated_effects import AccumulatedEffectsPlan, accumulated_effects
from discreet.explain.any_explainer import AnyCurvePlan, AnyRankingPlan, any_curve, any_ranking
from discreet.explain.background import Background, BackgroundPlan, background
from discreet.explain.interaction import FeatureInteractionPlan, feature_interaction
from discreet.explain.partial_dependence import partial_dependence
from discreet.explain.permutation_importance import PermutationImportancePlan, permutation_importance
from discreet.explain.shap_baselines import ShapBaselinePlan, shap_baseline
from discreet.explain.shap_dependence import ShapDependencePlan, shap_dependence
from discreet.explain.shap_importance import ShapImportancePlan, shap_importance
from discreet.explain.shap_ranking import ShapRankingPlan, shap_ranking
from discreet.explain.shap_values import ShapValuesPlan, shap_values

__all__ = [
    "AccumulatedEffectsPlan",
    "AnyCurvePlan",
    "AnyRankingPlan",
    "Background",
    "BackgroundPlan",
    "FeatureInteractionPlan",
    "PermutationImportancePlan",
    "ShapBaselinePlan",
    "ShapDependencePlan",
    "ShapImportancePlan",
    "ShapRankingPlan",
    "ShapValuesPlan",
    "accumulated_effects",
    "any_curve",
    "any_ranking",
    "background",
    "feature_interaction",
    "partial_dependence",
    "permutation_importance",
    "shap_baseline",
    "shap_dependence",
    "shap_importance",
    "shap_ranking",
    "shap_values",
]
