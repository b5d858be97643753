from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.laws.of_trees import FEATURES, SCHEMA, counts_of
from discreet.plans import Setting
from discreet.trees.leaves import leaf_stage, node_counts, node_shares
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
    shares = node_shares(nodes, node_counts(nodes, noisy, 3), data.draw(st.floats(0, 1e6)))
    assert np.all(shares > 0)
    assert np.allclose(shares.sum(axis=1), 1.0)


def test_shares_follow_counts_where_noise_is_small_and_parents_where_it_is_great() -> None:
    nodes = some_tree(1)
    noisy = np.array([900.0, 100.0, 2.0, 0.0])
    clear = node_shares(nodes, node_counts(nodes, noisy, 2), 0.5)
    assert clear[1] == pytest.approx([0.9, 0.1], abs=0.005)
    drowned = node_shares(nodes, node_counts(nodes, noisy, 2), 50.0)
    assert drowned[2] == pytest.approx(drowned[0], abs=0.03)
