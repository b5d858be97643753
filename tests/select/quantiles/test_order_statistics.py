"""Distances to other percentiles: closed forms against breadth-first search on all small multisets."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.audit.laws.neighbours import Counts, neighbouring_tables, small_tables
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.dampening import PARTS, LocalDampening
from discreet.plans import Setting
from discreet.select.quantiles.order_statistics import (
    PercentileDistances,
    nearest,
    read_percentile,
    value_sensitivities,
)
from tests.select.tables import percentile_of, searched_distances

PERCENTILES = (0, 1, 10, 25, 33.3, 50, 62.5, 75, 90, 99, 100)
RELATIONS = ("add-remove", "replace-one")


@pytest.mark.proves("percentile-distance")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", PERCENTILES)
def test_distances_are_those_of_breadth_first_search(p: float, relation: str) -> None:
    share = read_percentile(p)
    measure = PercentileDistances(share, relation)  # type: ignore[arg-type]
    most, inner = (13, 6) if relation == "add-remove" else (7, 7)
    for counts, searched in searched_distances(3, most, share, relation).items():
        if sum(counts) <= inner and (sum(counts) or relation == "add-remove"):
            assert measure.distances(np.array(counts)).tolist() == searched


@pytest.mark.proves("percentile-distance")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", PERCENTILES)
def test_scores_and_stability_move_by_one(p: float, relation: str) -> None:
    share = read_percentile(p)
    measure = PercentileDistances(share, relation)  # type: ignore[arg-type]
    for counts in small_tables(4, 6):
        if sum(counts) == 0 and relation == "replace-one":
            continue
        here = measure.standing(np.array(counts))
        assert here.winner == (percentile_of(counts, share) or 0)
        for other in neighbouring_tables(counts, relation):
            there = measure.standing(np.array(other))
            assert np.abs(here.scores - there.scores).max() <= 1
            if here.winner == there.winner:
                assert abs(here.stability - there.stability) <= 1
            else:
                assert here.stability == there.stability == 0


def published_stability(counts: Counts, p: Fraction) -> int:
    """Return 2 j + 1, j the repetitions of the percentile on its shorter side."""
    winner = percentile_of(counts, p)
    assert winner is not None
    below = sum(counts[:winner])
    rank = max(1, -(-p.numerator * sum(counts) // (100 * p.denominator)))
    return 2 * min(rank - 1 - below, below + counts[winner] - rank) + 1


@pytest.mark.refutes("percentile-distance")
def test_the_published_stability_is_neither_a_distance_nor_smooth() -> None:
    p = Fraction(50)
    measure = PercentileDistances(p, "add-remove")
    jumps, wrong = 0, 0
    for counts in small_tables(3, 8):
        if sum(counts) < 2:
            continue
        wrong += published_stability(counts, p) != measure.standing(np.array(counts)).stability
        for other in neighbouring_tables(counts, "add-remove"):
            if percentile_of(counts, p) == percentile_of(other, p):
                jumps += abs(published_stability(counts, p) - published_stability(other, p)) > 1
    assert jumps > 100 and wrong > 50


@pytest.mark.refutes("percentile-distance")
def test_the_distance_of_the_other_relation_is_caught() -> None:
    """Replacing is two edits of the other relation: its distances move by two."""
    measure = PercentileDistances(Fraction(50), "add-remove")
    worst = max(
        np.abs(measure.distances(np.array(c)) - measure.distances(np.array(o))).max()
        for c in small_tables(3, 5)
        for o in neighbouring_tables(c, "replace-one")
    )
    assert worst == 2


MANY = np.array([9, 2, 0, 7, 3]) * 10**10 + 5
"""Counts of 2.1e11 records."""


def farthest_move(share: Fraction) -> int:
    measure = PercentileDistances(share, "add-remove")  # type: ignore[arg-type]
    here = measure.distances(MANY)
    moved = [
        measure.distances(MANY + sign * np.eye(5, dtype=np.int64)[k])
        for k in range(5)
        for sign in (-1, 1)
    ]
    return int(max(np.abs(here - there).max() for there in moved))


@pytest.mark.proves("percentile-distance")
@pytest.mark.parametrize("p", [0.0001, 33.3333, 50.5, 99.9999])
def test_distances_of_very_many_records_move_by_one(p: float) -> None:
    share, rows, upto = read_percentile(p), int(MANY.sum()), [0, *map(int, np.cumsum(MANY))]
    measure = PercentileDistances(share, "add-remove")  # type: ignore[arg-type]
    measure.check_fits("p / 100", rows + 1)
    answers = [100 * low < share * rows <= 100 * high for low, high in itertools.pairwise(upto)]
    assert (measure.distances(MANY) == 0).tolist() == answers and farthest_move(share) == 1


@pytest.mark.refutes("percentile-distance")
def test_what_would_leave_64_bits_is_refused() -> None:
    """Six digits of as many records: products wrap around, and distances are none."""
    fine = read_percentile(33.333333)
    wrapped = PercentileDistances(fine, "add-remove").distances(MANY)  # type: ignore[arg-type]
    assert wrapped[0] == 0 and wrapped[4] < wrapped[3]  # further away, and nearer
    schema = dc.Schema({"age": dc.Number(0, 90, step=1, missing=False)})
    wide, usual, public = (
        Setting(schema, "add-remove", None, 2**38),
        Setting(schema, "add-remove", None),
        Setting(schema, "replace-one", 2**38),
    )
    plan = dc.percentile("age", 33.333333, epsilon=1.0)
    plan.prepare(usual), plan.prepare(public)
    with pytest.raises(ArgumentError, match=r"p / 100 must be .* at most 8388608 where .* Write fewer"):
        plan.prepare(wide)
    for levels in ([0.33333333], [0.33333333, 0.5]):
        asked = dc.quantiles("age", levels, epsilon=1.0)
        asked.prepare(usual)
        with pytest.raises(ArgumentError, match=r"levels must be shares .* at most 8388608 where"):
            asked.prepare(wide)
    dc.percentile("age", 33.3333, epsilon=1.0).prepare(wide)
    dc.quantiles("age", [0.333333, 0.5], epsilon=1.0).prepare(wide)


@pytest.mark.proves("value-sensitivity")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [0, 10, 50, 90])
def test_value_sensitivities_are_admissible(p: float, relation: str) -> None:
    share = read_percentile(p)
    measure = PercentileDistances(share, relation)  # type: ignore[arg-type]
    values = 5
    known = {
        c: _padded(value_sensitivities(np.array(c), measure, 40), values - 1)
        for c in small_tables(values, 4)
        if sum(c) or relation == "add-remove"
    }
    for counts, here in known.items():
        assert np.all(np.diff(here) >= 0)
        for other in neighbouring_tables(counts, relation):
            if other not in known:
                continue
            a, b = (percentile_of(c, share) or 0 for c in (counts, other))
            assert abs(a - b) <= here[0]
            assert np.all(here[1:] >= known[other][:-1])


def _padded(found: np.ndarray, last: int) -> np.ndarray:
    return np.concatenate([found, np.full(60 - len(found), last)])


@pytest.mark.refutes("value-sensitivity")
@pytest.mark.parametrize("fault", ["one value less", "one edit late"])
def test_sensitivities_that_are_too_small_are_caught(fault: str) -> None:
    share = Fraction(50)
    measure = PercentileDistances(share, "replace-one")
    broken = 0
    for counts in small_tables(5, 4):
        if sum(counts) < 2:
            continue
        found = _padded(value_sensitivities(np.array(counts), measure, 40), 4)
        planted = found - 1 if fault == "one value less" else np.append(0, found[:-1])
        for other in neighbouring_tables(counts, "replace-one"):
            a, b = percentile_of(counts, share), percentile_of(other, share)
            assert a is not None and b is not None
            broken += abs(a - b) > planted[0]
    assert broken > 0


@pytest.mark.proves("value-sensitivity")
def test_dampened_value_utilities_move_by_one_edit() -> None:
    measure = PercentileDistances(Fraction(50), "add-remove")
    dampening = LocalDampening(1.0, 4)

    def scores(counts: Counts) -> np.ndarray:
        winner = percentile_of(counts, Fraction(50)) or 0
        table = value_sensitivities(np.array(counts), measure, 8)
        return dampening.scores(-np.abs(np.arange(5) - winner), table)

    for counts in small_tables(5, 5):
        for other in neighbouring_tables(counts, "add-remove"):
            assert np.abs(scores(counts) - scores(other)).max() <= PARTS


def test_large_counts_stay_exact() -> None:
    counts = np.full(4096, 4_000)
    measure = PercentileDistances(read_percentile(99.999), "add-remove")
    found = measure.standing(counts)
    assert found.winner == 4095 and found.scores.min() < -(10**6)
    assert measure.distances(counts)[0] == -(-(99_999 * 16_384_000 - 10**5 * 4_000) // 99_999)


def test_values_count_at_the_nearest_candidate() -> None:
    assert nearest(np.array([0.0, 1.0, 10.0]))(np.array([-5.0, 0.4, 0.6, 5.0, 6.0, 99.0])).tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("p", [-1, 100.5, float("nan"), True, "50", None, 1 / 3])
def test_wrong_percentiles(p: float) -> None:
    with pytest.raises(ArgumentError, match="p must be from 0 to 100"):
        read_percentile(p)
