from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.trees.columns import CutGrid, candidate_splits
from discreet.trees.scores import CRITERIA, STEPS_PER_RECORD, Criterion, check_work, last_log_step

ONE_CUT = CutGrid(("x",), (np.array([0.5]),), (False,))


def all_tables(classes: int, most: int) -> np.ndarray:
    """Return all counts of two children: tables x child x class."""
    cells = itertools.product(range(most + 1), repeat=2 * classes)
    return np.array(list(cells), dtype=np.int64).reshape(-1, 2, classes)


def utilities(
    criterion: Criterion, tables: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the utility of the one split of every table."""
    slots, _, classes = tables.shape
    flat = np.concatenate([tables.ravel(), np.zeros(2 * classes, dtype=np.int64)])
    splits = candidate_splits(ONE_CUT)
    return criterion.utilities(flat, slots, ONE_CUT, splits, classes, weights)[:, 0]


def moves(criterion: Criterion, tables: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return how far adding a record to any child and class moves the utility of every table."""
    before = utilities(criterion, tables, weights)
    found = []
    for child, label in itertools.product(range(2), range(tables.shape[2])):
        added = tables.copy()
        added[:, child, label] += 1
        found.append(utilities(criterion, added, weights) - before)
    return np.array(found)


def keeps(criterion: Criterion, moved: np.ndarray) -> bool:
    return bool(moved.min() >= -criterion.fall and moved.max() <= criterion.rise)


def large_tables(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (10 ** generator.uniform(0, 6, (400, 2, 3))).astype(np.int64) * generator.integers(
        0, 2, (400, 2, 3)
    )


@pytest.mark.proves("tree-utility")
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("classes", "most"), [(1, 12), (2, 5), (3, 2)])
def test_a_record_moves_utilities_inside_the_interval(name: str, classes: int, most: int) -> None:
    tables = all_tables(classes, most)
    rows = 2 * classes * most + 1
    assert keeps(Criterion(name, rows), moves(Criterion(name, rows), tables))


@pytest.mark.proves("tree-utility")
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("cap", [2, 100, 2**24])
def test_the_interval_holds_for_large_counts_and_any_cap(name: str, cap: int) -> None:
    tables = large_tables(3)
    rows = int(tables.sum(axis=(1, 2)).max()) + 1
    criterion = Criterion(name, cap if name != "gain" or cap < 2**24 else rows)
    assert keeps(criterion, moves(criterion, tables))


@pytest.mark.proves("tree-utility")
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("light", [1, 21, 700, STEPS_PER_RECORD])
def test_the_interval_holds_where_a_class_weighs_less(name: str, light: int) -> None:
    for tables in (all_tables(2, 5), all_tables(3, 2), large_tables(4)):
        weights = np.full(tables.shape[2], STEPS_PER_RECORD)
        weights[0] = light
        criterion = Criterion(name, int(tables.sum(axis=(1, 2)).max()) + 1)
        assert keeps(criterion, moves(criterion, tables, weights))


@pytest.mark.refutes("tree-utility")
def test_a_class_that_weighs_more_than_a_record_is_caught() -> None:
    heavy = np.array([STEPS_PER_RECORD, 2 * STEPS_PER_RECORD])
    assert not keeps(Criterion("norm", 2), moves(Criterion("norm", 2), all_tables(2, 5), heavy))


def test_a_rare_class_shows_only_if_the_other_weighs_less() -> None:
    """One split tells 20 of 1,000 records of the rare class from the others, another tells none."""
    tables = np.array([[[490, 20], [490, 0]], [[490, 10], [490, 10]]])
    criterion, fair = Criterion("norm", 1000), np.array([21, STEPS_PER_RECORD])
    plain, seen = utilities(criterion, tables), utilities(criterion, tables, fair)
    assert plain[0] - plain[1] < STEPS_PER_RECORD / 4
    assert seen[0] - seen[1] > 2 * STEPS_PER_RECORD


@pytest.mark.proves("tree-utility")
def test_the_intervals_are_attained() -> None:
    pure = np.array([[[40, 0], [0, 0]], [[0, 40], [0, 0]]])
    assert moves(Criterion("max", 2), pure).max() == STEPS_PER_RECORD
    assert moves(Criterion("norm", 2), pure).max() >= STEPS_PER_RECORD - 1
    assert moves(Criterion("gini", 2), pure).max() >= STEPS_PER_RECORD - 1
    assert moves(Criterion("gini", 2), pure).min() <= -STEPS_PER_RECORD * 39 / 41 + 1
    gain = Criterion("gain", 41)
    assert moves(gain, pure).min() <= -STEPS_PER_RECORD * last_log_step(41) + 2


@pytest.mark.refutes("tree-utility")
def test_the_interval_of_max_does_not_hold_for_gini() -> None:
    assert not keeps(Criterion("max", 2), moves(Criterion("gini", 2), all_tables(2, 5)))


@pytest.mark.refutes("tree-utility")
def test_a_logarithm_without_its_constant_is_caught() -> None:
    pure = np.array([[[1023, 0], [0, 0]]])
    moved = moves(Criterion("gain", 1024), pure)
    assert moved.min() < -(math.ceil(STEPS_PER_RECORD * math.log2(1024)) + 1)


@pytest.mark.proves("tree-dampening")
def test_the_table_of_gain_is_admissible() -> None:
    tables = all_tables(2, 4)
    criterion = Criterion("gain", 1000)
    moved = moves(criterion, tables)
    for table, own in zip(tables, moved.T, strict=True):
        size = int(table.sum())
        here = criterion.admissible(size, 40 * STEPS_PER_RECORD)
        more = criterion.admissible(size + 1, 40 * STEPS_PER_RECORD)
        assert np.abs(own).max() <= here[0]
        assert np.all(here[1:] >= more[:-1])
        # Removing a record leads back from a smaller table.
        assert np.abs(own).max() <= more[0]


@pytest.mark.refutes("tree-dampening")
def test_the_sensitivity_of_the_table_alone_is_not_admissible() -> None:
    criterion = Criterion("gain", 1000)
    here, after = (
        criterion.admissible(5, 9 * STEPS_PER_RECORD),
        criterion.admissible(6, 9 * STEPS_PER_RECORD),
    )
    assert not np.all(np.full(len(here), here[0])[1:] >= after[:-1])


def test_gain_and_gini_are_the_textbook_criteria() -> None:
    table = np.array([[[30, 10], [5, 55]]])
    shares = table[0] / table[0].sum(axis=1, keepdims=True)
    entropy = -(table[0] * np.log2(shares)).sum()
    impurity = (table[0].sum(axis=1) * (1 - (shares**2).sum(axis=1))).sum()
    assert utilities(Criterion("gain", 1000), table)[0] == math.floor(-entropy * STEPS_PER_RECORD)
    assert abs(utilities(Criterion("gini", 1000), table)[0] - (100 - impurity) * STEPS_PER_RECORD) <= 1
    assert utilities(Criterion("max", 1000), table)[0] == 85 * STEPS_PER_RECORD


def test_work_is_limited() -> None:
    check_work(2**24, 100)
    with pytest.raises(ArgumentError, match="rows times classes must be at most"):
        check_work(2**31, 10)
