"""Dask data frames as sources, and Dask workers for blocks: the same whole numbers as here."""

from __future__ import annotations

import decimal
import itertools
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import discreet as dc
from discreet.data import (
    CellContribution,
    ModelCalls,
    PrivateTable,
    SealedContribution,
    Summand,
    TablesContribution,
    VectorContribution,
    WholeContribution,
    add_up,
)
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, isolated
from discreet.data.sources import open_source
from discreet.data.workers import cluster
from discreet.data.workers.cluster import Cluster
from discreet.errors import ArgumentError, DataRefused, ReleaseFailed
from discreet.plans import Plan, Setting
from discreet.privacy.accounting import Amount
from discreet.privacy.certificate import Ball, Box
from discreet.schema import Category, FloatArray, Number, Schema
from tests.data.twins import as_nullable_pandas, as_plain_pandas, make_rows, write_parquet
from tests.data.twins import read_blocks as read_twin

NO_DISK = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
STEP = 2.0**-24
MARK = "73519.04872"
PEOPLE = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "income": Number(0.0, 1e5, missing=False),
        "years": Number(0, 40, step=1, missing=False),
        "paid": Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
FEATURES = ["age", "income", "years"]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    # Workers get the functions below as they are, so that they need not import this module.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        dask.config.set(NO_DISK),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        Client(workers, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """What is not given a cluster is computed in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.integers(18, 91, rows),
            "income": draw.uniform(0, 1e5, rows),
            "years": draw.integers(0, 41, rows),
            "paid": draw.integers(0, 2, rows),
        }
    )


# Dask frames as sources.


def cut(frame: pd.DataFrame, *lengths: int) -> dd.DataFrame:
    """Return a Dask frame whose partitions have these lengths, the last one the rest."""
    ends = [0, *np.cumsum(lengths).tolist(), len(frame)]
    parts = [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def same_blocks(found: list[Block], expected: list[Block]) -> bool:
    return len(found) == len(expected) and all(
        (a.start, a.names, a.values.tobytes(order="F"))
        == (b.start, b.names, b.values.tobytes(order="F"))
        and (a.ids is None or a.ids.tolist() == b.ids.tolist())  # type: ignore[union-attr]
        for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("make", [as_plain_pandas, as_nullable_pandas])
@pytest.mark.parametrize("lengths", [(), (1,), (0, BLOCK_ROWS, 0), (5_000, 5_000), (9_000, 3)])
def test_blocks_are_those_of_the_frame_however_it_is_cut(
    make: Callable[..., pd.DataFrame], lengths: tuple[int, ...]
) -> None:
    frame = make(make_rows(BLOCK_ROWS + 3_000))
    assert same_blocks(read_twin(cut(frame, *lengths)), read_twin(frame))


def test_parquet_read_by_dask_gives_the_blocks_of_the_file(tmp_path: Path) -> None:
    path = write_parquet(make_rows(900), tmp_path)
    frame = dd.read_parquet(path, split_row_groups=True)
    assert frame.npartitions > 1
    assert same_blocks(read_twin(frame), read_twin(path))


def test_partitions_are_computed_one_at_a_time_and_only_when_reached() -> None:
    frame, made = people(5 * BLOCK_ROWS), []

    def make(place: int) -> pd.DataFrame:
        made.append(place)
        return frame.iloc[place * BLOCK_ROWS : (place + 1) * BLOCK_ROWS]

    lazy = dd.from_map(make, range(5), meta=frame.iloc[:0])
    table = PrivateTable(lazy, PEOPLE)
    assert table.count() == len(frame) and sorted(made) == [0, 1, 2, 3, 4]
    made.clear()
    chunks = table.unseal().chunks(["age"])
    assert [len(next(chunks)["age"]), len(next(chunks)["age"])] == [BLOCK_ROWS] * 2  # type: ignore[arg-type]
    assert made == [0, 1]


def test_names_that_are_no_texts_are_found() -> None:
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]})
    schema = Schema({"1": Number(0, 9, missing=False), "0": Number(0, 9, missing=False)})
    (block,) = read_twin(dd.from_pandas(frame, npartitions=2), schema, ids=False)
    assert block.values.tolist() == [[3.0, 1.0], [4.0, 2.0]]


