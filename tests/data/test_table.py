"""A sealed table: nothing it shows, raises or lets be copied holds a value of a row."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.data import PrivateTable
from discreet.data import table as table_module
from discreet.errors import AccessDenied, ArgumentError, DataRefused
from discreet.privacy.relation import ROWS_CAP
from discreet.schema import Category, Number, Schema

MARKER = "M4RK3R"
NUMBER = 73_914.0625
SCHEMA = Schema(
    {"name": Category("a", "b", missing=False, other=False), "owed": Number(0, 10, missing=False)},
    id="who",
)
FRAME = pd.DataFrame({"name": [MARKER] * 3, "owed": [NUMBER] * 3, "who": [MARKER] * 3})


def sources(folder: Path) -> dict[str, Any]:
    FRAME.to_csv(folder / "rows.csv", index=False)
    FRAME.to_parquet(folder / "rows.parquet")
    return {
        "pandas": FRAME,
        "polars": pl.DataFrame(FRAME.to_dict("list")),
        "pyarrow": pa.table(FRAME.to_dict("list")),
        "numpy": FRAME.to_numpy(dtype=object),
        "csv": folder / "rows.csv",
        "parquet": folder / "rows.parquet",
    }


KINDS = ("pandas", "polars", "pyarrow", "numpy", "csv", "parquet")


def hides(text: str) -> bool:
    return MARKER not in text and "73914" not in text and "73_914" not in text


def everything_said(error: BaseException | None) -> str:
    """Return all a log could keep of an error: its chain, its fields, its state."""
    said = []
    while error is not None:
        said += [repr(error), str(error), repr(vars(error)), *traceback.format_exception_only(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


SHOWN: dict[str, Callable[[PrivateTable], Any]] = {
    "repr": repr,
    "str": str,
    "format": lambda table: f"{table} {table!r} {table!s}",
    "dir": dir,
    "schema": lambda table: table.schema,
    "json": lambda table: json.dumps({"table": table}, default=repr),
    "source": lambda table: [table.unseal(), str(table.unseal())],
    "hash": hash,
    "equality": lambda table: table == table,
    "attributes": lambda table: [
        repr(getattr(table, name)) for name in dir(table) if not name.startswith("__")
    ],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", SHOWN)
def test_what_is_shown_holds_no_value(kind: str, way: str, tmp_path: Path) -> None:
    assert hides(repr(SHOWN[way](PrivateTable(sources(tmp_path)[kind], SCHEMA))))


REFUSED: dict[str, Callable[[PrivateTable], Any]] = {
    "iteration": list,
    "index": lambda table: table[0],
    "column": lambda table: table["name"],
    "array": np.asarray,
    "array of floats": lambda table: np.array(table, dtype=float),
    "frame": pd.DataFrame,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "old pickle": lambda table: pickle.dumps(table, 0),
    "state": lambda table: table.__getstate__(),
    "reduce": lambda table: table.__reduce_ex__(4),
    "unpacking": lambda table: [*table],
    "containment": lambda table: MARKER in table,
    "length": len,
    "attributes": vars,
    "dictionary": lambda table: table.__dict__,
    "new attribute": lambda table: setattr(table, "rows", 3),
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_refused_says_no_value(way: str) -> None:
    table = PrivateTable(FRAME, SCHEMA)
    with pytest.raises((AccessDenied, TypeError, AttributeError)) as caught:
        REFUSED[way](table)
    if way != "containment":  # the asker's own text
        assert hides(everything_said(caught.value))


@pytest.mark.parametrize("kind", KINDS)
def test_refused_tables_say_no_value(kind: str, tmp_path: Path) -> None:
    other = Schema(
        {
            "name": Category("a", missing=False, other=False),
            "absent": Number(0, 1, missing=False),
            "owed": Number(0, 1, missing=False),
        },
        id="who",
    )
    with pytest.raises(DataRefused) as caught:
        PrivateTable(
            sources(tmp_path)[kind],
            Schema({"x": Number(0, 1, missing=False)}) if kind == "numpy" else other,
        )
    assert hides(everything_said(caught.value))


def test_broken_files_say_no_value(tmp_path: Path) -> None:
    for name, content in {
        "straddling.csv": f"name,owed,who\n{MARKER},1,2\n" + MARKER * 4_000_000,
        "no-header.csv": f"{MARKER},1,2\n{MARKER},1\n",
        "broken.parquet": "PAR1" + MARKER * 99,
    }.items():
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(DataRefused) as caught:
            PrivateTable(path, SCHEMA)
        assert hides(everything_said(caught.value))


def test_count_and_relation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PrivateTable(FRAME, SCHEMA).count() == 3
    assert PrivateTable(FRAME[:0], SCHEMA, "add-remove").count() == 0
    with pytest.raises(DataRefused, match="at least one row under replace-one"):
        PrivateTable(FRAME[:0], SCHEMA)
    with pytest.raises(ArgumentError, match="relation must be one of replace-one, add-remove, got 'x'"):
        PrivateTable(FRAME, SCHEMA, "x")  # type: ignore[arg-type]
    assert ROWS_CAP == 2**24
    assert PrivateTable(FRAME, SCHEMA, most_rows=2).count() == 3
    assert PrivateTable(FRAME, SCHEMA, "add-remove", 3).count() == 3
    with pytest.raises(DataRefused, match="at most 2 rows under add-remove, got more") as caught:
        PrivateTable(FRAME, SCHEMA, "add-remove", 2)
    assert caught.value.rule == "too many rows"
    monkeypatch.setattr(table_module, "MOST_ROWS", 2)
    with pytest.raises(DataRefused, match="at most 2 rows, got 3") as caught:
        PrivateTable(FRAME, SCHEMA)
    assert caught.value.rule == "too many rows"


def test_rows_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CSV file has to be read to be counted; every price asks for the number."""
    table = PrivateTable(sources(tmp_path)["csv"], SCHEMA)
    monkeypatch.setattr(type(table.unseal()), "count", None)
    assert [table.count() for _ in range(3)] == [3, 3, 3]
