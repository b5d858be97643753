"""Persons with several rows: whose rows count how much, and that one person decides about her own."""

from __future__ import annotations

import itertools
import math
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data import CellContribution, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.adding import rounded_sum
from discreet.data.blocks import Block
from discreet.data.contributions import GroupedContribution
from discreet.data.persons import read_persons
from discreet.data.sources.elsewhere import queries
from discreet.errors import DataRefused, LedgerConflict, SchemaError
from discreet.mechanisms.lattice import SHARE
from discreet.plans import Setting
from discreet.plans.persons import ready
from discreet.plans.stages.aggregate import assign_subsets
from discreet.privacy.accounting import joint_delta
from discreet.privacy.accounting.calibration import count_gaussian_scale
from discreet.privacy.accounting.events import CountGaussianEvent, GroupEvent, PureEvent, of_group
from discreet.privacy.accounting.joint import flatten
from discreet.privacy.certificate import NORMS, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema.person import MOST_ROWS, Person

WHOLE = round(1 / SHARE)
VALUES = (0.0, 0.5, 1.0)
COLUMNS: dict[str, Any] = {"x": dc.Number(0, 1, missing=False)}
OTHERS = [("a", 0.5), ("b", 1.0), ("b", 0.0), ("b", 0.5)]
OF_ONE = [rows for k in (1, 2, 3) for rows in itertools.combinations_with_replacement(VALUES, k)]
"""All that the rows of one person can be in a tiny world."""


def schema(**how: Any) -> dc.Schema:
    return dc.Schema(COLUMNS, person="who", **how)


def table_of(own: tuple[float, ...], relation: Relation, **how: Any) -> PrivateTable:
    named = [*OTHERS[:2], *(("x", value) for value in own), *OTHERS[2:]]
    return PrivateTable(pd.DataFrame(named, columns=["who", "x"]), schema(**how), relation)


def cells_of(block: Block) -> np.ndarray:
    return (block["x"] * 2).astype(np.int64)


STEP = 2.0**-30
CELLS = CellContribution(("x",), 3, cells_of)
VECTORS = VectorContribution(
    ("x",),
    2,
    Box(-1.0, 1.0),
    0.0,
    lambda block: np.column_stack([block["x"], 2 * block["x"] - 1]),
    calls=None,
)


def sums(table: PrivateTable, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    asked = [Summand(CELLS, 1.0 if whole else SHARE), Summand(VECTORS, STEP)]
    counts, totals = add_up(table, asked)
    return counts * (1.0 if whole else SHARE), totals * STEP


def farthest(moves: list[np.ndarray]) -> dict[str, float]:
    orders = {"l1": 1, "l2": 2, "linf": np.inf}
    return {norm: max(float(np.linalg.norm(m, orders[norm])) for m in moves) for norm in NORMS}


def moves(relation: Relation, **how: Any) -> list[dict[str, float]]:
    """Return how far all rows of one person move counts and sums, at the most."""
    whole = bool(how)
    found = [sums(table_of(rows, relation, **how), whole) for rows in OF_ONE]
    if relation is ADD_REMOVE:
        gone = sums(table_of((), relation, **how), whole)
        pairs: Any = [(gone, one) for one in found]
    else:
        pairs = itertools.combinations(found, 2)
    apart = [(a[0] - b[0], a[1] - b[1]) for a, b in pairs]
    return [farthest([move[kind] for move in apart]) for kind in (0, 1)]


def bounds(proven: Certificate, relation: Relation) -> dict[str, float]:
    return {norm: proven.sensitivity(norm, relation) for norm in NORMS}


@pytest.mark.proves("person-weights")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_rows_that_share_a_record_move_what_a_record_does(relation: Relation) -> None:
    counts, totals = moves(relation)
    assert counts == pytest.approx(bounds(CELLS.certificate, relation))
    for norm, allowed in bounds(VECTORS.certificate, relation).items():
        assert totals[norm] <= allowed + 2 * 4 * STEP


@pytest.mark.refutes("person-weights")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_rows_that_count_one_each_move_more(relation: Relation) -> None:
    counts, _ = moves(relation, rows="capped", most=50)
    assert counts["l1"] > 1.4 * bounds(CELLS.certificate, relation)["l1"]


@pytest.mark.proves("person-weights")
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 50, 1024, 3000])
def test_the_parts_of_a_person_are_one_record(rows: int) -> None:
    ids = np.array(["x"] * rows + ["y"], dtype=object)
    units = read_persons([ids], Person("who")).units
    assert units is not None
    assert units[:rows].sum() == WHOLE == units[rows]
    kept = units[:rows][units[:rows] > 0]
    assert len(kept) == min(rows, 1024) and kept.max() - kept.min() <= 1


