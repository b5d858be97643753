"""Nothing of a row comes here: no message, key, log or file holds a value, an id or its hash."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cryptography.exceptions import InvalidTag
from distributed import Client

import discreet as dc
from discreet.data.persons import hash_ids
from discreet.data.workers import persons_apart
from discreet.data.workers.sealing import Seal
from discreet.schema.person import Person
from tests.data import test_parts
from tests.data.test_object_store import bucket as bucket
from tests.data.test_parts import (
    MARKS,
    SCHEMA,
    as_dask,
    as_dataset,
    as_file,
    open_session,
    people,
    questions,
    tree,
    write_folder,
)
from tests.data.workers import Ear, on_disk, two_workers

pytestmark = pytest.mark.xdist_group("dask")

WHO = "Zebulon-40417"
HASH = hash_ids([np.array([WHO], dtype=object)], Person("who")).tobytes()
WHOSE = (WHO.encode(), HASH, HASH[:8], HASH[8:])


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """Start workers that write everything Dask holds to a disk at once, and pack no message."""
    for module in (sys.modules[__name__], test_parts):
        cloudpickle.register_pickle_by_value(module)
    folder = tmp_path_factory.mktemp("spilled")
    settings = {
        "distributed.worker.memory.target": 1e-9,
        "distributed.worker.memory.spill": 1e-9,
        "distributed.comm.compression": None,
        "distributed.worker.memory.spill-compression": None,
    }
    with two_workers(settings, local_directory=str(folder), memory_limit="8GB") as connected:
        yield connected, folder


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def made_elsewhere(path: str, home: int) -> pd.DataFrame:
    if os.getpid() == home:
        raise RuntimeError("a partition was made where the client is")
    return pd.read_parquet(path)


def as_functions(frame: pd.DataFrame, folder: Path) -> Any:
    files = sorted(map(str, write_folder(frame, folder).iterdir()))
    return dd.from_map(partial(made_elsewhere, home=os.getpid()), files, meta=frame.iloc[:0])


def as_pattern(frame: pd.DataFrame, folder: Path) -> Any:
    return f"{write_folder(frame, folder)}/*.parquet"


def as_keys(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_parquet(folder / "keys", partition_cols=["paid"])
    return folder / "keys"


LAYOUTS: list[Callable[[pd.DataFrame, Path], Any]] = [
    as_dataset,
    as_file,
    as_dask,
    as_functions,
    write_folder,
    as_pattern,
    as_keys,
]


class Found:
    """Which marks were seen in files while something went on."""

    def __init__(self, folder: Path, marks: tuple[bytes, ...]) -> None:
        self.marks: set[bytes] = set()
        self.looks = self.files = 0
        self._folder, self._wanted, self._over = folder, marks, threading.Event()

    def look(self) -> None:
        """Look at all files there are."""
        for path in self._folder.rglob("*"):
            try:
                held = path.read_bytes() if path.is_file() else b""
            except OSError:  # gone meanwhile
                continue
            self.files += bool(held)
            self.marks |= {mark for mark in self._wanted if mark in held}
        self.looks += 1

    def watch(self) -> None:
        """Look again and again until it is over."""
        while not self._over.wait(0.02):
            self.look()

    @contextmanager
    def watching(self) -> Iterator[Found]:
        watcher = threading.Thread(target=self.watch)
        watcher.start()
        try:
            yield self
        finally:
            self._over.set()
            watcher.join()
            self.look()


def quick(model: Any, layout: Any) -> list[dc.Plan]:
    """Return all questions of the first layouts; of the others those of three kinds."""
    asked = questions(model)
    if layout not in LAYOUTS[:4]:
        asked = {name: asked[name] for name in ("histogram", "curve", "tree")}
    return list(asked.values())


@pytest.mark.once_per()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_message_key_log_or_file_holds_a_value(
    leaky: tuple[Client, Path], layout: Any, tmp_path: Path
) -> None:
    client, folder = leaky
    model = tree(people(400))
    data = layout(people(3_000, marked=True), tmp_path)
    with Ear().open() as ear, Found(folder, MARKS).watching() as found:
        session = open_session(data, cluster=client)
        for plan in quick(model, layout):
            session.release(plan)
        session.check()
    assert session._table.in_parts
    assert_unheard(client, ear, found, MARKS)


def assert_unheard(client: Client, ear: Ear, found: Found, marks: tuple[bytes, ...]) -> None:
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs())
    assert ear.heard and not any(ear.has(mark) for mark in marks)
    assert found.looks > 1 and not found.marks
    assert not any(mark.decode("latin1") in logs for mark in marks)


# Ids, and their hashes.


def visits(rows: int) -> pd.DataFrame:
    """Rows of persons of whom one, with visits here and there, is looked for."""
    frame = people(rows)
    frame["who"] = [f"person {place % (rows // 3)}" for place in range(rows)]
    frame.loc[::50, "who"] = WHO
    return frame


@pytest.mark.once_per("ranges")
@pytest.mark.parametrize("ranges", [1, 2])
@pytest.mark.parametrize("how", [{}, {"rows": "one"}], ids=["weighted", "one"])
def test_no_id_and_no_hash_of_one_is_held_in_the_open(
    leaky: tuple[Client, Path],
    how: dict[str, Any],
    ranges: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, folder = leaky
    monkeypatch.setattr(persons_apart, "ROWS_PER_RANGE", 30_000 // ranges)
    data = write_folder(visits(30_000), tmp_path)
    schema = dc.Schema({name: SCHEMA[name] for name in SCHEMA}, target="paid", person="who", **how)
    with Ear().open() as ear, Found(folder, WHOSE).watching() as found:
        session = open_session(data, schema, cluster=client)
        session.release(dc.histogram("income", epsilon=1.0))
        session.release(dc.decision_tree("paid", depth=2, epsilon=1.0))
        session.check()
    assert session._table.in_parts and found.files
    assert_unheard(client, ear, found, WHOSE)


def test_hashes_that_are_not_sealed_are_found(leaky: tuple[Client, Path]) -> None:
    """As they were handed on once: what the search looks for would be there."""
    client, folder = leaky
    found = Found(folder, WHOSE)
    held = client.submit(hash_ids, [visits(3_000)["who"].to_numpy()], Person("who"), pure=False)
    deadline = time.monotonic() + 300
    while HASH not in found.marks and time.monotonic() < deadline:
        found.look()
        time.sleep(0.1)
    assert HASH in found.marks
    del held


def test_what_is_sealed_is_opened_by_its_key_alone() -> None:
    seal, words = Seal(), np.arange(1_000, dtype=np.uint64)
    sealed = seal.close(words)
    assert np.array_equal(seal.open(sealed), words)
    assert words.tobytes() not in b"".join(sealed.pieces)
    assert seal.close(words) != sealed  # a number of its own each time
    with pytest.raises(InvalidTag):
        Seal().open(sealed)
    assert str(seal) == "Seal()" and str(sealed) == "Sealed()"


def test_the_search_finds_what_is_there(leaky: tuple[Client, Path], tmp_path: Path) -> None:
    """Blocks that this process sends are heard, and a frame that Dask holds is found on a disk."""
    client, folder = leaky
    with Ear().open() as ear:
        open_session(people(500, marked=True), cluster=client).release(
            dc.histogram("income", epsilon=1.0)
        )
    assert ear.has(MARKS[0])
    held = client.persist(as_dask(people(500, marked=True), tmp_path))
    deadline = time.monotonic() + 300
    while not on_disk(folder, MARKS[0]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert on_disk(folder, MARKS[0])
    del held


# Addresses.


def reach(store: dict[str, str]) -> None:
    """Let a worker know where the store is."""
    os.environ.update(store)


def test_workers_read_a_bucket_by_themselves(
    leaky: tuple[Client, Path], bucket: Any, tmp_path: Path
) -> None:
    client, folder = leaky
    for file in write_folder(people(3_000, marked=True), tmp_path).iterdir():
        bucket.put(str(file), f"clinic/people/{file.name}")
    client.run(reach, {name: os.environ[name] for name in os.environ if name[:4] == "AWS_"})
    with Ear().open() as ear, Found(folder, MARKS).watching() as found:
        session = open_session("s3://clinic/people", cluster=client)
        there = [session.release(plan).value for plan in quick(tree(people(400)), None)]
    here = open_session(people(3_000, marked=True))
    assert session._table.in_parts
    assert there == [here.release(plan).value for plan in quick(tree(people(400)), None)]
    assert_unheard(client, ear, found, MARKS)


def test_what_is_in_the_memory_of_this_process_is_refused(leaky: tuple[Client, Path]) -> None:
    """Workers have a memory of their own, in which there is nothing of that name."""
    import fsspec

    client, _ = leaky
    with fsspec.open("memory://people.parquet", "wb") as file:
        people(100).to_parquet(file)
    with pytest.raises(dc.errors.DataRefused, match="every worker of the cluster can read"):
        open_session("memory://people.parquet", cluster=client)
