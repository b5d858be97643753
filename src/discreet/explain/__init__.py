"""Plans that explain a model."""

from discreet.explain.background import Background, BackgroundPlan, background
from discreet.explain.partial_dependence import PartialDependencePlan, partial_dependence
from discreet.explain.shap_baselines import ShapBaselinePlan, shap_baseline
from discreet.explain.shap_importance import ShapImportancePlan, shap_importance
from discreet.explain.shap_ranking import ShapRankingPlan, shap_ranking
from discreet.explain.shap_values import ShapValuesPlan, shap_values

__all__ = [
    "Background",
    "BackgroundPlan",
    "PartialDependencePlan",
    "ShapBaselinePlan",
    "ShapImportancePlan",
    "ShapRankingPlan",
    "ShapValuesPlan",
    "background",
    "partial_dependence",
    "shap_baseline",
    "shap_importance",
    "shap_ranking",
    "shap_values",
]
