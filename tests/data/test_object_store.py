"""Tables in an object store that speaks as S3 does: a server of this machine stands for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.table import PrivateTable
from discreet.errors import DataRefused
from tests.data.twins import encode

server = pytest.importorskip(
    "moto.server", reason="needs moto and flask-cors, an object store to test with"
)
s3fs = pytest.importorskip("s3fs", reason="needs s3fs, by which fsspec opens s3://")

NUMBER = dc.Number(0, 100, missing=False)
SCHEMA = dc.Schema({"a": NUMBER})


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    """A bucket, as fsspec sees it."""
    store = server.ThreadedMotoServer(port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        store.start()
        host, port = store.get_host_and_port()
        address = f"http://{host.replace('0.0.0.0', '127.0.0.1')}:{port}"
        # What it holds belongs to the process: an earlier server's buckets would still be there.
        urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()
        patch.setenv("AWS_ENDPOINT_URL", address)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        files = s3fs.S3FileSystem()
        files.makedirs("clinic", exist_ok=True)  # a busy machine may make its client ask twice
        yield files
        store.stop()


def write(files: Any, name: str, values: Any) -> None:
    with files.open(f"clinic/{name}", "wb") as file:
        pq.write_table(pa.table({"a": values}), file)


def test_folders_patterns_and_files_of_a_bucket_are_the_tables_they_are_here(bucket: Any) -> None:
    write(bucket, "visits/1.parquet", [1, 2])
    write(bucket, "visits/2.parquet", [3])
    with bucket.open("clinic/rows.csv", "w") as file:
        file.write("a\n4\n5\n")
    assert encode("s3://clinic/visits", a=NUMBER) == [[1, 2, 3]]
    assert encode("s3://clinic/visits/2*.parquet", a=NUMBER) == [[3]]
    assert encode("s3://clinic/rows.csv", a=NUMBER) == [[4, 5]]
    with pytest.raises(DataRefused, match="must be an existing file or folder"):
        PrivateTable("s3://clinic/nothing", SCHEMA)


def test_a_bucket_that_changes_is_noticed(bucket: Any) -> None:
    write(bucket, "changing/1.parquet", [1])
    table = PrivateTable("s3://clinic/changing", SCHEMA)
    assert not table.has_changed()
    write(bucket, "changing/2.parquet", [2])
    assert table.has_changed()


def test_answers_are_those_of_the_same_rows_in_memory(bucket: Any) -> None:
    values = np.random.default_rng(0).integers(0, 101, 20_000)
    for number, part in enumerate(np.array_split(values, 3)):
        write(bucket, f"long/{number}.parquet", part)
    given: Any = {"dataset": "visits", "epsilon": 2.0, "ledger": ":memory:", "seed": 0}
    plan = dc.histogram("a", bins=10, epsilon=1.0)
    there = dc.protect("s3://clinic/long", SCHEMA, **given).release(plan)
    here = dc.protect(pd.DataFrame({"a": values}), SCHEMA, **given).release(plan)
    assert there.value == here.value
