"""Work goes to the rows: workers read, encode and add up parts of their own, and sums come back."""

from __future__ import annotations

import itertools
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from distributed import Client
from sklearn.tree import DecisionTreeClassifier

import discreet as dc
from discreet.data import CellContribution, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.at_once import reads_rows
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.workers.cluster import Cluster
from discreet.errors import ArgumentError, DataRefused, ReleaseFailed
from discreet.plans import Plan
from discreet.privacy.accounting import Amount
from discreet.privacy.certificate import Box
from discreet.schema import Schema
from tests.data.workers import Ear, two_workers
from tests.laws import world
from tests.laws.examples import Case, cases_of
from tests.laws.runs import private, run

pytestmark = pytest.mark.xdist_group("dask")

MARK = 73.519048721
NAME = "Zanzibar-73519"
MARKS = (struct.pack("<d", MARK), str(MARK).encode(), NAME.encode())
SCHEMA = Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "income": dc.Number(0.0, 100.0, missing=False),
        "debt": dc.Number(-5.0, 5.0, missing=False),
        "home": dc.Category("rent", "own", "other"),
        "paid": dc.Category(0, 1, missing=False, other=False),
    },
    target="paid",
)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with two_workers() as connected:
        yield connected


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """What is not given a cluster is computed in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def people(rows: int, *, marked: bool = False) -> pd.DataFrame:
    frame = world.draw_rows(rows, 5)
    if marked:
        frame["income"] = MARK
        frame.loc[::7, "home"] = NAME
    return frame


def write_folder(frame: pd.DataFrame, folder: Path, parts: int = 5) -> Path:
    """Write the rows to files of different lengths, one of them empty."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = [0, *sorted({len(frame) * k * k // (parts * parts) for k in range(1, parts + 1)})]
    pieces = [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]
    for place, piece in enumerate([*pieces[:2], frame.iloc[:0], *pieces[2:]]):
        piece.to_parquet(folder / f"{place:02}.parquet", row_group_size=3_000)
    return folder


def as_dataset(frame: pd.DataFrame, folder: Path) -> Any:
    return ds.dataset(write_folder(frame, folder))


def as_file(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_parquet(folder / "rows.parquet", row_group_size=3_000)
    return folder / "rows.parquet"


def as_dask(frame: pd.DataFrame, folder: Path) -> Any:
    return dd.read_parquet(write_folder(frame, folder), split_row_groups=True)


def as_steps(frame: pd.DataFrame, folder: Path) -> Any:
    read = as_dask(frame, folder)
    return dd.concat([read.partitions[:2], read.partitions[2:]]).assign(more=1)


def as_shuffled(frame: pd.DataFrame, folder: Path) -> Any:
    return as_dask(frame, folder).shuffle("home")


LAYOUTS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "data set": as_dataset,
    "file": as_file,
    "dask": as_dask,
    "steps": as_steps,
    "shuffled": as_shuffled,
}


def open_session(data: Any, schema: Schema = SCHEMA, **options: Any) -> dc.Session:
    return dc.protect(data, schema, dataset="d", epsilon=99.0, ledger=":memory:", seed=5, **options)


def tree(frame: pd.DataFrame) -> Any:
    columns = ["age", "income", "debt"]
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        frame[columns].to_numpy(), frame["paid"]
    )
    return dc.Model(fitted, columns=columns)


# The same whole numbers.


def in_parts() -> list[Case]:
    """Return a case of every example with a model that code of ours evaluates, or with none."""
    return [case for case in cases_of("linear") if case.relation.rows_public]


@pytest.mark.proves("lattice")
def test_every_plan_makes_the_integers_of_a_frame(client: Client, tmp_path: Path) -> None:
    """All stages of all plans, those that follow from earlier answers too."""
    workers = Cluster.of(client)
    table = PrivateTable(as_dataset(world.table(), tmp_path), world.SCHEMA, cluster=workers)
    assert table.in_parts and table.count() == world.ROWS
    asked = [(case, stage) for case in in_parts() for stage in run(case).stages]
    asked = [(case, stage) for case, stage in asked if _alike(stage.contribution)]
    summands = [Summand(stage.contribution, stage.noise.step) for _, stage in asked]
    here, there = add_up(private(), summands), add_up(table, summands, cluster=workers)
    for (case, stage), a, b in zip(asked, here, there, strict=True):
        assert a.tolist() == b.tolist(), (str(case), stage.name)
    assert len({case.example.plan for case, _ in asked}) > 20


def _alike(contribution: Any) -> bool:
    """Say whether a contribution reads rows, and no partners, who are of the same block."""
    return reads_rows(contribution) and not getattr(contribution, "partners", 0)


