"""Ranges chosen in private: scores move by one, skewed values get less noise, few records none."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Setting
from discreet.privacy.relation import RELATIONS
from discreet.statistics.auto_clip import choice_stage, range_within

SCHEMA = dc.Schema(
    {
        "pay": dc.Number(0, 10_000_000, missing=False),
        "gap": dc.Number(-1e6, 1e6),
        "home": dc.Category("a", "b", missing=False, other=False),
    }
)
ROWS = 8_000


def skewed() -> pd.DataFrame:
    draw = np.random.default_rng(4)
    pay = np.minimum(draw.gamma(2.0, 20_000, ROWS), 1e7)
    gap = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(0, 900, ROWS))
    return pd.DataFrame({"pay": pay, "gap": gap, "home": draw.choice(["a", "b"], ROWS)})


def setting(relation: str, rows: int = ROWS) -> Setting:
    return Setting(SCHEMA, relation, rows if relation == "replace-one" else None)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "column"), [("mean", "pay"), ("mean", "gap"), ("total", "pay")])
def test_noise_falls_far_below_that_of_the_bounds(name: str, column: str, relation: str) -> None:
    frame = skewed()
    exact = getattr(frame[column], {"mean": "mean", "total": "sum"}[name])()
    table = PrivateTable(frame, SCHEMA, relation)
    errors, answers = {}, []
    for clip in (None, "auto"):
        plan = getattr(dc, name)(column, clip=clip, epsilon=1.0)
        program, releaser = plan.prepare(setting(relation)), SimulatedReleaser(table, seed=3)
        answers = [program.finish(releaser) for _ in range(60)]
        errors[clip] = np.sqrt(np.mean([(one.value - exact) ** 2 for one in answers]))
    assert errors["auto"] < 0.5 * errors[None]
    clipped = [one for one in answers if one.clip is not None]
    assert len(clipped) > 0.9 * len(answers) and all(one.bias > 0 for one in clipped)


def test_the_interval_holds_the_mean_of_what_was_clipped() -> None:
    frame = skewed()
    program = dc.mean("pay", clip="auto", epsilon=1.0).prepare(setting("replace-one"))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA), seed=9)
    found = [program.finish(releaser) for _ in range(200)]
    clipped = [frame["pay"].clip(*(one.clip or (0, 1e7))).mean() for one in found]
    held = [one.low <= mean <= one.high for one, mean in zip(found, clipped, strict=True)]
    assert np.mean(held) > 0.915
    off = np.abs(np.array(clipped) - frame["pay"].mean()).mean()
    assert off < 3 * np.mean([one.bias for one in found])


def test_nothing_is_spent_on_it_where_records_are_few() -> None:
    few = dc.mean("pay", clip="auto", epsilon=1.0).prepare(setting("replace-one", 100))
    assert len(few.stages) == 1 and few.stages[0].noise.epsilon == 1.0
    many = dc.mean("pay", clip="auto", epsilon=1.0).prepare(setting("replace-one"))
    assert [round(stage.noise.epsilon, 9) for stage in many.stages] == [0.2, 0.8]


def test_groups_are_refused_and_parts_are_answered() -> None:
    with pytest.raises(dc.errors.ArgumentError, match="by must be left out"):
        dc.mean("pay", clip="auto", by="home", epsilon=1.0).prepare(setting("replace-one"))
    session = dc.protect(skewed(), SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:")
    release = session.release(dc.mean("pay", clip="auto", where="home == 'a'", epsilon=2.0))
    assert len(release.stages) == 2 and float(session.remaining.loss) == 7.0
    assert "clip-auto" in release.guarantee.statements


def test_plans_with_the_word_read_back() -> None:
    plan = dc.total("pay", clip="auto", epsilon=1.0)
    assert dc.plan_from_json(plan.to_json()) == plan


def moved(scores: dict[tuple[float, ...], np.ndarray], values: list[float]) -> float:
    """Return how far scores move at most between neighbours of both relations."""
    found = 0.0
    for table in scores:
        for place, other in itertools.product(range(len(table)), values):
            replaced = tuple(sorted((*table[:place], other, *table[place + 1 :])))
            found = max(found, float(np.abs(scores[table] - scores[replaced]).max()))
            if table[:place] + table[place + 1 :] in scores:
                less = scores[table[:place] + table[place + 1 :]]
                found = max(found, float(np.abs(scores[table] - less).max()))
    return found


VALUES = [0.0, 10.0, 1e4, 1e6, 1e7]
TABLES = [
    table for size in (1, 2, 3) for table in itertools.combinations_with_replacement(VALUES, size)
]


@pytest.mark.proves("clip-auto")
def test_scores_move_by_one() -> None:
    noise = choice_stage("pay", setting("replace-one"), 0.5).noise
    edges = np.asarray(noise.distances)

    def counts(table: tuple[float, ...]) -> np.ndarray:
        return np.bincount(np.searchsorted(edges, table), minlength=len(edges))

    assert moved({table: noise.scores(counts(table)) for table in TABLES}, VALUES) == 1


@pytest.mark.refutes("clip-auto")
def test_sums_beyond_a_range_are_caught() -> None:
    edges = np.asarray(choice_stage("pay", setting("replace-one"), 0.5).noise.distances)
    beyond = {t: -np.maximum(np.array(t)[:, None] - edges, 0).sum(axis=0) for t in TABLES}
    assert moved(beyond, VALUES) > 1e6


def test_ranges_lie_around_the_anchor() -> None:
    for number, distance, ends in (
        (dc.Number(0, 100), 10, (0, 10)),
        (dc.Number(17, 90), 10, (17, 27)),
        (dc.Number(-50, 100), 60, (-50, 60)),
        (dc.Number(-90, -10), 5, (-15, -10)),
    ):
        assert range_within(number, distance).limits == ends
