"""Shapes, importances and SHAP values of a released additive model: exact, and free."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive.released.attributions import base_margins, term_values, term_weights
from discreet.additive.released.result import AdditiveModel
from discreet.additive.released.shapes import ShapeFunction
from discreet.errors import ArgumentError
from discreet.plans import Result
from tests.additive.hand import FEATURES, model, rows


def brute_force(made: AdditiveModel, row: pd.DataFrame, margin: int) -> np.ndarray:
    """Return Shapley values by all coalitions, the absent features drawn from released margins.

    Every term has bins of its own: its mean is taken over the bins of absent columns, by its counts.
    """
    encoded = made.encode(row)
    players = len(FEATURES)

    def value(coalition: frozenset[int]) -> float:
        total = made.intercept[margin]
        for term in made.terms:
            own = made.cells(term, encoded)[0]
            place = np.unravel_index(own, term.shape)
            table, weights = term.table[margin].reshape(term.shape), term_weights(term)
            for cell in itertools.product(*map(range, term.shape)):
                share = 1.0
                for axis, name in enumerate(term.columns):
                    if FEATURES.index(name) in coalition:
                        share *= cell[axis] == place[axis]
                    else:
                        share *= weights[axis][cell[axis]]
                total += share * table[cell]
        return total

    found = np.zeros(players)
    for player in range(players):
        others = [p for p in range(players) if p != player]
        for size in range(players):
            weight = 1 / (players * math.comb(players - 1, size))
            for chosen in itertools.combinations(others, size):
                with_it = value(frozenset((*chosen, player)))
                found[player] += weight * (with_it - value(frozenset(chosen)))
    return found


@pytest.mark.parametrize(("classes", "class_"), [(2, None), (0, None), (3, "c")])
def test_shap_values_are_those_of_all_coalitions(classes: int, class_: Any) -> None:
    made, queries = model(classes), rows(12)
    margin = made.margin_of(class_)
    found = made.shap_values(queries, class_=class_)
    for place in range(len(queries)):
        exact = brute_force(made, queries.iloc[[place]], margin)
        np.testing.assert_allclose(found.to_array()[place], exact, atol=1e-12)
    total = found.to_array().sum(axis=1) + np.array(found.base_values)
    np.testing.assert_allclose(total, made.margins(queries)[:, margin], atol=1e-12)
    np.testing.assert_allclose(found.predictions, made.margins(queries)[:, margin], atol=1e-12)


def test_splitting_a_pair_by_halves_would_be_wrong() -> None:
    """What a term of two columns adds beyond its mean is not shared evenly."""
    (pair,) = [term for term in model().terms if len(term.columns) == 2]
    first, second = term_values(pair)
    assert np.abs(first - second).max() > 0.1


def test_the_base_is_the_mean_over_the_counts() -> None:
    made = model(pair=False)
    np.testing.assert_allclose(base_margins(made), made.intercept, atol=1e-12)
    age = made.term("age")
    weights = np.maximum(age.counts, 0) / np.maximum(age.counts, 0).sum()
    np.testing.assert_allclose(term_values(age)[0][0] @ weights, 0.0, atol=1e-12)


def test_counts_that_noise_took_away_leave_an_even_background() -> None:
    from dataclasses import replace

    age = replace(model().term("age"), counts=(-1.0,) * 5)
    np.testing.assert_allclose(term_weights(age)[0], 0.2)


def test_rows_come_as_a_mapping_a_series_a_frame_or_an_array() -> None:
    made = model()
    one = {"age": 33, "income": 70.0, "job": "nurse"}
    expected = made.shap_values(pd.DataFrame([one])).values
    assert made.shap_values(one).values == expected
    assert made.shap_values(pd.Series(one)).values == expected
    assert made.shap_values(np.array([[33, 70.0, "nurse"]], dtype=object)).values == expected
    named = rows(3).set_index(pd.Index(["a", "b", "c"], name="who"))
    assert list(made.shap_values(named).to_frame().index.unique()) == ["a", "b", "c"]
    assert made.shap_values(one).data == ((33.0, 70.0, "nurse"),)
    assert made.shap_values({"age": None, "income": 1, "job": None}).data == ((None, 1.0, None),)


def test_to_shap_makes_an_explanation() -> None:
    shap = pytest.importorskip("shap")
    made = model()
    found = made.to_shap(rows(5))
    assert isinstance(found, shap.Explanation) and found.values.shape == (5, 3)
    assert found.feature_names == list(FEATURES)
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.base_values, made.margins(rows(5))[:, 0], atol=1e-12
    )


def test_a_shape_has_its_scores_bands_and_counts() -> None:
    made = model()
    shape, term = made.shape("age"), made.term("age")
    assert shape.scores == term.scores[0] and shape.counts == term.counts
    np.testing.assert_allclose(
        np.subtract(shape.high, shape.low), 2 * 1.959964 * np.array(term.noise_std[0]), rtol=1e-6
    )
    low, high = shape.band("all")
    assert (low < np.array(shape.low)).all() and (high > np.array(shape.high)).all()
    frame = shape.to_frame()
    assert list(frame.columns) == ["age", "from", "to", "score", "low", "high", "count"]
    assert frame["age"].tolist()[-1] == "(missing)" and math.isnan(frame["from"].iloc[-1])
    assert list(made.shape("job").to_frame()["job"])[:3] == ["clerk", "nurse", "smith"]
    assert made.shape("job", "income") == made.shape("income", "job")
    assert len(made.shape("income", "job").to_frame()) == 10
    assert "years" in shape.axis(0).title


def test_a_shape_is_saved_and_read() -> None:
    for shape in model(3).shapes("b").values():
        again = Result.read(shape.to_json())
        assert again == shape and isinstance(again, ShapeFunction)
    broken = model().shape("age").to_json() | {"scores": [1.0]}
    with pytest.raises(dc.errors.ReleaseError, match="fit together"):
        Result.read(broken)


def test_what_there_is_no_term_of_is_told() -> None:
    made = model()
    with pytest.raises(ArgumentError, match="column must have a term of its own, got 'agee'"):
        made.shape("agee")
    with pytest.raises(ArgumentError, match="class_ must be one of 'b', got 'a'"):
        made.shape("age", class_="a")
    with pytest.raises(ArgumentError, match="class_ must be one of 'a', 'b', 'c', got None"):
        model(3).shape("age")
    with pytest.raises(ArgumentError, match="class_ must be left out, got 'a'"):
        model(0).shape("age", class_="a")


def test_importances_are_of_terms_and_of_features() -> None:
    made = model()
    told = made.importances()
    assert told.features == ("age", "job", "income", "income x job")
    term = made.term("age")
    weights = np.maximum(term.counts, 0)
    assert told.values[0][0] == pytest.approx(np.abs(term.scores[0]) @ weights / weights.sum())
    values = np.array(told.values[0])
    shares = np.array([values[0], values[2] + values[3] / 2, values[1] + values[3] / 2]) / values.sum()
    np.testing.assert_allclose(made.feature_importances_, shares)
    assert [*made.shapes()] == [told.features[i] for i in np.argsort(-values)]
    assert "log-odds of bad = b" in told.quantity
