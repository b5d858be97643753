"""How far one record moves data values: bounds from the design, against every replacement."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from discreet.value.engines.games import FunctionGame
from discreet.value.engines.linear_fits import claimed_stability
from discreet.value.private_design import (
    MOST_PLACES,
    MOST_ROUNDS,
    Audience,
    Pairs,
    Rotations,
    ValueDesign,
    certified_moves,
    certify_values,
    choose_design,
    marginal_widths,
)

N = 5
PublicUtility = Callable[[tuple[int, ...], tuple[int, ...]], float]
"""The utility of a coalition: its members, and their rows."""


def designs(n: int = N, records: tuple[int, ...] | None = None) -> list[ValueDesign]:
    wanted = tuple(range(n)) if records is None else records
    return [Rotations(n, wanted, 2, 3), Pairs(n, wanted, 2, 3)]


def clips_of(n: int, c: float = 0.5) -> np.ndarray:
    return np.minimum(1.0, c / np.maximum(np.arange(n), 1))


def values(design: ValueDesign, clips: Any, rows: Any, utility: PublicUtility) -> np.ndarray:
    game = FunctionGame(
        design.players, lambda members: utility(tuple(members.tolist()), tuple(rows[members].tolist()))
    )
    return design.values([game.evaluate(chains) for chains in design.batches()], clips)


def hashed(members: tuple[int, ...], rows: tuple[int, ...]) -> float:
    """A utility as wild as can be: any other row gives another number in [0, 1]."""
    text = repr((members, rows)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:6]) / 2**48


def mean(members: tuple[int, ...], rows: tuple[int, ...]) -> float:
    """A stable utility: one of k rows moves it by at most 1 / k."""
    return sum(rows) / len(rows) / 2 if rows else 0.0


def replacements(n: int, tables: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Yield tables of rows 0, 1, 2, every neighbour of theirs, and the record that differs."""
    draw = np.random.default_rng(0)
    for _ in range(tables):
        rows = draw.integers(0, 3, n)
        for j in range(n):
            for other in {0, 1, 2} - {int(rows[j])}:
                neighbour = rows.copy()
                neighbour[j] = other
                yield rows, neighbour, j


def seen(moved: np.ndarray, design: ValueDesign, j: int, audience: Audience) -> np.ndarray:
    """Return what moves for those the promise is about."""
    keep = [i != j or audience == "public" for i in design.records]
    return moved[keep]


def exceeds(
    design: ValueDesign, utility: PublicUtility, clips: Any, moves: Any, audience: Audience
) -> bool:
    """Say whether any replacement moves the values by more than the certificate."""
    l1, l2, linf = moves
    for rows, neighbour, j in replacements(design.players, 6):
        moved = values(design, clips, rows, utility) - values(design, clips, neighbour, utility)
        found = np.abs(seen(moved, design, j, audience))
        if not len(found):
            continue
        if found.sum() > l1 or np.sqrt((found**2).sum()) > l2 or found.max() > linf:
            return True
    return False


def bounds(design: ValueDesign, clips: Any, stability: Any, audience: Audience) -> Any:
    certificate = certify_values(design, clips, stability, audience)
    return [certificate.sensitivity(norm, "replace-one") for norm in ("l1", "l2", "linf")]


@pytest.mark.proves("shapley-design")
@pytest.mark.parametrize("audience", ["owner", "public"])
@pytest.mark.parametrize("records", [None, (1,), (0, 3)])
def test_no_replacement_moves_values_by_more(audience: Audience, records: Any) -> None:
    clips = clips_of(N)
    for design in designs(records=records):
        assert not exceeds(design, hashed, clips, bounds(design, clips, None, audience), audience)


@pytest.mark.proves("shapley-design")
def test_stability_lowers_the_bound_and_it_still_holds() -> None:
    stability = claimed_stability(lambda k: 1 / (k + 1), lambda k: 1 / np.maximum(k, 1))
    clips = np.ones(N)
    for design in designs():
        stable = bounds(design, clips, stability, "public")
        assert stable[0] < bounds(design, clips, None, "public")[0]
        assert not exceeds(design, mean, clips, stable, "public")
        false = claimed_stability(lambda k: 0.01 + 0 * k, lambda k: 0.01 + 0 * k)
        assert exceeds(design, mean, clips, bounds(design, clips, false, "public"), "public")