def questions(model: Any) -> dict[str, Plan]:
    return {
        "histogram": dc.histogram("income", epsilon=1.0),
        "sum": dc.mean("debt", epsilon=1.0),
        "curve": dc.partial_dependence(model, "age", resolution=4, epsilon=1.0),
        "tree": dc.decision_tree("paid", depth=2, epsilon=1.0),
        "forest": dc.random_forest("paid", trees=3, depth=2, epsilon=1.0),
        "quantiles": dc.quantiles("income", [0.25, 0.5], epsilon=1.0),
        "background": dc.background(kind="sample", rows=5, epsilon=1.0),
        "synthesis": dc.synthesize(epsilon=1.0),
        "evaluation": dc.evaluate(model, epsilon=1.0),
        "variance": dc.variance("debt", epsilon=0.01),
    }


@pytest.mark.once_per()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sessions_answer_alike_in_all_stages(client: Client, layout: str, tmp_path: Path) -> None:
    frame = people(BLOCK_ROWS + 900)
    asked = questions(tree(frame))
    here = open_session(frame)
    there = open_session(LAYOUTS[layout](frame, tmp_path), cluster=client)
    if layout == "shuffled":  # rows without places of their own are asked in another manner
        del asked["forest"], asked["variance"]
    for name, plan in asked.items():
        assert there.release(plan).value == here.release(plan).value, name


def test_some_places_are_read_where_they_are(client: Client, tmp_path: Path) -> None:
    frame, workers = people(5_000), Cluster.of(client)
    places = np.arange(7, 4_990, 13)
    cells = CellContribution(("age",), 73, ages)
    table = PrivateTable(as_dataset(frame, tmp_path), SCHEMA, cluster=workers).at(places)
    (found,) = add_up(table, [Summand(cells, 1.0)], cluster=workers)
    (expected,) = add_up(PrivateTable(frame, SCHEMA).at(places), [Summand(cells, 1.0)])
    assert found.tolist() == expected.tolist() and found.sum() == len(places)


def ages(block: Block) -> Any:
    return np.asarray(block["age"] - 18, dtype=np.int64)


def starts(block: Block) -> Any:
    return np.full((len(block), 1), float(block.start))


def test_blocks_begin_with_every_part_at_its_place(client: Client, tmp_path: Path) -> None:
    frame, workers = people(2 * BLOCK_ROWS), Cluster.of(client)
    table = PrivateTable(as_dataset(frame, tmp_path), SCHEMA, cluster=workers)
    where = VectorContribution(("age",), 1, Box(0, 1e6), 0.0, starts, calls=None)
    (found,) = add_up(table, [Summand(where, 1.0)], cluster=workers)
    lengths = [part.rows for part in table.parts(["age"], workers) or []]
    expected, start = 0, 0
    for length in lengths:
        for first in range(0, length, BLOCK_ROWS):
            expected += (start + first) * min(BLOCK_ROWS, length - first)
        start += length
    assert start == len(frame) and int(found[0]) == expected


def test_lengths_of_parts_are_noted_where_the_number_of_rows_is_public(
    client: Client, tmp_path: Path
) -> None:
    frame, workers = people(900), Cluster.of(client)
    found = []
    for parts in (3, 4):
        folder = write_folder(frame, tmp_path / str(parts), parts)
        found.append(PrivateTable(folder, SCHEMA, cluster=workers).facts)
    assert found[0]["parts"] != found[1]["parts"] and found[0]["source"] == found[1]["source"]
    private = PrivateTable(tmp_path / "3", SCHEMA, "add-remove", cluster=workers)
    shuffled = PrivateTable(as_shuffled(frame, tmp_path / "s"), SCHEMA, cluster=workers)
    persons = Schema({"debt": SCHEMA["debt"]}, person="home")
    by_person = PrivateTable(tmp_path / "3", persons, cluster=workers)
    assert not any("parts" in table.facts for table in (private, shuffled, by_person))


def test_the_check_of_a_table_is_made_by_a_worker(client: Client, tmp_path: Path) -> None:
    frame = people(3_000, marked=True)
    there = open_session(as_dataset(frame, tmp_path), cluster=client).check()
    assert there == open_session(frame).check()
    assert there.to_frame().loc["income", "constant"]


# Little comes here, and workers keep their rows for the stages of one release.


def test_little_comes_back(client: Client, tmp_path: Path) -> None:
    session = open_session(as_dataset(people(30_000), tmp_path), cluster=client)
    with Ear().open() as ear:
        session.release(dc.histogram("income", epsilon=1.0))
    assert ear.size < 1_000_000  # to and fro, with all that Dask says beside


