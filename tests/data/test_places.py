"""Where a value decides where a row stands: what that costs, and what is refused for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

import discreet as dc
from discreet.data import ModelCalls, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, probed
from discreet.errors import ArgumentError, ModelError
from discreet.plans import Setting
from discreet.plans.persons import ready
from discreet.plans.stages import sum_stage
from discreet.privacy.accounting import Amount
from discreet.privacy.certificate import Box
from discreet.privacy.relation import REPLACE_ONE, Relation
from discreet.schema import Category, FloatArray, Number, Schema

SCHEMA = Schema(
    {"age": Number(0, 100, missing=False), "ward": Category("a", "b", missing=False, other=False)}
)
DRIFT = 2.0**-10
ROWS = 3 * BLOCK_ROWS


def frame(rows: int = 60) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {"age": draw.uniform(0, 100, rows), "ward": np.where(np.arange(rows) % 3, "a", "b")}
    )


def keyed(rows: pd.DataFrame, folder: Path) -> ds.Dataset:
    """Return a data set whose files are named by the ward."""
    rows.to_parquet(folder, partition_cols=["ward"])
    return ds.dataset(folder, partitioning="hive")


def layouts(folder: Path) -> dict[str, tuple[Any, bool]]:
    rows = frame()
    rows.to_parquet(folder / "one.parquet")
    (folder / "plain").mkdir()
    for place in range(2):
        rows.iloc[place::2].to_parquet(folder / "plain" / f"{place}.parquet")
    keys = keyed(rows, folder / "keys")
    lazy = dd.from_pandas(rows, npartitions=3)
    return {
        "frame": (rows, True),
        "file": (folder / "one.parquet", True),
        "files": (ds.dataset(folder / "plain"), True),
        "keys": (keys, False),
        "dask frame": (lazy, True),
        "columns": (lazy.assign(more=lazy.age + 1)[["ward", "age"]], True),
        "end to end": (dd.concat([lazy, lazy]), True),
        "dask files": (dd.read_parquet(folder / "plain"), True),
        "dask keys": (dd.read_parquet(folder / "keys"), False),
        "arrow keys": (dd.read_parquet(folder / "keys", filesystem="arrow"), False),
        "filtered": (dd.read_parquet(folder / "plain", filters=[("age", ">", 3)]), False),
        "shuffled": (lazy.shuffle("ward"), False),
        "some": (lazy[lazy.age > 3], False),
        "any function": (lazy.map_partitions(lambda part: part.sort_values("age")), False),
        "persisted": (lazy.persist(scheduler="synchronous"), False),
    }


def test_a_layout_tells_whether_values_decide_places(tmp_path: Path) -> None:
    for name, (data, kept) in layouts(tmp_path).items():
        assert PrivateTable(data, SCHEMA).keeps_places is kept, name


def by_place(block: Block) -> FloatArray:
    """Answer as a model whose last bits depend on where a row stands in its call."""
    odd, ages = (block.start + np.arange(len(block))) % 2, np.asarray(block["age"])
    return (ages + DRIFT * odd * (ages > 50))[:, None]


OPAQUE = VectorContribution(
    ("age",),
    1,
    Box(0.0, 100.0),
    50.0,
    by_place,
    calls=ModelCalls(ThirdParty.of(probed(DRIFT, 1)), lipschitz=1.0),
)


def moved_by_one(folder: Path) -> float:
    """Return how far the sum moves if the only record of ward b is an old one of ward a instead.

    It comes first there, and every other record of the ward stands one place further.
    """
    ages = np.where(np.arange(ROWS) % 2, 60.0, 0.0)  # in its file every old one in an even place
    rows = pd.DataFrame({"age": ages, "ward": ["b", *["a"] * (ROWS - 1)]})
    other = rows.copy()
    other.loc[0, ["age", "ward"]] = 99.0, "a"
    step, sums = 2.0**-30, []
    for place, table in enumerate((rows, other)):
        data = PrivateTable(keyed(table, folder / str(place)), SCHEMA)
        sums.append(add_up(data, [Summand(OPAQUE, step)])[0][0] * step)
    return abs(float(sums[1] - sums[0]))


def paid(relation: Relation) -> float:
    setting = Setting(SCHEMA, relation, ROWS)
    stage = sum_stage("s", OPAQUE, setting, statement="lattice", epsilon=1.0)
    return stage.certificate.sensitivity("linf", REPLACE_ONE)


@pytest.mark.proves("lattice")
def test_rows_that_a_value_moves_are_paid_for(tmp_path: Path) -> None:
    assert moved_by_one(tmp_path) <= paid(REPLACE_ONE.moved)


@pytest.mark.refutes("lattice")
def test_the_price_of_a_block_does_not_pay_for_them(tmp_path: Path) -> None:
    assert moved_by_one(tmp_path) > paid(REPLACE_ONE)


def open_session(data: Any, **options: Any) -> dc.Session:
    return dc.protect(data, SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", seed=1, **options)


def test_what_counts_on_places_is_refused_for_free(tmp_path: Path) -> None:
    session = open_session(keyed(frame(), tmp_path))
    scores = dc.choose(
        lambda rows, candidates: [float(len(rows)), 0.0],
        ["a", "b"],
        sensitivity=1.0,
        bounds=(0, 100),
        columns=["age"],
        name="n",
        epsilon=1.0,
    )
    with pytest.raises(ArgumentError, match="choose must be asked of rows that keep their places"):
        session.release(scores)
    assert session.balance.spent == Amount.charge(0.0)
    release = session.release(dc.partial_dependence(MODEL, "age", resolution=3, epsilon=1.0))
    assert "a value decides where rows stand" in " ".join(release.guarantee.assumptions)
    assert "a value" not in " ".join(open_session(frame()).release(scores).guarantee.assumptions)


MODEL = dc.Model(lambda rows: np.sin(rows[:, 0]), bounds=(-1, 1), name="f")


def test_single_precision_is_refused_where_values_move_rows() -> None:
    model = dc.Model(lambda rows: np.sin(rows[:, 0]).astype(np.float32), bounds=(-1, 1), name="f")
    plan = dc.partial_dependence(model, "age", resolution=3, epsilon=1.0)
    ready(plan, Setting(SCHEMA, REPLACE_ONE, 2**21))
    with pytest.raises(ModelError, match="double precision"):
        ready(plan, Setting(SCHEMA, REPLACE_ONE, 2**21, placed=False))


def test_places_cannot_be_given_where_values_decide_them(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="rows must be left out"):
        PrivateTable(keyed(frame(), tmp_path), SCHEMA).at([1, 2])
