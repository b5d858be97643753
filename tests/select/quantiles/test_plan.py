"""Several quantiles: exact laws of neighbours, ties, order, bounds, both relations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.audit.laws.neighbours import Counts, neighbouring_tables, small_tables
from discreet.data import PrivateTable
from discreet.errors import ArgumentError, CertificateError
from discreet.plans import Result, Setting
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.certificate import certify_cells
from discreet.randomness import SimulatedNoise, SystemNoise
from discreet.select.choose.chooser import Chooser
from discreet.select.quantiles.cuts import SLOTS, QuantileCuts, quantile_cuts
from discreet.select.quantiles.order_statistics import Standing
from discreet.select.quantiles.plan import _marks, quantiles
from discreet.select.quantiles.runs import DealtCounts, Wanted, deal
from tests.laws.examples import Example
from tests.oracles.goodness import fits
from tests.oracles.laws import max_divergence
from tests.select.tables import percentile_of

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 3, step=1, missing=False),
        "mass": dc.Number(0, 1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
    }
)
RELATIONS = ["replace-one", "add-remove"]


def cuts_of(
    relation: str, kind: str, *, values: int = 3, ps: tuple[float, ...] = (25, 50, 75), slots: int = 2
) -> QuantileCuts:
    certificate, share = certify_cells(values), 1.0 / len(ps).bit_length()
    return QuantileCuts(
        certificate, relation, 1.0, 0.0, share, kind, _marks([p / 100 for p in ps]), slots
    )  # type: ignore[arg-type]


def law_of(noise: QuantileCuts, counts: Counts) -> dict[object, float]:
    """Return the law of all cuts."""
    ends = range(len(counts) * noise.slots + 1)
    orders = itertools.combinations_with_replacement(ends, len(noise.marks) - 2)
    return {cuts: noise.probability(np.array(counts), cuts) for cuts in orders}


@pytest.mark.proves("several-quantiles")
@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("ps", [(25, 50, 75), (10, 90), (99.5,)])
def test_laws_of_neighbours_keep_epsilon(relation: str, kind: str, ps: tuple[float, ...]) -> None:
    noise = cuts_of(relation, kind, ps=ps)
    known = cache(lambda counts: law_of(noise, counts))
    for counts in small_tables(3, 3):
        assert sum(known(counts).values()) == pytest.approx(1.0, abs=1e-9)
        for other in neighbouring_tables(counts, relation):
            assert max_divergence(known(counts), known(other)) <= 1.0 + 1e-9


@pytest.mark.refutes("several-quantiles")
def test_the_price_of_adding_is_too_small_for_replacing() -> None:
    noise = cuts_of("add-remove", "exponential", ps=(50,))
    known = cache(lambda counts: law_of(noise, counts))
    worst = max(
        max_divergence(known(counts), known(other))
        for counts in small_tables(3, 4)
        for other in neighbouring_tables(counts, "replace-one")
    )
    assert worst > 1.05


def dealt(counts: Any, slots: int) -> np.ndarray:
    """Return how many records every slot holds."""
    values, places, records = deal(np.asarray(counts), slots)
    held = np.zeros(len(counts) * slots, dtype=np.int64)
    held[values * slots + places] = records
    assert np.all(np.diff(values * slots + places) > 0) and np.all(records > 0)
    return held


@pytest.mark.proves("several-quantiles")
@pytest.mark.parametrize("slots", [1, 2, 5, 8, 64])
def test_one_record_more_is_one_more_in_one_slot(slots: int) -> None:
    for count in range(3 * slots):
        fewer, more = (dealt([7, c, 0], slots) for c in (count, count + 1))
        assert fewer.sum() == 7 + count and np.abs(more - fewer).sum() == 1
        assert fewer[slots : 2 * slots].max() - fewer[slots : 2 * slots].min() <= 1


@pytest.mark.refutes("several-quantiles")
def test_dividing_a_count_evenly_moves_several_slots() -> None:
    """Where records are laid out anew for every count, one record more moves three slots."""
    fewer, more = (np.diff(np.rint(np.linspace(0, count, 4))) for count in (1, 2))
    assert np.abs(more - fewer).sum() == 3


@pytest.mark.once_per("kind")
@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(5)], ids=["system", "simulated"])
@pytest.mark.parametrize("kind", ["permute-and-flip", "exponential"])
def test_draws_have_the_law(source: Any, kind: str) -> None:
    noise, counts = cuts_of("add-remove", kind, ps=(30, 60)), (2, 0, 3)
    law: dict[object, float] = {}
    for cuts, share in law_of(noise, counts).items():
        answer = tuple(noise.places(np.array(cuts)).tolist())
        law[answer] = law.get(answer, 0.0) + share
    sample = [tuple(noise.release(np.array(counts), source).astype(int).tolist()) for _ in range(2000)]
    assert fits(sample, law)


@pytest.mark.parametrize("radius", [0.0, 1.0])
def test_values_that_stay_whole_change_no_law(monkeypatch: pytest.MonkeyPatch, radius: float) -> None:
    monkeypatch.setattr("discreet.select.quantiles.cuts.RADIUS", radius)
    test_draws_have_the_law(SimulatedNoise(9), "exponential")


@pytest.mark.proves("several-quantiles")
@pytest.mark.parametrize("seed", range(40))
def test_runs_have_the_scores_of_cuts_that_are_looked_at_one_by_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    slots, counts = int(draw.choice([1, 2, 5, 8])), draw.integers(0, 7, 5) * draw.integers(0, 2, 5)
    starts = np.concatenate([[0], slots * np.cumsum(draw.integers(1, 4, 5))])
    values, places, records = deal(counts, slots)
    filled = starts[values] + places * (np.diff(starts)[values] // slots)
    first, last = sorted(draw.integers(0, starts[-1] + 1, 2).tolist())
    ranks = [int(records[filled < cut].sum()) for cut in range(first, last + 1)]
    scores = [-abs(5 * (rank - ranks[0]) - 2 * (ranks[-1] - ranks[0])) for rank in ranks]
    held, wanted = DealtCounts(counts, starts, slots), Wanted(first, last, 2, 5)
    for radius in (np.inf, 4.0, 0.0):
        runs = held.runs(wanted, radius)
        assert runs.begins.tolist() == [first, *(runs.begins + runs.sizes)[:-1].tolist()]
        told = np.repeat(runs.scores, runs.sizes)
        assert len(told) == len(scores) and np.all(told >= scores)
        assert radius < np.inf or told.tolist() == scores
    assert [held.score(cut, wanted) for cut in range(first, last + 1)] == scores


def test_probability_refuses_nothing_but_gives_zero_to_what_cannot_be() -> None:
    noise = cuts_of("add-remove", "exponential")
    assert noise.probability(np.array([1, 1, 1]), (5, 3, 6)) == 0.0


def frame(rows: int = 20_000) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    mass = np.where(draw.random(rows) < 0.6, 0.0, draw.beta(2, 5, rows))
    return pd.DataFrame({"size": draw.binomial(3, 0.5, rows), "mass": mass, "kind": "a"})


def released(plan: Any, relation: str, seed: int | None = 0) -> Any:
    terms = {"dataset": "d", "epsilon": 1e5, "delta": 1e-2, "ledger": ":memory:", "seed": seed}
    return dc.protect(frame(), SCHEMA, relation=relation, workers=1, **terms).release(plan).value


@pytest.mark.parametrize("relation", RELATIONS)
def test_ties_and_step_grids_are_met(relation: str) -> None:
    """Six in ten records are zero: every quantile up to p59 is, and p65 is not."""
    ps = [5, 25, 50, 55, 65, 80, 95]
    found = released(quantiles("mass", [p / 100 for p in ps], epsilon=2.0), relation)
    assert found.ps == tuple(ps)
    true = np.percentile(frame()["mass"], ps, method="inverted_cdf")
    assert found.values[:4] == (0.0, 0.0, 0.0, 0.0)
    assert np.abs(np.array(found.values) - true).max() < 0.03
    sizes = released(quantiles("size", [0.05, 0.25, 0.75, 0.95], epsilon=2.0), relation)
    assert sizes.values == (0.0, 1.0, 2.0, 3.0)


@pytest.mark.parametrize("seed", range(5))
def test_values_never_cross_nor_leave_the_bounds(seed: int) -> None:
    levels = np.linspace(0.01, 0.99, 25)
    found = released(quantiles("mass", levels, epsilon=0.01), "replace-one", seed)
    assert list(found.values) == sorted(found.values)
    assert found.values[0] >= 0.0 and found.values[-1] <= 1.0


def test_single_levels_agree_with_the_percentile_where_noise_is_small() -> None:
    counts = (12, 0, 36, 4, 48)
    for p in (1, 20, 50, 77, 99):
        noise, _ = quantile_cuts(
            certify_cells(5), _marks([p / 100]), relation="add-remove", epsilon=500.0
        )
        (place,) = noise.release(np.array(counts), SimulatedNoise(1))
        assert place == percentile_of(counts, dc_fraction(p))


def dc_fraction(p: float) -> Any:
    from discreet.select.quantiles.order_statistics import read_percentile

    return read_percentile(p)


def test_auto_takes_what_errs_less_and_says_so() -> None:
    found = released(quantiles("size", [0.25, 0.5, 0.75], epsilon=1.0), "add-remove")
    assert found.mechanism == "permute-and-flip" and "exponential" in found.why
    fine = released(quantiles("mass", [0.25, 0.5, 0.75], epsilon=1.0), "add-remove")
    assert fine.mechanism == "exponential" and "too many to visit" in fine.why
    many = np.linspace(0.01, 0.99, 99).tolist()
    program = quantiles("mass", many, epsilon=0.5, delta=1e-6).prepare(
        Setting(SCHEMA, "add-remove", None)
    )
    (stage,) = program.stages
    assert stage.noise.name == "exponential" and stage.noise.delta == 1e-6
    assert stage.events == (BoundedRangeEvent(stage.noise.share),) * 7
    asked = quantiles("mass", [0.5, 0.6], epsilon=1.0, mechanism="permute-and-flip")
    (stage,) = asked.prepare(Setting(SCHEMA, "add-remove", None)).stages
    assert stage.events == (PureEvent(0.5, "permute-and-flip"),) * 2


def test_no_table_errs_more_than_the_stated_worst() -> None:
    """The mean rank error of the exact law, over small tables with ties, is far below the bound."""
    noise = cuts_of("add-remove", "exponential", slots=4)
    for counts in ((8, 0, 0), (1, 6, 1), (3, 3, 3)):
        below = np.concatenate([[0], np.cumsum(dealt(counts, 4))])
        wanted = np.array([0.25, 0.5, 0.75]) * sum(counts)
        off = [
            share * np.abs(below[list(cuts)] - wanted)  # type: ignore[arg-type, call-overload]
            for cuts, share in law_of(noise, counts).items()
        ]
        assert np.sum(off, axis=0).max() <= noise.worst


def test_quantiles_are_saved_tabled_and_drawn() -> None:
    found = released(quantiles("mass", [0.25, 0.5, 0.75], epsilon=1.0), "replace-one")
    assert Result.read(found.to_json()) == found
    older = {name: value for name, value in found.to_json().items() if name != "worst_error"}
    assert Result.read(older) == replace(found, worst_error=None)
    assert list(found.to_frame()["quantile"]) == ["p25", "p50", "p75"]
    assert list(found.to_frame()["level"]) == [0.25, 0.5, 0.75]
    assert found.plot().ax_.get_xlabel() == "mass"


def test_wrong_arguments() -> None:
    for wrong in (0.5, "0.5", [], [0.5, 0.5], [0.5, 1], [0], [1e-9], ["0.5"], [True], [-0.5], [[0.5]]):
        with pytest.raises(ArgumentError, match="levels must be"):
            quantiles("mass", wrong, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"got 25\. Divide percents by 100: 0\.25\."):
        quantiles("mass", [25, 50], epsilon=1.0)
    with pytest.raises(ArgumentError, match=r"the greatest percentile\(column, 100\)"):
        quantiles("mass", [1.0], epsilon=1.0)
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        quantiles("mass", [0.5], epsilon=1.0, mechanism="laplace")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="column must be numeric"):
        quantiles("kind", [0.5], epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 10))
    with pytest.raises(ArgumentError, match="marks must rise from 0"):
        QuantileCuts(certify_cells(3), "add-remove", 1.0, 0.0, 1.0, "exponential", (0, 3, 2))
    moved = QuantileCuts(
        certify_cells(3).scale(5), "add-remove", 1.0, 0.0, 1.0, "exponential", (0, 1, 2)
    )
    with pytest.raises(CertificateError, match="one or two move"):
        assert moved.moves


def test_a_long_grid_has_fewer_slots() -> None:
    noise, _ = quantile_cuts(certify_cells(2**20), (0, 1, 2), relation="add-remove", epsilon=1.0)
    assert noise.name == "exponential" and noise.slots == SLOTS == 64
    asked, _ = quantile_cuts(
        certify_cells(2**20),
        (0, 1, 2),
        relation="add-remove",
        epsilon=1.0,
        mechanism="permute-and-flip",
    )
    assert asked.slots == 2


@pytest.mark.proves("several-quantiles")
@pytest.mark.parametrize("relation", RELATIONS)
def test_weights_keep_epsilon_and_the_law(relation: str) -> None:
    noise = replace(cuts_of(relation, "exponential", ps=(20, 60)), weights=np.array([1, 4, 2]))
    ends = range(int(noise.starts[-1]) + 1)
    known = cache(
        lambda counts: {
            cuts: noise.probability(np.array(counts), cuts)
            for cuts in itertools.combinations_with_replacement(ends, 2)
        }
    )
    for counts in [(1, 0, 1), (0, 2, 1), (2, 0, 0)]:
        assert sum(known(counts).values()) == pytest.approx(1.0, abs=1e-9)
        for other in neighbouring_tables(counts, relation):
            assert max_divergence(known(counts), known(other)) <= 1.0 + 1e-9
    law: dict[object, float] = {}
    for cuts, share in known((1, 0, 1)).items():
        answer = tuple(noise.places(np.array(cuts)).tolist())
        law[answer] = law.get(answer, 0.0) + share
    source = SimulatedNoise(2)
    sample = [tuple(noise.release(np.array([1, 0, 1]), source).astype(int)) for _ in range(2_000)]
    assert fits(sample, law)


def side_loss(chooser: Chooser, parts: tuple[int, int], before: Counts, after: Counts) -> float:
    """Return the greatest log ratio of the laws of one cut, of two tables of a side."""

    def law(counts: Counts) -> dict[object, float]:
        ranks = np.concatenate([[0], np.cumsum(counts)])
        scores = -np.abs(parts[1] * ranks - parts[0] * ranks[-1])
        return dict(enumerate(chooser.law(Standing(scores, 0, 0)).tolist()))

    return max_divergence(law(before), law(after))


def later_loss(noise: QuantileCuts, *, reckless: bool) -> float:
    """Return the loss of the second round when a record went from one side to the other.

    On both sides most cuts are a little beyond the wanted rank, and the record is on the other side of
    it, so that one cut gains as much as the others lose.
    """
    before = (0, 2, *(0,) * 60, 13)
    after, total = (1, *before[1:]), 0.0
    for split, sign in zip(noise.splits[1], (1, -1), strict=True):
        parts = noise._parts(split)
        bold = Chooser(noise.kind, len(before) + 1, noise.share, 0.0, parts[1])
        chooser = bold if reckless else noise._pick(split, len(before) + 1)
        one, other = before[::sign], after[::sign]
        total += max(side_loss(chooser, parts, *pair) for pair in ((one, other), (other, one)))
    return total


@pytest.mark.proves("several-quantiles")
def test_a_record_that_changes_sides_costs_a_round_its_share() -> None:
    noise = cuts_of("replace-one", "exponential", ps=(5, 50, 95))
    assert 0.9 * noise.share < later_loss(noise, reckless=False) <= noise.share


@pytest.mark.refutes("several-quantiles")
def test_the_bound_of_the_first_round_is_too_small_for_later_ones() -> None:
    """Replacing a record moves two sides; only at first is there but one."""
    noise = cuts_of("replace-one", "exponential", ps=(5, 50, 95))
    assert later_loss(noise, reckless=True) > 1.2 * noise.share


def wide_column(rows: int = 20_000) -> tuple[dc.Schema, pd.DataFrame]:
    values = np.random.default_rng(4).lognormal(10, 0.6, rows)
    return dc.Schema({"pay": dc.Number(0, 10_000_000, missing=False)}), pd.DataFrame({"pay": values})


def rank_errors(found: Any, values: np.ndarray, ps: list[float]) -> np.ndarray:
    ranks = np.searchsorted(np.sort(values), np.array([each.values for each in found]), side="right")
    return np.abs(ranks - np.array(ps) / 100 * len(values)).mean(axis=0)


@pytest.mark.parametrize("relation", RELATIONS)
def test_wide_bounds_cost_little_and_the_expected_error_is_seen(relation: str) -> None:
    schema, frame = wide_column()
    ps = [10, 25, 50, 75, 90]
    rows = len(frame) if relation == "replace-one" else None
    program = quantiles("pay", [p / 100 for p in ps], epsilon=1.0).prepare(
        Setting(schema, relation, rows)
    )
    releaser = SimulatedReleaser(PrivateTable(frame, schema, relation), seed=1)
    found = [program.finish(releaser) for _ in range(100)]
    seen = rank_errors(found, frame["pay"].to_numpy(), ps)
    assert seen.max() < 30  # of 20,000; with 1,024 even steps it was 3,300
    stated = found[0].expected_error
    assert 0.5 * stated < seen.mean() < 1.3 * stated
    assert stated == program.expected_error[found[0].unit].noise
    assert found[0].worst_error > 10 * stated


EXAMPLES = [
    Example("quantiles", lambda _: dc.quantiles("income", [0.25, 0.5, 0.9], epsilon=1.0)),
    Example("quantiles", lambda _: dc.quantiles("age", [0.5], mechanism="exponential", epsilon=1.0)),
]


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_level_is_chosen_by_distances_as_a_percentile_is(relation: str) -> None:
    public = Setting(SCHEMA, relation, 9 if relation == "replace-one" else None)
    (one,) = dc.quantiles("size", [0.5], epsilon=1.0).prepare(public).stages
    (same,) = dc.percentile("size", 50, epsilon=1.0).prepare(public).stages
    for counts in ([4, 1, 3, 1], [9, 0, 0, 0], [0, 5, 0, 4]):
        assert np.array_equal(one.noise.law(np.array(counts)), same.noise.law(np.array(counts)))
    (two,) = dc.quantiles("size", [0.5, 0.9], epsilon=1.0).prepare(public).stages
    (part,) = dc.quantiles("size", [0.5], where="mass > 0.5", epsilon=1.0).prepare(public).stages
    assert isinstance(two.noise, QuantileCuts)
    # Under add-remove an edit of the table is one of the part, or none.
    assert isinstance(part.noise, QuantileCuts) is (relation == "replace-one")


def test_a_value_that_many_records_share_is_found_more_often() -> None:
    counts, rows = np.array([30, 35, 35, 0]), 100
    (one,) = (
        dc.quantiles("size", [0.5], epsilon=0.1).prepare(Setting(SCHEMA, "replace-one", rows)).stages
    )
    cuts = quantile_cuts(certify_cells(4), (0, 1, 2), relation="replace-one", epsilon=0.1)[0]
    found = [cuts.release(counts, SimulatedNoise(seed))[0] == 1 for seed in range(400)]
    assert one.noise.law(counts)[1] > np.mean(found) + 0.05