def loose(*parts: pd.DataFrame) -> dd.DataFrame:
    """Return a Dask frame that takes its partitions as they come."""
    return dd.from_map(lambda part: part, parts, meta=people(0))


def test_columns_are_found_by_name_in_every_partition() -> None:
    """Files with another order of columns once swapped them, where all columns were read."""
    frame = people(60)
    turned = frame.iloc[20:40][["paid", "years", "income", "age"]]
    wider = frame.iloc[40:].assign(extra=1.0)[["extra", *frame.columns]]
    data = loose(frame.iloc[:20], turned, wider)
    assert same_blocks(read_twin(data, PEOPLE, ids=False), read_twin(frame, PEOPLE, ids=False))
    asked = [dc.histogram(list(PEOPLE), bins=2, epsilon=1.0), dc.histogram("age", epsilon=1.0)]
    found, expected = (open_session(rows).release(asked) for rows in (data, frame))
    assert [release.value for release in found] == [release.value for release in expected]


@pytest.mark.parametrize("times", [0, 2])
def test_a_partition_with_a_column_missing_or_doubled_is_refused(times: int) -> None:
    frame = people(20)
    odd = pd.concat([frame.drop(columns="years"), *[frame["years"]] * times], axis=1)
    with pytest.raises(DataRefused, match=f"'years' in every partition, got one with {times}"):
        PrivateTable(loose(frame, odd), PEOPLE)
    source = open_source(loose(frame, odd), list(PEOPLE))
    with pytest.raises((DataRefused, KeyError)):  # a graph may change after it was counted
        list(source.chunks(list(PEOPLE)))


def test_a_frame_that_fails_is_refused_without_its_cause() -> None:
    def fail(place: int) -> pd.DataFrame:
        raise ValueError(f"no number: {MARK}")

    frame = dd.from_map(fail, range(2), meta=people(0))
    with pytest.raises(DataRefused, match="can be computed") as caught:
        PrivateTable(frame, PEOPLE)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_columns_and_emptiness_are_checked_as_for_any_frame() -> None:
    with pytest.raises(DataRefused, match="'years'"):
        PrivateTable(cut(people(5)[["age", "income", "paid"]]), PEOPLE)
    with pytest.raises(DataRefused, match="at least one row"):
        PrivateTable(cut(people(0)), PEOPLE)


def test_what_a_frame_prints_and_warns_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    frame = people(9)

    def tell(place: int) -> pd.DataFrame:
        print(MARK)
        warnings.warn(MARK, stacklevel=1)
        return frame

    (block,) = read_twin(dd.from_map(tell, range(1), meta=frame.iloc[:0]), PEOPLE, ids=False)
    assert len(block) == 9 and MARK not in "".join(capfd.readouterr())


# Workers for blocks.


def bent(block: Block) -> FloatArray:
    return np.column_stack([np.sin(block["age"] * block["income"]), np.cbrt(block["income"])])


def halves(block: Block) -> Any:
    return np.asarray(block["age"] > 50, dtype=np.int64)


VECTORS = VectorContribution(("age", "income"), 2, Box(-1, 7), 0.25, bent, calls=None)
CELLS = CellContribution(("age",), 2, halves)
KINDS: dict[str, Any] = {
    "box": VECTORS,
    "ball": replace(VECTORS, region=Ball(0.8, "l2")),
    "called": replace(VECTORS, calls=ModelCalls(ThirdParty.of(isolated()), lipschitz=1.0)),
    "cells": CELLS,
    "tables": TablesContribution(("age",), (2, 3), lambda block: [halves(block), 2 * halves(block)]),
    "no columns": CellContribution((), 1, lambda block: np.zeros(len(block), dtype=np.int64)),
}
ROWS = 3 * BLOCK_ROWS + 77


