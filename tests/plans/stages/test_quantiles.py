"""Private quantiles of columns: against numpy below the noise, steps and ties, both relations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.plans.stages.quantiles import cut_points, quantile_stage
from discreet.randomness import SimulatedNoise
from discreet.schema import Category, Number, Schema

SCHEMA = Schema(
    {
        "mass": Number(0, 100, missing=False),
        "age": Number(18, 90, step=1, missing=False),
        "gain": Number(0, 10_000, missing=False),
        "kind": Category("a", "b", missing=False, other=False),
    }
)


def cuts(
    values: np.ndarray, name: str, *, relation: str = "replace-one", **options: float
) -> np.ndarray:
    schema = Schema({name: SCHEMA[name]})
    rows = len(values) if relation == "replace-one" else None
    terms = {"parts": 10, "epsilon": 1e6, **options}
    stage = quantile_stage("edges", name, Setting(schema, relation, rows), **terms)
    table = PrivateTable(pd.DataFrame({name: values}), schema, relation)
    (counts,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
    assert counts.sum() == len(values)
    return stage.noise.release(counts, SimulatedNoise(0))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_equal_numpy_below_the_noise(relation: str) -> None:
    values = np.random.default_rng(0).beta(2, 5, 20_000) * 100
    wanted = np.quantile(values, np.arange(1, 10) / 10)
    width = 100 / 1023
    assert np.abs(cuts(values, "mass", relation=relation) - wanted).max() <= 1.5 * width


def test_coarse_cells_are_allowed() -> None:
    values = np.random.default_rng(0).uniform(0, 100, 20_000)
    assert cuts(values, "mass", cells=11).tolist() == pytest.approx(np.arange(10, 100, 10))


def test_quantiles_of_a_step_grid_lie_on_it() -> None:
    values = np.repeat(np.arange(20, 70), 100)  # 50 ages: every tenth is five of them
    found = cuts(values, "age")
    assert found.tolist() == np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf").tolist()
    assert len(cut_points(SCHEMA["age"])) == 73 + 1  # every point has a cell, the least one too


def test_a_pile_at_the_least_value_leaves_cuts_for_the_rest() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([np.zeros(9_200), rng.uniform(1_000, 9_000, 800)])
    found = cuts(values, "gain")
    inside = found[found > 0]
    assert np.all(found[:4] == 0.0) and len(inside) >= 4
    assert np.all(np.diff(inside) > 500)  # true deciles: nine zeros


def test_noise_moves_ranks_as_little_as_it_says() -> None:
    values = np.random.default_rng(2).uniform(0, 100, 10_000)
    stage = quantile_stage(
        "edges",
        "mass",
        Setting(Schema({"mass": SCHEMA["mass"]}), "replace-one", 10_000),
        parts=2,
        epsilon=0.1,
    )
    table = PrivateTable(pd.DataFrame({"mass": values}), Schema({"mass": SCHEMA["mass"]}))
    (counts,) = add_up(table, [Summand(stage.contribution, 1.0)])
    source = SimulatedNoise(3)
    off = [abs(np.sum(values <= stage.noise.release(counts, source)[0]) - 5_000) for _ in range(300)]
    assert 0 < np.mean(off) < stage.noise.std


def test_constant_columns_and_empty_tables_have_cuts() -> None:
    assert np.all(np.diff(cuts(np.full(500, 40.0), "age")) >= 0)
    assert len(cuts(np.empty(0), "age", relation="add-remove")) == 9


def test_bad_arguments_are_named() -> None:
    setting = Setting(SCHEMA, "replace-one", 10)
    with pytest.raises(ArgumentError, match="feature must be a number to have quantiles, got the cat"):
        quantile_stage("edges", "kind", setting, parts=4, epsilon=1.0)
    with pytest.raises(ArgumentError, match="cells must be a whole number of at least 2"):
        quantile_stage("edges", "age", setting, parts=4, epsilon=1.0, cells=1)
