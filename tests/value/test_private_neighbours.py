"""Noisy counts around test points: what one record moves, and what owners make of them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.blocks import BLOCK_ROWS
from discreet.privacy.certificate import certify_cells
from discreet.value.engines.neighbours import threshold_knn_shapley
from discreet.value.private_neighbours import (
    NeighbourCounts,
    certify_counts,
    near_and_right,
    owner_values,
    reachable_points,
)
from discreet.value.private_rows import TestSet, read_test

SCHEMA = dc.Schema(
    {
        "x": dc.Number(0.0, 1.0, missing=False),
        "home": dc.Category("rent", "own", missing=False, other=False),
        "paid": dc.Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
RADIUS = 0.3
UNIVERSE = [(x, home, paid) for x, home, paid in product(np.linspace(0, 1, 11), (0.0, 1.0), (0.0, 1.0))]


def frame(rows: int, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": draw.uniform(size=rows).round(2),
            "home": draw.choice(["rent", "own"], rows),
            "paid": draw.integers(0, 2, rows),
        }
    )


def points(rows: int = 8, seed: int = 3) -> TestSet:
    return read_test(frame(rows, seed), SCHEMA)


def counts(test: TestSet, rows: Any) -> np.ndarray:
    near, right = near_and_right(test, np.asarray(rows, dtype=np.float64), RADIUS)
    return np.concatenate([right.sum(axis=0), (near & ~right).sum(axis=0)])


def worst(test: TestSet, relation: str) -> tuple[float, float, float]:
    """Return the greatest changes over every record, or every pair of them."""
    single = [counts(test, [row]) for row in UNIVERSE]
    pairs = product(single, single) if relation == "replace-one" else ((row, 0 * row) for row in single)
    moved = np.array([first - second for first, second in pairs])
    norms = np.abs(moved).sum(axis=1), np.sqrt((moved**2).sum(axis=1)), np.abs(moved).max(axis=1)
    return tuple(float(norm.max()) for norm in norms)  # type: ignore[return-value]


@pytest.mark.proves("tknn-counts")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("seed", range(6))
def test_no_record_moves_the_counts_by_more(relation: Any, seed: int) -> None:
    test = points(seed=seed)
    certificate = certify_counts(test, RADIUS)
    for norm, moved in zip(("l1", "l2", "linf"), worst(test, relation), strict=True):
        assert moved <= certificate.sensitivity(norm, relation)  # type: ignore[arg-type]


@pytest.mark.proves("tknn-counts")
def test_the_bound_is_attained_where_test_points_coincide() -> None:
    same = pd.DataFrame({"x": [0.5] * 4, "home": ["own"] * 4, "paid": [1] * 4})
    test = read_test(same, SCHEMA)
    assert reachable_points(test, RADIUS) == 4
    l1, l2, linf = worst(test, "replace-one")
    certificate = certify_counts(test, RADIUS)
    assert l1 == certificate.sensitivity("l1", "replace-one") == 8
    assert l2 == pytest.approx(math.sqrt(8)) and linf == 1


@pytest.mark.proves("tknn-counts")
def test_distant_test_points_cost_no_more_than_one() -> None:
    apart = pd.DataFrame({"x": [0.0, 1.0], "home": ["own", "own"], "paid": [1, 1]})
    assert reachable_points(read_test(apart, SCHEMA), RADIUS) == 1


@pytest.mark.refutes("tknn-counts")
def test_pricing_all_test_points_as_one_is_caught() -> None:
    once = certify_cells(16)
    l1, l2, _ = worst(points(), "replace-one")
    assert l1 > once.sensitivity("l1", "replace-one")
    assert l2 > once.sensitivity("l2", "replace-one")


def test_who_is_near_does_not_depend_on_the_rows_beside_it() -> None:
    test, draw = points(40), np.random.default_rng(0)
    rows = np.column_stack([draw.uniform(size=BLOCK_ROWS), draw.integers(0, 2, (2, BLOCK_ROWS)).T])
    together = near_and_right(test, rows, RADIUS)[0]
    alone = np.vstack([near_and_right(test, rows[i : i + 1], RADIUS)[0] for i in range(0, 500)])
    np.testing.assert_array_equal(together[:500], alone)


def board(test: TestSet, rows: Any, noise_std: float = 0.0) -> NeighbourCounts:
    import json

    right, wrong = counts(test, rows).reshape(2, -1)
    return NeighbourCounts(
        right=tuple(right.astype(float).tolist()),
        wrong=tuple(wrong.astype(float).tolist()),
        noise_std=noise_std,
        radius=RADIUS,
        test=tuple(map(tuple, test.encoded.tolist())),
        facts=json.dumps(SCHEMA.to_json()),
    )


def encoded(rows: pd.DataFrame) -> np.ndarray:
    return np.column_stack([SCHEMA[name].encode(np.asarray(rows[name])) for name in SCHEMA])


@pytest.mark.proves("tknn-owner")
def test_without_noise_owners_find_the_exact_values() -> None:
    records, test = frame(30, 1), points(12)
    x, y = test.split(encoded(records))
    exact = threshold_knn_shapley(x, y, test.x, test.y, radius=RADIUS, classes=2).values
    found = board(test, encoded(records)).appraise(records)
    assert found.values == pytest.approx(exact, abs=1e-12)
    assert found.audience == "owner"


@pytest.mark.proves("tknn-owner")
def test_a_value_depends_on_others_through_the_counts_alone() -> None:
    """Replace all other records by ones with the same counts: an owner's value stays."""
    test, records = points(12), frame(20, 2)
    counted = board(test, encoded(records))
    alone = counted.appraise(records.iloc[[4]])
    assert alone.values[0] == counted.appraise(records).values[4]


@pytest.mark.refutes("tknn-owner")
def test_a_value_shown_to_others_tells_its_record() -> None:
    """Two records swap their places: no count moves, and yet the list of values does."""
    test, records = points(12), frame(20, 2)
    swapped = records.iloc[[1, 0, *range(2, 20)]]
    first, second = (board(test, encoded(rows)) for rows in (records, swapped))
    assert first == second
    assert first.appraise(records).values != second.appraise(swapped).values


def test_counts_below_their_noise_are_taken_for_the_noise() -> None:
    near, right = np.array([[True]]), np.array([[True]])
    little = owner_values(np.array([[-30.0], [4.0]]), near, right, 2, 20.0)
    usual = owner_values(np.array([[11.0], [10.0]]), near, right, 2, 20.0)
    assert little[0] == pytest.approx(usual[0], rel=0.05)


def test_noise_shows_in_the_standard_errors() -> None:
    test, records = points(12), frame(300, 2)
    calm, loud = (board(test, encoded(records), std).appraise(records) for std in (1.0, 10.0))
    assert np.mean(calm.standard_errors) < np.mean(loud.standard_errors)
