"""Cuts by halving: the exact law over all neighbours, billing, sampling, ties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import mpmath as mp
import numpy as np
import pytest

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.quantiles import QuantileNoise, quantile_noise
from discreet.privacy.accounting import event_cost
from discreet.privacy.certificate import Bounds, Certificate, certify_cells
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.goodness import fits
from tests.oracles.laws import greatest_rho, max_divergence

Counts = tuple[int, ...]
Law = dict[object, float]


def noise_for(
    cells: int, parts: int, relation: str, epsilon: float = 1.0, **options: float
) -> QuantileNoise:
    points = np.arange(cells + 1.0)
    return quantile_noise(
        certify_cells(cells), points, parts=parts, relation=relation, epsilon=epsilon, **options
    )


def law_of(noise: QuantileNoise, counts: Counts) -> Law:
    answers = itertools.combinations_with_replacement(range(len(noise.points)), noise.parts - 1)
    return {places: noise.probability(np.array(counts), places) for places in answers}


def tables(cells: int, records: int) -> Iterator[Counts]:
    for counts in itertools.product(range(records + 1), repeat=cells):
        if sum(counts) == records:
            yield counts


def pairs(cells: int, records: int, relation: str) -> Iterator[tuple[Counts, Counts]]:
    """Yield all neighbours: a record more, or a record in another cell."""
    for counts in tables(cells, records):
        for gains in range(cells):
            more = tuple(c + (cell == gains) for cell, c in enumerate(counts))
            if relation == "add-remove":
                yield counts, more
                continue
            for loses in range(cells):
                moved = tuple(c - (cell == loses) for cell, c in enumerate(more))
                if counts[loses] and loses != gains:
                    yield counts, moved


def worst_loss(
    law: Callable[[Counts], Law], cells: int, records: int, relation: str
) -> tuple[float, tuple[Counts, Counts]]:
    known = {}
    worst, where = 0.0, ((), ())
    for first, second in pairs(cells, records, relation):
        for counts in (first, second):
            known.setdefault(counts, law(counts))
        lost = max_divergence(known[first], known[second])
        if lost > worst:
            worst, where = lost, (first, second)
    return worst, where


@pytest.mark.proves("quantiles")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("cells", "parts", "records"), [(3, 2, 4), (3, 3, 4), (4, 4, 3), (3, 5, 4)])
def test_no_neighbour_loses_more_than_epsilon(
    relation: str, cells: int, parts: int, records: int
) -> None:
    noise = noise_for(cells, parts, relation)
    assert all(
        math.isclose(sum(law_of(noise, counts).values()), 1.0) for counts in tables(cells, records)
    )
    worst, where = worst_loss(lambda counts: law_of(noise, counts), cells, records, relation)
    assert 0.2 < worst <= 1.0 + 1e-9
    first, second = ([mp.mpf(p) for p in law_of(noise, counts).values()] for counts in where)
    assert greatest_rho(first, second) <= sum(event.rho for event in noise.events) + 1e-9


@pytest.mark.refutes("quantiles")
def test_one_record_of_two_that_move_is_too_little() -> None:
    """Replacing a record touches two sides: calibrated for one, cuts lose more than they say."""
    halved = noise_for(4, 2, "add-remove", epsilon=8.0)
    worst, _ = worst_loss(lambda counts: law_of(halved, counts), 4, 6, "replace-one")
    assert worst > 8.0 * 1.2


def best_log_ratio(noise: QuantileNoise, first: Counts, second: Counts, local: bool) -> float:
    """Return a log-ratio of an answer: even cuts, but for the last level, where the best are taken."""
    cuts, lost = np.linspace(0, len(first), noise.parts + 1).astype(int), 0.0
    for start, middle, stop in noise.splits:
        left, parts = middle - start, stop - start
        laws = []
        for counts in (first, second):
            below = np.concatenate([[0], np.cumsum(counts)])
            ranks = below[cuts[start] : cuts[stop] + 1]
            if local:
                scores = -np.abs(parts * (ranks - ranks[0]) - left * (ranks[-1] - ranks[0]))
                laws.append(noise.pick(left, parts).probabilities(scores))
            else:  # the wanted rank of the whole table
                scores = -np.abs(noise.parts * ranks - middle * below[-1])
                laws.append(
                    ExponentialMechanism(noise.parts // 2, noise.share / 2).probabilities(scores)
                )
        ratios = np.log(laws[0] / laws[1])
        lost += ratios.max() if parts == 2 else ratios[cuts[middle] - cuts[start]]
    return float(lost)


@pytest.mark.refutes("quantiles")
def test_ranks_among_all_records_are_caught() -> None:
    """With wanted ranks counted over the whole table, one record moves the scores of every side."""
    noise = noise_for(32, 8, "replace-one", epsilon=6.0)
    before = (5,) * 32
    after = (4, *(5,) * 30, 6)
    assert best_log_ratio(noise, after, before, local=False) > 6.0 * 1.2
    assert best_log_ratio(noise, after, before, local=True) < 6.0


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("parts", [2, 3, 20])
def test_all_levels_together_keep_the_promise(relation: str, parts: int) -> None:
    noise = noise_for(16, parts, relation)
    assert len(noise.events) == noise.levels == math.ceil(math.log2(parts))
    assert event_cost("basic", noise.events, 1.0, 0.0).loss == 10**12
    cheaper = noise_for(16, parts, relation, epsilon=1.0, delta=1e-6)
    event_cost("zcdp", cheaper.events, 1.0, cheaper.delta)
    assert (cheaper.share > noise.share) == (cheaper.delta > 0)
    many = noise_for(16, 1000, relation, epsilon=0.5, delta=1e-6)
    assert many.delta == 1e-6 and many.share > 0.05


def test_a_record_that_is_replaced_costs_twice_one_that_goes() -> None:
    replaced, gone = (noise_for(16, 8, relation) for relation in ("replace-one", "add-remove"))
    assert replaced.std == pytest.approx(2 * gone.std)
    assert gone.pick(1, 2).scale == pytest.approx(2 / gone.share)


@pytest.mark.parametrize("source", [SimulatedNoise(4), SystemNoise()], ids=["seeded", "system"])
def test_sampling_follows_the_law(source: SimulatedNoise) -> None:
    noise = noise_for(3, 3, "add-remove", epsilon=3.0)
    counts = np.array([4, 1, 3])
    sample = [tuple(noise.release(counts, source).astype(int).tolist()) for _ in range(1_000)]
    assert fits(sample, law_of(noise, (4, 1, 3)))
    assert not fits(sample, law_of(noise, (1, 4, 3)))


def test_cuts_never_cross_and_stay_inside() -> None:
    noise = noise_for(10, 16, "replace-one", epsilon=0.01)
    rng, source = np.random.default_rng(0), SimulatedNoise(0)
    for _ in range(200):
        cuts = noise.release(rng.integers(0, 9, 10), source)
        assert len(cuts) == 15 and np.all(np.diff(cuts) >= 0) and cuts[0] >= 0 and cuts[-1] <= 10


def test_even_cells_are_cut_evenly_and_a_heavy_cell_takes_few_cuts() -> None:
    noise = noise_for(20, 10, "replace-one", epsilon=1e6)
    source = SimulatedNoise(1)
    assert noise.release(np.full(20, 7), source).tolist() == list(range(2, 20, 2))
    heavy = np.full(20, 7)
    heavy[5] = 10_000  # half of the cuts go to the records outside of it, not one in a hundred
    cuts = noise.release(heavy, source)
    assert {5.0, 6.0} <= set(cuts.tolist()) and len(set(cuts.tolist())) >= 6
    empty = noise.release(np.zeros(20, dtype=np.int64), source)
    assert np.all(np.diff(empty) >= 0)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="parts must be a whole number of at least 2, got 1"):
        noise_for(4, 1, "replace-one")
    with pytest.raises(ArgumentError, match="relation must be one of replace-one, add-remove"):
        noise_for(4, 2, "bounded")
    with pytest.raises(ArgumentError, match="epsilon must be a positive finite number, got 0"):
        noise_for(4, 2, "replace-one", epsilon=0)
    with pytest.raises(ArgumentError, match="points must be the 5 ends of the cells, got 3"):
        quantile_noise(certify_cells(4), range(3), parts=2, relation="add-remove", epsilon=1.0)
    with pytest.raises(ArgumentError, match="points must be in order"):
        quantile_noise(certify_cells(2), (0, 2, 1), parts=2, relation="add-remove", epsilon=1.0)
    with pytest.raises(ArgumentError, match="places must be 1 points in order"):
        noise_for(4, 2, "replace-one").probability(np.ones(4, dtype=int), (1, 2))
    wide = Certificate(("histogram",), 4, {"add-remove": Bounds(3.0, 3.0, 1.0)})
    with pytest.raises(CertificateError, match="one or two move, got 3"):
        quantile_noise(wide, range(5), parts=2, relation="add-remove", epsilon=1.0).pick(1, 2)