def all_totals(data: Any, helpers: Client | None) -> list[list[int]]:
    table = PrivateTable(data, PEOPLE)
    summands = [Summand(contribution, STEP) for contribution in KINDS.values()]
    workers = None if helpers is None else Cluster.of(helpers)
    return [total.tolist() for total in add_up(table, summands, cluster=workers)]


@pytest.mark.proves("lattice")
def test_workers_make_the_same_integers(client: Client) -> None:
    frame = people(ROWS)
    assert all_totals(frame, client) == all_totals(frame, None)


@pytest.mark.proves("lattice")
def test_workers_make_the_same_integers_from_a_dask_frame(client: Client) -> None:
    frame = people(ROWS)
    assert all_totals(cut(frame, 100, 9_000, 0, 8_192), client) == all_totals(frame, None)


@pytest.mark.refutes("lattice")
def test_a_block_that_no_worker_gets_is_caught(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, honest = people(ROWS), Cluster.sum_blocks

    def forgetful(self: Cluster, blocks: Iterator[Block], add: Any, shared: Any) -> Any:
        return honest(self, [block for block in blocks if block.start], add, shared)

    monkeypatch.setattr(Cluster, "sum_blocks", forgetful)
    assert all_totals(frame, client) != all_totals(frame, None)


def models() -> dict[str, Any]:
    train = people(400, seed=1)
    x, y = train[FEATURES].to_numpy(float), (train["age"] + train["years"] > 70).astype(int)
    scaled = x / [100, 1e5, 40]
    perceptron = MLPClassifier((4,), max_iter=5, random_state=0)
    perceptron.n_iter_no_change = 10**6  # stops after five rounds without a warning about it
    with pytest.warns(UserWarning, match="converged"):
        perceptron.fit(scaled, y)
    return {
        "forest": RandomForestClassifier(9, max_depth=3, random_state=0).fit(x, y),
        "linear": LogisticRegression(max_iter=5_000).fit(scaled, y),
        "perceptron": perceptron,
        "function": dc.Model(lambda rows: np.sin(rows[:, 0]) * rows[:, 2], bounds=(-40, 40), name="f"),
    }


def plans(model: Any) -> list[Plan]:
    query, public = people(1, seed=2)[FEATURES].iloc[0], people(8, seed=3)[FEATURES]
    return [
        dc.histogram("income", epsilon=1.0),
        dc.partial_dependence(model, "age", resolution=5, epsilon=1.0),
        dc.shap_values(model, query, epsilon=1.0),
        dc.shap_ranking(model, query, epsilon=1.0),
        dc.shap_importance(model, background=public, epsilon=1.0),
        dc.background(kind="sample", rows=5, epsilon=1.0),
    ]


@pytest.mark.proves("lattice")
def test_every_plan_makes_the_same_integers_on_workers(client: Client) -> None:
    frame = people(BLOCK_ROWS + 100)
    table, setting = PrivateTable(frame, PEOPLE), Setting(PEOPLE, "replace-one", len(frame))
    workers = Cluster.of(client)
    for name, model in models().items():
        stages = [stage for plan in plans(model) for stage in plan.prepare(setting).stages]
        summands = [Summand(stage.contribution, stage.noise.step) for stage in stages]
        here, there = add_up(table, summands), add_up(table, summands, cluster=workers)
        for stage, a, b in zip(stages, here, there, strict=True):
            assert a.tolist() == b.tolist(), (name, stage.name)


def open_session(data: Any, **options: Any) -> dc.Session:
    return dc.protect(data, PEOPLE, dataset="people", epsilon=9.0, ledger=":memory:", seed=5, **options)


def test_a_session_answers_the_same_with_and_without_a_cluster(client: Client) -> None:
    frame = people(BLOCK_ROWS + 9)
    asked = plans(models()["forest"])[:3]
    here = open_session(frame).release(asked)
    there = open_session(cut(frame, 4_000), cluster=client).release(asked)
    assert [release.value for release in there] == [release.value for release in here]


def make_hostile() -> None:
    """Turn everything a worker's thread can turn into an error into one."""
    np.seterr(all="raise")
    decimal.setcontext(decimal.Context(prec=2, traps=[decimal.Inexact]))
    warnings.simplefilter("error")


def make_plain() -> None:
    np.seterr(all="warn")
    decimal.setcontext(decimal.Context())
    warnings.resetwarnings()


def touchy(block: Block) -> FloatArray:
    warnings.warn("a row", stacklevel=1)
    third = float(decimal.Decimal("0.123456789") / 3)
    return (np.exp(-block["income"]) + third)[:, None]


@pytest.mark.proves("own-state")
def test_what_is_set_on_a_worker_decides_nothing(client: Client) -> None:
    table = PrivateTable(people(ROWS), PEOPLE)
    summands = [Summand(VectorContribution(("income",), 1, Box(0, 1), 0.0, touchy, calls=None), STEP)]
    expected = add_up(table, summands)[0].tolist()
    names = list(client.scheduler_info()["workers"])

    def everywhere(function: Callable[[], None]) -> None:
        for name in names:  # as a task, in the thread that will sum blocks
            client.submit(function, workers=[name], pure=False).result()

    everywhere(make_hostile)
    try:
        with np.errstate(all="raise"):
            assert add_up(table, summands, cluster=Cluster.of(client))[0].tolist() == expected
    finally:
        everywhere(make_plain)


def test_progress_comes_to_the_number_of_rows(client: Client) -> None:
    done: list[int] = []
    table = PrivateTable(people(ROWS), PEOPLE)
    add_up(table, [Summand(CELLS, 1.0)], cluster=Cluster.of(client), progress=done.append)
    assert sum(done) == ROWS


def test_what_is_made_at_once_is_not_sent(client: Client) -> None:
    lock = threading.Lock()  # cannot be pickled

    def sealed() -> FloatArray:
        with lock:
            return np.array([1.0])

    def whole(rows: FloatArray) -> FloatArray:
        with lock:
            return np.array([rows[:, 0].min()])

    proven = Box(0, 90).certify(1)
    summands = [
        Summand(SealedContribution(1, Box(0, 9), 0.0, sealed, proven), 1.0),
        Summand(CELLS, 1.0),
        Summand(WholeContribution(("age",), 1, Box(0, 90), 0.0, whole, proven, pulse=None), 1.0),
    ]
    table = PrivateTable(people(500), PEOPLE)
    there = add_up(table, summands, cluster=Cluster.of(client))
    assert [t.tolist() for t in there] == [t.tolist() for t in add_up(table, summands)]


# Nothing of a row shows.


def test_an_error_on_a_worker_says_nothing(client: Client) -> None:
    def tell(block: Block) -> FloatArray:
        print("printed", float(block["income"][3]))
        raise ValueError(f"bad income {float(block['income'][3])}")

    frame = people(50)
    frame.loc[3, "income"] = float(MARK)
    fails = Summand(replace(VECTORS, compute=tell), STEP)
    with pytest.raises(ReleaseFailed, match="could reveal a row") as caught:
        add_up(PrivateTable(frame, PEOPLE), [fails], cluster=Cluster.of(client))
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert MARK not in str(client.get_worker_logs()) + str(client.get_scheduler_logs())


def test_keys_tell_nothing_of_rows(client: Client) -> None:
    def keys() -> set[str]:
        seen: set[str] = set()
        earlier = set(map(str, client.futures))  # what the client has not yet forgotten
        table = PrivateTable(people(ROWS), PEOPLE)
        steps = lambda rows: seen.update(map(str, client.futures))  # noqa: E731
        add_up(table, [Summand(CELLS, 1.0)], cluster=Cluster.of(client), progress=steps)
        return seen - earlier

    first, second = keys(), keys()  # of the same rows
    assert first and second and first.isdisjoint(second)


def test_workers_have_no_place_on_disk(client: Client) -> None:
    kinds = client.run(lambda dask_worker: type(dask_worker.data).__name__)
    assert set(kinds.values()) == {"dict"}  # a SpillBuffer would write rows to disk


# A worker dies.


def slowly(block: Block) -> Any:
    time.sleep(0.15)
    return halves(block)


def test_a_killed_worker_changes_nothing(client: Client) -> None:
    table = PrivateTable(people(12 * BLOCK_ROWS), PEOPLE)
    slow = [Summand(replace(CELLS, index=slowly), 1.0)]
    (address, victim), *_ = client.run(os.getpid).items()
    left = [victim]

    def kill(rows: int) -> None:
        while left:
            os.kill(left.pop(), signal.SIGKILL)

    (counts,) = add_up(table, slow, cluster=Cluster.of(client), progress=kill)
    assert counts.tolist() == add_up(table, [Summand(CELLS, 1.0)])[0].tolist()
    for _ in range(6_000):  # the dead count among the workers until somebody misses them
        if address not in client.scheduler_info(n_workers=-1)["workers"]:
            break
        time.sleep(0.05)
    client.wait_for_workers(2, timeout=300)
    assert victim not in client.run(os.getpid).values()


# What is refused, before anything is spent.


@pytest.mark.parametrize("wrong", ["tcp://localhost:1", 3, LocalCluster])
def test_only_a_client_is_a_cluster(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="cluster must be a dask"):
        open_session(people(5), cluster=wrong)


def test_without_dask_a_client_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "distributed")
    with pytest.raises(ArgumentError, match="got object"):
        Cluster.of(object())