@pytest.mark.proves("person-weights")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_rows_in_several_groups_move_what_a_record_does(relation: Relation) -> None:
    """A person may be in all groups at once, with a part of her record in each."""
    groups = GroupedContribution(VECTORS, 3, ("x",), cells_of)
    counts = GroupedContribution(CELLS, 3, ("x",), cells_of)
    asked = [Summand(counts, SHARE), Summand(groups, STEP)]

    def found(own: tuple[float, ...]) -> list[np.ndarray]:
        made = add_up(table_of(own, relation), asked)
        return [sums * step for sums, step in zip(made, (SHARE, STEP), strict=True)]

    tables = [found(own) for own in OF_ONE]
    pairs: Any = itertools.combinations(tables, 2)
    if relation is ADD_REMOVE:
        pairs = [(found(()), one) for one in tables]
    apart = [[a - b for a, b in zip(one, two, strict=True)] for one, two in pairs]
    for kind, proven in enumerate((counts.certificate, groups.certificate)):
        for norm, far in farthest([move[kind] for move in apart]).items():
            assert far <= proven.sensitivity(norm, relation) + 6 * 4 * STEP


def kept_of_others(count: int, **how: Any) -> set[Any]:
    """Return which rows of others count, beside a person with so many rows."""
    ids = ["x"] * count + ["a", "b", "b", "b", "c"] * 4
    found = read_persons([np.array(ids, dtype=object)], Person("who", **how))
    assert found.places is not None
    return {int(place) - count for place in found.places if place >= count}


@pytest.mark.proves("person-rows")
@pytest.mark.parametrize("how", [{"rows": "one"}, {"rows": "capped", "most": 2}], ids=str)
def test_nobody_decides_about_the_rows_of_others(how: dict[str, Any]) -> None:
    assert len({frozenset(kept_of_others(rows, **how)) for rows in (1, 2, 5, 50)}) == 1
    assert len(kept_of_others(3, **how)) == 3 * (1 if how["rows"] == "one" else 2)


@pytest.mark.refutes("person-rows")
def test_rows_chosen_among_all_of_them_are_others_when_a_person_comes() -> None:
    def every_second(rows: int) -> set[str]:
        named = sorted([f"x{i}" for i in range(rows)] + [f"y{i}" for i in range(6)])
        return {name for name in named[::2] if name[0] == "y"}

    assert every_second(1) != every_second(2)


