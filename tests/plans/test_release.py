"""Releases survive JSON without loss, and refuse what they do not know."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import ReleaseError
from discreet.ledger import Head
from discreet.plans import Result, share_out
from discreet.plans.results.result import filled_columns
from tests.plans.test_mutated import MADE_OF_RELEASES

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def histograms(draw: st.DrawFn) -> dc.Histogram:
    labels = tuple(draw(st.lists(st.text(max_size=5), min_size=1, max_size=4)))
    return dc.Histogram(
        columns=(draw(st.text(max_size=5)),),
        labels=(labels,),
        edges=(draw(st.none() | st.just(tuple(0.1 * i for i in range(len(labels) + 1)))),),
        counts=tuple(draw(finite) for _ in labels),
        noise_std=draw(finite),
        half_width=draw(finite),
        level=0.95,
    )


@st.composite
def curves(draw: st.DrawFn) -> dc.Curve:
    size = draw(st.integers(1, 5))
    numbers = [tuple(draw(finite) for _ in range(size)) for _ in range(4)]
    return dc.Curve(
        feature=draw(st.text(max_size=5)),
        x=numbers[0],
        labels=draw(st.none() | st.just(tuple("abcde"[:size]))),
        y=numbers[1],
        low=numbers[2],
        high=numbers[3],
        level=0.95,
        noise_std=draw(finite),
        quantity="mean value",
        rug=draw(st.none() | histograms()),
    )


def release_of(value: dc.Histogram | dc.Curve) -> dc.Release:
    return dc.Release(
        value=value,
        guarantee=dc.Guarantee(0.1, 1e-7, "add-remove", ("histogram",), ("an assumption",)),
        plan={"kind": "histogram", "arguments": {"columns": ["a"]}, "epsilon": 0.1, "delta": 0.0},
        stages=({"name": "counts", "noise_std": 1.5},),
        dataset="people",
        version="1",
        id="abc",
        created="2026-01-01T00:00:00+00:00",
        head=Head("people", 3, "ff"),
    )


@given(histograms() | curves())
def test_json_round_trip_is_exact(value: dc.Histogram | dc.Curve) -> None:
    release = release_of(value)
    assert dc.Release.loads(release.dumps()) == release


def test_save_and_load(tmp_path: Path) -> None:
    value = dc.Histogram(("a",), (("x", "y"),), (None,), (1.0, 2.0), 1.0, 3.0, 0.95)
    release = release_of(value)
    assert dc.Release.load(release.save(tmp_path / "r.json")) == release
    with pytest.raises(ReleaseError, match="cannot be written"):
        release.save(tmp_path / "no" / "r.json")
    with pytest.raises(ReleaseError, match="cannot be read"):
        dc.Release.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "format must be 1, got 2"),
        ({"value": {"type": "Secret"}}, "value must be one of"),
        ({"value": {"type": "Histogram", "counts": []}}, "field 'columns', which is missing"),
        ({"guarantee": None}, "must be a release saved by discreet"),
    ],
)
def test_foreign_files_are_refused(change: dict[str, object], sentence: str) -> None:
    value = dc.Histogram(("a",), (("x", "y"),), (None,), (1.0, 2.0), 1.0, 3.0, 0.95)
    plain = json.loads(release_of(value).dumps())
    with pytest.raises(ReleaseError, match=sentence):
        dc.Release.loads(json.dumps({**plain, **change}))
    with pytest.raises(ReleaseError, match="must be a release"):
        dc.Release.loads("{")


@given(st.floats(1e-9, 1e6), st.lists(st.floats(0.01, 1), min_size=1, max_size=4))
def test_shares_never_exceed_the_whole(amount: float, weights: list[float]) -> None:
    from discreet.privacy.accounting import Amount

    parts = share_out(amount, tuple(weights))
    charged = sum(Amount.charge(part).loss for part in parts)
    whole = Amount.charge(amount).loss
    assert charged <= whole
    assert sum(map(Fraction, parts)) <= Fraction(amount) * (1 + Fraction(1, 10**15))
    assert charged >= whole - 1 or amount > 100  # floats are coarser than units there


def test_a_release_draws_itself_with_its_promise() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    labels = tuple(f"a rather long name {number}" for number in range(4))
    release = release_of(dc.Histogram(("a",), (labels,), (None,), (1.0, 2.0, 3.0, 0.0), 1.0, 3.0, 0.95))
    display = release.plot()
    assert "4 cells, epsilon 0.1, delta 1e-07" in display.ax_.get_title(loc="left")
    assert display.ax_.get_xticklabels()[0].get_rotation() == 40
    assert repr(release).startswith("Release(Histogram")
    plt.close("all")


def test_a_release_is_printed_as_a_question_a_table_and_a_promise() -> None:
    labels = tuple(f"v{number}" for number in range(50))
    counts = tuple(float(number) for number in range(50))
    release = release_of(dc.Histogram(("a",), (labels,), (None,), counts, 1.0, 3.0, 0.95))
    first, *table, last = str(release).splitlines()
    assert (first, last) == (release.title, str(release.guarantee))
    assert table[:2] == ["Histogram, 50 cells", "  a  count  low  high"]
    assert " v0    0.0" in table[2] and "v49   49.0" in table[-1] and len(table) < 15
    assert repr(release.value) == "\n".join(table)


def test_columns_that_say_nothing_are_not_printed_and_stay_in_the_frame() -> None:
    noise, told_by = (1.0, 0.95, 0.5), ("", (None, None), "noise", "", ())
    value = dc.Statistic("mean of a", 2.0, *noise, *told_by, ends=(1.0, 3.0), column="a")
    empty = {"records", "bias", "unit"}
    assert empty < set(value.to_frame()) and not empty & set(repr(value).split())
    told = repr(replace(value, bias=0.25, records=10.0)).split()
    assert {"records", "bias", "0.25"} < set(told) and "unit" not in told
    unknown = pd.DataFrame({"value": [float("nan")], "unit": [""], "later": [None]})
    assert list(filled_columns(unknown)) == ["value"], "a number that is none is told"
    assert list(filled_columns(pd.DataFrame({"unit": ["", "m"]}))) == ["unit"]


def test_every_kind_of_result_is_known_to_a_process_that_only_reads() -> None:
    asked = "import discreet as dc; dc.Release; from discreet.plans import Result; Result.read({})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    results = {name for name in dc.__all__ if isinstance(getattr(dc, name), type)}
    results = {name for name in results if issubclass(getattr(dc, name), Result)}
    results -= set(MADE_OF_RELEASES)
    assert len(results) > 15 and results <= set(re.findall(r"\w+", said)), said
