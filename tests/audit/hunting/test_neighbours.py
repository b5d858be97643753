"""Neighbours by structure and by small changes: they differ in one record and in nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.audit.hunting.climbing import Pair, Proposer
from discreet.audit.hunting.neighbours import (
    HUGE,
    NOT_LISTED,
    Neighbourhood,
    around,
    beside,
    by_column,
    columns_of,
    draw_table,
    find_marks,
    newcomers,
    plain_tables,
)
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation
from discreet.randomness import public_generator

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "income": dc.Number(0, 100.0, missing=False),
        "home": dc.Category("rent", "own", missing=False, other=False),
        "flag": dc.Category(False, True, missing=False, other=False),
    },
    id="person",
)
ROWS = draw_table(SCHEMA, 24, 3)


def test_a_drawn_table_has_odd_rows() -> None:
    values = set(map(str, ROWS[:, :4].ravel()))
    assert {"None", NOT_LISTED} <= values and len(set(ROWS[:, -1])) == 23
    assert tuple(ROWS[8]) == tuple(ROWS[12]), "one record is there twice"
    assert np.array_equal(ROWS, draw_table(SCHEMA, 24, 3))
    assert not np.array_equal(ROWS, draw_table(SCHEMA, 24, 4))


def test_marks_are_ends_grid_points_and_one_step_beside_thresholds() -> None:
    marks = find_marks(SCHEMA, {"age": [40.5], "income": [33.0, 400.0]})
    assert {18.0, 90.0, 40.5, 40.0, 41.0, 39.0, None, HUGE} <= set(marks["age"])
    inside = {33.0, float(np.nextafter(33.0, 0)), float(np.nextafter(33.0, 99))}
    assert inside <= set(marks["income"]) and 400.0 not in marks["income"]
    assert marks["home"] == ["rent", "own", NOT_LISTED, None]


def test_of_many_thresholds_some_are_taken_over_the_whole_range() -> None:
    marks = find_marks(SCHEMA, {"income": np.linspace(0, 100, 1_001).tolist()})["income"]
    assert len(marks) < 40 and sum(mark is not None and 50 < mark < 99 for mark in marks) > 6


def test_values_beside_a_number() -> None:
    age, income = SCHEMA["age"], SCHEMA["income"]
    assert isinstance(age, dc.Number) and isinstance(income, dc.Number)
    assert beside(age, 30.0) == [30.0, 30.0, 31.0, 29.0]
    assert beside(income, 1.0)[1] < 1.0 < beside(income, 1.0)[2]


def test_newcomers_fit_the_table() -> None:
    known = newcomers(SCHEMA, ROWS)
    assert {len(record) for record in known.values()} == {len(columns_of(SCHEMA))}
    assert known["high corner"][:4] == (90.0, 100.0, "own", True)
    assert known["mixed corner"][:4] == (90.0, 0.0, "own", False)
    assert known["missing"][:4] == (None,) * 4 and known["beyond"][:2] == (HUGE, -HUGE)
    record = known["low corner"]
    for _, other in by_column(SCHEMA, record, find_marks(SCHEMA, {})):
        assert sum(a is not b and a != b for a, b in zip(record, other, strict=True)) <= 1


def test_plain_tables_keep_their_size() -> None:
    assert {table.shape for table in plain_tables(SCHEMA, ROWS).values()} == {ROWS.shape}


@pytest.mark.parametrize("relation", RELATIONS)
def test_tables_around_a_place_are_neighbours(relation: Relation) -> None:
    for home, standing in around(SCHEMA, relation, ROWS):
        own = standing[-1][1]
        counts = [home.table(record).count() for _, record in standing]
        known = newcomers(SCHEMA, ROWS)["missing"]
        assert home.neighbours(own, known) == (relation is REPLACE_ONE or own is None)
        first, second = home.frame(own), home.frame(known)
        if own is not None:
            differs = (first.map(repr) != second.map(repr)).any(axis=1)
            assert differs.to_numpy().nonzero()[0].tolist() == [home.place]
        if relation is REPLACE_ONE:
            assert counts == [len(ROWS)]
        else:
            assert counts[0] in (len(ROWS) - 1, len(ROWS))


@pytest.mark.parametrize("relation", RELATIONS)
def test_proposals_are_neighbours_again(relation: Relation) -> None:
    home = Neighbourhood(SCHEMA, relation, ROWS[1:], 0)
    nobody = None if relation is ADD_REMOVE else tuple(ROWS[0])
    pair = Pair(home, nobody, tuple(ROWS[3]))
    proposer = Proposer(SCHEMA, find_marks(SCHEMA, {}), public_generator(1))
    tables = places = records = 0
    for _ in range(400):
        near = proposer.near(pair)
        made = near.pair
        assert made.home.neighbours(made.one, made.other) and made.home.others.shape == ROWS[1:].shape
        tables += made.home.others is not home.others
        places += made.home.place != 0
        records += near.same_table
        if near.same_table:
            assert made.home is home and (made.one is pair.one or made.one is pair.other)
        assert made.home.table(made.other).count() == len(ROWS)
    assert min(tables, places, records) > 10
    assert home.others is not None and np.array_equal(home.others, ROWS[1:]), "nothing is overwritten"
