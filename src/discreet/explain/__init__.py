"""Plans that explain a model."""

from discreet.explain.any_explainer import AnyCurvePlan, AnyRankingPlan, any_curve, any_ranking
from discreet.explain.background import Background, BackgroundPlan, background
from discreet.explain.interaction import FeatureInteractionPlan, feature_interaction
from discreet.explain.partial_dependence import PartialDependencePlan, partial_dependence
from discreet.explain.shap_baselines import ShapBaselinePlan, shap_baseline
from discreet.explain.shap_dependence import ShapDependencePlan, shap_dependence
from discreet.explain.shap_importance import ShapImportancePlan, shap_importance
from discreet.explain.shap_ranking import ShapRankingPlan, shap_ranking
from discreet.explain.shap_values import ShapValuesPlan, shap_values

__all__ = [
    "AnyCurvePlan",
    "AnyRankingPlan",
    "Background",
    "BackgroundPlan",
    "FeatureInteractionPlan",
    "PartialDependencePlan",
    "ShapBaselinePlan",
    "ShapDependencePlan",
    "ShapImportancePlan",
    "ShapRankingPlan",
    "ShapValuesPlan",
    "any_curve",
    "any_ranking",
    "background",
    "feature_interaction",
    "partial_dependence",
    "shap_baseline",
    "shap_dependence",
    "shap_importance",
    "shap_ranking",
    "shap_values",
]
