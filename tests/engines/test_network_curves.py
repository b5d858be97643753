"""Networks over a grid and around their own values: the network's own answers, row by row."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.engines.curves import NetworkCurves, NetworkSteps, cells_of
from discreet.engines.table import ENGINES, engine_for
from discreet.errors import ModelError
from discreet.models import NetworkForm, network_form
from discreet.plans import Setting
from discreet.privacy.certificate import Box

ACTIVATIONS = ["tanh", "logistic", "relu", "identity"]
WIDE = Box(-1e9, 1e9)
NAMES = list("abcde")
SCHEMA = dc.Schema({name: dc.Number(-3, 3, missing=False) for name in NAMES})


@cache
def table() -> np.ndarray:
    """Return rows among which some drive every unit to the ends of the range of exponentials."""
    rows = np.random.default_rng(0).normal(size=(300, 5))
    rows[::7] *= 1e3
    return np.asfortranarray(rows)


@cache
def fitted(activation: str, classifier: bool = False) -> Any:
    rows = np.random.default_rng(1).normal(size=(200, 5))
    kind = MLPClassifier if classifier else MLPRegressor
    network = kind(hidden_layer_sizes=(7,), activation=activation, max_iter=20, random_state=0)
    truth = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2])
    with warnings.catch_warnings(action="ignore"):  # not converged: neither needed nor wanted here
        return make_pipeline(StandardScaler(), network).fit(rows, truth > 0 if classifier else truth)


def form_of(activation: str, classifier: bool = False) -> NetworkForm:
    form = network_form(fitted(activation, classifier), "probability" if classifier else "value")
    assert form is not None
    return form


def by_prediction(
    network: Any, rows: np.ndarray, places: list[int], cells: np.ndarray, classifier: bool
) -> np.ndarray:
    answers = []
    for cell in cells:
        changed = rows.copy()
        changed[:, places] = cell
        said = network.predict_proba(changed)[:, 1] if classifier else network.predict(changed)
        answers.append(said)
    return np.column_stack(answers)


@pytest.mark.proves("network-grid")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("places", [[1], [2, 0]])
def test_equals_the_network_at_every_point(
    activation: str, classifier: bool, places: list[int]
) -> None:
    rows, grids = table()[:60], [np.linspace(-3, 3, 5), np.array([-1e4, 0.5, 1e4])][: len(places)]
    curves = NetworkCurves(form_of(activation, classifier), places, grids).predict(rows)
    expected = by_prediction(fitted(activation, classifier), rows, places, cells_of(grids), classifier)
    np.testing.assert_allclose(curves, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.proves("network-grid")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classifier", [False, True])
def test_equals_the_network_around_own_values(activation: str, classifier: bool) -> None:
    rows, form = table(), form_of(activation, classifier)
    values = [rows[:, 3] - 0.5, rows[:, 3], rows[:, 3] + 40.0]
    found = NetworkSteps(form, WIDE, 3).predict(rows, values)
    for value, answers in zip(values, found, strict=True):
        expected = by_prediction(
            fitted(activation, classifier), rows, [3], [value[:, None]], classifier
        )
        np.testing.assert_allclose(answers, expected[:, 0], rtol=1e-9, atol=1e-9)


def depends_on_its_row_alone(predict: Any) -> bool:
    """Say whether rows alone, in blocks and in another order have the same answers, bit for bit."""
    rows = table()
    together = predict(rows)
    turned = predict(np.asfortranarray(rows[::-1]))[::-1]
    cuts = [0, 1, 2, 9, 127, 128, 129, 260, 300]
    blocks = [predict(rows[a:b]) for a, b in pairwise(cuts)]
    alone = [predict(rows[i : i + 1]) for i in range(len(rows))]
    return all(np.array_equal(together, o) for o in (turned, np.vstack(blocks), np.vstack(alone)))


@pytest.mark.proves("network-grid")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classifier", [False, True])
def test_answers_depend_on_their_own_row_alone(activation: str, classifier: bool) -> None:
    form = form_of(activation, classifier)
    for places in ([1], [0, 4]):
        grids = [np.linspace(-2, 2, 7)] * len(places)
        assert depends_on_its_row_alone(NetworkCurves(form, places, grids).predict)
    steps = NetworkSteps(form, WIDE, 3)
    assert depends_on_its_row_alone(lambda r: steps.predict(r, (r[:, 3] - 1, r[:, 3] / 3)).T)


@pytest.mark.refutes("network-grid")
def test_a_forgotten_feature_is_caught() -> None:
    class Forgets(NetworkCurves):
        def predict(self, rows: np.ndarray) -> np.ndarray:
            return super().predict(np.where(np.arange(5) == 3, 0.0, rows))

    rows, grids = table()[:60], [np.linspace(-3, 3, 5)]
    planted = Forgets(form_of("tanh"), [1], grids).predict(rows)
    expected = by_prediction(fitted("tanh"), rows, [1], cells_of(grids), False)
    assert np.abs(planted - expected).max() > 1e-3


@pytest.mark.refutes("network-grid")
def test_a_number_shared_by_rows_is_caught() -> None:
    class Centred(NetworkCurves):
        def predict(self, rows: np.ndarray) -> np.ndarray:
            return super().predict((rows - rows.mean(axis=0)) + rows.mean(axis=0))

    grids = [np.linspace(-2, 2, 7)]
    assert not depends_on_its_row_alone(Centred(form_of("tanh"), [1], grids).predict)


def test_what_is_missing_is_the_middle_unless_it_is_set() -> None:
    rows = np.full((2, 5), 0.5)
    rows[0, 1], rows[1, 2] = np.nan, np.nan
    for activation in ACTIVATIONS:
        curves = NetworkCurves(form_of(activation), [1], [np.linspace(0, 1, 3)]).predict(rows)
        assert np.isnan(curves).tolist() == [[False] * 3, [True] * 3]
        answers = NetworkSteps(form_of(activation), Box(-1.0, 3.0), 1).predict(rows, [np.zeros(2)])
        assert answers[0, 1] == 1.0 and abs(answers[0, 0] - curves[0, 0]) < 1e-12


def test_rows_of_another_width_are_refused() -> None:
    curves = NetworkCurves(form_of("relu"), [1], [np.linspace(-2, 2, 5)])
    with pytest.raises(ModelError, match="rows must have 5 columns, got shape"):
        curves.predict(table()[:, :4])


@pytest.mark.proves("network-grid")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("isolated", [False, True])
def test_nothing_is_called_and_nothing_is_paid_for_batches(relation: str, isolated: bool) -> None:
    model = dc.Model(fitted("tanh", True), isolated=isolated)
    bound = model.bind(SCHEMA)
    assert engine_for("curve", bound, [1], [np.linspace(-3, 3, 4)]).third_party is None
    assert engine_for("steps", bound, 1).third_party is None
    setting = Setting(SCHEMA, relation, 5_000 if relation == "replace-one" else None)
    for plan in (dc.partial_dependence, dc.accumulated_effects):
        for stage in plan(model, "b", epsilon=1.0).prepare(setting).stages:
            assert stage.contribution.certificate.grade == "proven"


def test_every_question_has_an_engine_for_models_of_no_form() -> None:
    forms = {"linear", "trees", "network", "opaque"}
    assert set(ENGINES) == {"predict", "curve", "steps", "permute", "interact", "shapley"}
    assert all("opaque" in makers and set(makers) <= forms for makers in ENGINES.values())
