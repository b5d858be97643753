"""A diagnosis says how answers come out on this table, and agrees with the price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from tests.session.test_usable import MODEL, PLANS, ROWS, SCHEMA, frame

ADDS_UP = (
    "histogram",
    "ranges",
    "partial_dependence",
    "surface",
    "accumulated_effects",
    "shap_values",
    "shap_importance",
    "shap_dependence",
    "permutation_importance",
    "any_curve",
    "functional_mean",
    "mean",
    "total",
    "proportion",
    "entropy",
    "mutual_information",
)


def owner(relation: str = "replace-one") -> dc.Session:
    terms: Any = {"dataset": "d", "epsilon": 9, "delta": 1e-3, "ledger": ":memory:"}
    return dc.protect(frame(), SCHEMA, relation=relation, **terms)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", ADDS_UP)
def test_every_plan_that_adds_up_can_be_diagnosed(name: str, relation: str) -> None:
    session = owner(relation)
    facts = session.diagnose(PLANS[name]()).facts
    assert facts["greatest exact value"] >= 0 and facts["error, root mean square"] > 0
    assert facts["exact values inside their band"] > 0.85  # 30 rehearsals of few values
    assert float(session.remaining.loss) == 9 and len(session.history()) == 1
    if relation == "replace-one" and name not in ("accumulated_effects", "shap_dependence"):
        # Without edges that crowd and cells that differ, the price is the error.
        priced = next(iter(session.price(PLANS[name]()).plans[0].expected_error.values()))
        least = 0.0 if name in ("entropy", "mutual_information") else 0.4  # sums that hardly move
        assert least * priced.error < facts["95% of errors are below"] < 1.25 * priced.error


@pytest.mark.parametrize("name", ["histogram", "mean", "partial_dependence"])
@pytest.mark.parametrize("how", [{}, {"rows": "capped", "most": 2}, {"rows": "one"}], ids=str)
def test_answers_about_persons_can_be_diagnosed(name: str, how: dict[str, Any]) -> None:
    schema = dc.Schema(
        {column: SCHEMA[column] for column in SCHEMA}, target=SCHEMA.target, person="who", **how
    )
    rows = frame().assign(who=lambda found: np.arange(len(found)) // 2)
    session = dc.protect(rows, schema, dataset="d", epsilon=9, delta=1e-3, ledger=":memory:")
    facts = session.diagnose(PLANS[name]()).facts
    assert facts["error, root mean square"] > 0 and facts["exact values inside their band"] > 0.85


@pytest.mark.parametrize("name", ["percentile", "most_frequent", "decision_tree", "synthesize"])
def test_choices_and_rows_have_no_distance_from_an_exact_answer(name: str) -> None:
    with pytest.raises(ArgumentError, match="can be diagnosed"):
        owner().diagnose(PLANS[name]())


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_an_evaluation_is_diagnosed_with_the_bins_of_its_epsilon(relation: str) -> None:
    facts = owner(relation).diagnose(dc.evaluate(MODEL, epsilon=1.0)).facts
    assert facts["exact values inside their band"] > 0.85
    assert facts["of it not noise (clips, shrinking)"] < facts["error, root mean square"] / 2


def test_the_exact_answer_is_exact_and_without_clips() -> None:
    records = frame()
    counts = np.histogram(records["u"], bins=8, range=(0, 1))[0]
    facts = owner().diagnose(dc.histogram("u", bins=8, clip=False, epsilon=1.0)).facts
    assert facts["greatest exact value"] == counts.max()
    assert facts["spread of exact values"] == np.ptp(counts)
    whole, short = (
        owner()
        .diagnose(dc.shap_values(MODEL, ROWS.iloc[[0]], coalitions=8, clip=clip, epsilon=9.0))
        .facts
        for clip in (None, 0.02)
    )
    assert short["spread of exact values"] == pytest.approx(whole["spread of exact values"], rel=1e-3)
    assert whole["of it not noise (clips, shrinking)"] < 0.005
    assert short["of it not noise (clips, shrinking)"] > 0.05
    assert short["exact values inside their band"] < 0.5


def test_private_edges_are_the_same_for_all_answers() -> None:
    plan = dc.partial_dependence(MODEL, "u", grid="quantile", epsilon=5.0)
    facts = owner().diagnose(plan).facts
    assert facts["of it not noise (clips, shrinking)"] < 0.005
    assert "FOR THE CURATOR ONLY" in str(owner().diagnose(plan))


def test_counts_of_neighbours_are_compared_with_their_noise() -> None:
    loud, calm = (
        owner().diagnose(dc.data_shapley(test=frame(10), method="tknn", epsilon=epsilon)).facts
        for epsilon in (0.01, 100.0)
    )
    assert loud["spread of exact values"] == calm["spread of exact values"] > 0
    assert loud["share of noise"] > 0.9 > 0.1 > calm["share of noise"]
