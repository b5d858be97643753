"""Permutation importance where records may have no target: they are not in the part."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.explain.permutation.contribution import ranking_contribution, value_contribution
from discreet.plans import Setting
from discreet.plans.stages.parts import part_stage
from discreet.privacy.certificate import Box
from discreet.privacy.relation import RELATIONS
from discreet.schema import MISSING
from tests.explain.permutation.cases import DRAWS, permuted, replacements, total, within, worst

TINY = dc.Schema(
    {
        "a": dc.Number(0, 2, step=1),
        "b": dc.Number(0, 1, step=1, missing=False),
        "y": dc.Category(0, 1),
    },
    target="y",
)
RECORDS = list(itertools.product([MISSING, 1.0, 2.0], [0.0, 1.0], [0.0, 1.0, 3.0]))[::2]
STEP = 2.0**-40


def odd(rows: Any) -> Any:
    """Answer NaN as well, and far apart for rows that hardly differ."""
    a = np.where(np.isnan(rows[:, 0]), 0, rows[:, 0])
    return np.where((a == 0) != (rows[:, 1] == 1), 1.0, 0.0)


def case(**options: Any) -> Any:
    return permuted(dc.Model(odd, output="probability", name="odd"), TINY, **options)


def layouts(of: Any) -> list[Any]:
    return [value_contribution(of, None), value_contribution(of, 1.7), ranking_contribution(of)]


def certified(contribution: Any) -> Any:
    return contribution.certificate.widen(STEP * (101 + contribution.partners))


@pytest.mark.proves("pfi-part")
@pytest.mark.parametrize("draws", [None, DRAWS], ids=["partners", "draws"])
def test_records_without_a_target_move_no_sum_further(draws: Any) -> None:
    records = [RECORDS[place] for place in (0, 1, 2, 5, 8)]
    for contribution in layouts(case(repeats=2 if draws is None else 1, draws=draws)):
        found = worst(contribution, replacements(3 if draws is None else 2, records))
        assert within(found, certified(contribution), "replace-one")
        assert found.linf > 0.4 * contribution.certificate.sensitivity("linf", "replace-one")


@pytest.mark.proves("pfi-part")
def test_draws_hold_when_records_come_and_go() -> None:
    pairs = [
        ((*rest, new), rest) for rest in itertools.product(RECORDS[::2], repeat=2) for new in RECORDS
    ]
    for contribution in layouts(case(repeats=2, draws=DRAWS)):
        assert within(worst(contribution, pairs), certified(contribution), "add-remove")


@pytest.mark.refutes("pfi-part")
def test_losses_that_are_not_measured_from_the_middle_are_caught() -> None:
    """Zero is then at an end of the box: who comes into the part moves it by the whole loss."""
    of = case(repeats=2, draws=DRAWS)
    contribution = ranking_contribution(of)
    most = of.scorer.most

    def faulty(block: Any) -> Any:
        known = of.scorer.known(np.asarray(block.values)[:, -1])
        return np.where(known[:, None], of.losses(block)[:, :-1], 0.0)

    planted = replace(contribution, compute=faulty, region=Box(0.0, most))
    pairs = [((new, RECORDS[0]), (RECORDS[0],)) for new in RECORDS]
    assert not within(worst(planted, pairs), certified(contribution), "add-remove")


SCHEMA = dc.Schema(
    {
        "bmi": dc.Number(10, 60),
        "sex": dc.Category("f", "m"),
        "ill": dc.Category("no", "yes"),
    },
    target="ill",
)


def frame(rows: int = 2000) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    bmi = np.where(draw.random(rows) < 0.2, np.nan, draw.uniform(10, 60, rows))
    ill: Any = np.where((bmi > 35) ^ (draw.random(rows) < 0.1), "yes", "no").astype(object)
    ill[: rows // 4], ill[rows // 4 : rows // 2] = None, "unclear"
    sex = draw.choice(np.array(["f", "m", None], dtype=object), rows)
    return pd.DataFrame({"bmi": bmi, "sex": sex, "ill": ill})


def heavy(rows: Any) -> Any:
    return np.where(np.isnan(rows[:, 0]), 0.5, rows[:, 0] > 35)


def ask(relation: str, **options: Any) -> Any:
    terms: Any = {"epsilon": 1000, "ledger": ":memory:", "seed": 1, "progress": False}
    session = dc.protect(frame(), SCHEMA, dataset="d", relation=relation, **terms)
    model = dc.Model(heavy, output="probability", name="heavy")
    return session.release(dc.permutation_importance(model, epsilon=200, **options))


def expected() -> float:
    """Return the importance of bmi among the records that have a target, values of all drawn."""
    rows = frame()
    known = rows[rows["ill"].isin(["no", "yes"])]
    truth = (known["ill"] == "yes").to_numpy()[:, None]
    loss = np.mean((heavy(known[["bmi"]].to_numpy())[:, None] - truth) ** 2)
    return float(np.mean((heavy(rows[["bmi"]].to_numpy())[None, :] - truth) ** 2) - loss)


ASKED = [
    ("replace-one", {}),
    ("replace-one", {"sampling": "marginal"}),
    ("add-remove", {"sampling": "marginal"}),
]


@pytest.mark.parametrize(("relation", "options"), ASKED)
def test_importances_are_those_of_records_with_a_target(relation: str, options: Any) -> None:
    release = ask(relation, repeats=50, **options)
    assert release.value.values[0][0] == pytest.approx(expected(), abs=0.02)
    assert {"part"} <= set(release.guarantee.statements)


def test_a_ranking_costs_no_count_unless_it_tells_gaps() -> None:
    assert ask("replace-one", release="ranking").value.order[0][0] == "bmi"
    gaps = ask("replace-one", release="ranking", mechanism="laplace").value.gaps[0]
    assert gaps[0] == pytest.approx(expected(), abs=0.03)


def test_a_target_that_is_never_missing_costs_no_count() -> None:
    whole = dc.Schema(
        {**{n: SCHEMA[n] for n in ("bmi", "sex")}, "ill": dc.Category("no", "yes", unknown="no")},
        target="ill",
    )
    model = dc.Model(heavy, output="probability", name="heavy")
    plan = dc.permutation_importance(model, epsilon=1.0)
    assert len(plan.prepare(Setting(whole, "replace-one", 10)).stages) == 1
    assert len(plan.prepare(Setting(SCHEMA, "replace-one", 10)).stages) == 2


TABLES = list(itertools.product([1.0, 2.0, 3.0], repeat=3))
"""Tables of three records; the latter two values are none of the column's."""


