"""Compiled walks along the paths of trees: which leaves share a cell, and what a cell tests.

Nodes are those of ``TreeEnsemble``: children come after their parents, ``left`` and ``left + 1``, and a
leaf is its own left child.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np

from discreet.compiling import njit
from discreet.engines.shapley.coalitions import BoolArray
from discreet.engines.shapley.tree_tables import NONE, Checks, Leaves, Nodes
from discreet.randomness import IntArray


@njit(cache=True, nogil=True)
def _place(found: IntArray, count: int, wanted: int) -> int:
    """Return where a feature stands among the first ``count``, or ``count``."""
    for k in range(count):
        if found[k] == wanted:
            return k
    return count


@njit(cache=True, nogil=True)
def _features_above(node: int, nodes: Nodes, found: IntArray) -> int:
    """Write the different features of a node's path, the nearest first, and return their number."""
    count: int = np.int64(0)  # type: ignore[assignment]  # a literal would be compiled for itself
    node = nodes.parent[node]
    while node != NONE:
        if _place(found, count, nodes.feature[node]) == count:
            found[count] = nodes.feature[node]
            count += 1
        node = nodes.parent[node]
    return count


@njit(cache=True, nogil=True)
def _features_below(node: int, nodes: Nodes, found: IntArray, count: int, stack: IntArray) -> int:
    """Add the features of the splits from a node down, and return the number of features."""
    stack[0], height = node, 1
    while height:
        height -= 1
        here = stack[height]
        if nodes.left[here] == here:
            continue
        if _place(found, count, nodes.feature[here]) == count:
            found[count] = nodes.feature[here]
            count += 1
        stack[height], stack[height + 1] = nodes.left[here] + 1, nodes.left[here]
        height += 2
    return count


@njit(cache=True, nogil=True)
def count_paths(nodes: Nodes, deepest: int) -> tuple[IntArray, IntArray]:
    """Return, for every node, the number of different features above it and of splits from it down."""
    size, left = len(nodes.left), nodes.left
    features, splits = np.zeros(size, np.int64), np.zeros(size, np.int64)
    found = np.empty(deepest + 1, np.int64)
    for node in range(size - 1, -1, -1):
        features[node] = _features_above(node, nodes, found)
        if left[node] != node:
            splits[node] = 1 + splits[left[node]] + splits[left[node] + 1]
    return features, splits


@njit(cache=True, nogil=True)
def join_leaves(
    nodes: Nodes, features: IntArray, splits: IntArray, most: int
) -> tuple[BoolArray, IntArray]:
    """Return which nodes are joined to a cell of at most ``most`` tests, and the entries of each.

    Leaves are joined under a node where their table together is no larger than their tables apart.
    Leaves with more features than ``most`` have no table.
    """
    size, left = len(nodes.left), nodes.left
    joined, entries = np.zeros(size, np.bool_), np.zeros(size, np.int64)
    found, stack = np.empty(most + 1, np.int64), np.empty(most + 2, np.int64)
    for node in range(size - 1, -1, -1):
        tests = features[node] + splits[node]
        apart = 0 if left[node] == node else entries[left[node]] + entries[left[node] + 1]
        entries[node] = apart
        if tests <= most:
            count = _features_above(node, nodes, found)
            count = _features_below(node, nodes, found, count, stack)
            together = (1 << tests) * count
            if left[node] == node or together <= apart:
                joined[node], entries[node] = True, together
    return joined, entries


@njit(cache=True, nogil=True)
def find_tops(joined: BoolArray, left: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return the joined nodes that are below no other, and the leaves below none."""
    size = len(left)
    cell, alone = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    covered = np.zeros(size, np.bool_)
    for node in range(size):
        if not covered[node]:
            cell[node] = covered[node] = joined[node]
            alone[node] = left[node] == node and not joined[node]
        if left[node] != node:
            covered[left[node]] = covered[left[node] + 1] = covered[node]
    return cell, alone


@njit(cache=True, nogil=True)
def _test_path(node: int, nodes: Nodes, tests: Checks, start: int) -> int:
    """Write one interval per feature of a node's path and return their number."""
    count: int = np.int64(0)  # type: ignore[assignment]
    tested = tests.feature[start:]
    while nodes.parent[node] != NONE:
        split = nodes.parent[node]
        k = _place(tested, count, nodes.feature[split])
        at, limit = start + k, nodes.threshold[split]
        if k == count:
            tests.feature[at], tests.missing[at] = nodes.feature[split], True
            tests.low[at], tests.high[at] = np.nan, np.inf
            count += 1
        if nodes.left[split] == node:
            tests.high[at] = min(tests.high[at], limit)
            tests.missing[at] &= nodes.missing_left[split]
        else:
            tests.low[at] = limit if np.isnan(tests.low[at]) else max(tests.low[at], limit)
            tests.missing[at] &= not nodes.missing_left[split]
        node = split
    return count


@njit(cache=True, nogil=True)
def _test_split(node: int, nodes: Nodes, tests: Checks, at: int) -> None:
    """Write the test of going left at a split."""
    tests.feature[at], tests.missing[at] = nodes.feature[node], nodes.missing_left[node]
    tests.low[at], tests.high[at] = np.nan, nodes.threshold[node]


@njit(cache=True, nogil=True)
def fill_cells(
    roots: IntArray, nodes: Nodes, tests: Checks, leaves: Leaves, player: IntArray, players: IntArray
) -> None:
    """Write the tests of every cell, its leaves, and its players (at the places of its tests)."""
    number = np.empty(len(nodes.left), np.int64)  # of a split's test within its cell
    leaf = at = 0
    for c in range(len(roots)):
        root, start = roots[c], tests.first[c]
        size = tests.first[c + 1] - start
        own = player[start : start + size]
        done = above = count = _test_path(root, nodes, tests, start)
        for k in range(above):
            own[k] = tests.feature[start + k]
        masks, wants = np.empty(size, np.int64), np.empty(size, np.int64)
        stack, height = np.empty(size + 2, np.int64), 1
        stack[0] = root
        while height:
            height -= 1
            node = stack[height]
            if nodes.left[node] != node:
                _test_split(node, nodes, tests, start + done)
                number[node] = done
                done += 1
                if _place(own, count, nodes.feature[node]) == count:
                    own[count] = nodes.feature[node]
                    count += 1
                stack[height], stack[height + 1] = nodes.left[node] + 1, nodes.left[node]
                height += 2
                continue
            leaves.value[leaf] = nodes.value[node]
            for k in range(size):
                masks[k] = wants[k] = (1 << k) if k < above else 0
            while node != root:
                split = nodes.parent[node]
                k, bit = _place(own, count, nodes.feature[split]), 1 << number[split]
                masks[k] |= bit
                wants[k] |= bit if nodes.left[split] == node else 0
                node = split
            for k in range(count):
                if masks[k]:
                    leaves.player[at], leaves.mask[at], leaves.want[at] = k, masks[k], wants[k]
                    at += 1
            leaf += 1
            leaves.first_bit[leaf] = at
        leaves.first[c + 1], players[c] = leaf, count