def test_a_closed_client_is_refused(client: Client) -> None:
    other = Client(client.cluster, set_as_default=False)
    other.close()
    with pytest.raises(ArgumentError, match="asynchronous or closed"):
        Cluster.of(other)


def pose(kind: str) -> None:
    cluster.machine_kind = lambda: kind  # type: ignore[assignment]


def test_workers_of_two_kinds_are_refused(client: Client) -> None:
    workers, session = Cluster.of(client), open_session(people(5), cluster=client)
    (first, *_) = client.scheduler_info()["workers"]
    true_kind = client.run(cluster.machine_kind, workers=[first])[first]
    other = cluster._Tasks(client, "another kind")
    assert other.submit(len, [1, 2]).result() is None  # a worker that came later does nothing
    client.run(pose, "another kind", workers=[first])
    try:
        # The function arrives by its name, so the worker that poses answers with its own.
        with pytest.raises(ArgumentError, match="one kind of processor"):
            workers.check([])
        with pytest.raises(ArgumentError, match="one kind of processor"):
            session.release(dc.histogram("age", epsilon=1.0))
    finally:
        client.run(pose, true_kind, workers=[first])
    assert session.balance.spent == Amount.charge(0.0)
    assert session.release(dc.histogram("age", epsilon=1.0)).guarantee.epsilon == 1.0


def test_a_model_that_workers_cannot_load_is_refused_for_free(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def model(rows):\n    return rows[:, 0] / 90\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import model  # type: ignore[import-not-found]

    lock = threading.Lock()
    session = open_session(people(50), cluster=client)
    for function, reason in ((model, "only_here"), (lambda rows: rows[:, 0] if lock else 0, "lock")):
        asked = dc.Model(function, bounds=(0, 90), name="f")
        with pytest.raises(ArgumentError, match=f"workers can load, got .*{reason}"):
            session.release(dc.partial_dependence(asked, "age", epsilon=1.0))
    assert session.balance.spent == Amount.charge(0.0)
