"""Persons whose rows lie in several partitions: workers tell them apart, and this process does not."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import cloudpickle
import dask
import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.persons import read_persons
from discreet.data.sources.pandas_frames import open_pandas
from discreet.data.sources.partitions import Part
from discreet.data.workers import persons_apart
from discreet.data.workers.cluster import Cluster
from discreet.data.workers.persons_apart import Telling, add_persons, take
from discreet.data.workers.sealing import Seal
from discreet.errors import DataRefused
from discreet.mechanisms.lattice import SHARE
from discreet.schema.person import Person
from tests.data.test_persons import CELLS, COLUMNS, STEP, VECTORS

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.xdist_group("dask")]
WAYS: list[dict[str, Any]] = [{}, {"rows": "one"}, {"rows": "capped", "most": 3}]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Workers get the functions of tests as they are, so that they need not import them.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cloudpickle.register_pickle_by_value(sys.modules[CELLS.index.__module__])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as machines,
        distributed.Client(machines, set_as_default=False) as client,
    ):
        yield Cluster.of(client)


def visits() -> pd.DataFrame:
    """Rows of persons here and there: their visits are in several partitions."""
    rng = np.random.default_rng(3)
    who = rng.choice([f"person {i}" for i in range(40)], 500)
    who[:60] = "often here"
    rng.shuffle(who)
    return pd.DataFrame({"who": who, "x": rng.random(500)})


def totals(table: PrivateTable, helpers: Cluster | None) -> list[list[int]]:
    step = SHARE if table.schema.person and table.schema.person.rows == "weighted" else 1.0
    asked = [Summand(CELLS, step), Summand(VECTORS, STEP)]
    return [sums.tolist() for sums in add_up(table, asked, cluster=helpers)]


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_a_check_tells_of_persons_wherever_it_is_made(cluster: Cluster, how: dict[str, Any]) -> None:
    schema = dc.Schema(COLUMNS, person="who", **how)
    frame = visits().assign(who=lambda found: found["who"].mask(found["who"] == "person 7"))
    given = {"dataset": "visits", "epsilon": 1.0, "ledger": ":memory:"}
    here = dc.protect(frame, schema, **given).check()
    parts = dd.from_pandas(frame, npartitions=5, sort=False)
    there = dc.protect(parts, schema, cluster=cluster.client, **given).check()
    assert there == here and here.persons is not None
    assert here.persons.most == 60 and here.persons.unnamed > 0


@pytest.mark.parametrize("ranges", [1, 2])
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_workers_count_persons_as_one_process_does(
    cluster: Cluster, how: dict[str, Any], ranges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persons_apart, "ROWS_PER_RANGE", 500 // ranges)
    schema = dc.Schema(COLUMNS, person="who", **how)
    here = PrivateTable(visits(), schema)
    there = PrivateTable(dd.from_pandas(visits(), npartitions=5, sort=False), schema, cluster=cluster)
    assert there.in_parts and there.count() == here.count() == visits()["who"].nunique()
    assert totals(there, cluster) == totals(here, None)
    assert there.places_between(0, 500) is None and there.units_between(0, 500) is None


@pytest.mark.proves("person-rows")
@pytest.mark.parametrize("ranges", [1, 2, 7, 60])
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_ranges_of_ids_are_told_apart_as_all_of_them_together(how: dict[str, Any], ranges: int) -> None:
    """Every step as workers take it, in runs of parts of which one is empty."""
    telling, frame = Telling(Person("who", **how), ranges, Seal()), visits()
    ends = [0, 30, 30, 31, 400, 500]
    parts = [Part(open_pandas(frame[a:b], ["who"]), rows=b - a) for a, b in itertools.pairwise(ends)]
    runs = [parts[:2], parts[2:3], parts[3:]]
    hashed: list[Any] = [telling.hash_parts(run) for run in runs]
    told: list[Any] = [telling.tell_range([own[k] for own in hashed]) for k in range(ranges)]
    persons = add_persons([take(own, 0) for own in told])
    assert persons == frame["who"].nunique()
    joined = []
    for place, (run, own) in enumerate(zip(runs, hashed, strict=True)):
        back = [take(answer, 1 + place) for answer in told]
        joined += telling.join_parts(own[ranges], [part.rows for part in run], persons, back)
    found = [telling.seal.open(sealed) for sealed in joined]
    here = read_persons([frame["who"].to_numpy()], telling.person)
    for own, (first, last) in zip(found, itertools.pairwise(ends), strict=True):
        expected = here.between(first, last)
        assert (own.persons, as_list(own.places)) == (persons, as_list(expected.places))
        assert as_list(own.units) == as_list(expected.units)


def as_list(found: Any) -> list[int] | None:
    return None if found is None else found.tolist()


def test_a_part_with_other_rows_than_counted_is_none() -> None:
    telling = Telling(Person("who"), 2, Seal())
    assert telling.hash_parts([Part(open_pandas(visits(), ["who"]), rows=499)]) is None
    assert take(None, 0) is None and add_persons([3, None]) is None


def test_a_session_on_workers_answers_as_one_here(cluster: Cluster) -> None:
    schema = dc.Schema(COLUMNS, person="who")
    terms: dict[str, Any] = {"dataset": "d", "epsilon": 50.0, "ledger": ":memory:", "seed": 5}
    plans = [
        dc.mean("x", epsilon=1.0),
        dc.quantiles("x", [0.25, 0.5], epsilon=1.0),
        dc.any_curve(_mean_curve, feature="x", bounds=(0, 1), subsets=8, grid=[0.0, 1.0], epsilon=1.0),
    ]
    here = dc.protect(visits(), schema, **terms)
    frame = dd.from_pandas(visits(), npartitions=5, sort=False)
    there = dc.protect(frame, schema, cluster=cluster.client, **terms)
    for plan in plans:
        assert there.release(plan).value == here.release(plan).value


def _mean_curve(rows: pd.DataFrame) -> np.ndarray:
    return np.full(2, rows["x"].mean())


@pytest.mark.parametrize("kind", ["float64", "category", "object"])
def test_floats_are_refused_by_workers_too(cluster: Cluster, kind: str) -> None:
    frame = visits().assign(who=pd.Series(np.arange(500) // 2 * 1.0).astype(kind))

    def read(place: int) -> pd.DataFrame:
        return frame[place::3]

    with (
        dask.config.set({"dataframe.convert-string": False}),  # else it makes texts of objects
        pytest.raises(DataRefused, match="column 'who' must hold whole numbers or texts"),
    ):
        data = dd.from_map(read, range(3), meta=frame[:0])
        PrivateTable(data, dc.Schema(COLUMNS, person="who"), cluster=cluster)
