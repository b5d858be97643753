"""Exact differences tell a record, noise hides it; stored answers are free, fresh ones are charged."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.difference import (
    Repeated,
    ask_session,
    attack_repeats,
    difference_of,
    difference_target,
    repeats,
)
from discreet.audit.attacks.membership import attack_membership, membership
from discreet.audit.attacks.targets import exact_target, sums_target
from discreet.errors import ArgumentError
from discreet.randomness import public_generator

PLAN = dc.histogram("home", epsilon=1.0)
APART = scenes.neighbours("add-remove")
REST = [scenes.others()] * 2


def test_two_exact_histograms_tell_a_record_and_two_noisy_ones_do_not() -> None:
    exact = difference_target(
        exact_target(PLAN, APART, scenes.SCHEMA, "add-remove"),
        exact_target(PLAN, REST, scenes.SCHEMA, "add-remove"),
    )
    assert (exact.draw(0, 2, 0) == [0, 0, 1]).all() and (exact.draw(1, 2, 0) == 0).all()
    noisy = difference_target(
        scenes.sums_scene("histogram", 1.0, "add-remove"),
        sums_target(PLAN, REST, scenes.SCHEMA, "add-remove"),
    )
    found = attack_membership(noisy, attack="threshold", trials=4_000)
    assert not found.beats() and 0.6 < found.accuracy.value < Ceiling(1.0).accuracy


def test_any_release_can_be_differenced() -> None:
    def noisy(table: list[int], seed: int) -> list[float]:
        return [len(table) + float(public_generator(seed).laplace())]

    release = difference_of(noisy, [1])
    found = membership(release, [1, 1], [1], ceiling=Ceiling(1.0), attack="threshold", trials=2_000)
    assert not found.beats() and found.accuracy.low > 0.55
    bare = difference_of(lambda table, seed: [len(table)], [1])
    assert membership(bare, [1, 1], [1], ceiling=Ceiling(1.0), trials=100).beats()


def test_stored_answers_say_no_more_than_one_and_fresh_ones_all_they_are_charged() -> None:
    target = scenes.sums_scene("histogram", 0.5, "add-remove")
    once = attack_membership(target, trials=6_000)
    stored = attack_repeats(target, times=9, fresh=False, trials=6_000)
    assert stored.accuracy == once.accuracy and stored.ceiling == Ceiling(0.5)
    fresh = attack_repeats(target, times=9, fresh=True, trials=6_000)
    assert fresh.ceiling == Ceiling(4.5) and not fresh.beats()
    assert fresh.accuracy.low > once.accuracy.high + 0.05
    assert fresh.beats(target.ceiling, attacks=64), "fresh answers for the price of one are noticed"


def test_a_session_gives_a_stored_answer_for_free() -> None:
    ask = ask_session(
        PLAN, scenes.neighbours(), scenes.SCHEMA, times=3, read=lambda result: np.array(result.counts)
    )
    first, second = ask(0, 0), ask(0, 1)
    assert all((answer == first.answers[0]).all() for answer in first.answers)
    assert first.epsilon == pytest.approx(1.0) and second.epsilon == pytest.approx(1.000001)
    assert (second.answers[0] != first.answers[0]).any()


def test_a_session_charges_fresh_noise() -> None:
    frame = scenes.neighbours()[0]
    session = dc.protect(frame, scenes.SCHEMA, dataset="l", epsilon=9.0, ledger=":memory:", seed=1)
    told = [session.release(PLAN, fresh=True).value.counts for _ in range(3)]
    assert len(set(told)) == 3 and session.remaining.loss == pytest.approx(6.0)


@pytest.mark.parametrize("free", [False, True])
def test_averages_are_held_to_what_was_charged(free: bool) -> None:
    target = scenes.sums_scene("histogram", 1.0, "add-remove")
    owners = (scenes.others()["home"] == "own").sum() + 0.5

    def ask(which: int, trial: int) -> Repeated:
        drawn = target.draw(which, 60, 2 * trial + which)
        return Repeated(tuple(drawn), 1.0 if free else 60.0)

    found = repeats(ask, lambda mean: float(mean[2] - owners), trials=40)
    assert found.accuracy.value > 0.95 and found.beats(attacks=64) == free


def test_bad_input_is_told_in_a_sentence() -> None:
    target = exact_target(PLAN, scenes.neighbours(), scenes.SCHEMA)
    with pytest.raises(ArgumentError, match="target must have two tables and a known law"):
        attack_repeats(target, times=2, fresh=True, trials=100)
    with pytest.raises(ArgumentError, match="times must be a whole number"):
        attack_repeats(target, times=0, fresh=True, trials=100)
