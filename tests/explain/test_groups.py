"""Explanations of every group at once: those of each group by itself, whatever is shared first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans import Setting

ROWS, NAMES, WARDS = 3_000, ["a", "b", "c"], ("north", "south", "west")
SCHEMA = dc.Schema(
    {
        **{name: dc.Number(-3, 3, missing=False) for name in NAMES},
        "ward": dc.Category(*WARDS, missing=False, other=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
HUGE = 1e5


def people() -> pd.DataFrame:
    """In the north b decides, elsewhere a: importances differ between wards."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(np.clip(draw.normal(size=(ROWS, 3)), -3, 3), columns=NAMES)
    frame["ward"] = draw.choice(WARDS, ROWS, p=[0.5, 0.3, 0.2])
    decides = np.where(frame["ward"] == "north", frame["b"], frame["a"])
    return frame.assign(y=(decides + 0.3 * draw.normal(size=ROWS) > 0).astype(int))


FRAME = people()
FOREST = RandomForestClassifier(8, max_depth=4, random_state=0).fit(
    FRAME[NAMES].head(800), FRAME["y"].head(800)
)
LINE = LogisticRegression().fit(FRAME[NAMES].head(800), FRAME["y"].head(800))
PUBLIC = FRAME.head(60)[NAMES]

Ask = Callable[..., dc.Plan]
QUESTIONS: dict[str, Ask] = {
    "curve": lambda **part: dc.partial_dependence(FOREST, "a", rug=False, epsilon=HUGE, **part),
    "shap": lambda **part: dc.shap_importance(FOREST, background=PUBLIC, epsilon=HUGE, **part),
    "permutation": lambda **part: dc.permutation_importance(
        FOREST, background=PUBLIC, epsilon=HUGE, **part
    ),
    "two models": lambda **part: dc.compare(
        FOREST, LINE, importance="permutation", background=PUBLIC, epsilon=HUGE, **part
    ),
}


def session(relation: str = "replace-one") -> dc.Session:
    return dc.protect(
        FRAME, SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:", relation=relation, seed=0
    )


def numbers(result: Any) -> np.ndarray:
    return np.ravel(result.y if isinstance(result, dc.Curve) else result.values)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_group_is_answered_as_by_itself(name: str, relation: str) -> None:
    ask, asked = QUESTIONS[name], session(relation)
    groups = asked.release(ask(by="ward")).value
    assert list(groups.groups) == list(WARDS)
    for ward in WARDS:
        alone = asked.release(ask(where=f"ward == '{ward}'")).value
        assert numbers(groups[ward]) == pytest.approx(numbers(alone), abs=2e-3)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_groups_share_the_values_that_are_drawn(relation: str) -> None:
    asked = session(relation)
    release = asked.release(dc.permutation_importance(FOREST, by="ward", epsilon=HUGE))
    assert [stage["name"] for stage in release.stages] == ["columns", "importance", "number of records"]
    known = asked.release(
        dc.permutation_importance(FOREST, by="ward", background=FRAME[NAMES], epsilon=HUGE)
    )
    for ward in WARDS:
        assert numbers(release.value[ward]) == pytest.approx(numbers(known.value[ward]), abs=0.02)
    north, south = (release.value[ward].ranking(1) for ward in ("north", "south"))
    assert (north, south) == (("b",), ("a",))


@pytest.mark.parametrize("part", [{}, {"where": "a > 0"}, {"by": "ward"}, {"by": "a > 0"}])
@pytest.mark.parametrize("importance", [True, False], ids=["importances", "two models"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_what_it_costs_is_what_was_said(relation: str, importance: bool, part: dict[str, str]) -> None:
    plan: Any = dc.permutation_importance(FOREST, epsilon=0.8, **part)
    if not importance:
        plan = dc.compare(FOREST, LINE, importance="permutation", epsilon=0.8, **part)
    asked = session(relation)
    release = asked.release(plan)
    assert release.guarantee.epsilon == 0.8 and release.guarantee.certified is False  # a seed
    assert float(asked.remaining.loss) == pytest.approx(4e6 - 0.8, abs=1e-6)


def test_values_are_permuted_where_nothing_else_is_asked_for() -> None:
    setting = Setting(SCHEMA, "replace-one", ROWS)
    default, told = (
        dc.permutation_importance(FOREST, epsilon=1.0, **said).prepare(setting)
        for said in ({}, {"sampling": "permutation"})
    )
    assert [stage.describe() for stage in default.stages] == [s.describe() for s in told.stages]
    assert default.shared is None


def test_rankings_of_groups_are_choices() -> None:
    with pytest.raises(ArgumentError, match="choice by the records of a group, got the choice of"):
        session().price(
            dc.permutation_importance(FOREST, release="ranking", k=1, by="ward", epsilon=1.0)
        )
