"""Dates: numbers on a grid to plans, dates to people, and the same from every source."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import SchemaError
from discreet.schema import MISSING, Date, Schema
from tests.data.twins import encode

DAYS = [dt.date(2020, 1, 31), None, dt.date(1800, 2, 3), dt.date(2035, 1, 1), dt.date(2020, 2, 29)]


def as_texts(days: list[Any]) -> list[str | None]:
    return [None if day is None else day.isoformat() for day in days]


def at_noon(days: list[Any]) -> list[Any]:
    return [None if day is None else dt.datetime(day.year, day.month, day.day, 12) for day in days]


def write_csv(days: list[Any], folder: Path) -> Path:
    (folder / "rows.csv").write_text("a,b\n" + "".join(f"{day or ''},1\n" for day in as_texts(days)))
    return folder / "rows.csv"


def write_excel(days: list[Any], folder: Path) -> Path:
    pd.DataFrame({"a": at_noon(days), "b": 1}).to_excel(folder / "rows.xlsx", index=False)
    return folder / "rows.xlsx"


MAKERS: dict[str, Callable[[list[Any], Path], Any]] = {
    "objects": lambda days, _: pd.DataFrame({"a": days}),
    "pandas": lambda days, _: pd.DataFrame({"a": np.array(at_noon(days), dtype="datetime64[s]")}),
    "texts": lambda days, _: pd.DataFrame({"a": as_texts(days)}),
    "category": lambda days, _: pd.DataFrame({"a": pd.Categorical(as_texts(days))}),
    "polars": lambda days, _: pl.DataFrame({"a": days}),
    "polars times": lambda days, _: pl.DataFrame({"a": at_noon(days)}),
    "arrow": lambda days, _: pa.table({"a": days}),
    "arrow seconds": lambda days, _: pa.table({"a": pa.array(at_noon(days), pa.timestamp("s"))}),
    "numpy": lambda days, _: np.array(as_texts(days), dtype="datetime64[D]")[:, None],
    "csv": write_csv,
    "excel": lambda days, folder: write_excel(days[:2] + days[3:], folder),
}
EXPECTED = {
    "day": ["2020-01-31", None, "2015-01-01", "2029-12-31", "2020-02-29"],
    "week": ["2020-01-30", None, "2015-01-01", "2029-12-27", "2020-02-27"],
    "month": ["2020-01", None, "2015-01", "2029-12", "2020-02"],
    "year": ["2020", None, "2015", "2029", "2020"],
    "hour": ["2020-01-31 12:00", None, "2015-01-01 00:00", "2029-12-31 00:00", "2020-02-29 12:00"],
}


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("step", ["day", "week", "month", "year"])
@pytest.mark.parametrize("maker", MAKERS)
def test_dates_are_read_alike_from_every_source(maker: str, step: str, tmp_path: Path) -> None:
    column = Date("2015-01-01", "2029-12-31", step)
    (found,) = encode(MAKERS[maker](DAYS, tmp_path), a=column)
    shown = [None if code == MISSING else column.show(code) for code in found]
    expected = EXPECTED[step]
    assert shown == (expected[:2] + expected[3:] if maker == "excel" else expected)


def test_times_count_for_the_hour_they_lie_in() -> None:
    column = Date("2015-01-01", "2029-12-31", "hour")
    (found,) = encode(pl.DataFrame({"a": at_noon(DAYS)}), a=column)
    assert [None if code == MISSING else column.show(code) for code in found] == EXPECTED["hour"]


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2020-01-31", "2020-01-31"),
        (" 2020-01-31T23:59:59.999999999Z ", "2020-01-31"),
        ("2020-01-31 23:30+02:00", "2020-01-31"),
        ("2020-01", "2020-01-01"),
        (np.datetime64("2020-01-31T10", "ns"), "2020-01-31"),
        (pd.Period("2020-01", "M"), "2020-01-01"),
        (18292, "2020-01-31"),
        ("18292.0", "2020-01-31"),
        ("20200131", None),
        (20200131, None),
        ("2020-02-30", None),
        ("31.1.2020", None),
        ("yesterday", None),
        ("", None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        (object(), None),
        (pd.NaT, None),
    ],
)
def test_what_is_a_date(value: Any, day: str | None) -> None:
    column = Date("2015-01-01", "2029-12-31")
    (code,) = column.encode(np.array([value, None], dtype=object))[:1]
    assert (None if code == MISSING else column.show(code)) == day


def test_one_odd_value_changes_no_other() -> None:
    """pandas turns a column into texts, or objects, because of one value in it."""
    column = Date("2015-01-01", "2029-12-31")
    plain = pd.DataFrame({"a": pd.to_datetime(["2020-01-31", "2020-02-01"])})
    beside = pd.DataFrame({"a": [*plain["a"], "odd"]})
    assert encode(beside, a=column)[0][:2] == encode(plain, a=column)[0]


def test_formats() -> None:
    column = Date("2015-01-01", "2029-12-31", format="%d.%m.%Y")
    texts = np.array(["31.01.2020", "2020-01-31", "01/31/2020"], dtype=object)
    assert [column.show(code) for code in column.encode(texts)[:2]] == ["2020-01-31"] * 2
    assert column.encode(texts)[2] == MISSING
    compact = Date("2015-01-01", "2029-12-31", format="%Y%m%d")
    for days in (np.array([20200131, 5]), np.array([20200131.0, np.nan]), np.array(["20200131", "x"])):
        assert compact.encode(days.astype(object)).tolist() == [18292.0, MISSING]


def test_zones_are_those_of_the_named_clocks() -> None:
    late = dt.datetime(2020, 7, 31, 22, 30, tzinfo=dt.UTC)
    vienna = Date("2020-01-01", "2020-12-31", zone="Europe/Vienna")
    plain = Date("2020-01-01", "2020-12-31")
    frames = {
        "pandas": pd.DataFrame({"a": [pd.Timestamp(late)]}),
        "arrow": pa.table({"a": pa.array([late], pa.timestamp("us", "UTC"))}),
        "objects": pd.DataFrame({"a": pd.Series([late], dtype=object)}),
        "texts": pl.DataFrame({"a": ["2020-07-31T22:30Z"]}),
    }
    for frame in frames.values():
        assert vienna.show(encode(frame, a=vienna)[0][0]) == "2020-08-01"
        assert plain.show(encode(frame, a=plain)[0][0]) == "2020-07-31"
    own = pd.DataFrame({"a": [pd.Timestamp("2020-07-31 22:30")]})
    assert vienna.show(encode(own, a=vienna)[0][0]) == "2020-07-31"


def test_times_before_1970_are_rounded_down_too() -> None:
    column = Date("1960-01-01", "1980-01-01")
    assert column.show(column.encode(np.array(["1965-03-04 23:00"]))[0]) == "1965-03-04"
    assert column.show(column.encode(np.array(["1965-03-04T23"], dtype="M8[ms]"))[0]) == "1965-03-04"


def test_a_missing_date_may_become_another() -> None:
    filled = Date("2015-01-01", "2029-12-31", missing="2016-01-01")
    assert filled.show(filled.encode(np.array([None]))[0]) == "2016-01-01"
    none = Date("2015-01-01", "2015-01-03", missing=False)
    assert none.show(none.encode(np.array([None]))[0]) == "2015-01-02"


@pytest.mark.parametrize(
    "column",
    [
        Date("2015-01-01", "2029-12-31"),
        Date("2015-01", "2029-12", "month", missing=False, label="Month of admission"),
        Date("2015-01-01 08:00", "2015-01-02", "minute", zone="Europe/Vienna"),
        Date(1990, 2020, "year", format="%y", missing="2000", read_from_data=("low",)),
        Date("2015-01-01", "2029-12-31", "week"),
    ],
)
def test_files_keep_dates(column: Date, tmp_path: Path) -> None:
    schema = Schema({"a b": column})
    read = Schema.load(schema.save(tmp_path / "schema.toml"))
    assert read["a b"] == column and read == schema and read["a b"].label == column.label
    assert eval(repr(column), {"Date": Date}) == column


def test_dates_of_toml_are_dates(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('[columns.a]\nkind = "date"\nlow = 2020-01-01\nhigh = 2020-12-31T10:00:00\n')
    assert Schema.load(path)["a"] == Date("2020-01-01", "2020-12-31")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Date("soon", "2020"), "low must be a date such as 2020-01-31"),
        (lambda: Date("2020", None), "high must be a date"),
        (lambda: Date("2020-01-02", "2020-01-01"), "high must be a later day than low=2020-01-02"),
        (lambda: Date("2020-01-02", "2020-01-30", "month"), "high must be a later month"),
        (lambda: Date("2020-01-01", "2020-01-05", "week"), "at least a week after low"),
        (lambda: Date("2020", "2021", "decade"), "step must be one of minute, hour, day"),
        (lambda: Date("2020", "2021", zone="Mars/Base"), "zone must be the name of a time zone"),
        (lambda: Date("2020", "2021", format=3), "format must be a text"),  # type: ignore[arg-type]
        (lambda: Date("2020", "2021", missing="2030"), "missing must be"),
        (lambda: Date("2020", "2021", label=3), "label must be a text"),  # type: ignore[arg-type]
    ],
)
def test_dates_that_are_refused(make: Callable[[], Date], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        make()
    assert message in str(caught.value)


def frame_of(rows: int) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 730, rows), unit="D")
    frame = pd.DataFrame({"day": days, "size": draw.uniform(0, 1, rows)})
    frame.loc[:99, "day"] = pd.NaT
    return frame


SCHEMA = Schema(
    {"day": Date("2020-01-01", "2021-12-31", label="Day of birth"), "size": dc.Number(0, 1, unit="cm")}
)


def session(rows: int = 2_000) -> Any:
    return dc.protect(
        frame_of(rows), SCHEMA, dataset="d", epsilon=1e6, ledger=":memory:", seed=1, progress=False
    )


def test_results_show_dates() -> None:
    opened = session()
    counts = opened.release(dc.histogram("day", bins=2, epsilon=1e3)).value
    assert counts.labels[0] == ("2020-01-01 to 2020-12-30", "2020-12-31 to 2021-12-31", "(missing)")
    assert counts.to_frame()["count"].iloc[-1] == 100
    middle = opened.release(dc.quantiles("day", [0.5], epsilon=1e3)).value
    found = frame_of(2_000)["day"].dropna().quantile(0.5, interpolation="lower")
    assert abs(middle.to_frame()["day"][0] - found) <= pd.Timedelta(days=2)
    assert opened.release(dc.percentile("day", 0, epsilon=1e3)).value.winner.startswith("2020-01-0")
    drawn = opened.release(dc.synthesize(epsilon=1e3, rows=50)).value.to_frame()
    assert drawn["day"].dtype.kind == "M" and drawn["day"].min() >= pd.Timestamp("2020-01-01")
    for value in (counts, middle):
        axes = value.plot().ax_
        assert axes.get_xlabel() == "Day of birth"
        assert any("202" in label.get_text() for label in axes.get_xticklabels())


class ByYear:
    """A model that was fitted on a frame with dates."""

    feature_names_in_ = np.array(["day", "size"], dtype=object)

    def __init__(self) -> None:
        self.kinds: set[str] = set()

    def predict(self, frame: pd.DataFrame) -> Any:
        self.kinds.add(frame["day"].dtype.kind)
        return (frame["day"].dt.year == 2020).astype(float).to_numpy()


def test_models_see_dates_in_frames(tmp_path: Path) -> None:
    model = ByYear()
    asked = dc.partial_dependence(dc.Model(model, bounds=(0, 1)), "day", epsilon=1e3)
    release = session().release(asked)
    frame = release.value.to_frame()
    assert model.kinds == {"M"}
    assert np.allclose(frame["value"][:-1], frame["day"][:-1].dt.year == 2020, atol=0.05)
    assert frame["day"].isna().iloc[-1]
    assert dc.Release.load(release.save(tmp_path / "curve.json")).value == release.value


def test_models_see_steps_in_arrays() -> None:
    """In an array a day is the number of days since 1970."""
    model = dc.Model(lambda rows: (rows[:, 0] < 18628).astype(float), bounds=(0, 1), name="before 2021")
    frame = session().release(dc.partial_dependence(model, "day", epsilon=1e3)).value.to_frame()
    assert np.allclose(frame["value"][:-1], frame["day"][:-1].dt.year == 2020, atol=0.05)
