"""More pairs than a tree: how many is public, what is paid, and that rows follow all tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.numerics import to_units
from discreet.plans import Setting
from discreet.plans.stages.marginals import lay_out
from discreet.privacy.accounting.joint import joint_delta
from discreet.privacy.relation import Relation
from discreet.tables.synthesis.budget import RowBudget, choose_budget
from discreet.tables.synthesis.measured import KnownTables, NoisyTable
from discreet.tables.synthesis.model import RowModel
from discreet.tables.synthesis.raking import WeightedRows
from discreet.tables.synthesis.resampling import correct_columns, resample_rows
from discreet.tables.synthesis.rule import how_many
from discreet.tables.synthesis.stages import RowStages

TWO = dc.Category(0, 1, missing=False, other=False)


def many(columns: int, column: Any = TWO) -> dc.Schema:
    return dc.Schema({f"c{number}": column for number in range(columns)})


def budget_of(
    schema: dc.Schema, rows: int | None, epsilon: float, delta: float = 1e-9, mechanism: Any = "auto"
) -> RowBudget:
    relation = Relation("add-remove" if rows is None else "replace-one")
    layout = lay_out(schema, tuple(schema), 16)
    setting = Setting(schema, relation, rows)
    return choose_budget(layout, setting, epsilon=epsilon, delta=delta, mechanism=mechanism)


NUMBERS = many(9, dc.Number(0, 1, missing=False))


@pytest.mark.parametrize(
    ("schema", "rows", "epsilon", "delta", "low", "high"),
    [
        (many(16), 17_000, 1.0, 1e-9, 105, 105),  # noise is small: all of 120 pairs
        (many(16), 17_000, 0.1, 1e-9, 7, 32),
        (many(16), 17_000, 1.0, 0.0, 7, 32),
        (many(16), 17_000, 0.1, 0.0, 0, 0),  # a pure guarantee leaves nothing for them
        (NUMBERS, 614, 10.0, 1e-9, 0, 0),  # few records for so many cells
        (NUMBERS, 1_000_000, 10.0, 1e-9, 28, 28),
        (many(2), 10_000, 1.0, 1e-9, 0, 0),
        (many(1), 10_000, 1.0, 1e-9, 0, 0),
    ],
)
def test_public_facts_decide_how_many_pairs_pay(
    schema: dc.Schema, rows: int, epsilon: float, delta: float, low: int, high: int
) -> None:
    assert low <= how_many(budget_of(schema, rows, epsilon, delta), rows) <= high


def test_few_tables_are_measured_with_pure_noise() -> None:
    assert not budget_of(many(3), None, 0.1).by_rho and budget_of(many(16), 10_000, 1.0).by_rho
    assert budget_of(many(3), None, 0.1, mechanism="gaussian").by_rho
    with pytest.raises(ArgumentError, match="delta must be positive"):
        budget_of(many(3), None, 0.1, 0.0, "gaussian")


@pytest.mark.parametrize("rows", [3_000, None])
@pytest.mark.parametrize("asked", [None, 0, 1, 5, 21])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (3.0, 1e-6), (1.0, 0.0)])
def test_all_stages_keep_the_promise(
    rows: int | None, asked: int | None, epsilon: float, delta: float
) -> None:
    budget = budget_of(many(8), rows, epsilon, delta)
    stages = RowStages(budget, asked).stages
    events = [event for stage in stages for event in stage.events]
    assert joint_delta(events, epsilon) <= delta
    # And little of it is left over.
    assert joint_delta(events, 0.97 * epsilon) > delta


def wheel(rows: int = 3_000) -> pd.DataFrame:
    """Return columns each of which goes with two others, so that no tree holds them."""
    draw = np.random.default_rng(1)
    hidden = draw.random(rows)
    columns = {f"c{n}": (hidden + draw.normal(0, 0.3, rows) > 0.5).astype(int) for n in range(6)}
    return pd.DataFrame(columns)


def release(plan: Any, relation: str, **options: Any) -> Any:
    terms = {"dataset": "d", "epsilon": 100, "delta": 1e-3, "ledger": ":memory:", "seed": 2}
    session = dc.protect(wheel(), many(6), relation=relation, **{**terms, **options})
    found = session.release(plan)
    return found, session


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": 3.0, "delta": 1e-6},
        {"epsilon": 3.0, "pairs": 10},
        {"epsilon": 3.0, "delta": 1e-6, "where": "c0 == 1"},
        {"rho": 0.2},
    ],
)
def test_more_pairs_bring_rows_nearer(relation: str, terms: dict[str, Any]) -> None:
    accountant = {"accountant": "zcdp"} if "rho" in terms else {}
    tree, _ = release(dc.synthesize(**{**terms, "pairs": 0}), relation, **accountant)
    more, _ = release(dc.synthesize(**terms), relation, **accountant)
    assert len(tree.value.tree) == 5 and not tree.value.more_pairs
    assert set(more.value.more_pairs) and not set(more.value.more_pairs) & set(more.value.tree)
    real = wheel()[wheel()["c0"] == 1] if "where" in terms else wheel()
    far, near = (
        dc.compare_tables(real, one.value.to_frame(), many(6)).mean_two_way for one in (tree, more)
    )
    assert near < far
    assert 0 <= more.value.misfit < 0.05


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("pairs", [1, 3, 10, 500])
def test_as_many_pairs_as_were_asked_for(relation: str, delta: float, pairs: int) -> None:
    found, session = release(dc.synthesize(40, pairs=pairs, epsilon=1.0, delta=delta), relation)
    assert len(found.value.more_pairs) == min(pairs, 10) and len(found.value) == 40
    assert found.guarantee.epsilon == 1.0 and session.balance.spent.loss <= to_units(1.0)


def test_a_small_table_stays_with_the_tree() -> None:
    session = dc.protect(
        wheel(60), many(6), dataset="d", epsilon=9, delta=1e-3, ledger=":memory:", seed=1
    )
    assert session.release(dc.synthesize(epsilon=0.01, delta=1e-9)).value.more_pairs == ()


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 5.0, 20.0])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
def test_what_is_asked_was_paid_for_however_many_pairs_pay(columns: int, epsilon: float) -> None:
    names = [f"c{number}" for number in range(columns)]
    plan = dc.synthesize(9, columns=names, mechanism="gaussian", epsilon=epsilon, delta=1e-6)
    session = dc.protect(
        wheel(400),
        many(6),
        dataset="d",
        epsilon=1e5,
        delta=1e-3,
        ledger=":memory:",
        relation="add-remove",
        accountant="zcdp",
        seed=4,
    )
    found = session.release(plan)
    assert len(found.value.tree) == columns - 1
    assert found.guarantee.rho == pytest.approx(session.balance.spent.loss / 1e12, rel=1e-9)


def test_weights_meet_tables_that_a_tree_does_not_know() -> None:
    draw = np.random.default_rng(0)
    cells = np.column_stack([draw.integers(0, 2, 4_000), draw.integers(0, 3, 4_000)])
    model = WeightedRows.evenly(cells, (2, 3), 100.0)
    wanted = np.array([[30.0, 5.0, 5.0], [5.0, 5.0, 50.0]])
    model.rake([wanted.sum(axis=1), wanted.sum(axis=0)], [((0, 1), wanted)], sweeps=5)
    assert model.table((0, 1)) == pytest.approx(wanted, rel=1e-6)


def test_tables_that_contradict_each_other_do_no_harm() -> None:
    model = WeightedRows.evenly(np.zeros((10, 2), dtype=np.int64), (2, 2), 100.0)
    empty = np.array([[0.0, 0.0], [0.0, 100.0]])
    model.rake([np.array([0.0, 100.0])] * 2, [((0, 1), empty)], sweeps=50)
    assert np.isfinite(model.weights).all() and (model.weights > 0).all()


@pytest.mark.parametrize("count", [1, 7, 2_000])
def test_rows_are_taken_as_often_as_they_weigh(count: int) -> None:
    cells = np.array([[0, 1], [1, 0], [1, 1]])
    model = WeightedRows(cells, (2, 2), np.array([1.0, 0.0, 3.0]))
    drawn = resample_rows(model, count, np.random.default_rng(0))
    assert len(drawn) == count and not ((drawn[:, 0] == 1) & (drawn[:, 1] == 0)).any()
    assert abs(np.mean(drawn[:, 0]) - 0.75) <= 1 / count


def test_single_columns_are_corrected_with_as_few_changes_as_can_be() -> None:
    draw = np.random.default_rng(3)
    cells = draw.integers(0, 3, (1_000, 2))
    wanted = [np.array([5.0, 3.0, 2.0]), np.bincount(cells[:, 1]).astype(float)]
    fixed = correct_columns(cells, wanted, draw)
    assert np.bincount(fixed[:, 0]).tolist() == [500, 300, 200]
    assert np.array_equal(fixed[:, 1], cells[:, 1])
    surplus = np.maximum(np.bincount(cells[:, 0]) - [500, 300, 200], 0).sum()
    assert np.count_nonzero(fixed[:, 0] != cells[:, 0]) == surplus


def test_a_table_that_is_all_noise_is_drawn_to_the_model() -> None:
    layout = lay_out(many(3), ("c0", "c1", "c2"), 2)
    half = NoisyTable(np.array([500.0, 500.0]), 1.0)
    even = NoisyTable(np.full((2, 2), 250.0), 1.0)
    known = KnownTables(layout, 1_000.0, [half] * 3, {0: even, 1: even})
    model = RowModel(known, [0, 1], None, np.random.default_rng(0))
    known.add(2, NoisyTable(250.0 + np.array([[40.0, -40.0], [-40.0, 40.0]]), 100.0))
    model.fit()
    assert model.targets[1, 2] == pytest.approx(np.full((2, 2), 250.0), abs=5)
    known.add(2, NoisyTable(np.array([[400.0, 100.0], [100.0, 400.0]]), 1.0))
    assert known.pairs[2].std < 1.0