def hockey_stick(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def chained(epsilon: float, delta: float, rows: int) -> float:
    return delta * sum(math.exp(step * epsilon) for step in range(rows))


@pytest.mark.proves("person-group")
@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_a_group_loses_what_its_records_do_one_by_one(rows: int) -> None:
    """Noise on a count that a group moves by as many as it has records, by its exact law."""
    event = CountGaussianEvent(4.0, 1)
    grouped = of_group(event, rows)
    assert isinstance(grouped, GroupEvent) or (rows, grouped) == (1, event)
    places = np.arange(-120, 121 + rows)
    law = np.exp(-(places**2) / 32.0)
    first, second = law / law.sum(), np.exp(-((places - rows) ** 2) / 32.0)
    second = second / second.sum()
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert hockey_stick(first, second, epsilon) <= grouped.delta(epsilon) + 1e-12
        each = epsilon / rows
        assert grouped.delta(epsilon) <= min(1.0, chained(each, event.delta(each), rows)) * (1 + 1e-9)
    assert grouped.rho == pytest.approx(rows**2 * event.rho)
    assert of_group(PureEvent(0.25, "laplace"), rows).delta(0.25 * rows) == 0.0


@pytest.mark.refutes("person-group")
def test_a_group_moves_more_than_so_many_replacements() -> None:
    box, k = Box(10.0, 11.0), 2
    one, two = 10.0, 11.0 + 11.0  # a person has one row, and then two
    naive = k * box.certify(1).sensitivity("linf", REPLACE_ONE)
    assert two - one == 12.0 == pytest.approx(6 * naive)
    assert two - one <= k * box.certify(1).in_part().sensitivity("linf", REPLACE_ONE)


@pytest.mark.proves("person-subsets")
def test_all_rows_of_a_person_are_in_one_subset() -> None:
    ids = np.array(["x"] * 50 + ["y"] * 3, dtype=object)
    block = Block(0, ("x",), np.zeros((53, 1)), ids)
    for relation in (REPLACE_ONE.moved, REPLACE_ONE.shared, ADD_REMOVE):
        found = assign_subsets(block, 7, relation=relation, key=b"k")
        assert len(set(found[:50])) == 1 == len(set(found[50:]))


@pytest.mark.refutes("person-subsets")
def test_places_put_a_person_into_many_subsets() -> None:
    block = Block(0, ("x",), np.zeros((53, 1)), np.array(["x"] * 53, dtype=object))
    assert len(set(assign_subsets(block, 7, relation=REPLACE_ONE, key=b"k"))) == 7


@pytest.mark.proves("person-group")
@pytest.mark.parametrize("rows", [2, 3, 50])
def test_one_noise_on_counts_is_priced_by_what_a_record_loses(rows: int) -> None:
    """The continuous law, by which stages are priced together, is worth a little less."""
    one = CountGaussianEvent(count_gaussian_scale(0.5 / rows, 1e-7, 2), 2)
    group = of_group(one, rows)
    assert joint_delta([group], 0.5) <= chained(0.5 / rows, 1e-7, rows) * (1 + 1e-9)
    assert flatten(group).delta(0.5) > chained(0.5 / rows, 1e-7, rows)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("most", [1, 4])
def test_gaussian_noise_on_counts_of_capped_rows(relation: Relation, most: int) -> None:
    session = dc.protect(
        frame(["a", "a", "b", "c"]),
        schema(rows="capped", most=most),
        dataset="d",
        epsilon=9.0,
        delta=1e-5,
        relation=relation,
        ledger=":memory:",
    )
    plan = dc.histogram("x", bins=2, epsilon=0.5, delta=1e-7, mechanism="gaussian")
    release = session.release(plan)
    assert release.guarantee.epsilon <= 0.5 and release.guarantee.delta <= 1e-7
    (event,) = release.stages[0]["events"]
    assert event.get("one", event)["event"] == "CountGaussianEvent"


# What owners meet.


def frame(ids: Any) -> pd.DataFrame:
    return pd.DataFrame({"who": ids, "x": np.linspace(0, 1, len(ids))})


def protect(ids: Any, **how: Any) -> dc.Session:
    return dc.protect(frame(ids), schema(**how), dataset="d", epsilon=9.0, ledger=":memory:")


def test_floats_are_no_ids() -> None:
    with pytest.raises(DataRefused, match="column 'who' must hold whole numbers or texts"):
        protect([1.0, 2.0, np.nan])
    assert protect(pd.array([1, 1, None], dtype="Int64")).facts().setting.rows == 2


FLOATS: dict[str, Any] = {
    "python floats": pd.Series([1.5, 2.0, None, 2.0], dtype=object),
    "one among texts": pd.Series(["a", 2.0, "b", "a"], dtype=object),
    "numpy floats": pd.Series([np.float32(1.5), 2, None, 2], dtype=object),
    "single precision": pd.Series([1.5, 2.0, 1.5, 2.0], dtype="float32"),
    "nullable": pd.Series([1.5, 2.0, None, 2.0], dtype="Float64"),
    "categories": pd.Series([1.0, 2.0, 1.0, 2.0], dtype="category"),
    "arrow": pd.Series([1.0, 2.0, 1.0, 2.0], dtype=pd.ArrowDtype(pa.float64())),
    "arrow dictionary": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([1.0, 2.0, 1.0, 2.0]).dictionary_encode())
    ),
}


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_no_ids_in_whatever_they_come(kind: str) -> None:
    with pytest.raises(DataRefused, match="column 'who' must hold whole numbers or texts") as caught:
        protect(FLOATS[kind])
    assert "2.0" not in str(caught.value)


