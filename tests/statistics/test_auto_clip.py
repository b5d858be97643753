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
@pytest.mark.parametrize(
    ("name", "column"),
    [("mean", "pay"), ("mean", "gap"), ("total", "pay"), ("variance", "pay"), ("std", "gap")],
)
def test_noise_falls_far_below_that_of_the_bounds(name: str, column: str, relation: str) -> None:
    frame = skewed()
    exact = {"mean": np.mean, "total": np.sum, "variance": np.var, "std": np.std}[name](
        frame[column].dropna()
    )
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
    few = dc.mean("pay", clip="auto", epsilon=1.0).prepare(setting("replace-one", 149))
    assert len(few.stages) == 1 and few.stages[0].noise.epsilon == 1.0
    many = dc.mean("pay", clip="auto", epsilon=1.0).prepare(setting("replace-one"))
    assert [round(stage.noise.epsilon, 9) for stage in many.stages] == [0.2, 0.8]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_it_costs_a_third_more_at_most_where_bounds_are_tight_and_records_suffice(
    epsilon: float,
) -> None:
    """The mean error of the law, not of draws: the choice's probabilities and Laplace noise."""
    number, rows = dc.Number(0, 1, missing=False), round(160 / epsilon)
    public = Setting(dc.Schema({"x": number}), "replace-one", rows)
    chooser = choice_stage("x", public, 0.2 * epsilon).noise
    shares = (np.arange(rows) + 0.5) / rows
    for values in (shares, shares**0.5, shares**2, 1 - (1 - shares) ** 0.2):
        counts = np.bincount(
            np.searchsorted(chooser.distances, values), minlength=len(chooser.distances)
        )
        scores = chooser.scores(counts)
        law = np.exp((scores - scores.max()) * chooser.epsilon)
        bias = np.array([np.maximum(values - end, 0).sum() for end in chooser.distances])
        scale = np.array(chooser.distances) / (0.8 * epsilon)
        errors = bias + scale * np.exp(-bias / scale)
        assert law @ errors / law.sum() < 1.35 / epsilon


def test_no_range_pays_for_clipping_all_records() -> None:
    for rows in (150, 300, 10_000):
        prices = choice_stage("pay", setting("replace-one", rows), 0.2).noise.prices
        assert prices[-1] - prices[0] <= rows / 2 + len(prices)


def test_parts_are_answered() -> None:
    session = dc.protect(skewed(), SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:")
    release = session.release(dc.mean("pay", clip="auto", where="home == 'a'", epsilon=2.0))
    assert len(release.stages) == 2 and float(session.remaining.loss) == 7.0
    assert "clip-auto" in release.guarantee.statements


@pytest.mark.parametrize("part", [{}, {"where": "gap > 0"}])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "total", "variance", "std"])
def test_groups_share_one_range(name: str, relation: str, part: dict[str, str]) -> None:
    plan = getattr(dc, name)("pay", clip="auto", by="home", epsilon=2.0, **part)
    session = dc.protect(
        skewed(), SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", relation=relation
    )
    release = session.release(plan)
    assert float(session.remaining.loss) == 7.0
    choice, *sums = release.stages
    assert choice["name"] == "clip" and choice["epsilon"] == pytest.approx(0.4)
    assert "groups" not in choice["certificate"]["statements"]
    assert ("where" in choice["certificate"]["statements"]) == bool(part)
    assert all("groups" in stage["certificate"]["statements"] for stage in sums)
    assert len({one.clip for one in release.value.results}) == 1


def test_levels_share_one_range() -> None:
    level = dc.Level("ward", {"north": ["a", "b"], "south": ["c"]})
    schema = dc.Schema(
        {"pay": SCHEMA["pay"], "ward": dc.Category("a", "b", "c", missing=False, other=False)},
        levels={"hospital": level},
    )
    wards = np.random.default_rng(8).choice(["a", "b", "c"], ROWS)
    frame = skewed()[["pay"]].assign(ward=wards)
    session = dc.protect(frame, schema, dataset="d", epsilon=9.0, ledger=":memory:", seed=1)
    plan = dc.total("pay", clip="auto", by=["hospital", "ward"], epsilon=2.0)
    found = session.release(plan).value
    assert float(session.remaining.loss) == pytest.approx(7.2)  # the range is paid for once
    totals = [one.value for one in found.results]
    assert totals[0] == pytest.approx(totals[2] + totals[3])


def test_tables_that_are_too_small_give_no_part_of_epsilon_away() -> None:
    for part in ({"by": "home"}, {"where": "home == 'a'"}):
        few = dc.mean("pay", clip="auto", epsilon=1.0, **part).prepare(setting("replace-one", 149))
        assert len(few.stages) == 1


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "total", "std"])
def test_intervals_of_groups_hold_what_is_clipped_and_the_bias_holds_the_rest(
    name: str, relation: str
) -> None:
    frame, exact = skewed(), {"mean": np.mean, "total": np.sum, "std": np.std}[name]
    plan = getattr(dc, name)("pay", clip="auto", by="home", epsilon=1.0)
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=5)
    program = plan.prepare(setting(relation))
    held, near, draws = 0, 0, 300
    for _ in range(draws):
        for home, one in zip(("a", "b"), program.finish(releaser).results, strict=True):
            own = frame.loc[frame["home"] == home, "pay"]
            low, high = one.clip or (0.0, 1e7)
            held += one.low <= exact(np.clip(own, low, high)) <= one.high
            near += exact(own) <= one.high + one.bias
    assert held >= 0.915 * 2 * draws
    assert near >= 0.93 * 2 * draws


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


def counts(table: tuple[float, ...], edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, table), minlength=len(edges))


def greatest_loss(scores: dict[tuple[float, ...], np.ndarray], epsilon: float) -> float:
    """Return the greatest log-ratio of the laws of neighbours, of the weights exp(epsilon score)."""
    laws = {}
    for table, own in scores.items():
        weights = np.exp((own - own.max()) * epsilon)
        laws[table] = np.log(weights / weights.sum())
    return max(
        float(
            np.abs(
                laws[table] - laws[tuple(sorted((*table[:place], other, *table[place + 1 :])))]
            ).max()
        )
        for table in laws
        for place, other in itertools.product(range(len(table)), VALUES)
    )


@pytest.mark.proves("clip-auto")
def test_scores_move_by_one_in_one_direction() -> None:
    noise = choice_stage("pay", setting("replace-one"), 0.5).noise
    edges = np.asarray(noise.distances)
    scores = {table: noise.scores(counts(table, edges)) for table in TABLES}
    assert moved(scores, VALUES) == 1
    assert greatest_loss(scores, noise.epsilon) <= noise.epsilon
    assert greatest_loss(scores, noise.epsilon) > 0.5 * noise.epsilon
    assert noise._pick.scale == pytest.approx(1 / noise.epsilon)


@pytest.mark.refutes("clip-auto")
def test_scores_that_move_in_both_directions_are_caught() -> None:
    noise = choice_stage("pay", setting("replace-one"), 0.5).noise
    edges = np.asarray(noise.distances)
    wanted = {t: -np.abs(len(t) - np.cumsum(counts(t, edges)) - 1) for t in TABLES}
    assert moved(wanted, VALUES) == 1
    assert greatest_loss(wanted, noise.epsilon) > 1.2 * noise.epsilon


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
