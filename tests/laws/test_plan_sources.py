"""The same whole numbers from every kind of source and with any number of workers.

Tried once for every kind of contribution, with blocks so short that several workers share a table.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import discreet as dc
from discreet.data import (
    CellContribution,
    PrivateTable,
    Summand,
    TablesContribution,
    VectorContribution,
    WholeContribution,
    add_up,
    engine,
    rows,
)
from discreet.data.blocks import Block
from discreet.data.contributions import SubsetsContribution
from discreet.plans import Stage
from discreet.privacy.certificate import Box
from tests.laws import world
from tests.laws.examples import cases_of
from tests.laws.runs import run

SHORT_BLOCK = 20
WORKERS = (1, 2, 3)
MARKS = ("partners", "pulse", "with_ids")
"""What makes a kind of its own: it is made with other rows, by third-party code, or by ids."""

ROW_SUMS = (VectorContribution, CellContribution, TablesContribution)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK_ROWS", SHORT_BLOCK)


class Labelled(pd.DataFrame):
    """A frame as geopandas has them."""

    @property
    def _constructor(self) -> type:
        return Labelled


class Coloured(pl.DataFrame):
    """A polars frame with something of its own."""


def write_csv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    return folder / "rows.csv"


def write_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "rows.parquet", row_group_size=41)
    return folder / "rows.parquet"


def as_dask(frame: pd.DataFrame, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3, sort=False)


def write_packed(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "rows.csv.gz", index=False, float_format="%.17g")
    return folder / "rows.csv.gz"


def write_feather(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_feather(folder / "rows.feather", chunksize=37)
    return folder / "rows.feather"


def write_stata(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_stata(folder / "rows.dta", write_index=False)
    return folder / "rows.dta"


def as_dataset(frame: pd.DataFrame, folder: Path) -> Any:
    import pyarrow.dataset as ds

    for place, start in enumerate(range(0, len(frame), 31)):
        frame.iloc[start : start + 31].to_parquet(folder / f"{place:03}.parquet")
    return ds.dataset(folder)


def write_folder(frame: pd.DataFrame, folder: Path) -> Path:
    as_dataset(frame, folder)
    return folder


def write_pattern(frame: pd.DataFrame, folder: Path) -> str:
    return f"{write_folder(frame, folder)}/*.parquet"


def write_keys(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "keys", partition_cols=["home"])
    return folder / "keys"


def as_query(frame: pd.DataFrame, folder: Path) -> Any:
    with closing(sqlite3.connect(folder / "rows.db")) as there:
        frame.to_sql("t", there, index=False)
    return dc.SqlQuery(f"sqlite:///{folder / 'rows.db'}", "select * from t order by age")


def as_relation(frame: pd.DataFrame, folder: Path) -> Any:
    return duckdb.from_arrow(pa.Table.from_pandas(frame)).order("income")


def as_delta(frame: pd.DataFrame, folder: Path) -> Path:
    write_deltalake(folder / "delta", pa.Table.from_pandas(frame), partition_by=["home"])
    return folder / "delta"


def as_iceberg(frame: pd.DataFrame, folder: Path) -> Any:
    catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("clinic")
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    table = catalog.create_table("clinic.rows", rows.schema)
    table.append(rows)
    return table


MOVED: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "hive": write_keys,
    "sqlite": as_query,
    "duckdb": as_relation,
    "delta": as_delta,
    "iceberg": as_iceberg,
}
"""Where rows stand otherwise: by a value, or in an order that nobody knows."""

SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, _: frame,
    "objects": lambda frame, _: frame.astype(object),
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame),
    "numpy": lambda frame, _: frame.to_numpy(dtype=object),
    "csv": write_csv,
    "parquet": write_parquet,
    "dask": as_dask,
    "pandas subclass": lambda frame, _: Labelled(frame),
    "polars subclass": lambda frame, _: Coloured(pl.from_pandas(frame)),
    "lazy polars": lambda frame, _: pl.from_pandas(frame).lazy().filter(True),
    "arrow data set": as_dataset,
    "csv.gz": write_packed,
    "feather": write_feather,
    "stata": write_stata,
    "folder": write_folder,
    "pattern": write_pattern,
}


@cache
def kinds() -> dict[str, Stage[Any]]:
    """Return a stage of every kind of contribution that reads rows, the first of each."""
    found: dict[str, Stage[Any]] = {}
    for case in cases_of("linear", "opaque"):
        for stage in run(case).stages:
            contribution = stage.contribution
            if isinstance(contribution, (*ROW_SUMS, WholeContribution, SubsetsContribution)):
                owes = [mark for mark in MARKS if getattr(contribution, mark, None)]
                found.setdefault(" ".join([type(contribution).__name__, *owes]), stage)
    return found


KINDS = (
    "VectorContribution",
    "VectorContribution partners",
    "VectorContribution pulse",
    "CellContribution",
    "TablesContribution",
    "WholeContribution",
    "SubsetsContribution pulse",
    "SubsetsContribution pulse with_ids",
)


def test_every_kind_of_contribution_is_met() -> None:
    assert set(kinds()) >= set(KINDS)


def total(stage: Stage[Any], source: Any, workers: int = 1) -> list[int]:
    table = PrivateTable(source, world.SCHEMA)
    (found,) = add_up(table, [Summand(stage.contribution, stage.noise.step)], workers=workers)
    return [int(number) for number in found]


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_has_the_same_sums(kind: str, source: str, tmp_path: Path) -> None:
    stage = kinds()[kind]
    assert total(stage, SOURCES[source](world.table(), tmp_path)) == total(stage, world.table())


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("source", MOVED)
def test_sums_do_not_ask_where_a_row_stands(source: str, tmp_path: Path) -> None:
    data = MOVED[source](world.table(), tmp_path)
    for kind in ("VectorContribution", "CellContribution", "TablesContribution"):
        assert total(kinds()[kind], data) == total(kinds()[kind], world.table()), kind


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("workers", WORKERS[1:])
@pytest.mark.parametrize("kind", KINDS)
def test_workers_make_no_difference(kind: str, workers: int) -> None:
    stage = kinds()[kind]
    assert total(stage, world.table(), workers) == total(stage, world.table())


# Planted faults.


@pytest.mark.refutes("lattice")
def test_a_source_in_single_precision_is_caught() -> None:
    stage = kinds()["VectorContribution"]
    assert total(stage, world.table().astype({"debt": np.float32})) != total(stage, world.table())


@pytest.mark.refutes("lattice")
def test_a_contribution_that_knows_its_thread_is_caught() -> None:
    def compute(block: Block) -> np.ndarray:
        here = threading.current_thread() is threading.main_thread()
        return np.full((len(block), 1), float(here))

    planted = VectorContribution(("age",), 1, Box(0.0, 1.0), 0.0, compute, calls=None)
    sums = [
        add_up(PrivateTable(world.table(), world.SCHEMA), [Summand(planted, 1.0)], workers=workers)
        for workers in WORKERS
    ]
    assert sums[0][0][0] != sums[1][0][0]


@pytest.mark.refutes("lattice")
def test_a_lost_block_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, true = kinds()["CellContribution"], rows.open_rows
    whole = total(stage, world.table())
    monkeypatch.setattr(engine, "open_rows", lambda *given, **more: list(true(*given, **more))[1:])
    assert total(stage, world.table()) != whole
