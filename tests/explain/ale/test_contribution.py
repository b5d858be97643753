"""What one record adds to accumulated effects: no neighbour moves the sums further than certified."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import PrivateTable, Summand, VectorContribution, add_up
from discreet.explain.ale.contribution import (
    category_effects,
    certify_categories,
    certify_intervals,
    interval_effects,
)

RELATIONS = ("replace-one", "add-remove")
NORMS = {"l1": 1, "l2": 2, "linf": np.inf}

ZIGZAG = dc.Schema(
    {
        "size": dc.Number(0, 4, step=1, missing=False),
        "kind": dc.Category("up", "down", "nan", missing=False, other=False),
    }
)
TYPES = dc.Schema(
    {
        "size": dc.Category(*"abcd", missing=False, other=False),
        "kind": dc.Category("up", "down", "nan", missing=False, other=False),
    }
)


def zigzag(rows: np.ndarray) -> np.ndarray:
    """Jumps from end to end of its range at every step, up or down; NaN for one kind of row."""
    jump = np.where((rows[:, 0] % 2 == 1) == (rows[:, 1] == 0), 50.0, -50.0)
    return np.where(rows[:, 1] == 2, np.nan, jump)


def encoded_rows(schema: dc.Schema) -> list[tuple[Any, str]]:
    column = schema["size"]
    sizes = column.values if isinstance(column, dc.Category) else range(5)
    return list(itertools.product(sizes, ["up", "down", "nan"]))


def steps_of(contribution: VectorContribution, schema: dc.Schema, rows: list[Any]) -> np.ndarray:
    table = PrivateTable(pd.DataFrame(rows, columns=list(schema)), schema, "add-remove")
    return add_up(table, [Summand(contribution, 2.0**-20)])[0] * 2.0**-20


def worst_move(contribution: VectorContribution, schema: dc.Schema, relation: str, norm: str) -> float:
    """Return the greatest change between neighbours: records alone, because sums are sums."""
    vectors = [steps_of(contribution, schema, [row]) for row in encoded_rows(schema)]
    others = vectors if relation == "replace-one" else [np.zeros_like(vectors[0])]
    moves = [a - b for a in vectors for b in others]
    return float(max(np.linalg.norm(move, NORMS[norm]) for move in moves))


def bound_zigzag(schema: dc.Schema, bounds: tuple[float, float] = (-1, 2)) -> Any:
    return dc.Model(zigzag, bounds=bounds, name="zigzag").bind(schema)


@pytest.mark.proves("ale")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("weight", [0.75, 1.5, 3.0])
@pytest.mark.parametrize("edges", [(0, 1, 2, 3, 4), (0, 1, 4), (0, 3, 4)])
def test_no_neighbour_moves_intervals_further(
    relation: str, norm: str, weight: float, edges: tuple[int, ...]
) -> None:
    contribution = interval_effects(bound_zigzag(ZIGZAG), "size", np.array(edges, float), 4, weight)
    bound = contribution.certificate.sensitivity(norm, relation)
    worst = worst_move(contribution, ZIGZAG, relation, norm)
    assert worst <= bound and bound - worst < 1e-4  # attained, whatever the edges


@pytest.mark.proves("ale")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("weight", [0.75, 1.5, 3.0])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 1, 0, 3)])
def test_no_neighbour_moves_categories_further(
    relation: str, norm: str, weight: float, order: tuple[int, ...]
) -> None:
    contribution = category_effects(bound_zigzag(TYPES), "size", np.array(order), weight)
    bound = contribution.certificate.sensitivity(norm, relation)
    worst = worst_move(contribution, TYPES, relation, norm)
    assert worst <= bound and bound - worst < 1e-4


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_two_categories_share_one_step(relation: str, norm: str) -> None:
    schema = dc.Schema(
        {
            "size": dc.Category("a", "b", missing=False, other=False),
            "kind": dc.Category("up", "down", "nan", missing=False, other=False),
        }
    )
    contribution = category_effects(bound_zigzag(schema), "size", np.arange(2), 1.5)
    bound = contribution.certificate.sensitivity(norm, relation)
    worst = worst_move(contribution, schema, relation, norm)
    assert worst <= bound and bound - worst < 1e-4


@pytest.mark.refutes("ale")
@pytest.mark.parametrize("relation", RELATIONS)
def test_wider_answers_and_the_published_l2_are_caught(relation: str) -> None:
    edges = np.arange(5.0)
    honest = interval_effects(bound_zigzag(ZIGZAG), "size", edges, 4, 1.0).certificate
    wider = interval_effects(bound_zigzag(ZIGZAG, (-1.2, 2.2)), "size", edges, 4, 1.0)
    for norm in ("l1", "l2"):
        assert worst_move(wider, ZIGZAG, relation, norm) > honest.sensitivity(norm, relation)
    # sqrt(2) times the range, as for records in two intervals, forgets two records in one.
    same = interval_effects(bound_zigzag(ZIGZAG), "size", edges, 4, 0.1)
    assert worst_move(same, ZIGZAG, "replace-one", "l2") > np.sqrt(2) * 3.0 * 1.4


@pytest.mark.refutes("ale")
def test_categories_priced_as_intervals_are_caught() -> None:
    contribution = category_effects(bound_zigzag(TYPES), "size", np.arange(4), 1.0)
    for norm, relation in itertools.product(("l1", "l2"), RELATIONS):
        cheap = certify_intervals(4, 3.0, 1.0).sensitivity(norm, relation)
        assert worst_move(contribution, TYPES, relation, norm) > cheap


def test_counts_are_free_under_gaussian_noise() -> None:
    for weight in (0.0, 0.5, 1.0):
        assert certify_intervals(5, 1.0, weight).sensitivity("l2", "replace-one") == pytest.approx(2)
        three = certify_categories(5, 1.0, weight).sensitivity("l2", "replace-one")
        assert three == pytest.approx(np.sqrt(8))


def smooth(rows: np.ndarray) -> np.ndarray:
    return 0.1 * rows[:, 0] + 0.01 * rows[:, 1]


def test_single_precision_counts_twice_in_a_difference() -> None:
    single = dc.Model(lambda rows: smooth(rows).astype(np.float32), bounds=(0, 1), name="single")
    bound = single.bind(ZIGZAG)
    contribution = interval_effects(bound, "size", np.array([0.0, 2.0, 4.0]), 2, 0.25)
    assert bound.batch_error("replace-one") == 2.0**-20
    assert contribution.batch_error("replace-one") == pytest.approx(
        2 * bound.batch_error("replace-one")
    )
    opaque = dc.Model(smooth, bounds=(0, 1), name="smooth").bind(ZIGZAG)
    double = interval_effects(opaque, "size", np.array([0.0, 2.0, 4.0]), 2, 0.25)
    assert double.batch_error("add-remove") == pytest.approx(2.0**-39)
