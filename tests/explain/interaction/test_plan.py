"""Feature interaction: the statistic against its definition, and one ranking per record."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.engines import interact as h_statistic
from discreet.engines.interact import (
    CalledDependences,
    all_pairs,
    pair_scores,
    pairs_with,
    total_scores,
)
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError
from discreet.explain.interaction.plan import SubsetInteractions, feature_interaction
from discreet.mechanisms.selection.borda import borda_points
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import NORMS
from tests.explain.shap.cases import ORDERS
from tests.laws.examples import Example
from tests.laws.world import FORMS

SCHEMA = dc.Schema({f"f{i}": dc.Number(-1, 1, missing=False) for i in range(4)})


def function(rows: np.ndarray) -> np.ndarray:
    """f0 interacts with f1 and f2, with f1 more; f3 adds up."""
    return 2 * rows[:, 0] * rows[:, 1] + 0.8 * rows[:, 0] * rows[:, 2] + rows[:, 3]


MODEL = dc.Model(function, bounds=(-4, 4), name="function")
FRAME = pd.DataFrame(np.random.default_rng(1).uniform(-1, 1, (600, 4)), columns=list(SCHEMA))


def dependence(rows: np.ndarray, features: tuple[int, ...]) -> np.ndarray:
    """Return the centred partial dependence at every row, by its definition."""
    found = []
    for row in rows:
        changed = rows.copy()
        changed[:, features] = row[list(features)]
        found.append(function(changed).mean())
    return np.array(found) - np.mean(found)


def slow_total(rows: np.ndarray, j: int) -> float:
    whole = function(rows) - function(rows).mean()
    rest = tuple(k for k in range(rows.shape[1]) if k != j)
    return np.sum((whole - dependence(rows, (j,)) - dependence(rows, rest)) ** 2) / np.sum(whole**2)


def slow_pair(rows: np.ndarray, j: int, k: int) -> float:
    both = dependence(rows, (j, k))
    parts = dependence(rows, (j,)) + dependence(rows, (k,))
    return np.sum((both - parts) ** 2) / np.sum(both**2)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_statistics_follow_their_definition(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, called = FRAME.to_numpy()[:count], CalledDependences(function)
    slow = {(j, k): slow_pair(rows, j, k) for j, k in itertools.combinations(range(4), 2)}
    for most in (1, 1000, 2**16):  # however designs are put together
        monkeypatch.setattr(h_statistic, "_CALL_ROWS", most)
        (totals,) = total_scores(called, [rows])
        assert totals == pytest.approx([slow_total(rows, j) for j in range(4)], abs=1e-10)
        for j in range(4):
            (pairs,) = pair_scores(called, [rows], pairs_with(j, 4))
            expected = [slow[min(j, k), max(j, k)] for k in range(4) if k != j]
            assert pairs == pytest.approx(expected, abs=1e-9)
        (pairs,) = pair_scores(called, [rows], all_pairs(4))
        assert pairs == pytest.approx(list(slow.values()), abs=1e-9)


def test_sums_have_no_interaction_and_no_ratio_fails() -> None:
    rows = FRAME.to_numpy()[:10]
    for f in (lambda r: r.sum(axis=1), lambda r: np.zeros(len(r)), lambda r: np.full(len(r), 0.3)):
        assert next(total_scores(CalledDependences(f), [rows])).tolist() == [0.0] * 4
        assert next(pair_scores(CalledDependences(f), [rows], all_pairs(4))).tolist() == [0.0] * 6
    same = np.zeros((5, 3))
    assert next(total_scores(CalledDependences(function_of_three), [same])).tolist() == [0.0] * 3


def function_of_three(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0] * rows[:, 1] - rows[:, 2]


BITS = dc.Schema({name: dc.Number(0, 1, step=1, missing=False) for name in "abc"})
RECORDS = [(0, 0, 0), (1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)]


def twisted(rows: np.ndarray) -> np.ndarray:
    """Beyond its bounds, and for one record no number at all."""
    value = 9 * rows[:, 0] * rows[:, 1] - 4 * rows[:, 1] * rows[:, 2] + rows[:, 2]
    return np.where(rows.sum(axis=1) == 3, np.nan, value)


def tiny_models() -> dict[str, Any]:
    rows = np.array(list(itertools.product([0, 1], repeat=3)) * 4, dtype=float)
    forest = RandomForestRegressor(5, random_state=0)
    return {
        "opaque": dc.Model(twisted, bounds=(-1, 2), name="twisted"),
        "forest": dc.Model(forest.fit(rows, np.nan_to_num(twisted(rows), nan=3.0))),
        "logistic": LogisticRegression().fit(rows, twisted(rows) > 0),
    }


def worst_moves(stage: Stage, relation: str) -> list[float]:
    """Return the greatest change between neighbouring tables of at most four records."""

    @cache
    def total(rows: tuple[tuple[int, ...], ...]) -> np.ndarray:
        table = PrivateTable(np.array(rows, dtype=float), BITS, "add-remove")
        summand = Summand(stage.contribution, stage.noise.step)
        return add_up(table, [summand])[0] * stage.noise.step

    changes = []
    for rows in itertools.product(RECORDS, repeat=4):
        for place in range(4):
            before, after = rows[:place], rows[place + 1 :]
            if relation == "add-remove":
                changes.append(total(rows) - total(before + after))
            else:
                changes += [total(rows) - total((*before, row, *after)) for row in RECORDS]
    return [max(np.linalg.norm(change, ORDERS[n]) for change in changes) for n in NORMS]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("feature", [None, "b"])
@pytest.mark.parametrize("name", ["opaque", "forest", "logistic"])
def test_no_neighbour_moves_the_points_further(name: str, feature: str | None, relation: str) -> None:
    subsets = 1 if relation == "replace-one" else 2  # all features tie on two rows
    plan = feature_interaction(tiny_models()[name], feature, subsets=subsets, epsilon=1.0)
    setting = Setting(BITS, relation, 4 if relation == "replace-one" else None)
    stage = plan.prepare(setting).stages[0]
    worst = worst_moves(stage, relation)
    bounds = [stage.certificate.sensitivity(norm, relation) for norm in NORMS]
    assert all(0 < found <= bound for found, bound in zip(worst, bounds, strict=True))


def recording(calls: list[np.ndarray]) -> dc.Model:
    def remember(rows: np.ndarray) -> np.ndarray:
        calls.append(rows.copy())
        return function(rows)

    return dc.Model(remember, bounds=(-4, 4), name="remember")


@pytest.mark.parametrize("place", [None, 0])
def test_a_foreign_model_never_sees_two_subsets_at_once(place: int | None) -> None:
    calls: list[np.ndarray] = []
    bound = recording(calls).bind(SCHEMA)
    dependences, public = engine_for("interact", bound), bound.calls.shape
    parts = [FRAME.to_numpy()[start::7] for start in range(7)]
    calls.clear()
    scores = list(SubsetInteractions(dependences, place, 5)(parts))
    assert len(calls) == 7 and len(scores) == 7
    for call, part in zip(calls, parts, strict=True):
        for column in range(4):
            known = {*public.first[:, column], *public.blank[:, column]}
            assert set(call[:, column]) - known <= set(part[:5, column])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_without_noise_it_is_the_sum_of_points(relation: str) -> None:
    session = dc.protect(
        FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, relation=relation, seed=0
    )
    total = session.release(feature_interaction(MODEL, subsets=20, epsilon=1e5)).value
    assert total.names == ("f0", "f1", "f2", "f3")
    pairs = session.release(feature_interaction(MODEL, "f0", subsets=20, epsilon=1e5)).value
    assert pairs.names == ("f1", "f2", "f3") and pairs.features == ("f1", "f2", "f3")
    best = session.release(feature_interaction(MODEL, "f1", k=1, subsets=20, epsilon=50.0)).value
    assert best.names == ("f0",) and best.values is None
    if relation == "replace-one":
        rows = FRAME.to_numpy()
        points = [
            borda_points(np.array([slow_total(rows[start::20], j) for j in range(4)]))
            for start in range(20)
        ]
        assert sorted(total.values[0]) == pytest.approx(sorted(np.mean(points, axis=0)), abs=1e-3)


def test_a_linear_model_ties_everything() -> None:
    linear = LinearRegression().fit(FRAME.to_numpy(), FRAME["f0"] - FRAME["f3"])
    session = dc.protect(FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, seed=0)
    plan = feature_interaction(dc.Model(linear, bounds=(-3, 3)), subsets=20, epsilon=1e5)
    assert session.release(plan).value.values[0] == pytest.approx([1.5] * 4, abs=1e-3)


def test_wrong_arguments_are_one_clear_sentence() -> None:
    session = dc.protect(FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1.0)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"feature": "x"}, "feature must be among those the model uses"),
        ({"feature": 3}, "feature must be the name"),
        ({"points": 1}, "points must be"),
        ({"k": 5}, "k must be a whole number of at least 1 and at most 4"),
        ({"feature": "f0", "k": 4}, "at most 3"),
        ({"subsets": 601}, "subsets must be at most the number of rows"),
        ({"subsets": 0}, "subsets must be"),
        ({"mechanism": "x"}, "mechanism must be"),
    ]
    for options, sentence in cases:
        with pytest.raises(ArgumentError, match=sentence):
            session.release(feature_interaction(MODEL, **{"epsilon": 1.0, **options}))
    assert session.remaining.loss == 1.0


EXAMPLES = [
    Example(
        "feature_interaction",
        lambda model: dc.feature_interaction(model, subsets=8, points=4, epsilon=1.0),
        FORMS,
    ),
    Example(
        "feature_interaction",
        lambda model: dc.feature_interaction(
            model, feature="income", k=1, subsets=8, points=4, epsilon=1.0
        ),
        ("trees", "opaque"),
    ),
]