@pytest.mark.proves("shapley-design")
def test_a_record_moves_exactly_the_coalitions_that_contain_it() -> None:
    """What the matrix says of every pair is attained, and what it calls zero does not move at all."""
    clips, j = clips_of(N), 2

    def held_hostage(members: tuple[int, ...], rows: tuple[int, ...]) -> float:
        # Marginals of everybody else are c_k or -c_k, by the row of record j, wherever j is inside.
        if j not in members:
            return 0.0
        sign = 1.0 if rows[members.index(j)] else -1.0
        others = len(members) - 1
        return sign * float(clips[1 : others + 1].sum())

    for design in designs():
        moves = certified_moves(design, clips, None, "owner")
        rows, neighbour = np.zeros(N, dtype=int), np.eye(N, dtype=int)[j]
        moved = values(design, clips, rows, held_hostage) - values(
            design, clips, neighbour, held_hostage
        )
        for place, i in enumerate(design.records):
            if i != j:
                assert abs(moved[place]) == pytest.approx(moves[place, j], rel=1e-6)


def test_values_that_cannot_move_are_equal_to_the_last_bit() -> None:
    design = Rotations(9, (4,), 1, 0)
    clips = clips_of(9)
    clips[2:] = 0.0  # only the record before it counts
    still = np.flatnonzero(certified_moves(design, clips, None, "owner")[0] == 0)
    rows = np.arange(9)
    assert len(still) == 8
    for j in set(still.tolist()) - {4}:
        neighbour = rows.copy()
        neighbour[j] = 77
        assert values(design, clips, rows, hashed) == values(design, clips, neighbour, hashed)


@pytest.mark.refutes("shapley-design", "joint-values")
def test_the_owners_bound_does_not_cover_published_values() -> None:
    clips = clips_of(N)
    for design in designs():
        owner = bounds(design, clips, None, "owner")

        def own_row(members: tuple[int, ...], rows: tuple[int, ...]) -> float:
            return float(sum(clips[len(rows) - 1] * (row - 1) for row in rows))

        assert exceeds(design, own_row, clips, owner, "public")
        assert not exceeds(design, own_row, clips, bounds(design, clips, None, "public"), "public")


@pytest.mark.proves("joint-values")
def test_all_other_owners_together_see_no_more_than_the_bound() -> None:
    clips = clips_of(N)
    for design in designs():
        l1, _, _ = bounds(design, clips, None, "owner")
        for rows, neighbour, j in replacements(N, 6):
            moved = values(design, clips, rows, hashed) - values(design, clips, neighbour, hashed)
            others = [place for place, i in enumerate(design.records) if i != j]
            assert np.abs(moved[others]).sum() <= l1


@pytest.mark.refutes("shapley-design")
def test_published_bounds_are_not_enough() -> None:
    """(2c/n) H_n is for one value: all values together move by more; half the range never suffices."""
    n, j = 8, 0
    clips = clips_of(n, 1.0)
    harmonic = float(np.sum(1 / np.arange(1, n + 1)))
    published = 2 / n * harmonic

    def hostage(members: tuple[int, ...], rows: tuple[int, ...]) -> float:
        if j not in members:
            return 0.0
        sign = 1.0 if rows[members.index(j)] else -1.0
        return sign * float(clips[1 : len(members)].sum())

    for design in designs(n):
        rows, neighbour = np.zeros(n, dtype=int), np.eye(n, dtype=int)[j]
        moved = np.abs(values(design, clips, rows, hostage) - values(design, clips, neighbour, hostage))
        others = np.delete(moved, j)
        assert others.sum() > published  # a batch at the price of one value
        l1, _, linf = bounds(design, clips, None, "owner")
        assert others.sum() <= l1
        assert others.max() > linf / 2  # c_k instead of 2 c_k


