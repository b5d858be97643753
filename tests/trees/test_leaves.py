from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.laws.of_trees import FEATURES, SCHEMA, counts_of
from discreet.plans import Setting
from discreet.trees.classes import ClassCounts
from discreet.trees.leaves import (
    drawn_shares,
    leaf_stage,
    node_counts,
    node_shares,
    spread_shares,
)
from tests.trees.tables import some_tree

RECORDS = [(a, h, c) for a in (0.0, 1.0, 3.0) for h in (0.0, 1.0, 2.0) for c in (0.0, 1.0)]
L1 = {"add-remove": 1, "replace-one": 2}


def stage_of(relation: str, epsilon: float = 1.0):
    rows = 10 if relation == "replace-one" else None
    setting = Setting(SCHEMA, relation, rows)
    return leaf_stage("leaves", some_tree(3), (*FEATURES, "class"), 2, setting, epsilon=epsilon)


def greatest_move(relation: str) -> int:
    stage, rows = stage_of(relation), RECORDS[:5]
    if relation == "add-remove":
        pairs = [(rows, [*rows, new]) for new in RECORDS]
    else:
        pairs = [([*rows, a], [*rows, b]) for a, b in itertools.product(RECORDS, RECORDS)]
    sums = [[counts_of(stage, np.array(part)) for part in pair] for pair in pairs]
    return max(int(np.abs(a - b).sum()) for a, b in sums)


@pytest.mark.proves("tree-leaves")
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_record_is_in_one_leaf(relation: str) -> None:
    stage = stage_of(relation)
    assert greatest_move(relation) == stage.certificate.sensitivity("l1", relation) == L1[relation]
    assert stage.noise.scale >= L1[relation]
    assert "tree-leaves" in stage.certificate.statements


@pytest.mark.refutes("tree-leaves")
def test_one_cell_under_replace_one_is_caught() -> None:
    claimed = stage_of("add-remove").certificate.sensitivity("l1", "add-remove")
    assert greatest_move("replace-one") > claimed


def test_inner_nodes_hold_the_sums_of_their_leaves() -> None:
    nodes = some_tree(3)
    noisy = np.arange(2.0 * len(nodes.leaves)) - 3.0
    counts = node_counts(nodes, noisy, 2)
    assert counts[0].tolist() == noisy.reshape(-1, 2).sum(axis=0).tolist()
    assert counts[nodes.leaves].ravel().tolist() == noisy.tolist()


@given(st.data())
def test_shares_are_honest_whatever_noise_does(data: st.DataObject) -> None:
    nodes = some_tree(3)
    number = st.floats(-1e9, 1e9)
    size = 3 * len(nodes.leaves)
    noisy = np.array(data.draw(st.lists(number, min_size=size, max_size=size)))
    noise_std = data.draw(st.floats(1e-3, 1e6))
    counts = node_counts(nodes, noisy, 3)
    known = ClassCounts(np.array(data.draw(st.lists(number, min_size=3, max_size=3))), noise_std)
    base = known.shares(counts[0], noise_std)
    for times in (1.0, 1.5):
        shares = spread_shares(node_shares(nodes, counts, noise_std, base), base, times)
        assert np.all(shares > 0)
        assert np.allclose(shares.sum(axis=1), 1.0)


EVEN = np.array([0.5, 0.5])


def test_shares_follow_counts_where_noise_is_small_and_parents_where_it_is_great() -> None:
    nodes = some_tree(1)
    noisy = np.array([900.0, 100.0, 2.0, 0.0])
    clear = node_shares(nodes, node_counts(nodes, noisy, 2), 0.5, EVEN)
    assert clear[1] == pytest.approx([0.9, 0.1], abs=0.005)
    drowned = node_shares(nodes, node_counts(nodes, noisy, 2), 50.0, EVEN)
    assert drowned[2] == pytest.approx(drowned[0], abs=0.02)


def test_an_empty_leaf_below_a_pure_node_keeps_its_class() -> None:
    """Noise alone, three deviations of it, must not turn a class that the parent is sure of."""
    drowned = np.array([[10.0, 0.0]])
    for sure in (0.99, 0.999, 0.9999):
        prior = np.array([[1.0 - sure, sure]])
        assert drawn_shares(drowned, np.array([3.0**2]), prior)[0, 1] > 0.5


def test_noise_is_feared_more_where_a_class_is_rare() -> None:
    seen, variance = np.array([[100.0, 20.0]]), np.array([10.0**2])
    moved = [
        (drawn_shares(seen, variance, prior) - prior)[0, 1] / (20 / 120 - prior[0, 1])
        for prior in (np.array([[0.5, 0.5]]), np.array([[0.98, 0.02]]))
    ]
    assert moved[1] < 0.6 < moved[0]


def test_spread_shares_are_as_many_times_as_far_from_the_whole_tables() -> None:
    base = np.array([0.7, 0.3])
    spread = spread_shares(np.array([[0.6, 0.4], [0.7, 0.3], [0.999, 0.001]]), base, 1.5)
    assert spread[0] == pytest.approx([0.55, 0.45])
    assert spread[1] == pytest.approx(base)
    assert spread[2, 0] < 1.0
