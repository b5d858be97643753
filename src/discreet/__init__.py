"""discreet: private answers about models and data.

```python
import discreet as dc

session = dc.protect(frame, "census.toml", dataset="census", epsilon=3.0, ledger="census.db")
release = session.release(dc.partial_dependence(model, "age", epsilon=0.5))
release.value, release.guarantee, release.plot()
```

Names are imported when they are first used, so that ``import discreet`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

PLANS = {
    "accumulated_effects": "discreet.explain.accumulated_effects",
    "any_curve": "discreet.explain.any_explainer",
    "any_ranking": "discreet.explain.any_explainer",
    "background": "discreet.explain.background",
    "choose": "discreet.select.choose",
    "data_shapley": "discreet.value.data_shapley",
    "decision_tree": "discreet.trees.decision_tree",
    "deniable_rows": "discreet.tables.deniable_rows",
    "entropy": "discreet.tables.entropy",
    "feature_interaction": "discreet.explain.interaction",
    "functional_mean": "discreet.tables.functional_mean",
    "histogram": "discreet.tables.histogram",
    "most_frequent": "discreet.select.most_frequent",
    "mutual_information": "discreet.tables.entropy",
    "partial_dependence": "discreet.explain.partial_dependence",
    "percentile": "discreet.select.percentile",
    "permutation_importance": "discreet.explain.permutation_importance",
    "quantiles": "discreet.select.quantiles",
    "random_forest": "discreet.trees.forest",
    "shap_baseline": "discreet.explain.shap_baselines",
    "shap_dependence": "discreet.explain.shap_dependence",
    "shap_importance": "discreet.explain.shap_importance",
    "shap_ranking": "discreet.explain.shap_ranking",
    "shap_values": "discreet.explain.shap_values",
    "synthesize": "discreet.tables.synthesis",
}
"""Every question, and the module that declares it: a new one is a line here and an import below."""

_HOMES = PLANS | {
    "Attribution": "discreet.plans",
    "Background": "discreet.explain",
    "Category": "discreet.schema",
    "Certificate": "discreet.certificates",
    "Choice": "discreet.select",
    "Coreset": "discreet.value.coreset",
    "Curve": "discreet.plans",
    "DecisionTree": "discreet.trees",
    "DeniableRows": "discreet.tables",
    "Diagnosis": "discreet.plans",
    "Guarantee": "discreet.guarantees",
    "Histogram": "discreet.plans",
    "Ledger": "discreet.ledger",
    "MeanCurve": "discreet.tables",
    "Model": "discreet.models",
    "NeighbourCounts": "discreet.value.private_neighbours",
    "Number": "discreet.schema",
    "Plan": "discreet.plans",
    "PrivateDecisionTreeClassifier": "discreet.estimators",
    "PrivateRandomForestClassifier": "discreet.estimators",
    "Quantiles": "discreet.select",
    "RandomForest": "discreet.trees",
    "RangeHistogram": "discreet.tables",
    "Ranking": "discreet.plans",
    "RecordRanking": "discreet.value.valuation",
    "Release": "discreet.session",
    "Scalar": "discreet.tables",
    "Schema": "discreet.schema",
    "Session": "discreet.session",
    "Surface": "discreet.plans",
    "SyntheticRows": "discreet.tables",
    "Valuation": "discreet.value.valuation",
    "compare_tables": "discreet.tables",
    "dataflow": "discreet.explain.dataflow",
    "errors": "discreet.errors",
    "describe_plans": "discreet.plans.registry",
    "plan_from_json": "discreet.plans.reading",
    "protect": "discreet.session",
    "report": "discreet.reporting",
    "samples": "discreet.samples",
}
_MODULES = {"dataflow", "errors", "samples"}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from discreet import errors as errors
    from discreet import samples as samples
    from discreet.certificates import Certificate as Certificate
    from discreet.estimators import PrivateDecisionTreeClassifier as PrivateDecisionTreeClassifier
    from discreet.estimators import PrivateRandomForestClassifier as PrivateRandomForestClassifier
    from discreet.explain import Background as Background
    from discreet.explain import accumulated_effects as accumulated_effects
    from discreet.explain import any_curve as any_curve
    from discreet.explain import any_ranking as any_ranking
    from discreet.explain import background as background
    from discreet.explain import dataflow as dataflow
    from discreet.explain import feature_interaction as feature_interaction
    from discreet.explain import partial_dependence as partial_dependence
    from discreet.explain import permutation_importance as permutation_importance
    from discreet.explain import shap_baseline as shap_baseline
    from discreet.explain import shap_dependence as shap_dependence
    from discreet.explain import shap_importance as shap_importance
    from discreet.explain import shap_ranking as shap_ranking
    from discreet.explain import shap_values as shap_values
    from discreet.guarantees import Guarantee as Guarantee
    from discreet.ledger import Ledger as Ledger
    from discreet.models import Model as Model
    from discreet.plans import Attribution as Attribution
    from discreet.plans import Curve as Curve
    from discreet.plans import Diagnosis as Diagnosis
    from discreet.plans import Histogram as Histogram
    from discreet.plans import Plan as Plan
    from discreet.plans import Ranking as Ranking
    from discreet.plans import Surface as Surface
    from discreet.plans.reading import plan_from_json as plan_from_json
    from discreet.plans.registry import describe_plans as describe_plans
    from discreet.reporting import report as report
    from discreet.schema import Category as Category
    from discreet.schema import Number as Number
    from discreet.schema import Schema as Schema
    from discreet.select import Choice as Choice
    from discreet.select import Quantiles as Quantiles
    from discreet.select import choose as choose
    from discreet.select import most_frequent as most_frequent
    from discreet.select import percentile as percentile
    from discreet.select import quantiles as quantiles
    from discreet.session import Release as Release
    from discreet.session import Session as Session
    from discreet.session import protect as protect
    from discreet.tables import DeniableRows as DeniableRows
    from discreet.tables import MeanCurve as MeanCurve
    from discreet.tables import RangeHistogram as RangeHistogram
    from discreet.tables import Scalar as Scalar
    from discreet.tables import SyntheticRows as SyntheticRows
    from discreet.tables import compare_tables as compare_tables
    from discreet.tables import deniable_rows as deniable_rows
    from discreet.tables import entropy as entropy
    from discreet.tables import functional_mean as functional_mean
    from discreet.tables import histogram as histogram
    from discreet.tables import mutual_information as mutual_information
    from discreet.tables import synthesize as synthesize
    from discreet.trees import DecisionTree as DecisionTree
    from discreet.trees import RandomForest as RandomForest
    from discreet.trees import decision_tree as decision_tree
    from discreet.trees import random_forest as random_forest
    from discreet.value.coreset import Coreset as Coreset
    from discreet.value.data_shapley import data_shapley as data_shapley
    from discreet.value.private_neighbours import NeighbourCounts as NeighbourCounts
    from discreet.value.valuation import RecordRanking as RecordRanking
    from discreet.value.valuation import Valuation as Valuation


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
