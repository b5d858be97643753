"""Questions in words: in titles, in the ledger, for those who do not see a picture."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.plans.showing import promise_in_words, question_in_words
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.relation import REPLACE_ONE


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("partial_dependence", {"features": "income"}, "Partial dependence of income"),
        ("partial_dependence", {"features": ["a", "b"]}, "Partial dependence of a and b"),
        ("histogram", {"columns": list("abcdef")}, "Histogram of a, b and 4 more columns"),
        ("shap_values", {"x": [{}]}, "SHAP values"),
        ("mutual_information", {"first": ["a"], "second": ["b"]}, "Mutual information of a and b"),
        ("decision_tree", {"target": "paid", "features": None}, "Decision tree for paid"),
        ("percentile", {"column": "a", "p": 12.5}, "Percentile 12.5 of a"),
        ("a_plan_of_yours", {}, "A plan of yours"),
    ],
)
def test_questions(kind: str, arguments: dict[str, Any], words: str) -> None:
    assert question_in_words({"kind": kind, "arguments": arguments}) == words


@pytest.mark.parametrize(
    ("facts", "plan", "words"),
    [
        ({}, {}, "epsilon 0.2"),
        ({"delta": 1e-6}, {}, "epsilon 0.2, delta 1e-06"),
        ({"delta": 1e-6}, {"rho": 0.05}, "rho 0.05"),
        ({"certified": False}, {}, "epsilon 0.2, NOT certified"),
        ({"simulation": True}, {}, "a simulation without privacy"),
    ],
)
def test_promises(facts: dict[str, Any], plan: dict[str, Any], words: str) -> None:
    promise = Guarantee(**{"epsilon": 0.2, "delta": 0.0, "relation": REPLACE_ONE} | facts)
    assert promise_in_words(plan, promise) == words
