"""The most frequent category: the law of votes, without a lattice."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.laws.neighbours import neighbouring_tables, small_tables
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.select.choose.chooser import CHOICES
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.choose.plan import choose
from tests.laws.examples import Example
from tests.oracles.laws import as_law, max_divergence

SCHEMA = dc.Schema(
    {
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "mass": dc.Number(0, 10, missing=False),
    }
)
KINDS = ["a", "b", "c"]


def noise_of(relation: str, mechanism: str = "auto") -> Any:
    setting = Setting(SCHEMA, relation, 6 if relation == "replace-one" else None)  # type: ignore[arg-type]
    (stage,) = most_frequent("kind", epsilon=1.0, mechanism=mechanism).prepare(setting).stages  # type: ignore[arg-type]
    return stage.noise


@pytest.mark.proves("choose")
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "stability"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_laws_of_neighbouring_tables_keep_epsilon(relation: str, mechanism: str) -> None:
    noise = noise_of(relation, mechanism)
    known = cache(lambda counts: as_law(noise.chooser.law(noise.standing(np.array(counts)))))
    worst = max(
        max_divergence(known(counts), known(other))
        for counts in small_tables(3, 5)
        for other in neighbouring_tables(counts, relation)
    )
    assert 0.7 < worst <= 1.0 + 1e-9


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_it_is_choosing_by_votes(relation: str) -> None:
    def votes(block: Any, candidates: Any) -> Any:
        return np.stack([block["kind"] == kind for kind in candidates], axis=1)

    noise, counts = noise_of(relation, "exponential"), np.array([3, 2, 1])
    setting = Setting(SCHEMA, relation, 6 if relation == "replace-one" else None)  # type: ignore[arg-type]
    (stage,) = (
        choose(votes, KINDS, columns=["kind"], epsilon=1.0, mechanism="exponential")
        .prepare(setting)
        .stages
    )
    steps = np.rint((counts - counts.sum() / 2) / stage.noise.step).astype(np.int64)
    law = stage.noise.chooser.law(stage.noise.standing(steps))
    assert noise.chooser.law(noise.standing(counts)) == pytest.approx(law, abs=1e-3)


@pytest.mark.parametrize("mechanism", CHOICES)
def test_an_obvious_winner_is_found(mechanism: str) -> None:
    frame = pd.DataFrame({"kind": np.repeat(KINDS, (20, 400, 30)), "mass": 1.0})
    terms = {"dataset": "d", "epsilon": 1e3, "delta": 1e-2, "ledger": ":memory:", "seed": 0}
    plan = most_frequent("kind", epsilon=2.0, delta=1e-6, mechanism=mechanism)  # type: ignore[arg-type]
    value = dc.protect(frame, SCHEMA, **terms).release(plan).value
    assert value.winner == "b"
    if mechanism == "laplace":
        assert value.gap == pytest.approx(370, abs=60)
    if mechanism == "auto":
        assert value.mechanism == "permute-and-flip" and "whatever the table" in value.why


def test_numbers_and_lonely_values_are_refused() -> None:
    with pytest.raises(ArgumentError, match="column must be a category of at least two values"):
        most_frequent("mass", epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 5))
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        most_frequent("kind", epsilon=1.0, mechanism="joint-laplace")  # type: ignore[arg-type]


EXAMPLES = [
    Example("most_frequent", lambda _: dc.most_frequent("home", epsilon=1.0)),
    Example("most_frequent", lambda _: dc.most_frequent("home", mechanism="laplace", epsilon=1.0)),
]
