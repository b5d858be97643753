"""Delta and Iceberg: one state of a table, read once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from discreet.data.table import PrivateTable
from discreet.errors import DataRefused
from discreet.schema import Number, Schema
from tests.data.twins import encode

NUMBER = Number(0, 100, missing=False)
SCHEMA = Schema({"a": NUMBER})
FIRST = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
SECOND = pa.table({"a": [4], "b": ["z"]})


def numbers(data: Any) -> list[float]:
    return sorted(encode(data, a=NUMBER)[0])


def test_a_delta_table_is_read_in_one_state_and_without_what_was_deleted(tmp_path: Path) -> None:
    write_deltalake(tmp_path, FIRST, partition_by=["b"])
    opened = PrivateTable(tmp_path, SCHEMA)
    DeltaTable(tmp_path).delete("a = 2")
    write_deltalake(tmp_path, SECOND, mode="append")
    assert numbers(tmp_path) == numbers(str(tmp_path)) == numbers(DeltaTable(tmp_path)) == [1, 3, 4]
    assert numbers(DeltaTable(tmp_path, version=0)) == [1, 2, 3]
    assert opened.count() == 3 and not opened.has_changed()
    source = opened.facts["source"]
    assert opened.facts == {"source": source, "records": 3, "state": "delta 0"}
    moved = PrivateTable(tmp_path, SCHEMA, "add-remove")
    assert moved.facts == {"source": source, "state": "delta 2"}


def test_a_delta_table_whose_files_are_gone_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path, FIRST)
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataRefused, match="a Delta table whose files can all be read here"):
        PrivateTable(tmp_path, SCHEMA)
    with pytest.raises(DataRefused, match="must have a column 'c', got none"):
        PrivateTable(tmp_path, Schema({"c": NUMBER}))


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    found = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}/warehouse")
    found.create_namespace("clinic")
    return found


def test_an_iceberg_table_is_read_in_one_state_and_without_what_was_deleted(
    catalog: SqlCatalog, tmp_path: Path
) -> None:
    table = catalog.create_table("clinic.visits", schema=FIRST.schema)
    table.append(FIRST)
    opened = PrivateTable(table, SCHEMA)
    table.append(SECOND)
    table.delete("a = 2")
    assert numbers(table) == [1, 3, 4]
    assert numbers(table.location().removeprefix("file://")) == [1, 3, 4]  # its folder
    assert opened.count() == 3
    with pytest.raises(DataRefused, match="must have a column 'c', got none"):
        PrivateTable(table, Schema({"c": NUMBER}))
    catalog.close()


def test_what_reads_them_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_deltalake(tmp_path / "d", FIRST)
    (tmp_path / "i" / "metadata").mkdir(parents=True)
    (tmp_path / "i" / "metadata" / "v1.metadata.json").write_text("{}")
    with pytest.raises(DataRefused, match="an Iceberg table whose metadata can be read"):
        PrivateTable(tmp_path / "i", SCHEMA)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    for folder, extra in (("d", "delta"), ("i", "iceberg")):
        with pytest.raises(DataRefused, match=rf"pip install 'discreet\[{extra}\]'"):
            PrivateTable(tmp_path / folder, SCHEMA)
