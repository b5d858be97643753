"""Plans about tables read back, and know what is part of their question."""

from __future__ import annotations

import math
from typing import Any

import pytest

import discreet as dc
from discreet.tables.entropy.plan import entropy, mutual_information

PLANS: list[Any] = [
    entropy(["age", "job"], given="home", bins={"age": 3}, base="nats", epsilon=0.5, delta=1e-6),
    entropy("age", order=math.inf, method="direct", epsilon=0.5),
    mutual_information("age", ["job", "home"], epsilon=0.5),
    dc.functional_mean(["jan", "feb"], epsilon=0.5, delta=1e-6),
    dc.functional_mean(["a", "b"], points=[0, 3], penalty=0.1, clip=2, terms=1, epsilon=1, delta=1e-6),
    dc.synthesize(epsilon=0.5),
    dc.synthesize(20, columns=["age"], seed=3, epsilon=0.5),
    dc.deniable_rows(20, resampled=2, epsilon=0.5, delta=1e-6),
    dc.deniable_rows(20, proposal="ball", gamma=3, epsilon=0.5, delta=1e-6),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.plan_name)
def test_plans_read_back(plan: Any) -> None:
    again = dc.plan_from_json(plan.to_json())
    assert again == plan and again.key == plan.key
    assert again.at(2.0).epsilon == 2.0 and again.whole().key == plan.whole().key


def test_what_a_proposal_does_not_look_at_is_no_part_of_the_question() -> None:
    terms: Any = {"attempts": 9, "epsilon": 0.5, "delta": 1e-6}
    assert dc.deniable_rows(radius=0.3, **terms).key == dc.deniable_rows(**terms).key
    ball = dc.deniable_rows(proposal="ball", **terms)
    assert dc.deniable_rows(proposal="ball", resampled=2, **terms).key == ball.key
    assert dc.deniable_rows(proposal="ball", radius=0.3, **terms).key != ball.key
