"""What rests on a background says so: that it is public or released, and that it was simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.explain.shap.queries import Queries
from discreet.plans import Release

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "b": dc.Number(0, 1, missing=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
QUERY = {"a": 0.2, "b": 0.4}


def frame() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.random((60, 2)), columns=["a", "b"])
    return table.assign(y=(table.a > 0.5).astype(int))


def session(**options: Any) -> dc.Session:
    terms = {"dataset": "d", "ledger": ":memory:", "epsilon": 100.0, "progress": False}
    return dc.protect(frame(), SCHEMA, **terms, **options)


def model() -> LogisticRegression:
    return LogisticRegression().fit(frame()[["a", "b"]].to_numpy(), frame().y)


PLANS: dict[str, Callable[[Any], dc.Plan]] = {
    "importance": lambda b: dc.shap_importance(model(), background=b, epsilon=1.0),
    "dependence": lambda b: dc.shap_dependence(model(), "a", background=b, epsilon=1.0),
    "permutation": lambda b: dc.permutation_importance(
        model(), sampling="marginal", background=b, epsilon=1.0
    ),
    "permutation ranking": lambda b: dc.permutation_importance(
        model(), sampling="marginal", release="ranking", background=b, epsilon=1.0
    ),
    "values": lambda b: dc.shap_values(
        model(), QUERY, protects="query", radius=0.1, background=b, epsilon=1.0
    ),
    "ranking": lambda b: dc.shap_ranking(
        model(), QUERY, protects="query", radius=0.1, background=b, epsilon=1.0
    ),
}


def check_stamps(plan: Callable[[Any], dc.Plan], simulated: Release) -> None:
    book = session()
    real = book.release(dc.background(epsilon=1.0))
    for background in (real, real.value, frame()[["a", "b"]].head(5)):
        guarantee = book.release(plan(background)).guarantee
        assert guarantee.certified and not guarantee.simulation
        assert "the background is public or was released before" in guarantee.assumptions
    for stamped in (simulated, Release.loads(simulated.dumps())):
        guarantee = book.release(plan(stamped)).guarantee
        assert guarantee.simulation and not guarantee.certified, "the stamp was lost"


@pytest.mark.proves("background-separator")
@pytest.mark.parametrize("name", PLANS)
def test_a_simulated_background_leaves_its_stamp(name: str) -> None:
    check_stamps(PLANS[name], session(seed=1).release(dc.background(epsilon=1.0)))


@pytest.mark.refutes("background-separator")
def test_a_lost_stamp_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queries, "stamped", lambda self, simulated: self)
    simulated = session(seed=1).release(dc.background(epsilon=1.0))
    with pytest.raises(AssertionError, match="stamp was lost"):
        check_stamps(PLANS["importance"], simulated)


def test_the_same_rows_with_and_without_a_stamp_are_two_questions() -> None:
    simulated = session(seed=1).release(dc.background(epsilon=1.0))
    plan = PLANS["importance"]
    assert plan(simulated).key == plan(simulated).key != plan(simulated.value).key