def sources(ids: Any, folder: Path) -> dict[str, Any]:
    """Return ids in a table of every kind of source that has kinds of columns."""
    table = pa.table({"who": ids, "x": np.linspace(0, 1, len(ids))})
    pq.write_table(table, folder / "rows.parquet")
    feather.write_feather(table, str(folder / "rows.feather"))
    database = folder / "rows.db"
    with closing(sqlite3.connect(database)) as there:
        there.execute("create table t (who, x)")
        there.executemany("insert into t values (:who, :x)", table.to_pylist())
        there.commit()
    return {
        "arrow": table,
        "polars": pl.from_arrow(table),
        "parquet": folder / "rows.parquet",
        "feather": folder / "rows.feather",
        "data set": ds.dataset(folder / "rows.parquet"),
        "duckdb": duckdb.from_arrow(table),
        "sql": dc.SqlQuery(f"sqlite:///{database}", "select who, x from t"),
        "dask": dd.from_pandas(table.to_pandas(), npartitions=2, sort=False),
    }


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "dictionary"])
def test_floats_are_no_ids_wherever_they_are(packed: bool, tmp_path: Path) -> None:
    ids = pa.array([1.5, 2.0, 1.5])
    found = sources(ids.dictionary_encode() if packed else ids, tmp_path)
    for name, data in found.items():
        with pytest.raises(DataRefused, match="column 'who' must hold whole numbers or texts"):
            PrivateTable(data, schema())
            pytest.fail(name)


MIXED: dict[str, list[Any]] = {
    "beside texts": [1.5, "a", "b", "a"],
    "beside long whole numbers": [2**60 + 1, 1.5, 7, 7],
    "beside bytes": [b"a", 1.5, b"a", "b"],
    "in a later batch": [1, 2, 1.5, 2],
    "after texts": ["a", "a", 1.5, None],
}


@pytest.mark.parametrize("kind", MIXED)
def test_floats_are_no_ids_beside_others_in_a_column_without_a_kind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite holds values of all kinds in one column: a float among texts is a float."""
    monkeypatch.setattr(queries, "CHUNK_ROWS", 2)
    where = tmp_path / "rows.db"
    with closing(sqlite3.connect(where)) as there:
        there.execute("create table t (who, x)")
        there.executemany("insert into t values (?, 0.5)", [(value,) for value in MIXED[kind]])
        there.commit()
    query = dc.SqlQuery(f"sqlite:///{where}", "select who, x from t")
    with pytest.raises(DataRefused, match="column 'who' must hold whole numbers or texts") as caught:
        PrivateTable(query, schema())
    assert "1.5" not in str(caught.value)
    query = dc.SqlQuery(f"sqlite:///{where}", "select cast(who as text) as who, x from t")
    assert PrivateTable(query, schema()).count() == len({*map(str, MIXED[kind])})


FINE = ["0.12345678901234567890", "0.12345678901234567891", "2.50", "2.5", "1E+20", "-0.0", "0"]
"""Decimals: five numbers, two of which no float tells apart."""


def test_decimals_are_compared_to_their_last_digit(tmp_path: Path) -> None:
    exact = [Decimal(text) for text in FINE]
    assert protect(exact).facts().setting.rows == 5
    assert protect(pd.Categorical(exact)).facts().setting.rows == 5
    assert protect([*exact, "2.5", 10**20, "0"]).facts().setting.rows == 5  # as they are written
    huge = [Decimal("1E+999999999"), Decimal("10E+999999998"), Decimal("1E-999999999")]
    assert protect(huge).facts().setting.rows == 2
    column = pa.array(exact, pa.decimal256(50, 20))
    for place, ids in enumerate((column, column.dictionary_encode())):
        folder = tmp_path / str(place)
        folder.mkdir()
        pq.write_table(pa.table({"who": ids, "x": np.zeros(len(ids))}), folder / "rows.parquet")
        assert PrivateTable(folder / "rows.parquet", schema()).count() == 5


def test_decimals_of_a_database_are_compared_to_their_last_digit(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches whose decimals have other numbers of digits are of different kinds to Arrow."""
    monkeypatch.setattr(queries, "CHUNK_ROWS", 2)
    values = ", ".join(f"({text}::numeric, 0.5)" for text in FINE)
    query = dc.SqlQuery(new_database(), f"select * from (values {values}) as t (who, x)")
    assert PrivateTable(query, schema()).count() == 5


