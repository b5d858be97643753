"""Made-up tables get what a session's table gets: the same sums, the same noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.audit.attacks.simulated.encoded import EncodedTable, noisy_sums, prepared, released
from discreet.audit.attacks.simulated.fingerprinting import sign_schema
from discreet.audit.attacks.simulated.shadow import draw_rows, training_schema
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.explain.shap.background import background
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import SimulatedNoise, public_generator
from discreet.trees.plan import decision_tree


def test_sums_are_those_of_the_engine() -> None:
    schema, rows = training_schema(), draw_rows(public_generator(1), 40)
    frame = pd.DataFrame(rows, columns=list(schema)).astype({"class": int}).astype({"class": str})
    table = PrivateTable(frame, schema, REPLACE_ONE)
    program = prepared(decision_tree("class", depth=2, epsilon=1.0), schema, 40)
    encoded = EncodedTable(tuple(schema), rows, SimulatedNoise(0))
    for stage in program.stages:
        (engine,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
        assert np.array_equal(encoded.exact(stage), engine) and engine.sum() != 0


@pytest.mark.parametrize("mechanism", ["laplace", "linf"])
def test_many_tables_are_many_releases(mechanism: str) -> None:
    schema = sign_schema(3)
    program = prepared(background("mean", epsilon=1e6, mechanism=mechanism), schema, 5)  # type: ignore[arg-type]
    tables = public_generator(2).choice([-1.0, 1.0], (4, 5, 3))
    sums = noisy_sums(program, tuple(schema), tables, 9)
    assert sums == pytest.approx(tables.sum(axis=1), abs=1e-3)
    means = released(program, tuple(schema), tables[0], 9).rows.to_numpy()
    assert means == pytest.approx(tables[0].mean(axis=0)[None], abs=1e-3)


def test_noise_has_the_size_that_is_promised() -> None:
    schema = sign_schema(2)
    program = prepared(background("mean", epsilon=1.0), schema, 5)
    tables = np.ones((4_000, 5, 2))
    noise = noisy_sums(program, tuple(schema), tables, 3) - 5.0
    assert noise.std() == pytest.approx(program.stages[0].noise.std, rel=0.05)


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="1 to 8192 rows of 2 numbers"):
        EncodedTable(("a", "b"), np.zeros((3, 3)), SimulatedNoise(0))
