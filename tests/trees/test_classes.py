"""How many records every class has: what choices weigh by it, and what shares are drawn towards."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.trees.classes import ClassCounts
from discreet.trees.scores import STEPS_PER_RECORD


def weights(*counts: float, noise_std: float = 1.0) -> list[int]:
    return ClassCounts(np.array(counts), noise_std).weights.tolist()


def test_classes_weigh_alike_where_none_has_nearly_all_records() -> None:
    assert weights(500.0, 500.0) == weights(750.0, 250.0) == [STEPS_PER_RECORD] * 2
    assert weights(300.0, 300.0, 10.0) == [STEPS_PER_RECORD] * 3


def test_a_class_with_nearly_all_records_weighs_less_but_as_much_as_the_others() -> None:
    large, small = weights(9_800.0, 200.0)
    assert small == STEPS_PER_RECORD
    assert large == pytest.approx(STEPS_PER_RECORD * 200 / 9_800, abs=1)
    assert weights(900.0, 100.0)[0] > STEPS_PER_RECORD * 100 / 900


@pytest.mark.parametrize("counts", [(-5.0, -9.0), (0.0, 0.0), (1e9, -1e9), (10.0, 0.0)])
def test_weights_are_at_most_a_record_whatever_noise_does(counts: tuple[float, float]) -> None:
    assert all(1 <= weight <= STEPS_PER_RECORD for weight in weights(*counts))


def test_a_class_that_cannot_be_told_from_noise_does_not_take_all_weight() -> None:
    assert weights(1_000.0, 0.0, noise_std=100.0) == weights(1_000.0, 200.0, noise_std=100.0)


def test_shares_trust_the_release_with_less_noise() -> None:
    known = ClassCounts(np.array([900.0, 100.0]), 5.0)
    assert known.shares(np.array([100.0, 900.0]), 500.0) == pytest.approx([0.9, 0.1], abs=0.01)
    assert known.shares(np.array([500.0, 500.0]), 0.05) == pytest.approx([0.5, 0.5], abs=0.01)
