"""Spark: executors add up the rows, and no row comes to the driver."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.sources.elsewhere.spark_executors import SparkExecutors
from discreet.data.table import PrivateTable
from discreet.errors import ArgumentError, DataRefused, ReleaseFailed

pyspark = pytest.importorskip("pyspark")

SCHEMA = dc.Schema(
    {"age": dc.Number(18, 90, step=1), "home": dc.Category("rent", "own"), "paid": dc.Category(0, 1)},
    target="paid",
)
draw = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "age": draw.integers(10, 99, 3_000).astype(float),
        "home": draw.choice(["rent", "own", "castle"], 3_000),
        "paid": draw.integers(0, 2, 3_000),
    }
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of this machine with two partitions."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "700",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[1]")
        for key, value in settings.items():
            builder = builder.config(key, value)
        found = builder.getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    lines = list(ROWS.itertuples(index=False, name=None))
    lines = [(float(age), str(home), int(paid)) for age, home, paid in lines]
    return spark.createDataFrame(lines, "age double, home string, paid int").repartition(2, "home")


def session(rows: Any, schema: dc.Schema = SCHEMA, **options: Any) -> dc.Session:
    return dc.protect(rows, schema, dataset="d", ledger=":memory:", epsilon=9, seed=1, **options)


PLANS = (
    dc.histogram("age", bins=7, epsilon=1),
    dc.mean("age", epsilon=1),
    dc.decision_tree("paid", depth=2, epsilon=1),
    dc.quantiles("age", [0.5], epsilon=1),
)


def test_executors_give_the_integers_that_pandas_gives_and_no_row_is_collected(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One seed draws one noise, so that answers are equal if the sums below it are."""
    for name in ("toPandas", "toArrow", "toLocalIterator", "take", "head", "first"):
        monkeypatch.setattr(type(frame), name, lambda *args: pytest.fail("rows were collected"))
    there, here = session(frame), session(ROWS)
    for plan in PLANS:
        assert there.release(plan).value.to_json() == here.release(plan).value.to_json(), plan


def test_what_spark_cannot_do_is_refused(frame: Any, spark: Any) -> None:
    table = PrivateTable(frame, SCHEMA, cluster=SparkExecutors(frame))
    assert table.count() == 3_000 and not table.keeps_places
    assert session(frame).check() == session(ROWS).check()  # made by an executor
    with pytest.raises(
        DataRefused, match="can be told apart by 'home' in one place, got a Spark frame"
    ):
        session(frame, dc.Schema({"age": SCHEMA["age"]}, person="home"))
    with pytest.raises(ArgumentError, match="cluster must be left out with a Spark frame"):
        session(frame, cluster="x")
    with pytest.raises(DataRefused, match="a Spark frame that can be computed, got one that fails"):
        session(frame.selectExpr("raise_error('SECRET') AS age", "home", "paid").distinct())
    with pytest.raises(DataRefused, match="must have a column 'paid', got none"):
        session(frame.drop("paid"))


def test_a_frame_that_changes_between_two_readings_ends_the_release(frame: Any) -> None:
    opened = session(frame)
    object.__setattr__(opened._table.unseal(), "frame", frame.limit(2_000))
    with pytest.raises(ReleaseFailed, match="which stays spent"):
        opened.release(dc.mean("age", epsilon=1))
