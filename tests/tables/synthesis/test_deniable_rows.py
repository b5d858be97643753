"""Deniable records through a session: they follow the schema, and rare seeds do not pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "home": dc.Category("rent", "own", "castle", missing=False, other=False),
        "income": dc.Number(0, 100, missing=False),
    }
)
TERMS: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-5}


def people(rows: int = 3_000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 91, rows)
    home = draw.choice(["rent", "own"], rows)
    home[0] = "castle"
    return pd.DataFrame({"age": age, "home": home, "income": draw.uniform(0, 100, rows)})


def drawn(frame: pd.DataFrame, **options: Any) -> Any:
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=100, delta=1e-3, ledger=":memory:", seed=1)
    return session.release(dc.deniable_rows(60, **{**TERMS, **options})).value


@pytest.mark.parametrize("proposal", ["resample", "ball"])
def test_records_follow_the_schema(proposal: str) -> None:
    value = drawn(people(), proposal=proposal, bins=6, resampled=2, radius=0.4)
    frame = value.to_frame()
    assert 0 < len(frame) <= 60 and value.pass_rate == len(frame) / 60
    assert set(frame["home"]) <= {"rent", "own", "castle"}
    assert frame["age"].between(18, 90).all() and frame["income"].between(0, 100).all()


def test_a_seed_nobody_resembles_never_passes() -> None:
    """One castle among 3,000: it is a seed in one attempt of fifty, and is kept from passing."""
    frame = people(60)
    value = drawn(pd.concat([frame] * 20), proposal="ball", bins=2, radius=1.0)
    assert value.k > 20 and "castle" not in set(value.to_frame()["home"])


def test_no_records_is_an_answer() -> None:
    value = drawn(people(30), resampled=1)
    assert len(value) == 0 and list(value.to_frame().columns) == ["age", "home", "income"]


def test_more_attempts_ask_for_more_plausible_seeds() -> None:
    setting = dc.protect(people(), SCHEMA, dataset="d", epsilon=9, delta=1e-3, ledger=":memory:")
    asked = [
        setting.price(dc.deniable_rows(attempts, **TERMS)).plans[0].expected_error
        for attempts in (1, 10, 100)
    ]
    counts = [error["plausible seeds that a row must have"].error for error in asked]
    assert counts == sorted(counts) and counts[0] < counts[-1]


def test_saved_and_loaded(tmp_path: Any) -> None:
    session = dc.protect(people(), SCHEMA, dataset="d", epsilon=9, delta=1e-3, ledger=":memory:")
    release = session.release(dc.deniable_rows(5, resampled=2, bins=4, **TERMS))
    release.save(tmp_path / "rows.json")
    assert dc.Release.load(tmp_path / "rows.json").value == release.value
    assert release.guarantee.certified and release.guarantee.delta == TERMS["delta"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"attempts": 0}, "attempts must be"),
        ({"delta": 0.0}, "delta must be above zero"),
        ({"gamma": 1.0}, "gamma must exceed 1"),
        ({"radius": 0.0}, "radius must be a share"),
        ({"proposal": "guess"}, "proposal must be one of"),
        ({"columns": []}, "columns must be one or more"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        dc.deniable_rows(**{"attempts": 5, **TERMS, **wrong})


def test_add_remove_is_refused() -> None:
    session = dc.protect(
        people(), SCHEMA, dataset="d", epsilon=9, delta=1e-3, ledger=":memory:", relation="add-remove"
    )
    with pytest.raises(ArgumentError, match="relation must be replace-one"):
        session.price(dc.deniable_rows(5, **TERMS))
