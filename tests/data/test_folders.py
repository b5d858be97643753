"""Data sets of many Parquet files, here and elsewhere: read where they are, refused before a charge."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discreet.data.sources.opening import open_source
from discreet.data.sources.parquet_folders import ParquetFolder
from discreet.data.sources.partitions import Partitioned
from discreet.data.table import PrivateTable
from discreet.errors import DataRefused
from discreet.schema import Category, Number, Schema
from tests.data.twins import encode

NUMBER = Number(0, 100, missing=False)
SCHEMA = Schema({"a": NUMBER})


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_a_pattern_means_the_files_it_matches_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, value in {"x-2": 2, "x-1": 1, "y-1": 9}.items():
        write(tmp_path / f"{name}.parquet", a=[value])
    assert encode(f"{tmp_path}/x-*.parquet", a=NUMBER) == [[1, 2]]
    assert encode(str(tmp_path), a=NUMBER) == [[1, 2, 9]]
    with pytest.raises(DataRefused, match=r"got none in .*z-\*\.parquet"):
        PrivateTable(f"{tmp_path}/z-*.parquet", SCHEMA)


def test_folders_of_a_hive_layout_are_columns_and_keep_no_places(tmp_path: Path) -> None:
    write(tmp_path / "home=rent" / "year=2023" / "0.parquet", a=[1, 2])
    write(tmp_path / "home=own%20it" / "year=2024" / "0.parquet", a=[3])
    write(tmp_path / "home=__HIVE_DEFAULT_PARTITION__" / "year=x" / "0.parquet", a=[4])
    home = Category("rent", "own it", missing=False)
    years = Number(2000, 2100, missing=2050)
    found = encode(tmp_path, a=NUMBER, year=years, home=Category("rent", "own it"))
    assert found == [[4, 3, 1, 2], [2050, 2024, 2023, 2023], [3, 1, 0, 0]]
    assert encode(tmp_path, year=years) == [found[1]]  # a column that no file has
    assert encode(tmp_path, home=home)[0][1:] == found[2][1:]
    hive, plain = (open_source(place, ["a"]) for place in (tmp_path, tmp_path / "home=rent/year=2023"))
    assert isinstance(hive, ParquetFolder) and isinstance(plain, ParquetFolder)
    assert not hive.positional and plain.positional


@pytest.mark.parametrize("opened", [str, ds.dataset])
def test_parts_together_read_the_bytes_of_their_columns_once(opened: Any, tmp_path: Path) -> None:
    """Row groups go to one part each, other columns to none: workers read what one process would."""
    values = {name: np.random.default_rng(0).random(2**19) for name in "ab"}
    pq.write_table(pa.table(values), tmp_path / "rows.parquet", row_group_size=2**17)
    stored = sum(
        pq.read_metadata(tmp_path / "rows.parquet").row_group(k).column(0).total_compressed_size
        for k in range(4)
    )
    source = open_source(opened(tmp_path), ["a", "b"])
    assert isinstance(source, Partitioned)
    parts = source.partitions(["a"], None)
    before = bytes_read()
    assert [len(chunk["a"]) for part in parts or () for chunk in part.chunks(["a"])] == [2**16] * 8
    assert len(parts or ()) == 2 and 1 <= (bytes_read() - before) / stored < 1.1


def bytes_read() -> int:
    """Return how many bytes this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PAR1 no more", "readable Parquet files, got home=…/bad.parquet"),
        (b"", "readable Parquet files, got home=…/bad.parquet"),
        (None, "readable Parquet files, got home=…/bad.parquet"),
        ({"b": [1]}, "one column 'a' in every file, got home=…/bad.parquet with 0"),
    ],
    ids=["no Parquet", "empty", "cut in the middle", "another column"],
)
def test_one_bad_file_refuses_the_folder(
    content: bytes | dict[str, Any] | None, told: str, tmp_path: Path
) -> None:
    """Where a folder's name is a value, the refusal does not say it."""
    good = write(tmp_path / "home=SECRET" / "good.parquet", a=np.arange(5000.0))
    bad = good.with_name("bad.parquet")
    if isinstance(content, dict):
        write(bad, **content)
    else:
        whole = good.read_bytes()
        bad.write_bytes(whole[:100] + whole[-400:] if content is None else content)
    with pytest.raises(DataRefused, match=told) as caught:
        PrivateTable(tmp_path, SCHEMA)
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None


def test_a_folder_that_changes_is_noticed(tmp_path: Path) -> None:
    first = write(tmp_path / "0.parquet", a=[1])
    for change in (
        lambda: write(tmp_path / "1.parquet", a=[2]),
        lambda: write(tmp_path / "1.parquet", a=[2, 3]),
        first.unlink,
    ):
        table = PrivateTable(tmp_path, SCHEMA)
        table.check_unchanged()
        change()
        assert table.has_changed()
        with pytest.raises(DataRefused, match="must stay as they were"):
            table.check_unchanged()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a folder on a server of this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_on_a_server(web: str, tmp_path: Path) -> None:
    write(tmp_path / "rows.parquet", a=[1, 2])
    (tmp_path / "rows.csv").write_text("a\n1\n2\n")
    for name in ("rows.parquet", "rows.csv"):
        assert encode(f"{web}/{name}", a=NUMBER) == [[1, 2]]
    with pytest.raises(DataRefused, match="must be an existing file"):
        PrivateTable(f"{web}/nothing.parquet", SCHEMA)
    table = PrivateTable(f"{web}/rows.csv", SCHEMA)
    assert not table.has_changed()
    (tmp_path / "rows.csv").write_text("a\n1\n2\n3\n")
    assert table.has_changed()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nowhere://x.parquet", "an address that fsspec knows, got nowhere://. Of a database give"),
        ("gs://bucket/x.parquet", "can be opened here, got gs:// but"),
        ("memory://no/such/folder", "must be an existing file or folder, got memory://no/such"),
        ("http://127.0.0.1:9/x.parquet", "at a place that can be reached, got http://127"),
    ],
)
def test_addresses_that_are_refused(address: str, told: str) -> None:
    with pytest.raises(DataRefused, match=told):
        PrivateTable(address, SCHEMA)
