"""Compiled replacements between rows in ensembles of small trees, by leaf masks.

The splits of a tree on one feature leave a row few choices: donors between the same two thresholds
give it the same leaf. So a tree's changes are found for every row and *range* of donors, not for every
donor, and only in trees that split on a feature. The change by two features is the sum of the changes
by each, and a *cross* term from trees that split on both.

The ranges of all trees are joined to *levels* of a feature, and answers are made for every row and
level. Cross terms are spread over tables with a row per donor; where answers are the scores themselves,
means over ranges will do, and nothing is made for pairs of rows.

Rows of several subsets stand one after the other; ``starts`` tells them apart, and none of what is
computed for one of them sees another's.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.engines.kernels.interact import finish, in_units, mean
from discreet.models.forms.tree_kernels import lowest_bit
from discreet.schema import FloatArray

IntArray = NDArray[np.int64]
Masks = NDArray[np.uint64]


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_donors(
    column: FloatArray, threshold: FloatArray, pick: Masks, code: IntArray, out: Masks
) -> None:
    """Write the range of every value, the last one for NaN, and the leaves it leaves open."""
    for i in range(len(column)):
        code[i] = len(threshold) + 1 if column[i] != column[i] else 0
    for limit in threshold:
        for i in range(len(column)):
            code[i] += column[i] > limit
    for i in range(len(column)):
        out[i] = pick[code[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def _others(open_: Masks, groups: int, first: int, second: int, out: Masks) -> None:
    """Write the leaves that all groups but two leave open."""
    out[:] = ~np.uint64(0)
    for group in range(groups):
        if group != first and group != second:
            row = open_[group]
            for i in range(len(out)):
                out[i] &= row[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _changes(rest: Masks, pick: Masks, leaves: FloatArray, leaf: FloatArray, out: FloatArray) -> None:
    """Write what donors of every range change at every row (ranges x rows)."""
    for c in range(len(pick)):
        row, allowed = out[c], pick[c]
        for i in range(len(rest)):
            row[i] = leaves[lowest_bit(rest[i] & allowed)] - leaf[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _crossed(
    rest: Masks,
    picks: tuple[Masks, Masks],
    leaves: FloatArray,
    leaf: FloatArray,
    alone: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Write what donors of two features change beyond the changes of each (cells x rows)."""
    for c in range(len(picks[0])):
        for d in range(len(picks[1])):
            row, allowed = out[c * len(picks[1]) + d], picks[0][c] & picks[1][d]
            first, second = alone[0][c], alone[1][d]
            for i in range(len(rest)):
                change = leaves[lowest_bit(rest[i] & allowed)] - leaf[i]
                row[i] = change - first[i] - second[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(changes: FloatArray, code: IntArray, starts: IntArray, table: FloatArray) -> None:
    """Add every donor's changes to its row of a table; tables of subsets follow each other."""
    at = np.uint64(0)
    for b in range(len(starts) - 1):
        first, size = np.uint64(starts[b]), np.uint64(starts[b + 1] - starts[b])
        for m in range(starts[b], starts[b + 1]):
            row = changes[code[m]]
            for i in range(size):  # unsigned places spare a test for negative ones
                table[at + np.uint64(i)] += row[first + np.uint64(i)]
            at += size


@njit(cache=True, nogil=True, error_model="numpy")
def _add_steps(changes: FloatArray, rank: IntArray, levels: FloatArray) -> None:
    """Add what changes from one range to the next where it begins among all levels of the feature."""
    for c in range(len(changes)):
        last = c == len(changes) - 1  # that of NaN, which stands for itself
        at = len(levels) - 1 if last else 0 if c == 0 else rank[c - 1] + 1
        level, row = levels[at], changes[c]
        for i in range(len(row)):
            level[i] += row[i]
        if c > 0 and not last:
            before = changes[c - 1]
            for i in range(len(row)):
                level[i] -= before[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_up(levels: FloatArray) -> None:
    """Turn steps into what holds at every level of a feature; the last one is that of NaN."""
    for at in range(1, len(levels) - 1):
        row, before = levels[at], levels[at - 1]
        for i in range(len(row)):
            row[i] += before[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _spread_means(
    changes: FloatArray, code: IntArray, starts: IntArray, means: FloatArray, given: FloatArray
) -> None:
    """Add the mean of every donor's changes over rows."""
    for b in range(len(starts) - 1):
        for c in range(len(changes)):
            means[c] = mean(changes[c, starts[b] : starts[b + 1]])
        for m in range(starts[b], starts[b + 1]):
            given[m] += means[code[m]]


@njit(cache=True, nogil=True, error_model="numpy")
def replace_in_trees(
    columns: FloatArray,
    starts: IntArray,
    threshold: FloatArray,
    rank: IntArray,
    first_split: IntArray,
    pick: Masks,
    first_range: IntArray,
    feature: IntArray,
    first_group: IntArray,
    value: FloatArray,
    first_leaf: IntArray,
    first_level: IntArray,
    cross: IntArray,
    additive: bool,
    own: FloatArray,
    levels: FloatArray,
    crosses: FloatArray,
) -> None:
    """Add leaf values to ``own``, what donors change to ``levels``, cross terms to ``crosses``.

    The splits of a tree stand in groups, one per feature, with rising thresholds; ``rank`` is their
    place among all thresholds of the feature, ``pick`` has the leaves left open between them, and by
    NaN. ``first_level`` has, for every feature, where its levels begin and end, and ``cross`` the row
    of ``crosses`` of every pair (-1: not wanted). That row is a table, or, if ``additive``, the means
    over rows.
    """
    size, groups, ranges, most = columns.shape[1], 0, 0, 0
    for tree in range(len(first_group) - 1):
        groups = max(groups, first_group[tree + 1] - first_group[tree])
        ends = first_range[first_group[tree]], first_range[first_group[tree + 1]]
        ranges = max(ranges, ends[1] - ends[0])
    for group in range(len(feature)):
        most = max(most, first_range[group + 1] - first_range[group])
    opened, code = np.empty((groups, size), np.uint64), np.empty((groups, size), np.int64)
    changes, crossed = np.empty((ranges, size)), np.empty((most * most, size))
    others, leaf, cell = np.empty(size, np.uint64), np.empty(size), np.empty(size, np.int64)
    means = np.empty(most * most)
    for tree in range(len(first_group) - 1):
        start, groups = first_group[tree], first_group[tree + 1] - first_group[tree]
        leaves = value[first_leaf[tree] : first_leaf[tree + 1]]
        offset = first_range[start]
        for g in range(groups):
            limits = threshold[first_split[start + g] : first_split[start + g + 1]]
            picks = pick[first_range[start + g] : first_range[start + g + 1]]
            _sort_donors(columns[feature[start + g]], limits, picks, code[g], opened[g])
        _others(opened, groups, -1, -1, others)
        for i in range(size):
            leaf[i] = leaves[lowest_bit(others[i])]
            own[i] += leaf[i]
        for g in range(groups):
            level, after = first_level[feature[start + g]]
            if level < after:
                picks = pick[first_range[start + g] : first_range[start + g + 1]]
                moved = changes[first_range[start + g] - offset : first_range[start + g + 1] - offset]
                _others(opened, groups, g, -1, others)
                _changes(others, picks, leaves, leaf, moved)
                ranks = rank[first_split[start + g] : first_split[start + g + 1]]
                _add_steps(moved, ranks, levels[level:after])
        for g in range(groups):
            for h in range(g + 1, groups):
                place = cross[feature[start + g], feature[start + h]]
                if place < 0:
                    continue
                a, b = first_range[start + g], first_range[start + g + 1]
                c, d = first_range[start + h], first_range[start + h + 1]
                _others(opened, groups, g, h, others)
                alone = (changes[a - offset : b - offset], changes[c - offset : d - offset])
                _crossed(others, (pick[a:b], pick[c:d]), leaves, leaf, alone, crossed)
                for m in range(size):
                    cell[m] = code[g, m] * (d - c) + code[h, m]
                if additive:
                    cells = crossed[: (b - a) * (d - c)]
                    _spread_means(cells, cell, starts, means, crosses[place])
                else:
                    _spread(crossed, cell, starts, crosses[place])
    for level, after in first_level:
        _add_up(levels[level:after])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _add_share(row: FloatArray, share: float, total: FloatArray) -> float:
    """Add a share of answers to rows' totals and return their mean."""
    found = 0.0
    for i in range(len(row)):
        found += row[i]
        total[i] += share * row[i]
    return found / len(row)


@njit(cache=True, nogil=True, error_model="numpy")
def average_singles(
    levels: FloatArray,
    code: IntArray,
    starts: IntArray,
    own: FloatArray,
    logistic: bool,
    terms: FloatArray,
    given: FloatArray,
    rest: FloatArray,
) -> None:
    """Write the mean answers of every feature: over rows, and over donors.

    ``code`` (features x rows) has the level of every donor; a level that many share is met once.
    """
    most = 0
    for b in range(len(starts) - 1):
        most = max(most, starts[b + 1] - starts[b])
    place, share = np.empty(len(levels), np.int64), np.empty(most)
    table, means = np.empty(most * most), np.empty(most)
    for b in range(len(starts) - 1):
        first, after = starts[b], starts[b + 1]
        source, size = own[first:after], after - first
        for f in range(len(code)):
            donors, count = code[f, first:after], 0
            for donor in donors:
                place[donor] = -1
            for donor in donors:
                if place[donor] < 0:
                    place[donor], share[count] = count, 0.0
                    row, change = table[count * size : (count + 1) * size], levels[donor, first:after]
                    for i in range(len(row)):
                        row[i] = source[i] + change[i]
                    count += 1
                share[place[donor]] += 1.0
            finish(table[: count * size], logistic, terms)
            total, mine = rest[f, first:after], given[f, first:after]
            total[:] = 0.0
            for c in range(count):
                row = table[c * size : (c + 1) * size]
                means[c] = _add_share(row, share[c] / size, total)
            for m in range(size):
                mine[m] = means[place[donors[m]]]
            in_units(total, terms)
            in_units(mine, terms)


@njit(cache=True, nogil=True, error_model="numpy")
def average_pairs(
    levels: FloatArray,
    code: IntArray,
    pairs: IntArray,
    crosses: FloatArray,
    starts: IntArray,
    own: FloatArray,
    logistic: bool,
    terms: FloatArray,
    both: FloatArray,
) -> None:
    """Write the mean answers over rows of pairs of features (rows of ``code``)."""
    at = 0
    for b in range(len(starts) - 1):
        first, after = starts[b], starts[b + 1]
        size = after - first
        table, source = np.empty((size, size)), own[first:after]
        for t in range(len(pairs)):
            cross = crosses[t, at : at + size * size].reshape((size, size))
            for m in range(size):
                one = levels[code[pairs[t, 0], first + m], first:after]
                two = levels[code[pairs[t, 1], first + m], first:after]
                row, more = table[m], cross[m]
                for i in range(len(row)):
                    row[i] = source[i] + one[i] + two[i] + more[i]
            finish(table.reshape(-1), logistic, terms)
            for m in range(size):
                both[t, first + m] = mean(table[m])
            in_units(both[t, first:after], terms)
        at += size * size
