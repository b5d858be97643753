"""Synthetic records: the right columns and kinds, near the truth at ease, no raw row inside."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import AccessDenied, ArgumentError
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "home": dc.Category("rent", "own", "other", missing=False, other=False),
        "income": dc.Number(0, 100, missing=False),
        "default": dc.Category("no", "yes", missing=False, other=False),
    },
    target="default",
)


def people(rows: int = 4_000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 91, rows)
    income = np.clip(age + draw.normal(0, 5, rows), 0, 100)
    home = np.where(income > 60, "own", draw.choice(["rent", "other"], rows, p=[0.8, 0.2]))
    default = np.where(draw.random(rows) < np.where(home == "own", 0.1, 0.7), "yes", "no")
    return pd.DataFrame({"age": age, "home": home, "income": income, "default": default})


def drawn(plan: Any, frame: pd.DataFrame, **options: Any) -> Any:
    terms = {"dataset": "d", "epsilon": 1e4, "delta": 1e-3, "ledger": ":memory:", "seed": 3}
    return dc.protect(frame, SCHEMA, **{**terms, **options}).release(plan).value


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_rows_resemble_the_table(relation: str) -> None:
    frame = people()
    value = drawn(dc.synthesize(epsilon=50.0), frame, relation=relation)
    assert len(value) == pytest.approx(len(frame), abs=5)
    found = dc.compare_tables(
        frame, value.to_frame(), SCHEMA, target="default", held_out=people(seed=9)
    )
    assert found.mean_one_way < 0.01 and found.mean_two_way < 0.06
    assert found.trained_on_synthetic > found.trained_on_real - 0.05


def test_more_noise_means_less_resemblance() -> None:
    frame = people()
    far, near = (
        dc.compare_tables(frame, drawn(dc.synthesize(epsilon=e), frame).to_frame(), SCHEMA)
        for e in (0.02, 20.0)
    )
    assert far.mean_one_way > 3 * near.mean_one_way


def test_values_are_the_schema_s_own() -> None:
    frame = drawn(dc.synthesize(500, columns=["home", "age"], epsilon=1.0), people()).to_frame()
    assert list(frame.columns) == ["home", "age"] and len(frame) == 500
    assert set(frame["home"]) <= {"rent", "own", "other"}
    assert frame["age"].between(18, 90).all() and (frame["age"] % 1 == 0).all()


def test_saved_and_drawn(tmp_path: Any) -> None:
    session = dc.protect(people(), SCHEMA, dataset="d", epsilon=2, ledger=":memory:")
    release = session.release(dc.synthesize(50, epsilon=1.0))
    release.save(tmp_path / "rows.json")
    assert dc.Release.load(tmp_path / "rows.json").value == release.value
    assert release.plot().figure_ is not None


def test_a_comparison_is_for_the_curator_alone() -> None:
    frame = people(200)
    found = dc.compare_tables(frame, frame, SCHEMA)
    assert found.mean_two_way == 0.0
    assert str(found).startswith("FOR THE CURATOR ONLY") and repr(found) == str(found)
    with pytest.raises(AccessDenied, match="A comparison cannot be saved or copied"):
        pickle.dumps(found)
    alone = dc.compare_tables(frame, frame[["age"]], SCHEMA)  # one column has no pair to tell of
    assert "pair of columns" in str(found) and "pair of columns" not in str(alone)
    disjoint = frame.assign(home="other", age=20)
    assert dc.compare_tables(frame, disjoint, SCHEMA).one_way["home"] > 0.5


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rows": 0}, "rows must be"),
        ({"columns": ["age", "age"]}, "columns must be one or more different"),
        ({"bins": 1}, "bins must be"),
        ({"mechanism": "uniform"}, "mechanism must be one of"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        dc.synthesize(**{"epsilon": 1.0, **wrong})


EXAMPLES = [
    Example("synthesize", lambda _: dc.synthesize(5, bins=3, epsilon=1.0)),
    Example(
        "synthesize",
        lambda _: dc.synthesize(
            5, columns=["age", "home"], mechanism="gaussian", epsilon=1.0, delta=1e-5
        ),
    ),
    Example(
        "deniable_rows",
        lambda _: dc.deniable_rows(6, bins=3, epsilon=3.0, delta=1e-2),
        relations=("replace-one",),
        accountants=("basic",),
    ),
    Example(
        "deniable_rows",
        lambda _: dc.deniable_rows(6, proposal="ball", radius=0.3, epsilon=3.0, delta=1e-2),
        relations=("replace-one",),
        accountants=("basic",),
    ),
]