def test_whole_numbers_and_decimals_are_ids_wherever_they_are(tmp_path: Path) -> None:
    for place, ids in enumerate((pa.array([7, 8, 7]), pa.array([7, 8, 7]).dictionary_encode())):
        folder = tmp_path / str(place)
        folder.mkdir()
        for name, data in sources(ids, folder).items():
            assert PrivateTable(data, schema()).count() == 2, name
    decimals = [Decimal(2**80), Decimal(2**80 + 1), Decimal("7.00"), Decimal(7), Decimal("NaN")]
    assert protect(decimals).facts().setting.rows == 4


def test_ids_are_compared_as_written_and_rows_without_one_are_one_person() -> None:
    assert protect(["7", "07", None, "7", None]).facts().setting.rows == 3


def test_ids_that_are_no_utf8_stay_apart(tmp_path: Path) -> None:
    """Bytes that stand for nothing are not all the same letter."""
    path = tmp_path / "names.csv"
    path.write_bytes("who,x\nMüller,1\nMöller,0\nMüller,1\nMaier,0\n".encode("latin-1"))
    ids = [b"M\xfcller", b"M\xf6ller", b"M\xfcller", "Maier"]
    plain = pa.array([*ids[:3], b"Maier"])
    given = [
        path,
        frame(ids),
        frame(pd.Categorical(ids)),
        pa.table({"who": plain, "x": [1.0, 0.0, 1.0, 0.0]}),
        pa.table({"who": plain.dictionary_encode(), "x": [1.0, 0.0, 1.0, 0.0]}),
    ]
    found = [PrivateTable(data, schema(rows="one")) for data in given]
    assert [table.count() for table in found] == [3] * 5
    assert len({str(table.places_between(0, 4)) for table in found}) == 1
    (same,) = {
        read_persons([np.array(own, dtype=object)], Person("who")).persons
        for own in ([b"a", "a", None], ["a", "a", None])
    }
    assert same == 2


@pytest.mark.parametrize("ids", [pa.nulls(3), pa.nulls(3).dictionary_encode()], ids=["null", "packed"])
def test_rows_of_which_none_has_an_id_are_those_of_one_person(ids: Any) -> None:
    """A column without a value has no kind: that is none of floats."""
    data = pa.table({"who": ids, "x": [0.0, 0.5, 1.0]})
    assert PrivateTable(data, schema(), ADD_REMOVE).count() == 1
    with pytest.raises(DataRefused, match="must name at least two persons"):
        PrivateTable(data, schema())


def test_one_person_is_refused_and_as_many_as_rows_are_told() -> None:
    with pytest.raises(DataRefused, match="must name at least two persons"):
        protect(["a"] * 5)
    with pytest.raises(DataRefused, match="must name at least two persons"):
        protect(["a"])  # how many rows she has is private
    for ids in (["a"] * 5, []):
        table = PrivateTable(frame(ids), schema(), ADD_REMOVE)
        assert table.count() == len(set(ids))
        told = dc.protect(
            frame(ids),
            schema(),
            dataset="d",
            epsilon=9.0,
            ledger=":memory:",
            relation="add-remove",
        ).release(dc.mean("x", epsilon=1.0))
        assert told.guarantee.protects == "all rows of one person"


