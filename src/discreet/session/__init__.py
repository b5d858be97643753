"""The one door from plans to rows: ``protect`` and ``Session``; and releases of every family.

Families with results of their own are imported here, so that ``Release.load`` knows them.
"""

from discreet.additive.released.result import AdditiveModel as _AdditiveModel  # noqa: F401
from discreet.evaluation.binary.result import BinaryEvaluation as _BinaryEvaluation  # noqa: F401
from discreet.evaluation.card.result import ModelCard as _ModelCard  # noqa: F401
from discreet.evaluation.classes.result import ClassEvaluation as _ClassEvaluation  # noqa: F401
from discreet.evaluation.regression.result import (  # noqa: F401
    RegressionEvaluation as _RegressionEvaluation,
)
from discreet.explain.shap.background import Background as _Background  # noqa: F401
from discreet.plans import Release
from discreet.plans.results.choice import Choice as _Choice  # noqa: F401
from discreet.plans.results.distribution import Distribution as _Distribution  # noqa: F401
from discreet.plans.results.drift import Drift as _Drift  # noqa: F401
from discreet.plans.results.matrix import Matrix as _Matrix  # noqa: F401
from discreet.plans.results.range_histogram import RangeHistogram as _RangeHistogram  # noqa: F401
from discreet.plans.results.statistic import Statistic as _Statistic  # noqa: F401
from discreet.plans.results.synthetic_rows import SyntheticRows as _SyntheticRows  # noqa: F401
from discreet.plans.results.valuation import Valuation as _Valuation  # noqa: F401
from discreet.session.opening import protect
from discreet.session.price import PlanPrice, Price, Remaining
from discreet.session.session import Session
from discreet.trees.result import RandomForest as _RandomForest  # noqa: F401
from discreet.value.private_neighbours import NeighbourCounts as _NeighbourCounts  # noqa: F401
from discreet.value.sources.result import SourceValues as _SourceValues  # noqa: F401

__all__ = ["PlanPrice", "Price", "Release", "Remaining", "Session", "protect"]