def kept_by(client: Client) -> int:
    def look() -> int:
        from discreet.data.blocks import _SHELVES as found

        return len(found)

    return sum(client.run(look).values())


def test_rows_that_workers_keep_are_dropped_with_the_release(client: Client, tmp_path: Path) -> None:
    reads = tmp_path / "reads"
    reads.mkdir()
    frame = people(2_000)

    def read(place: int) -> pd.DataFrame:
        (reads / f"{place}-{time.monotonic_ns()}").touch()
        return frame.iloc[place * 500 : (place + 1) * 500]

    session = open_session(dd.from_map(read, range(4), meta=frame.iloc[:0]), cluster=client)
    counted = len(list(reads.iterdir()))
    session.release(dc.decision_tree("paid", depth=3, epsilon=1.0))
    assert len(list(reads.iterdir())) - counted <= 2 * 4
    assert kept_by(client) == 0


# A worker dies, a file changes, a plan cannot be sent.


def test_a_killed_worker_is_replaced(client: Client, tmp_path: Path) -> None:
    frame, workers = people(12_000), Cluster.of(client)
    table = PrivateTable(as_dask(frame, tmp_path), SCHEMA, cluster=workers)
    left = list(client.run(os.getpid).values())[:1]

    def kill(rows: int) -> None:
        while left:
            os.kill(left.pop(), signal.SIGKILL)

    slow = [Summand(CellContribution(("age",), 73, slowly), 1.0)]
    (counts,) = add_up(table, slow, cluster=workers, progress=kill)
    cells = [Summand(CellContribution(("age",), 73, ages), 1.0)]
    assert counts.tolist() == add_up(PrivateTable(frame, SCHEMA), cells)[0].tolist() and not left
    client.wait_for_workers(2, timeout=300)


def slowly(block: Block) -> Any:
    time.sleep(0.3)
    return ages(block)


def test_what_no_worker_can_read_is_refused(client: Client, tmp_path: Path) -> None:
    data = as_dask(people(900), tmp_path)
    next(iter(sorted(tmp_path.iterdir()))).write_bytes(b"not a file of rows")
    with pytest.raises(DataRefused, match="every worker of the cluster can read") as caught:
        open_session(data, cluster=client)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_part_without_a_column_is_refused_with_its_name(client: Client) -> None:
    def read(place: int) -> pd.DataFrame:
        return people(50).drop(columns=["debt"] if place else [])

    data = dd.from_map(read, range(2), meta=people(0))
    with pytest.raises(DataRefused, match="one column 'debt' in every partition, got one with 0"):
        open_session(data, cluster=client)


def test_a_sorted_frame_is_refused(client: Client) -> None:
    data = dd.from_pandas(people(90), npartitions=3).sort_values("age")
    with pytest.raises(DataRefused, match="sorted by a column"):
        open_session(data, cluster=client)


def test_a_file_that_grows_is_refused_for_free(client: Client, tmp_path: Path) -> None:
    session = open_session(as_dataset(people(900), tmp_path), cluster=client)
    people(901).to_parquet(tmp_path / "01.parquet")
    before = session.balance
    with pytest.raises(DataRefused, match="data must stay as they were when they were opened"):
        session.release(dc.histogram("age", epsilon=1.0))
    assert session.balance == before


def test_an_error_of_a_step_says_nothing(client: Client, tmp_path: Path) -> None:
    flag = tmp_path / "fail"
    frame = people(50, marked=True)

    def read(place: int) -> pd.DataFrame:
        if flag.exists():
            raise ValueError(f"bad income {frame['income'].iloc[0]}")
        return frame

    session = open_session(dd.from_map(read, range(2), meta=frame.iloc[:0]), cluster=client)
    flag.touch()
    with Ear().open() as ear, pytest.raises(ReleaseFailed) as caught:
        session.release(dc.histogram("age", epsilon=1.0))
    assert caught.value.__cause__ is None and not ear.has(MARKS[1])
    assert MARKS[1].decode() not in str(client.get_worker_logs())


def test_records_themselves_do_not_leave_the_workers(client: Client, tmp_path: Path) -> None:
    session = open_session(as_dataset(world.table(), tmp_path), world.SCHEMA, cluster=client)
    (case, *_) = (case for case in in_parts() if case.example.plan == "deniable_rows")
    with pytest.raises(ArgumentError, match="picks among the records themselves"):
        session.release(case.plan())
    assert session.balance.spent == Amount.charge(0.0)
