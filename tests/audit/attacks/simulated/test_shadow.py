"""Shadow models see a record in plain trees and forests, and not in private ones."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.simulated.shadow import (
    RECORD,
    Learner,
    Others,
    ShadowAttack,
    attack_training,
    draw_rows,
    plain_forest,
    plain_tree,
    private_forest,
    private_tree,
)
from discreet.errors import ArgumentError
from discreet.randomness import public_generator

FEW = {"shadows": 30, "shown": 40}


@pytest.mark.parametrize("attack", ["confidence", "likelihood ratio"])
@pytest.mark.parametrize("others", ["known", "drawn"])
def test_plain_trees_remember(attack: ShadowAttack, others: Others) -> None:
    found = attack_training(plain_tree(), attack=attack, others=others, **FEW)
    assert found.accuracy.low > 0.7 and found.beats(Ceiling(0.5))


def test_plain_forests_remember() -> None:
    found = attack_training(plain_forest(3), attack="confidence", **FEW)
    assert found.accuracy.low > 0.7


@pytest.mark.parametrize("attack", ["confidence", "likelihood ratio"])
@pytest.mark.parametrize("make", [private_tree, private_forest])
def test_private_ones_do_not(make: object, attack: ShadowAttack) -> None:
    learner = make(epsilon=1.0)  # type: ignore[operator]
    found = attack_training(learner, attack=attack, **FEW)
    assert learner.ceiling == Ceiling(1.0) and not found.beats(attacks=10)
    assert found.accuracy.low < 0.65


def test_with_a_careless_epsilon_the_record_shows() -> None:
    """The attack has power: the same plan with a huge epsilon gives the record away."""
    found = attack_training(private_tree(epsilon=200.0), **FEW)
    assert found.accuracy.low > 0.8


def test_a_ratio_of_what_never_varies_decides() -> None:
    def train(rows: np.ndarray, seed: int) -> np.ndarray:
        return np.array([0.0, rows[:, -1].sum()])

    for seed in range(4):
        found = attack_training(Learner("count", NOTHING_PROMISED, train), seed=seed, **FEW)
        assert found.accuracy.value == 1.0


def test_rows_are_like_the_owner_s() -> None:
    rows = draw_rows(public_generator(5), 4_000)
    agree = np.mean((rows[:, 0] > 0.5) == (rows[:, -1] == 1.0))
    assert agree == pytest.approx(0.9, abs=0.02)
    assert RECORD[0] > 0.5 and RECORD[-1] == 0.0


def test_too_few_models_are_refused() -> None:
    with pytest.raises(ArgumentError, match="shadows must be"):
        attack_training(plain_tree(), shadows=3)
