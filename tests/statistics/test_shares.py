"""Cells that share records: no two records move them further than counts, and planted faults do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.mechanisms import sum_noise
from discreet.privacy.certificate import NORMS, Box
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE
from discreet.statistics.shares import certify_shares, share_ends, two_shares

ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


def moved(vectors: np.ndarray, relation: str, norm: str) -> float:
    """Return the farthest that two neighbours are apart, of records with these vectors."""
    if relation == ADD_REMOVE:
        return float(max(np.linalg.norm(one, ORDERS[norm]) for one in vectors))
    pairs = itertools.product(vectors, repeat=2)
    return float(max(np.linalg.norm(a - b, ORDERS[norm]) for a, b in pairs))


def points(size: int) -> np.ndarray:
    """Return vectors that are not negative and add up to one at most, the corners among them."""
    steps = itertools.product(range(5), repeat=size)
    return np.array([one for one in steps if sum(one) <= 4]) / 4


@pytest.mark.proves("shares")
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_shares_move_as_counts_do(size: int, relation: str) -> None:
    for norm in NORMS:
        bound = certify_shares(size).sensitivity(norm, relation)
        assert (
            moved(points(size), relation, norm) <= bound <= 1.0001 * moved(points(size), relation, norm)
        )


@pytest.mark.refutes("shares")
def test_shares_that_add_up_to_more_are_caught() -> None:
    """Planted: a value beside one, as sum and size, under the same certificate."""
    beside = np.array([[x, 1.0] for x in (0.0, 0.5, 1.0)] + [[0.0, 0.0]])
    assert moved(beside, ADD_REMOVE, "l1") > certify_shares(2).sensitivity("l1", ADD_REMOVE)


@pytest.mark.refutes("shares")
def test_half_of_the_bound_is_caught() -> None:
    values = np.array([-1e9, 0.0, 3.3, 10.0, 1e9])
    made = two_shares(Box(0.0, 10.0), values, np.ones(5, dtype=bool))
    for relation in RELATIONS:
        assert moved(made, relation, "l1") > certify_shares(2).scale(0.5).sensitivity("l1", relation)


def test_shares_are_inside_and_records_outside_have_none() -> None:
    made = two_shares(Box(1e8, 1e8 + 0.3), 1e8 + np.linspace(-1, 1, 201), np.arange(201) % 2 == 0)
    assert made.min() >= 0 and made.max() <= 1 and np.abs(made.sum(axis=1)[::2] - 1).max() < 1e-15
    assert np.all(made[1::2] == 0)


def test_intervals_are_whole_where_nothing_is_known() -> None:
    noise = sum_noise(certify_shares(2), relation=REPLACE_ONE, epsilon=1.0, largest_sum=1e6)
    assert share_ends(0.0, 0.0, noise, 0.95) == (0.0, 1.0)
    assert share_ends(-50.0, -80.0, noise, 0.95) == (0.0, 1.0)
    low, high = share_ends(500.0, 1_000.0, noise, 0.95)
    assert 0.48 < low < 0.5 < high < 0.52
