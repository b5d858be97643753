"""SHAP importance: bounds over all neighbours, and the mean of absolute values below the noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.engines.shapley.coalitions import all_masks
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import ArgumentError
from discreet.plans import Setting
from tests.explain.shap.cases import TINY, TINY_ROWS, keeps, tiny_models
from tests.laws.examples import Example
from tests.laws.world import FORMS, public_rows

D = 4
SCHEMA = dc.Schema({f"f{i}": dc.Number(-4, 4, missing=False) for i in range(D)})
MODELS = tiny_models()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("clip", [None, "auto", 0.2])
@pytest.mark.parametrize("name", list(MODELS))
def test_no_neighbour_moves_the_sum_further(name: str, clip: object, relation: str) -> None:
    plan = dc.shap_importance(MODELS[name], background=np.array(TINY_ROWS[:3]), clip=clip, epsilon=1.0)
    setting = Setting(TINY, relation, 2 if relation == "replace-one" else None)
    assert keeps(plan.prepare(setting).stages[0], relation)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_without_noise_it_is_the_mean_absolute_value(kind: str, relation: str) -> None:
    values, labels = make_classification(300, D, n_informative=3, n_redundant=0, random_state=0)
    rows = np.clip(values, -4, 4)
    frame = pd.DataFrame(rows, columns=list(SCHEMA))
    model = LogisticRegression() if kind == "logistic" else RandomForestClassifier(5, max_depth=3)
    model = dc.Model(model.fit(rows, labels))
    session = dc.protect(
        frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, relation=relation, seed=0
    )
    plan = dc.shap_importance(model, background=rows[:20], clip=None, epsilon=1e5)
    value = session.release(plan).value
    exact = kernel_values(model.bind(SCHEMA).predict, rows, rows[:20], all_masks(D))
    exact = np.abs(exact).mean(axis=0)
    assert value.to_array()[0] == pytest.approx(exact, abs=3e-3)
    assert value.base_values is None and value.quantity.startswith("mean |SHAP value|")
    assert value.plot().ax_ is not None
    with pytest.raises(ArgumentError, match="waterfall must have a prediction"):
        value.plot_waterfall()


def test_the_table_is_not_its_own_background() -> None:
    with pytest.raises(ArgumentError, match="background must be public rows"):
        dc.shap_importance(MODELS["logistic"], background=None, epsilon=1.0)


EXAMPLES = [
    Example(
        "shap_importance",
        lambda model: dc.shap_importance(model, background=public_rows(), epsilon=1.0),
        FORMS,
    ),
    Example(
        "shap_importance",
        lambda model: dc.shap_importance(
            model,
            background=public_rows(),
            clip=None,
            coalitions=8,
            mechanism="gaussian",
            epsilon=1.0,
            delta=1e-5,
        ),
        ("trees", "opaque"),
    ),
]