def size_moves() -> float:
    stage = part_stage(("y",), Setting(TINY, "replace-one", 3), epsilon=1.0)
    assert stage.certificate.statements == ("part",)

    def size(table: Any) -> float:
        return float(total(stage.contribution, [(y,) for y in table], 1.0)[0])

    pairs = [(t, (new, *t[1:])) for t in TABLES for new in (1.0, 2.0, 3.0)]
    return max(abs(size(a) - size(b)) for a, b in pairs)


@pytest.mark.proves("part")
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_size_of_a_part_moves_by_one(relation: str) -> None:
    stage = part_stage(("y",), Setting(TINY, relation, 3), epsilon=1.0)  # type: ignore[arg-type]
    assert size_moves() == 1 == stage.certificate.sensitivity("l1", relation)


@pytest.mark.refutes("part")
def test_a_size_that_is_taken_for_public_is_caught() -> None:
    """Replacing a record moves the number of all records by nothing, that of a part by one."""
    assert size_moves() > 0


def greatest_move(low: float, high: float) -> float:
    """Return how far the sum over a part moves when a record of a box is replaced or leaves."""
    added = [0.0, low, high]
    return max(abs(a - b) for a in added for b in added)


@pytest.mark.proves("part")
def test_a_box_around_zero_keeps_its_width() -> None:
    for half in (0.5, 1.0, 7.0):
        assert greatest_move(-half, half) == 2 * half


@pytest.mark.refutes("part")
def test_a_box_away_from_zero_moves_by_more_than_its_width() -> None:
    assert greatest_move(10.0, 11.0) == 11.0 > 11.0 - 10.0
