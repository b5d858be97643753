"""What ``discreet demo`` asks: the questions on example loans, one function per family.

A new family joins the demo with one function here and one line in ``ask_all``.
"""

from __future__ import annotations

from typing import Any

from discreet.additive.plan import additive_model
from discreet.evaluation.card.plan import model_card
from discreet.explain.ale.plan import accumulated_effects
from discreet.explain.compare.plan import compare
from discreet.explain.interaction.plan import feature_interaction
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.permutation.plan import permutation_importance
from discreet.explain.shap.background import background as background_plan
from discreet.explain.shap.importance import shap_importance
from discreet.explain.shap.ranking import shap_ranking
from discreet.explain.shap.values import shap_values
from discreet.plans import Release
from discreet.samples import loans
from discreet.schema import col
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.quantiles.plan import quantiles
from discreet.session import Session
from discreet.statistics.covariance import correlation
from discreet.statistics.mean import mean
from discreet.tables.entropy.plan import entropy
from discreet.tables.histogram.plan import histogram
from discreet.tables.synthesis.plan import synthesize
from discreet.trees.forest import random_forest
from discreet.trees.plan import decision_tree
from discreet.value.plan import data_shapley

NUMBERS = ("age", "income", "loan", "credit_score", "years_employed", "late_payments")
APPLICANT = {
    "age": 31,
    "income": 28_000,
    "loan": 24_000,
    "credit_score": 560,
    "years_employed": 2,
    "late_payments": 3,
}


def ask_all(session: Session, model: Any, forest: Any) -> list[Release]:
    """Return every release of the demo."""
    return [
        *count(session),
        *sum_up(session),
        *judge(session, forest, model),
        *draw_curves(session, model),
        *explain_applicant(session, forest),
        *explain_forest(session, forest),
        *choose(session),
        *describe(session),
        *train(session),
        *appraise(session),
    ]


def count(session: Session) -> list[Release]:
    """Count records: 0.2 of the budget."""
    return session.release(
        [
            histogram("credit_score", bins=22, epsilon=0.1),
            histogram(["home", "purpose"], epsilon=0.1),
        ]
    )


def sum_up(session: Session) -> list[Release]:
    """Sum up columns, for all records and for some: 0.3."""
    return session.release(
        [
            mean("income", by="home", epsilon=0.1),
            mean("loan", where=col("age") < 30, epsilon=0.1),
            correlation(["age", "income", "loan", "credit_score"], epsilon=0.1),
        ]
    )


def judge(session: Session, forest: Any, model: Any) -> list[Release]:
    """Tell how good a forest is and for whom, and if a boosted one is better: 1.6."""
    plans = [model_card(forest, by="home", epsilon=1.5), compare(forest, model, epsilon=0.1)]
    return session.release(plans)


def draw_curves(session: Session, model: Any) -> list[Release]:
    """Draw how a boosted model moves with its features, one by one and two together: 1.0."""
    curves = [("credit_score", True), ("income", True), ("late_payments", False), ("home", False)]
    plans = [partial_dependence(model, name, epsilon=0.2, smooth=smooth) for name, smooth in curves]
    return session.release(
        [*plans, partial_dependence(model, ("credit_score", "late_payments"), epsilon=0.2)]
    )


def explain_applicant(session: Session, forest: Any) -> list[Release]:
    """Explain a forest's answer for one applicant: 0.4."""
    applicant = {name: APPLICANT[name] for name in NUMBERS}
    return session.release(
        [
            shap_ranking(forest, applicant, k=3, mechanism="laplace", epsilon=0.2),
            shap_values(forest, applicant, epsilon=0.2, delta=1e-7),
        ]
    )


def explain_forest(session: Session, forest: Any) -> list[Release]:
    """Explain a forest on all records: 1.4."""
    background = session.release(background_plan(epsilon=0.2))
    plans = [
        shap_importance(forest, background=background, epsilon=0.2),
        accumulated_effects(forest, "credit_score", intervals=10, epsilon=0.3),
        permutation_importance(forest, release="ranking", k=3, epsilon=0.1),
        feature_interaction(forest, k=2, epsilon=0.6),
    ]
    return [background, *session.release(plans)]


def choose(session: Session) -> list[Release]:
    """Pick from public candidates: 0.3."""
    return session.release(
        [
            most_frequent("purpose", epsilon=0.1),
            quantiles("income", [0.05, 0.25, 0.5, 0.75, 0.95], epsilon=0.2),
        ]
    )


def describe(session: Session) -> list[Release]:
    """Describe the table itself: 1.1."""
    return session.release(
        [entropy("purpose", given="home", epsilon=0.1), synthesize(500, epsilon=1.0)]
    )


def train(session: Session) -> list[Release]:
    """Train a tree, a forest and an additive model, and explain the forest on the same records: 1.4."""
    tree, forest, additive = session.release(
        [
            decision_tree("defaulted", depth=3, epsilon=0.5),
            random_forest("defaulted", epsilon=0.5),
            additive_model("defaulted", epsilon=0.2, delta=1e-7),
        ]
    )
    explained = session.release(partial_dependence(forest.value, "credit_score", epsilon=0.2))
    return [tree, forest, additive, explained]


def appraise(session: Session) -> list[Release]:
    """Count the records near public ones, from which every owner finds the value of a record: 0.3."""
    test = loans(100, seed=7)
    return [session.release(data_shapley(test=test, method="tknn", epsilon=0.3, delta=1e-7))]


def train_model() -> Any:
    """Return a boosted model of defaults, trained on loans that are not the protected ones."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    train = loans(5_000, seed=1)
    encode = make_column_transformer((OrdinalEncoder(), ["home", "purpose"]), remainder="passthrough")
    model = make_pipeline(
        encode, HistGradientBoostingClassifier(max_depth=3, max_iter=40, random_state=0)
    )
    return model.fit(train.drop(columns="defaulted"), train["defaulted"])


def train_forest() -> Any:
    """Return a forest of defaults on the numeric columns, trained on loans that are not protected."""
    from sklearn.ensemble import RandomForestClassifier

    train = loans(5_000, seed=1)
    forest = RandomForestClassifier(100, max_depth=4, random_state=0)
    return forest.fit(train[list(NUMBERS)], train["defaulted"])
