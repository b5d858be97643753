"""Data that change under a session: refused while nothing is spent, told when something is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.sources.csv_files import CsvSource
from discreet.errors import DataChanged, DataRefused, ReleaseFailed
from discreet.privacy.accounting import Amount

SCHEMA = dc.Schema({"a": dc.Number(0, 10, missing=False)})
PLAN = dc.mean("a", epsilon=0.5)


def protect(path: Path, relation: str = "replace-one") -> dc.Session:
    pd.DataFrame({"a": np.arange(100) % 10}).to_csv(path, index=False)
    return dc.protect(
        path, SCHEMA, dataset="d", ledger=":memory:", epsilon=2, relation=relation, workers=1
    )


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("7\n")


@pytest.mark.parametrize("change", [grow, Path.unlink], ids=["grows", "goes away"])
def test_a_file_that_changed_is_refused_and_nothing_is_spent(
    change: Callable[[Path], Any], tmp_path: Path
) -> None:
    session = protect(tmp_path / "rows.csv")
    change(tmp_path / "rows.csv")
    with pytest.raises(DataRefused, match="must stay as they were when they were opened"):
        session.release(PLAN)
    assert session.balance.spent == Amount()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("change", [grow, Path.unlink], ids=["grows", "goes away"])
def test_a_file_that_changes_while_it_is_read_ends_the_release(
    change: Callable[[Path], Any], relation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = protect(tmp_path / "rows.csv", relation)
    read = CsvSource.chunks

    def chunks(source: CsvSource, names: Any) -> Any:
        change(tmp_path / "rows.csv")
        return read(source, names)

    monkeypatch.setattr(CsvSource, "chunks", chunks)
    with pytest.raises(DataChanged, match=r"written to, or went away, .* which stays spent") as caught:
        session.release(PLAN)
    assert caught.value.__context__ is None
    assert session.balance.spent != Amount()
    (reserved,) = (
        entry for entry in session.history().to_dict("records") if entry["kind"] == "reserve"
    )
    assert reserved["id"] in str(caught.value)


def test_whatever_else_fails_is_told_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = protect(tmp_path / "rows.csv")

    def chunks(source: CsvSource, names: Any) -> Any:
        raise OSError("SECRET")

    monkeypatch.setattr(CsvSource, "chunks", chunks)
    with pytest.raises(ReleaseFailed, match="The release failed after its reservation") as caught:
        session.release(PLAN)
    assert type(caught.value) is ReleaseFailed


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_session_that_starts_again_notices_other_data_under_the_same_version(
    relation: str, tmp_path: Path
) -> None:
    """Answers of the old state would be handed out for the new one. A private number stays private."""
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db", "relation": relation}
    frame = pd.DataFrame({"a": np.arange(100) % 10})
    dc.protect(frame, SCHEMA, epsilon=2, **terms).release(PLAN)
    grown = pd.concat([frame, frame])
    if relation == "add-remove":
        dc.protect(grown, SCHEMA, **terms)
        return
    with pytest.raises(DataRefused, match=r"version '1' stands for, got 200 records where .* of 100"):
        dc.protect(grown, SCHEMA, **terms)
    dc.protect(grown, SCHEMA, version="2", **terms).release(PLAN)
    dc.protect(frame, SCHEMA, **terms)


def test_another_number_of_persons_under_the_same_version_is_noticed(tmp_path: Path) -> None:
    """It was counted when the first answer was paid for, and is public from then on; rows are not."""
    schema = dc.Schema({"a": dc.Number(0, 9, step=1, missing=False)}, person="who")
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db"}
    frame = pd.DataFrame({"a": np.arange(100) % 10, "who": np.arange(100) // 2})
    dc.protect(frame, schema, epsilon=2, **terms).release(PLAN)
    dc.protect(pd.concat([frame, frame]), schema, **terms)  # more rows of the same persons
    others = frame.assign(who=np.arange(100) // 4)
    with pytest.raises(DataRefused, match=r"got 25 records where .* of 50"):
        dc.protect(others, schema, **terms)
