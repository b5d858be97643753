"""Networks with one hidden layer are recognised if they are what they seem and agree on public rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.models import LinearForm, Model, NetworkForm, network_form

SCHEMA = dc.Schema({name: dc.Number(-3, 3, missing=False) for name in ("a", "b", "c")})
ROWS = SCHEMA.draw(200)


def fitted(scaled: bool = True, **options: Any) -> Any:
    network = MLPClassifier((6,), max_iter=30, random_state=0, **options)
    whole = make_pipeline(StandardScaler(), network) if scaled else network
    with warnings.catch_warnings(action="ignore"):  # not converged: neither needed nor wanted here
        return whole.fit(ROWS, ROWS[:, 0] * ROWS[:, 1] > 0)


@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu", "identity"])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_a_bound_network_has_its_form(activation: str, scaled: bool, place: int) -> None:
    network = fitted(scaled, activation=activation)
    form = Model(network, class_=network.classes_[place]).bind(SCHEMA).form
    assert isinstance(form, NetworkForm) and form.kind == "network"
    answers = network.predict_proba(ROWS)[:, place]
    np.testing.assert_allclose(form.predict(ROWS), answers, rtol=1e-12, atol=1e-14)


def test_an_overridden_network_or_scaler_is_no_network() -> None:
    for part in (0, 1):
        network = fitted()
        step = network.steps[part][1]
        step.transform = step.predict_proba = lambda rows: rows
        assert network_form(network, "probability") is None
    network = fitted(scaled=False)
    network.predict_proba = lambda rows: np.full((len(rows), 2), 0.5)
    assert network_form(network, "probability") is None


def test_weights_of_another_kind_are_not_read() -> None:
    network = fitted(scaled=False)
    network.coefs_[0] = np.ma.masked_array(network.coefs_[0])
    assert network_form(network, "probability") is None


def test_a_form_that_disagrees_on_public_rows_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    network = fitted()
    assert Model(network).bind(SCHEMA).form is not None
    monkeypatch.setattr(MLPClassifier, "predict_proba", lambda self, rows: np.full((len(rows), 2), 0.5))
    assert Model(network).bind(SCHEMA).form is None


def test_a_linear_model_is_a_network_of_one_unit() -> None:
    for logistic in (True, False):
        linear = LinearForm(np.array([1.0, -2.0, 0.5]), 0.25, logistic)
        network = NetworkForm.of_linear(linear)
        np.testing.assert_allclose(network.predict(ROWS), linear.predict(ROWS), rtol=1e-13)


def test_a_regressor_has_a_form_too() -> None:
    with warnings.catch_warnings(action="ignore"):
        network = MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0).fit(
            ROWS, ROWS[:, 0]
        )
    form = Model(network, bounds=(-3, 3)).bind(SCHEMA).form
    assert isinstance(form, NetworkForm)
    np.testing.assert_allclose(form.predict(ROWS), network.predict(ROWS), rtol=1e-12, atol=1e-14)
