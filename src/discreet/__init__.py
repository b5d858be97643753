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
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

PLANS = {
    "accumulated_effects": "discreet.explain.ale.plan",
    "additive_model": "discreet.additive.plan",
    "any_curve": "discreet.explain.aggregate.plan",
    "any_ranking": "discreet.explain.aggregate.plan",
    "background": "discreet.explain.shap.background",
    "cdf": "discreet.statistics.cdf",
    "choose": "discreet.select.choose.plan",
    "compare": "discreet.explain.compare.plan",
    "correlation": "discreet.statistics.covariance",
    "count": "discreet.statistics.count",
    "covariance": "discreet.statistics.covariance",
    "data_shapley": "discreet.value.plan",
    "decision_tree": "discreet.trees.plan",
    "deniable_rows": "discreet.tables.synthesis.plan",
    "drift": "discreet.tables.drift.plan",
    "entropy": "discreet.tables.entropy.plan",
    "evaluate": "discreet.evaluation.plan",
    "feature_interaction": "discreet.explain.interaction.plan",
    "fit": "discreet.fitting.plan",
    "functional_mean": "discreet.tables.functional.plan",
    "histogram": "discreet.tables.histogram.plan",
    "linear_regression": "discreet.statistics.regression",
    "mean": "discreet.statistics.mean",
    "model_card": "discreet.evaluation.card.plan",
    "most_frequent": "discreet.select.choose.most_frequent",
    "mutual_information": "discreet.tables.entropy.plan",
    "partial_dependence": "discreet.explain.pdp.plan",
    "percentile": "discreet.select.quantiles.percentile",
    "permutation_importance": "discreet.explain.permutation.plan",
    "proportion": "discreet.statistics.proportion",
    "quantiles": "discreet.select.quantiles.plan",
    "random_forest": "discreet.trees.forest",
    "shap_baseline": "discreet.explain.shap.baselines",
    "shap_dependence": "discreet.explain.shap.dependence",
    "shap_importance": "discreet.explain.shap.importance",
    "shap_ranking": "discreet.explain.shap.ranking",
    "shap_values": "discreet.explain.shap.values",
    "source_values": "discreet.value.sources.plan",
    "std": "discreet.statistics.variance",
    "synthesize": "discreet.tables.synthesis.plan",
    "total": "discreet.statistics.mean",
    "variance": "discreet.statistics.variance",
}
"""Every question, and the module that declares it: a new one is a line here and an import below."""

