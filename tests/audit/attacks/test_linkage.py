"""Linkage: the likeliest candidate and the nearest row are guessed, and the ceiling is theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.linkage import attack_linkage, linkage, nearest
from discreet.audit.attacks.targets import exact_target
from discreet.errors import ArgumentError
from discreet.randomness import public_generator


def randomised_response(table: int, seed: int) -> int:
    """Tell one of four tables with epsilon 1."""
    draw = public_generator(seed)
    odds = np.exp([1.0 if place == table else 0.0 for place in range(4)])
    return int(draw.choice(4, p=odds / odds.sum()))


def test_randomised_response_is_linked_as_often_as_its_ceiling_allows() -> None:
    found = linkage(
        randomised_response, range(4), lambda output: output, ceiling=Ceiling(1.0), trials=4_000
    )
    assert found.accuracy.value == pytest.approx(Ceiling(1.0).guess(4), abs=0.03)
    assert not found.beats() and found.beats(Ceiling(0.7))


def test_noisy_counts_are_linked_less_often_than_allowed_and_exact_ones_always() -> None:
    found = attack_linkage(scenes.linkage_scene(1.0), trials=3_000)
    assert found.accuracy.low > 1 / 6 + 0.03 and found.accuracy.high < Ceiling(1.0).guess(6)
    tables = scenes.candidate_tables()
    exact = exact_target(dc.histogram(scenes.CELLS, epsilon=1.0), tables, scenes.SCHEMA)
    seen = {tuple(exact.draw(which, 1, 0)[0]): which for which in range(6)}
    assert attack_linkage(exact, trials=60, guess=lambda out: seen[tuple(out)]).accuracy.value == 1.0


def test_the_nearest_row_decides_and_more_of_them_break_ties() -> None:
    guess = nearest(np.array([[0.0, 0.0], [10.0, 0.0]]), scale=np.array([10.0, 1.0]))
    assert guess(np.array([[9.0, 0.0], [0.0, 0.5]])) == 1
    assert guess(np.array([0.0, 0.0, 10.0, 0.0, 10.0, 0.0])) == 1


def test_synthetic_rows_are_not_linked_and_the_table_s_own_are() -> None:
    guess = scenes.nearest_candidate()
    found = attack_linkage(scenes.rows_scene(1.0), trials=120, guess=guess)
    assert found.accuracy.high < 0.5
    tables = [scenes.table_with(r) for r in scenes.candidates().to_dict("records")]

    def publish(table: Any, seed: int) -> np.ndarray:
        return np.asarray(table[scenes.WIDE].sample(frac=1.0, random_state=seed))

    assert linkage(publish, tables, guess, ceiling=Ceiling(1.0), trials=40).accuracy.value == 1.0


def test_bad_input_is_told_in_a_sentence() -> None:
    with pytest.raises(ArgumentError, match="tables must be at least two, got 1"):
        linkage(randomised_response, [1], lambda out: 0, ceiling=Ceiling(1.0))
    with pytest.raises(ArgumentError, match="trials must be a whole number of at least 20"):
        linkage(randomised_response, [1, 2], lambda out: 0, ceiling=Ceiling(1.0), trials=3)
    with pytest.raises(ArgumentError, match="guess must return the place of a candidate, got"):
        linkage(randomised_response, [1, 2], lambda out: "me", ceiling=Ceiling(1.0))  # type: ignore
    with pytest.raises(ArgumentError, match="guess must be given for synthetic rows"):
        attack_linkage(scenes.rows_scene(1.0), trials=20)
