"""Attribute inference is linkage among versions of one record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.attributes import attack_attribute, attribute_tables, infer_attribute
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.targets import sums_target
from discreet.errors import ArgumentError

FRAME = scenes.neighbours()[0]


def test_tables_differ_in_one_value_of_one_record() -> None:
    tables = attribute_tables(FRAME, scenes.SCHEMA, "home", record=3)
    assert [table["home"][3] for table in tables] == ["rent", "mortgage", "own"]
    for table in tables:
        same = (table == FRAME).all(axis=1)
        assert same.drop(3).all() and len(table) == len(FRAME)


def test_noise_keeps_an_attribute_and_exact_counts_tell_it() -> None:
    tables = attribute_tables(FRAME, scenes.SCHEMA, "purpose")
    target = sums_target(dc.histogram(scenes.CELLS, epsilon=1.0), tables, scenes.SCHEMA)
    found = attack_attribute(target, column="purpose", trials=3_000)
    assert found.candidates == 5 and found.attack == "inference of purpose"
    assert found.accuracy.low > 0.23 and found.accuracy.high < Ceiling(1.0).guess(5)

    def counts(table: Any, seed: int) -> np.ndarray:
        return np.asarray([(table["purpose"] == value).sum() for value in PURPOSES])

    seen = {tuple(counts(table, 0)): place for place, table in enumerate(tables)}
    exact = infer_attribute(
        counts,
        FRAME,
        scenes.SCHEMA,
        "purpose",
        lambda out: seen[tuple(out)],
        ceiling=Ceiling(1.0),
        trials=60,
    )
    assert exact.accuracy.value == 1.0 and exact.beats()


PURPOSES = dc.samples.loan_schema()["purpose"].values  # type: ignore[union-attr]


def test_bad_input_is_told_in_a_sentence() -> None:
    with pytest.raises(ArgumentError, match="column must be a category, got 'income', a number"):
        attribute_tables(FRAME, scenes.SCHEMA, "income")
    with pytest.raises(ArgumentError, match="record must be a whole number"):
        attribute_tables(FRAME, scenes.SCHEMA, "home", record=10_000)
