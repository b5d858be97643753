"""Rows leave a table in canonical blocks that do not know where they came from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.rows import open_rows
from discreet.data.sources import arrow, csv_files, parquet_files
from discreet.data.table import PrivateTable
from discreet.schema import FloatArray, Number, Schema
from discreet.schema.raw import RawColumn, as_floats
from tests.data.twins import KINDS, SCHEMA, make_rows, make_source, read_blocks

ROWS = BLOCK_ROWS + 900


def same(found: list[Block], expected: list[Block]) -> bool:
    return [(b.start, b.names, b.values.tobytes("F"), list(b.ids)) for b in found] == [  # type: ignore[arg-type]
        (b.start, b.names, b.values.tobytes("F"), list(b.ids))  # type: ignore[arg-type]
        for b in expected
    ]


@pytest.fixture(scope="module")
def expected() -> list[Block]:
    """Every row encoded by itself: no chunk, no neighbour."""
    rows = make_rows(ROWS)
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})
    cache: dict[tuple[str, str], float] = {}

    def alone(name: str, value: object) -> float:
        key = (name, f"{type(value).__name__} {value!r}")
        if key not in cache:
            cache[key] = float(SCHEMA[name].encode(np.array([value], dtype=object))[0])
        return cache[key]

    values = np.column_stack([[alone(name, value) for value in frame[name]] for name in SCHEMA])
    who = np.array(rows["who"], dtype=object)
    starts = range(0, ROWS, BLOCK_ROWS)
    ends = [start + BLOCK_ROWS for start in starts]
    return [Block(a, tuple(SCHEMA), values[a:b], who[a:b]) for a, b in zip(starts, ends, strict=True)]


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("kind", KINDS)
def test_same_blocks_from_every_source(kind: str, expected: list[Block], tmp_path: Path) -> None:
    assert same(read_blocks(make_source(kind, make_rows(ROWS), tmp_path)), expected)


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("kind", ["pandas", "csv"])
def test_a_value_filled_in_from_other_rows_is_caught(
    kind: str, expected: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: what is missing becomes the mean of the rows that were read together."""

    def by_neighbours(field: Number, values: RawColumn) -> FloatArray:
        numbers = as_floats(values)
        finite = numbers[np.isfinite(numbers)]
        mean = finite.mean() if len(finite) else field.fill
        return honest(field, np.where(np.isnan(numbers), mean, numbers))

    honest = Number.encode
    monkeypatch.setattr(Number, "encode", by_neighbours)
    assert not same(read_blocks(make_source(kind, make_rows(ROWS), tmp_path)), expected)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "feather", "odd pyarrow", "data set"])
@pytest.mark.parametrize("size", [400, 3_000])
def test_chunks_of_any_size_give_the_same_blocks(
    kind: str, size: int, expected: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of a file straddle what is read at once, some inside a quoted line break."""
    monkeypatch.setattr(arrow, "CHUNK_ROWS", size)
    monkeypatch.setattr(parquet_files, "CHUNK_ROWS", size)
    monkeypatch.setattr(csv_files, "LONGEST_LINE", size)
    assert same(read_blocks(make_source(kind, make_rows(ROWS), tmp_path)), expected)


@pytest.mark.parametrize("count", [1, 8_191, 8_192, 8_193, 65_536, 65_537])
def test_blocks_start_at_multiples(count: int, tmp_path: Path) -> None:
    schema = Schema({"a": Number(0, 1e6, missing=False), "b": Number(0, 1e6, missing=False)}, id="who")
    array = np.column_stack([np.arange(count), np.arange(count) / 7, np.arange(count)]).astype(float)
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(array, columns=["a", "b", "who"])
    frame.to_csv(path, index=False)
    for data in (array, frame, path):
        table = PrivateTable(data, schema)
        assert table.count() == count
        blocks = list(open_rows(table, ["b", "a"], with_ids=True))
        assert [b.start for b in blocks] == list(range(0, count, BLOCK_ROWS))
        assert [len(b) for b in blocks[:-1]] == [BLOCK_ROWS] * (len(blocks) - 1)
        joined = np.concatenate([b.values for b in blocks])
        assert np.array_equal(joined, array[:, [1, 0]])
        assert all(b.names == ("b", "a") and b.values.flags.f_contiguous for b in blocks)
        ids = np.concatenate([b.ids for b in blocks])  # type: ignore[arg-type]
        assert float(ids[-1]) == count - 1


def test_blocks_are_sealed_and_fixed() -> None:
    (block,) = read_blocks(
        np.array([[777.25, 1.0]]),
        Schema({"a": Number(0, 1e6, missing=False), "b": Number(0, 1, missing=False)}),
    )
    assert "777" not in f"{block!r}{block}"
    assert block["b"].tolist() == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        block.values[0, 0] = 3.0
    narrow = block.narrow(("b",))
    assert (narrow.names, narrow.values.tolist()) == (("b",), [[1.0]])
    assert not narrow.values.flags.writeable
    assert block.narrow(("a", "b")) is block


def test_rows_without_columns_are_still_rows() -> None:
    table = PrivateTable(np.zeros((9_000, 1)), Schema({"a": Number(0, 1, missing=False)}))
    assert [block.values.shape for block in open_rows(table, [])] == [(8_192, 0), (808, 0)]


def test_missing_ids_are_missing() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "who": ["x", None, 3.0]})
    (block,) = read_blocks(frame, Schema({"a": Number(0, 9, missing=False)}, id="who"))
    assert block.ids is not None and block.ids.tolist() == ["x", None, "3"]
