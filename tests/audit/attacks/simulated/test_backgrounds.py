"""Exact values give all records of a background away; private ones stay under the ceiling."""

from __future__ import annotations

import pytest

from discreet.audit.attacks.simulated.backgrounds import (
    background_stage,
    guess_record,
    reconstruct_background,
)


def test_all_records_of_a_background_are_solved_for() -> None:
    found, blind = reconstruct_background(trials=5)
    assert found.tolist() == [1.0] * 5 and blind < 0.5


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_private_values_do_not_give_the_records_away(epsilon: float) -> None:
    found, blind = reconstruct_background(epsilon=epsilon, trials=10, seed=1)
    assert found.mean() < blind + 0.2 < 0.6


@pytest.mark.parametrize("released", ["values", "background"])
def test_a_record_among_known_ones(released: str) -> None:
    known = guess_record(released=released, epsilon=None, trials=100)  # type: ignore[arg-type]
    assert known.accuracy.value == 1.0 and known.candidates == 8
    private = guess_record(released=released, epsilon=1.0, trials=400)  # type: ignore[arg-type]
    assert not private.beats(attacks=10)
    assert private.accuracy.high < private.ceiling.guess(8)
    careless = guess_record(released=released, epsilon=1_000.0, trials=100)  # type: ignore[arg-type]
    assert careless.accuracy.low > 0.9


def test_a_stage_asks_about_all_queries() -> None:
    assert background_stage(3, 10, 1.0).contribution.size == 8 * 3
