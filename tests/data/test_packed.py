"""Rows kept for the next stage: as few bytes as the schema allows, and the same bits again."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import discreet as dc
from discreet.data.blocks import Block, PackedBlock, column_places, packed_bytes
from discreet.schema import Column

COLUMNS: dict[str, tuple[Column, int]] = {
    "whole numbers": (dc.Number(18, 90, step=1, missing=False), 1),
    "missing numbers": (dc.Number(-3, 3, step=0.1), 1),
    "many steps": (dc.Number(0, 1000, step=0.25, missing=False), 2),
    "255 and a missing one": (dc.Number(0, 254, step=1), 1),
    "256 and a missing one": (dc.Number(0, 255, step=1), 2),
    "days": (dc.Date(datetime.date(1990, 1, 1), datetime.date(2030, 1, 1)), 2),
    "categories": (dc.Category("a", "b", "c"), 1),
    "any number": (dc.Number(0.0, 1.0, missing=False), 8),
    "too many steps": (dc.Number(0, 70_000, step=1, missing=False), 8),
    "steps of the last digits": (dc.Number(1e16, 1e16 + 64 * 32, step=32, missing=False), 1),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_come_back_to_the_last_bit(kind: str) -> None:
    column, size = COLUMNS[kind]
    schema = dc.Schema({"x": column})
    values = column.draw(np.random.default_rng(0), 5_000)
    block = Block(
        16_384, ("x",), np.asfortranarray(values[:, None]), None, np.arange(5_000, dtype="i4")
    )
    packed = PackedBlock.of(block, schema)
    found = packed.unpack(schema)
    assert found.values.tobytes() == block.values.tobytes()
    assert (found.start, found.names, len(found)) == (16_384, ("x",), 5_000)
    assert found.units is block.units
    assert packed_bytes(schema, ("x",)) == size == packed.columns[0].itemsize
    assert packed_bytes(schema, ("x",), shared=True) == size + 4


@pytest.mark.parametrize("kind", [kind for kind, (_, size) in COLUMNS.items() if size < 8])
def test_every_value_of_a_column_has_a_place(kind: str) -> None:
    places = column_places(COLUMNS[kind][0])
    assert places is not None
    assert np.array_equal(places.pack(places.values), np.arange(len(places.values)))