def test_no_warning_tells_whether_somebody_has_a_second_row() -> None:
    """How many rows there are is never public; the check tells the owner."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        session = protect(["a", "b", "c"])
        protect(["a", "b", "b"])
    assert not warned
    assert "3 persons in 3 rows, at most 1 of one; every row has a person of its own" in str(
        session.check()
    )
    assert "of its own" not in str(protect(["a", "b", "b"]).check())


class Talking:
    """An id that says who it is when it is written."""

    def __str__(self) -> str:
        warnings.warn("secret", stacklevel=1)
        print("secret")
        return "who"


def test_ids_that_talk_when_they_are_written_are_not_heard(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        protect(["a", Talking(), "b"])
    assert not warned and "secret" not in "".join(capfd.readouterr())


def test_no_id_is_in_a_message() -> None:
    session = protect(["secret-7", "secret-7", "other"])
    told = [repr(session), str(session.facts().setting), repr(session._table), repr(session.history())]
    told += [str(session.release(dc.mean("x", epsilon=1.0)).to_json())]
    assert not any("secret" in text for text in told)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"rows": "all"}, "rows must be one of weighted, capped, one, got 'all'"),
        ({"rows": "capped"}, "most must be a whole number from 1 to 1024, got None"),
        ({"rows": "capped", "most": 0}, "most must be a whole number from 1 to 1024, got 0"),
        ({"most": 3}, "most must be left out unless rows is 'capped', got 3"),
        ({"id": "n"}, "id must be left out where person is given"),
    ],
)
def test_wrong_units_are_told(how: dict[str, Any], told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        schema(**how)


def test_more_wrong_units() -> None:
    with pytest.raises(SchemaError, match="person must be given with rows, got none"):
        dc.Schema(COLUMNS, rows="one")
    with pytest.raises(SchemaError, match="person must not be one of the columns"):
        dc.Schema(COLUMNS, person="x")
    with pytest.raises(DataRefused, match="data must have a column 'who'"):
        dc.protect(
            frame(["a", "b"]).drop(columns="who"),
            schema(),
            dataset="d",
            epsilon=1.0,
            ledger=":memory:",
        )


@pytest.mark.parametrize("how", [{}, {"rows": "one"}, {"rows": "capped", "most": 8}], ids=str)
def test_a_unit_is_written_and_read(how: dict[str, Any], tmp_path: Any) -> None:
    made = schema(**how)
    read = dc.Schema.load(made.save(tmp_path / "schema.toml"))
    assert read == made and read.person == made.person
    assert made.digest != dc.Schema(COLUMNS).digest


def test_a_unit_never_changes(tmp_path: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = dc.protect(
            frame(["a", "a", "b"]), schema(), dataset="d", epsilon=1.0, ledger=tmp_path / "d.db"
        )
        for other in (dc.Schema(COLUMNS), schema(rows="one")):
            with pytest.raises(LedgerConflict, match="person"):
                session.change_terms(reason="why not", schema=other)


def test_a_release_says_who_is_protected() -> None:
    for how in ({}, {"rows": "one"}, {"rows": "capped", "most": 2}):
        release = protect(["a", "a", "b", "c"], **how).release(dc.mean("x", epsilon=1.0))
        assert release.guarantee.protects == "all rows of one person"
        assert any("a record is a person (who)" in text for text in release.guarantee.assumptions)


@pytest.mark.proves("person-weights")
def test_every_row_of_a_person_may_be_rounded_the_same_way() -> None:
    """Two persons with as many rows as count, at both ends of a range where every row is rounded up."""

    def sums_of(half: float) -> Any:
        facts = dc.Schema({"x": dc.Number(-half, half, missing=False)}, person="who")
        (stage,) = ready(dc.mean("x", epsilon=1.0), Setting(facts, REPLACE_ONE, 10)).stages
        return stage

    each = MOST_ROWS * sums_of(1.5).noise.step
    stage = sums_of((math.floor(1.5 / each) + 0.5 + 2.0**-6) * each)
    step, region = stage.noise.step, stage.contribution.region
    assert step * MOST_ROWS == each
    weights = np.full(MOST_ROWS, 1.0 / MOST_ROWS)
    ends = [np.full((MOST_ROWS, 1), end, order="F") for end in region.limits]
    low, high = (int(rounded_sum(rows, region, 0.0, step, weights)[0]) for rows in ends)
    exact = stage.contribution.certificate.sensitivity("linf", REPLACE_ONE) / step
    assert high - low > exact + 0.9 * MOST_ROWS, "rounding moves it by nearly a step for every row"
    assert high - low <= stage.noise.certificate.sensitivity("linf", REPLACE_ONE) / step
    assert high - low <= stage.noise.sensitivity
