"""Without noise, figures of groups are those of fairlearn, by the same names."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn import metrics as peer
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, precision_score

import discreet as dc
from discreet.evaluation.binary.fairness import CRITERIA
from tests.evaluation.test_fairness import frame, released

RECORDS = frame(600)
TRUTH, CHOSEN = (RECORDS.y == "yes").astype(int), (RECORDS.s >= 0.5).astype(int)
METRICS: dict[str, Any] = {
    "selection_rate": peer.selection_rate,
    "true_positive_rate": peer.true_positive_rate,
    "false_positive_rate": peer.false_positive_rate,
    "true_negative_rate": peer.true_negative_rate,
    "false_negative_rate": peer.false_negative_rate,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "precision": precision_score,
    "f1": f1_score,
}
NEARLY = 2e-4


@cache
def ours(*by: str) -> dc.BinaryEvaluation:
    return released(list(by), 1e6)


@cache
def theirs(*by: str) -> Any:
    features: Any = RECORDS[list(by)]
    return peer.MetricFrame(metrics=METRICS, y_true=TRUTH, y_pred=CHOSEN, sensitive_features=features)


def same(found: pd.Series | pd.DataFrame, expected: pd.Series | pd.DataFrame) -> None:
    assert list(found.index) == list(expected.index)
    assert found.to_numpy(float) == pytest.approx(expected.to_numpy(float), abs=NEARLY)


@pytest.mark.parametrize("by", [("sex",), ("sex", "race")])
def test_frames_are_those_of_a_metric_frame(by: tuple[str, ...]) -> None:
    found, expected = ours(*by).by_group(metrics=list(METRICS)), theirs(*by)
    told = found.by_group.loc[expected.by_group.index]  # values that nobody has are groups of ours
    assert list(told.columns) == list(expected.by_group.columns)
    assert told.index.names == expected.by_group.index.names
    same(told, expected.by_group)
    same(found.overall, expected.overall)
    same(found.group_min(), expected.group_min())
    same(found.group_max(), expected.group_max())


@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
@pytest.mark.parametrize("by", [("sex",), ("sex", "race")])
def test_differences_and_ratios_are_those_of_a_metric_frame(by: tuple[str, ...], method: Any) -> None:
    found, expected = ours(*by).by_group(metrics=list(METRICS)), theirs(*by)
    same(found.difference(method), expected.difference(method=method))
    same(found.ratio(method), expected.ratio(method=method))


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("by", [("sex",), ("sex", "race")])
def test_criteria_are_those_of_fairlearn(by: tuple[str, ...], name: str) -> None:
    features: Any = RECORDS[list(by)]
    expected = getattr(peer, name)(TRUTH, CHOSEN, sensitive_features=features)
    assert getattr(ours(*by), name)().value == pytest.approx(expected, abs=NEARLY)


@pytest.mark.parametrize("name", ["equalized_odds_difference", "equalized_odds_ratio"])
def test_means_of_odds_are_those_of_fairlearn(name: str) -> None:
    expected = getattr(peer, name)(TRUTH, CHOSEN, sensitive_features=RECORDS.sex, agg="mean")
    assert getattr(ours("sex"), name)(agg="mean").value == pytest.approx(expected, abs=NEARLY)


def test_it_has_the_names_of_a_metric_frame() -> None:
    names = ("by_group", "overall", "difference", "ratio", "group_min", "group_max")
    found = ours("sex").by_group()
    assert all(hasattr(found, name) and hasattr(peer.MetricFrame, name) for name in names)
    assert np.isclose(peer.count(TRUTH, CHOSEN), found.to_frame()["count"].sum(), atol=0.1)
