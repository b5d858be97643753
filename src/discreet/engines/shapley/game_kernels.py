"""Compiled answers of trees of at most 64 leaves to mixed rows, all coalitions of a pair at once.

A row's value of a feature rules out some of a tree's leaves. A mixed row takes the features of a
coalition from a query and the others from a record, so it can only fall into a leaf that, feature by
feature, one of the two allows: three or so of thirty. Such a leaf is reached by the coalitions that
hold all features whose value of the record rules it out (*needed*) and none whose value of the query
does (*barred*), whatever other features they hold. No mixed row is made, and no coalition is looked at
by itself unless they are few:

*All coalitions.* A leaf adds its value to those that hold N and nothing of B. That is a sum over the
subsets T of B of (-1)^|T| times its value, added to those that hold N and T; such additions are noted
for all trees under the set N + T, and one pass per feature at the end hands them to every coalition.

*Some coalitions.* A leaf's value is added to every such coalition, tree by tree in their
order, as for whole rows.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.engines.kernels.interact import finish
from discreet.models.forms.tree_kernels import lowest_bit
from discreet.randomness import IntArray
from discreet.schema import FloatArray

Masks = NDArray[np.uint64]
_NO_LEAF, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def fill_allowed(rows: FloatArray, splits: tuple[Any, ...], first_split: IntArray, out: Masks) -> None:
    """Write the leaves that values allow (rows x trees x features).

    ``splits`` are features, thresholds, whether NaN goes left, and the leaves that going left and going
    right leave.
    """
    feature, threshold, missing_left, if_left, if_right = splits
    out[:] = ~_NO_LEAF
    for r in range(len(rows)):
        for tree in range(len(first_split) - 1):
            allowed = out[r, tree]
            for split in range(first_split[tree], first_split[tree + 1]):
                here, limit = rows[r, feature[split]], threshold[split]
                left = not here > limit if missing_left[split] else here <= limit
                allowed[feature[split]] &= if_left[split] if left else if_right[split]


@njit(cache=True, nogil=True)
def _ruled_out(allowed: Masks, leaf: np.uint64) -> np.uint64:
    """Return the features that rule out a leaf, as bits."""
    found = _NO_LEAF
    for j in range(len(allowed)):
        found |= ((~allowed[j] >> leaf) & _ONE) << np.uint64(j)
    return found


@njit(cache=True, nogil=True)
def _note(
    needed: np.uint64, barred: np.uint64, value: float, signs: FloatArray, noted: FloatArray
) -> None:
    """Note a leaf's value under the sets whose supersets get it."""
    part = _NO_LEAF
    while True:
        noted[needed | part] += signs[part] * value
        part = (part - barred) & barred  # the next subset; none after the whole
        if part == _NO_LEAF:
            return


@njit(cache=True, nogil=True)
def _hand_out(noted: FloatArray) -> None:
    """Add what was noted under a set to all its supersets."""
    step = 1
    while step < len(noted):
        for start in range(0, len(noted), 2 * step):
            for k in range(start, start + step):
                noted[k + step] += noted[k]
        step *= 2


@njit(cache=True, nogil=True)
def answer_pairs(
    asked: Masks,
    given: Masks,
    leaves: Masks,
    value: FloatArray,
    first_leaf: IntArray,
    base: float,
    codes: Masks,
    signs: FloatArray,
    logistic: bool,
    terms: FloatArray,
    out: FloatArray,
) -> None:
    """Write the answers of every query and record, coalition by coalition (queries x records x codes).

    Args:
      asked: what the queries' values allow, of ``fill_allowed``.
      given: what those of the records do.
      leaves: all leaves of every tree, as bits.
      value: of every leaf, tree by tree.
      first_leaf: of every tree.
      base: what the score is before any tree.
      codes: coalitions, a bit for each feature.
      signs: of every subset, if all coalitions are noted at once; else empty.
      logistic: the link.
      terms: least and greatest answer, what NaN becomes, and a unit without meaning here.
      out: written.
    """
    noted = np.empty(len(signs))
    for q in range(len(asked)):
        for i in range(len(given)):
            sums = out[q, i]
            sums[:] = base
            noted[:] = 0.0
            for tree in range(len(leaves)):
                mine, its, reached = asked[q, tree], given[i, tree], leaves[tree]
                for j in range(len(mine)):
                    reached &= mine[j] | its[j]
                while reached != _NO_LEAF:
                    leaf = lowest_bit(reached)
                    reached &= reached - _ONE
                    needed, barred = _ruled_out(its, leaf), _ruled_out(mine, leaf)
                    height = value[first_leaf[tree] + np.int64(leaf)]
                    if len(signs):
                        _note(needed, barred, height, signs, noted)
                        continue
                    for c in range(len(sums)):
                        sums[c] += height if codes[c] & (needed | barred) == needed else 0.0
            if len(signs):
                _hand_out(noted)
                for c in range(len(sums)):
                    sums[c] += noted[codes[c]]
            finish(sums, logistic, terms)