def test_balanced_pairs_reach_the_average() -> None:
    n, clips = 100, clips_of(100, 1.0)
    single = certify_values(Pairs(n, (7,), 1, 0), clips, None, "owner")
    assert single.sensitivity("linf", "replace-one") == pytest.approx(0.0201, abs=1.2e-3)
    public = certify_values(Pairs(n, (7,), 1, 0), clips, None, "public")
    harmonic = float(np.sum(1 / np.arange(1, n)))
    assert public.sensitivity("linf", "replace-one") == pytest.approx(0.02 * (1 + harmonic), rel=1e-6)


def test_all_values_cost_about_two_clips() -> None:
    n, clips = 60, clips_of(60, 1.0)
    design = Rotations(n, tuple(range(n)), 8, 0)
    certificate = certify_values(design, clips, None, "owner")
    assert certificate.sensitivity("l1", "replace-one") == pytest.approx(2 * (n - 1) / n, rel=1e-6)
    assert certificate.sensitivity("l2", "replace-one") == pytest.approx(2 / np.sqrt(n), rel=0.2)


def test_rotations_give_every_record_every_layer_once() -> None:
    """The values of a game whose marginals name their layer: each record gets their mean."""
    n = 6
    design = Rotations(n, tuple(range(n)), 1, 5)
    found = values(design, np.full(n, 9.0), np.zeros(n, dtype=int), lambda m, r: len(m) ** 2 / 4)
    assert found == pytest.approx([n / 4] * n)


def test_designs_agree_with_exact_values_over_many_rounds() -> None:
    rows = np.array([2, 0, 1, 1, 0])
    exact = values(Rotations(N, tuple(range(N)), 100, 1), np.ones(N), rows, hashed)
    pairs = values(Pairs(N, tuple(range(N)), 100, 2), np.ones(N), rows, hashed)
    assert exact == pytest.approx(pairs, abs=0.04)
    full = hashed(tuple(range(N)), tuple(rows.tolist())) - hashed((), ())
    assert exact.sum() == pytest.approx(full)


@pytest.mark.parametrize("kind", [Rotations, Pairs])
def test_values_spread_over_draws_by_no_more_than_is_said(kind: Any) -> None:
    """A utility of either end, so that marginals reach their clips; exact over the draw of seeds."""
    rows, clips = np.array([2, 0, 1, 1, 0]), clips_of(N, 0.3)
    drawn = [kind(N, (3,), 2, seed) for seed in range(150)]
    found = [values(design, clips, rows, lambda m, r: float(hashed(m, r) > 0.5)) for design in drawn]
    assert 0 < np.std(found) <= drawn[0].sampling_error(clips)


def test_the_cheaper_design_is_chosen() -> None:
    assert isinstance(choose_design(50, tuple(range(50)), 4, 0), Rotations)
    assert isinstance(choose_design(50, (3,), 4, 0), Pairs)
    for design in designs(7):
        asked = sum(chains.evaluations for chains in design.batches())
        assert asked == design.evaluations


def test_a_list_too_long_for_pairs_is_drawn_for_all() -> None:
    few, many = tuple(range(10)), tuple(range(100))
    assert isinstance(choose_design(2_000, few, 2, 0), Pairs)
    assert isinstance(choose_design(2_000, many, 2, 0), Rotations)
    assert 2 * 10 * 2_000**2 <= MOST_PLACES < 2 * 100 * 2_000**2


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_a_record_has_no_more_marginals_than_their_addition_is_paid_for(n: int) -> None:
    (design,) = Pairs(n, (0,), 3, 1).designs
    assert design.total <= 3 * n * (1 + harmonic(n))
    most = {n: min(MOST_ROUNDS, MOST_PLACES // n**2) * n * (1 + harmonic(n)) for n in range(2, 2_001)}
    assert 3e6 < max(most.values()) < 4e6


def harmonic(n: int) -> float:
    return float(np.sum(1 / np.arange(1, n + 1)))


def test_widths_never_exceed_the_range_of_a_marginal() -> None:
    stability = claimed_stability(lambda k: 0.1 + 0 * k, lambda k: 0.1 + 0 * k)
    pair, own = marginal_widths(np.array([1.0, 0.04]), stability)
    assert pair == pytest.approx([0.1, 0.08])
    assert own == pytest.approx([0.1, 0.08])
