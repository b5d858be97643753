"""One cheap question of every plan, on a small schema of loans, for hunts that anybody can repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet import samples
from discreet.additive.plan import additive_model
from discreet.evaluation.card.plan import model_card
from discreet.evaluation.plan import evaluate
from discreet.explain.aggregate.plan import any_curve, any_ranking
from discreet.explain.ale.plan import accumulated_effects
from discreet.explain.compare.plan import compare
from discreet.explain.interaction.plan import feature_interaction
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.permutation.plan import permutation_importance
from discreet.explain.shap.background import background
from discreet.explain.shap.baselines import shap_baseline
from discreet.explain.shap.dependence import shap_dependence
from discreet.explain.shap.importance import shap_importance
from discreet.explain.shap.ranking import shap_ranking
from discreet.explain.shap.values import shap_values
from discreet.fitting.plan import fit
from discreet.models.model import Model
from discreet.plans import Histogram, Plan
from discreet.privacy.relation import RELATIONS, REPLACE_ONE, Relation
from discreet.schema import Category, FloatArray, Number, Schema
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.choose.plan import choose
from discreet.select.quantiles.percentile import percentile
from discreet.select.quantiles.plan import quantiles
from discreet.statistics.cdf import cdf
from discreet.statistics.count import count
from discreet.statistics.covariance import correlation, covariance
from discreet.statistics.mean import mean, total
from discreet.statistics.proportion import proportion
from discreet.statistics.regression import linear_regression
from discreet.statistics.variance import std, variance
from discreet.tables.drift.plan import drift
from discreet.tables.entropy.plan import entropy, mutual_information
from discreet.tables.functional.plan import functional_mean
from discreet.tables.histogram.plan import histogram
from discreet.tables.synthesis.plan import deniable_rows, synthesize
from discreet.trees.forest import random_forest
from discreet.trees.plan import decision_tree
from discreet.value.plan import data_shapley
from discreet.value.sources.plan import source_values

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["linear", "trees", "network", "opaque"]
HUNTED_FORMS: tuple[Form, ...] = ("linear", "trees", "opaque")
"""Of the models that a plan is asked of: the engines of networks are those of linear models."""

SCHEMA = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "income": Number(0, 200_000, missing=False),
        "late_payments": Number(0, 12, step=1, missing=False),
        "home": Category(*samples.HOMES, missing=False, other=False),
        "defaulted": Category(0, 1, missing=False, other=False),
    },
    target="defaulted",
)
_TRAINED = 400
_SCORED = 12


@dataclass(frozen=True)
class Question:
    """A question about loans.

    Args:
      plan: its name in ``discreet.PLANS``.
      ask: makes the plan, of a model or of None.
      forms: of the models it is asked of; none if it takes no model.
      relations: under which it can be answered.
      rows: of the tables.
      also: the same plan with other promises or columns, hunted besides.
    """

    plan: str
    ask: Callable[[Any], Plan]
    forms: tuple[Form, ...] = ()
    relations: tuple[Relation, ...] = RELATIONS
    rows: int = 48
    also: tuple[Callable[[Any], Plan], ...] = ()


@cache
def loans(rows: int) -> pd.DataFrame:
    """Return example loans with the columns of the schema."""
    return samples.loans(rows)[list(SCHEMA)]


def encoded(frame: pd.DataFrame) -> FloatArray:
    """Return the features as a model gets them."""
    return np.column_stack([SCHEMA[name].encode(frame[name].to_numpy()) for name in SCHEMA.features])


@cache
def model_of(form: Form) -> Model:
    """Return a model of a form, fitted to example loans once."""
    if form == "opaque":
        return Model(_smooth_score, bounds=(0, 1), name="smooth score of loans")
    train = loans(_TRAINED)
    return Model(_estimator(form).fit(encoded(train), train["defaulted"].to_numpy()))


def _estimator(form: Form) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if form == "trees":
        return RandomForestClassifier(4, max_depth=3, random_state=0)
    small = MLPClassifier((6,), solver="lbfgs", max_iter=2_000, random_state=0)
    return make_pipeline(StandardScaler(), LogisticRegression() if form == "linear" else small)


def _smooth_score(given: FloatArray) -> FloatArray:
    """Return a function of rows that no form knows."""
    age, income, late, home = given.T
    return np.asarray(
        0.5 + 0.4 * np.sin(income / 40_000) * np.cos(late / 3) - 0.001 * age * (home == 1)
    )


def _mean_line(frame: pd.DataFrame) -> FloatArray:
    return np.linspace(0, 1, 4) * float(frame["defaulted"].to_numpy(dtype=np.float64).mean())


def _spread_scores(frame: pd.DataFrame) -> dict[str, float]:
    widths = {"age": 72, "income": 200_000, "late_payments": 12}
    return {name: float(frame[name].to_numpy(dtype=np.float64).std()) / w for name, w in widths.items()}


def _right_by_row(block: Any, cuts: Any) -> FloatArray:
    right = [(block["income"] < cut) == (block["defaulted"] == 1) for cut in cuts]
    return np.stack(right, axis=1).astype(np.float64)


def _query() -> pd.DataFrame:
    return loans(1)[list(SCHEMA.features)]


def _public_rows() -> pd.DataFrame:
    return loans(6)[list(SCHEMA.features)]


def _valued(_: Any) -> Plan:
    from sklearn.linear_model import LogisticRegression

    refitted = LogisticRegression(solver="liblinear")
    return data_shapley(refitted, test=loans(_SCORED), records=[0, 5], rounds=1, n_jobs=1, epsilon=1.0)


def questions() -> list[Question]:
    """Return one question of every plan."""
    return [*_of_models(), *_of_shap(), *_of_tables(), *_of_choices()]


def _of_models() -> list[Question]:
    def evaluation(model: Any) -> Plan:
        return evaluate(model, by="home", bins=4, epsilon=1.0)

    def interaction(model: Any) -> Plan:
        return feature_interaction(model, subsets=8, points=4, epsilon=1.0)

    def permutation(model: Any) -> Plan:
        return permutation_importance(model, repeats=2, sampling="marginal", epsilon=1.0)

    def effects(model: Any) -> Plan:
        return accumulated_effects(model, "income", intervals=4, epsilon=1.0)

    def dependence(model: Any) -> Plan:
        return partial_dependence(model, "income", resolution=4, epsilon=1.0)

    def card(model: Any) -> Plan:
        return model_card(model, by="home", curves=1, epsilon=1.0)

    def comparison(model: Any) -> Plan:
        return compare(model, model_of("linear"), feature="income", resolution=3, epsilon=1.0)

    return [
        Question("accumulated_effects", effects, HUNTED_FORMS),
        Question("compare", comparison, ("trees", "network")),
        Question("evaluate", evaluation, HUNTED_FORMS),
        Question("model_card", card, ("trees", "opaque")),
        Question("feature_interaction", interaction, HUNTED_FORMS),
        Question("partial_dependence", dependence, HUNTED_FORMS),
        Question("permutation_importance", permutation, HUNTED_FORMS),
    ]


def _of_shap() -> list[Question]:
    def baseline(model: Any) -> Plan:
        return shap_baseline(
            model, _query(), clip=1.0, coalitions=8, resamples=2, epsilon=1.0, delta=1e-5
        )

    def binned(model: Any) -> Plan:
        return shap_dependence(model, "income", background=_public_rows(), bins=3, epsilon=1.0)

    def importance(model: Any) -> Plan:
        return shap_importance(model, background=_public_rows(), epsilon=1.0)

    def ranking(model: Any) -> Plan:
        return shap_ranking(model, _query(), epsilon=1.0)

    def values(model: Any) -> Plan:
        return shap_values(model, _query(), epsilon=1.0)

    def mean(_: Any) -> Plan:
        return background("mean", rows=3, epsilon=1.0)

    return [
        Question("background", mean),
        Question("shap_baseline", baseline, ("linear", "opaque"), (REPLACE_ONE,)),
        Question("shap_dependence", binned, HUNTED_FORMS),
        Question("shap_importance", importance, HUNTED_FORMS),
        Question("shap_ranking", ranking, HUNTED_FORMS),
        Question("shap_values", values, HUNTED_FORMS),
    ]


def _of_tables() -> list[Question]:
    names = ["income", "late_payments", "age"]
    return [
        Question("any_curve", lambda _: _any_curve(), rows=4),
        Question("any_ranking", lambda _: _any_ranking(), rows=8),
        Question("additive_model", lambda _: additive_model("defaulted", bins=4, epsilon=1.0)),
        Question("decision_tree", lambda _: decision_tree("defaulted", depth=2, epsilon=1.0)),
        Question(
            "deniable_rows",
            lambda _: deniable_rows(6, bins=3, epsilon=3.0, delta=1e-2),
            relations=(REPLACE_ONE,),
        ),
        Question("drift", lambda _: drift(_reference(), epsilon=1.0)),
        Question("entropy", lambda _: entropy("home", method="direct", epsilon=1.0)),
        Question(
            "fit",
            lambda _: fit("defaulted", choose="held-out", epsilon=1.0),
            also=(
                lambda _: fit("defaulted", choose="held-out", epsilon=1.0, delta=1e-5),
                lambda _: fit("home", choose="held-out", epsilon=1.0, delta=1e-5),
            ),
        ),
        Question("functional_mean", lambda _: functional_mean(names, epsilon=1.0, delta=1e-5)),
        Question("histogram", lambda _: histogram("income", bins=6, epsilon=1.0)),
        Question("mutual_information", lambda _: mutual_information("home", "defaulted", epsilon=1.0)),
        Question("source_values", lambda _: source_values("home", test=loans(_SCORED), epsilon=1.0)),
        Question("random_forest", lambda _: random_forest("defaulted", depth=2, trees=3, epsilon=1.0)),
        Question("synthesize", lambda _: synthesize(5, bins=3, epsilon=1.0)),
    ]


def _reference() -> Histogram:
    """Return counts of another table, as they were released."""
    cells = SCHEMA["home"].bins(1)
    counts = tuple(10.0 + place for place in range(len(cells)))
    return Histogram(("home",), (cells.labels,), (None,), counts, 1.0, 3.0, 0.95)


def _any_curve() -> Plan:
    return any_curve(_mean_line, grid=[0, 1, 2, 3], bounds=(0, 1), subsets=4, name="line", epsilon=1.0)


def _any_ranking() -> Plan:
    items = ["age", "income", "late_payments"]
    return any_ranking(_spread_scores, items=items, subsets=4, name="spread", epsilon=1.0)


def _of_choices() -> list[Question]:
    cuts = [20_000, 60_000, 120_000]
    return [
        Question(
            "choose",
            lambda _: choose(
                _right_by_row, cuts, columns=["income", "defaulted"], name="rule", epsilon=1.0
            ),
        ),
        *_of_statistics(),
        Question("data_shapley", _valued, relations=(REPLACE_ONE,), rows=16),
        Question("most_frequent", lambda _: most_frequent("home", epsilon=1.0)),
        Question("percentile", lambda _: percentile("age", 50, epsilon=1.0)),
        Question("quantiles", lambda _: quantiles("age", [0.25, 0.5, 0.9], epsilon=1.0)),
    ]


def _of_statistics() -> list[Question]:
    return [
        Question("count", lambda _: count(where="age >= 40", epsilon=1.0)),
        Question("cdf", lambda _: cdf("age", epsilon=1.0)),
        Question("correlation", lambda _: correlation(["age", "income"], epsilon=1.0)),
        Question("covariance", lambda _: covariance(["age", "income"], epsilon=1.0)),
        Question(
            "linear_regression", lambda _: linear_regression("income", ["age"], epsilon=1.0, delta=1e-5)
        ),
        Question("mean", lambda _: mean("income", epsilon=1.0)),
        Question("proportion", lambda _: proportion("home", "rent", epsilon=1.0)),
        Question("std", lambda _: std("income", epsilon=1.0)),
        Question("total", lambda _: total("income", epsilon=1.0)),
        Question("variance", lambda _: variance("income", epsilon=1_000.0)),
    ]