_HOMES = PLANS | {
    "AdditiveModel": "discreet.additive.released.result",
    "Attribution": "discreet.plans",
    "Background": "discreet.explain.shap.background",
    "BinaryEvaluation": "discreet.evaluation.binary.result",
    "Boolean": "discreet.schema",
    "Card": "discreet.cards",
    "Category": "discreet.schema",
    "Certificate": "discreet.privacy.certificate",
    "Choice": "discreet.plans.results.choice",
    "ClassEvaluation": "discreet.evaluation.classes.result",
    "Coreset": "discreet.value.private_layered",
    "Curve": "discreet.plans",
    "Date": "discreet.schema",
    "DecisionTree": "discreet.trees.result",
    "DeniableRows": "discreet.plans.results.synthetic_rows",
    "Diagnosis": "discreet.plans",
    "Drift": "discreet.plans.results.drift",
    "EditedModel": "discreet.additive.released.edited",
    "Groups": "discreet.plans.results.groups",
    "Distribution": "discreet.plans.results.distribution",
    "Guarantee": "discreet.privacy.guarantee",
    "Histogram": "discreet.plans",
    "Ledger": "discreet.ledger",
    "Coefficients": "discreet.plans.results.matrix",
    "Matrix": "discreet.plans.results.matrix",
    "MeanCurve": "discreet.plans.results.result",
    "Level": "discreet.schema",
    "Limits": "discreet.models.apart",
    "Model": "discreet.models",
    "ModelApart": "discreet.models.apart",
    "ModelCard": "discreet.evaluation.card.result",
    "NeighbourCounts": "discreet.value.private_neighbours",
    "Number": "discreet.schema",
    "Plan": "discreet.plans",
    "PrivateAdditiveClassifier": "discreet.estimators",
    "PrivateAdditiveRegressor": "discreet.estimators",
    "PrivateDecisionTreeClassifier": "discreet.estimators",
    "PrivateRandomForestClassifier": "discreet.estimators",
    "Quantiles": "discreet.plans.results.choice",
    "SqlQuery": "discreet.data.sources.elsewhere.queries",
    "RandomForest": "discreet.trees.result",
    "RangeHistogram": "discreet.plans.results.range_histogram",
    "Ranking": "discreet.plans",
    "RecordRanking": "discreet.plans.results.valuation",
    "RegressionEvaluation": "discreet.evaluation.regression.result",
    "Release": "discreet.session",
    "Scalar": "discreet.plans.results.scalar",
    "Schema": "discreet.schema",
    "Session": "discreet.session",
    "ShapeFunction": "discreet.additive.released.shapes",
    "SourceValues": "discreet.value.sources.result",
    "Statistic": "discreet.plans.results.statistic",
    "Surface": "discreet.plans",
    "SyntheticRows": "discreet.plans.results.synthetic_rows",
    "Valuation": "discreet.plans.results.valuation",
    "answer": "discreet.cards",
    "audit": "discreet.audit",
    "claims": "discreet.audit.claims",
    "col": "discreet.schema",
    "connect": "discreet.client",
    "connect_async": "discreet.client",
    "compare_tables": "discreet.tables.synthesis.quality",
    "dataflow": "discreet.explain.dataflow",
    "errors": "discreet.errors",
    "describe": "discreet.cards",
    "describe_plans": "discreet.plans.registry",
    "plan_from_json": "discreet.plans.registry",
    "protect": "discreet.session",
    "read_plans": "discreet.cards",
    "report": "discreet.reporting",
    "samples": "discreet.samples",
}
_MODULES = {"audit", "claims", "dataflow", "errors", "samples"}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from discreet import audit as audit
    from discreet import errors as errors
    from discreet import samples as samples
    from discreet.additive.plan import additive_model as additive_model
    from discreet.additive.released.edited import EditedModel as EditedModel
    from discreet.additive.released.result import AdditiveModel as AdditiveModel
    from discreet.additive.released.shapes import ShapeFunction as ShapeFunction
    from discreet.audit import claims as claims
    from discreet.cards import Card as Card
    from discreet.cards import answer as answer
    from discreet.cards import describe as describe
    from discreet.cards import read_plans as read_plans
    from discreet.client import connect as connect
    from discreet.client import connect_async as connect_async
    from discreet.data.sources.elsewhere.queries import SqlQuery as SqlQuery
    from discreet.estimators import PrivateAdditiveClassifier as PrivateAdditiveClassifier
    from discreet.estimators import PrivateAdditiveRegressor as PrivateAdditiveRegressor
    from discreet.estimators import PrivateDecisionTreeClassifier as PrivateDecisionTreeClassifier
    from discreet.estimators import PrivateRandomForestClassifier as PrivateRandomForestClassifier
    from discreet.evaluation.binary.result import BinaryEvaluation as BinaryEvaluation
    from discreet.evaluation.classes.result import ClassEvaluation as ClassEvaluation
    from discreet.evaluation.plan import evaluate as evaluate
    from discreet.evaluation.regression.result import RegressionEvaluation as RegressionEvaluation
    from discreet.explain import dataflow as dataflow
    from discreet.explain.aggregate.plan import any_curve as any_curve
    from discreet.explain.aggregate.plan import any_ranking as any_ranking
    from discreet.explain.ale.plan import accumulated_effects as accumulated_effects
    from discreet.explain.compare.plan import compare as compare
    from discreet.explain.interaction.plan import feature_interaction as feature_interaction
    from discreet.explain.pdp.plan import partial_dependence as partial_dependence
    from discreet.explain.permutation.plan import permutation_importance as permutation_importance
    from discreet.explain.shap.background import Background as Background
    from discreet.explain.shap.background import background as background
    from discreet.explain.shap.baselines import shap_baseline as shap_baseline
    from discreet.explain.shap.dependence import shap_dependence as shap_dependence
    from discreet.explain.shap.importance import shap_importance as shap_importance
    from discreet.explain.shap.ranking import shap_ranking as shap_ranking
    from discreet.explain.shap.values import shap_values as shap_values
    from discreet.fitting.plan import fit as fit
    from discreet.ledger import Ledger as Ledger
    from discreet.models import Model as Model
    from discreet.models.apart import Limits as Limits
    from discreet.models.apart import ModelApart as ModelApart
    from discreet.plans import Attribution as Attribution
    from discreet.plans import Curve as Curve
    from discreet.plans import Diagnosis as Diagnosis
    from discreet.plans import Histogram as Histogram
    from discreet.plans import Plan as Plan
    from discreet.plans import Ranking as Ranking
    from discreet.plans import Surface as Surface
    from discreet.plans.registry import describe_plans as describe_plans
    from discreet.plans.registry import plan_from_json as plan_from_json
    from discreet.plans.results.choice import Choice as Choice
    from discreet.plans.results.choice import Quantiles as Quantiles
    from discreet.plans.results.distribution import Distribution as Distribution
    from discreet.plans.results.drift import Drift as Drift
    from discreet.plans.results.groups import Groups as Groups
    from discreet.plans.results.matrix import Coefficients as Coefficients
    from discreet.plans.results.matrix import Matrix as Matrix
    from discreet.plans.results.range_histogram import RangeHistogram as RangeHistogram
    from discreet.plans.results.result import MeanCurve as MeanCurve
    from discreet.plans.results.scalar import Scalar as Scalar
    from discreet.plans.results.statistic import Statistic as Statistic
    from discreet.plans.results.synthetic_rows import DeniableRows as DeniableRows
    from discreet.plans.results.synthetic_rows import SyntheticRows as SyntheticRows
    from discreet.plans.results.valuation import RecordRanking as RecordRanking
    from discreet.plans.results.valuation import Valuation as Valuation
    from discreet.privacy.certificate import Certificate as Certificate
    from discreet.privacy.guarantee import Guarantee as Guarantee
    from discreet.reporting import report as report
    from discreet.schema import Boolean as Boolean
    from discreet.schema import Category as Category
    from discreet.schema import Date as Date
    from discreet.schema import Level as Level
    from discreet.schema import Number as Number
    from discreet.schema import Schema as Schema
    from discreet.schema import col as col
    from discreet.select.choose.most_frequent import most_frequent as most_frequent
    from discreet.select.choose.plan import choose as choose
    from discreet.select.quantiles.percentile import percentile as percentile
    from discreet.select.quantiles.plan import quantiles as quantiles
    from discreet.session import Release as Release
    from discreet.session import Session as Session
    from discreet.session import protect as protect
    from discreet.statistics.cdf import cdf as cdf
    from discreet.statistics.count import count as count
    from discreet.statistics.covariance import correlation as correlation
    from discreet.statistics.covariance import covariance as covariance
    from discreet.statistics.mean import mean as mean
    from discreet.statistics.mean import total as total
    from discreet.statistics.proportion import proportion as proportion
    from discreet.statistics.regression import linear_regression as linear_regression
    from discreet.statistics.variance import std as std
    from discreet.statistics.variance import variance as variance
    from discreet.tables.drift.plan import drift as drift
    from discreet.tables.entropy.plan import entropy as entropy
    from discreet.tables.entropy.plan import mutual_information as mutual_information
    from discreet.tables.functional.plan import functional_mean as functional_mean
    from discreet.tables.histogram.plan import histogram as histogram
    from discreet.tables.synthesis.plan import deniable_rows as deniable_rows
    from discreet.tables.synthesis.plan import synthesize as synthesize
    from discreet.tables.synthesis.quality import compare_tables as compare_tables
    from discreet.trees.forest import random_forest as random_forest
    from discreet.trees.plan import decision_tree as decision_tree
    from discreet.trees.result import DecisionTree as DecisionTree
    from discreet.trees.result import RandomForest as RandomForest
    from discreet.value.plan import data_shapley as data_shapley
    from discreet.value.private_layered import Coreset as Coreset
    from discreet.value.private_neighbours import NeighbourCounts as NeighbourCounts
    from discreet.value.sources.plan import source_values as source_values
    from discreet.value.sources.result import SourceValues as SourceValues


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        # With both, Python asks "Did you mean ...?".
        message = f"module 'discreet' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    module = importlib.import_module(_HOMES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
