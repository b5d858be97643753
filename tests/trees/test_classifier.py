from __future__ import annotations

import numpy as np
import pytest

from discreet.models.forms.trees import join_trees
from discreet.trees.classifier import raw_tree
from discreet.trees.growth import walk
from tests.trees.tables import some_tree


def both_values(seed: int, *, forget: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that rows get by intervals and by thresholds."""
    nodes = some_tree(4, seed)
    rows = np.array([(a, h) for a in range(4) for h in range(3)], dtype=np.float64)
    value = np.random.default_rng(seed).uniform(size=len(nodes))
    found = np.empty(len(rows), dtype=np.int64)
    walk(
        np.asfortranarray(rows),
        np.zeros_like(found),
        nodes.feature,
        nodes.low,
        nodes.high,
        nodes.left,
        found,
    )
    low = np.full(len(nodes), -np.inf) if forget else nodes.low
    tree = raw_tree(nodes.feature, low, nodes.high, nodes.left, value)
    assert tree is not None
    ensemble = join_trees([tree], base=0.0, link="identity", width=2)
    assert ensemble is not None
    return value[found], ensemble.predict(np.asfortranarray(rows))


@pytest.mark.proves("tree-intervals")
@pytest.mark.parametrize("seed", range(20))
def test_thresholds_give_what_intervals_give(seed: int) -> None:
    by_intervals, by_thresholds = both_values(seed)
    assert by_intervals.tolist() == by_thresholds.tolist()


@pytest.mark.refutes("tree-intervals")
def test_a_forgotten_lower_end_is_caught() -> None:
    pairs = [both_values(seed, forget=True) for seed in range(20)]
    assert any(not np.array_equal(a, b) for a, b in pairs)


def test_a_tree_that_would_grow_too_large_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.trees.classifier._MOST_NODES", 3)
    nodes = some_tree(3)
    assert raw_tree(nodes.feature, nodes.low, nodes.high, nodes.left, np.zeros(len(nodes))) is None
