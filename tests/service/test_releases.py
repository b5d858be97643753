"""Stored answers: lists that are read once, and tables that no spreadsheet runs."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.samples import loan_schema
from discreet.service.routes import releases

from .conftest import World, plan

AGES = plan("histogram", columns="age", bins=5, epsilon=0.5)
PLACE = "/v1/datasets/loans/releases"

FRAMES: dict[str, tuple[pd.DataFrame, str]] = {
    "cells": (
        pd.DataFrame({"job": ["=1+1", "@a", "+a", "-b", "\tc", "a\r=b", "a=b"], "n": [-1.5] * 7}),
        "job,n\n'=1+1,-1.5\n'@a,-1.5\n'+a,-1.5\n'-b,-1.5\n'\tc,-1.5\n\"a\n=b\",-1.5\na=b,-1.5\n",
    ),
    "numbers": (pd.DataFrame({"class": ["-1", "+1.5", "-1-1"]}), "class\n-1\n+1.5\n'-1-1\n"),
    "columns": (pd.DataFrame({"=a": [1], "b": [2]}), "'=a,b\n1,2\n"),
    "index": (pd.DataFrame({"a": [1]}, index=pd.Index(["@x"], name="=i")), "'=i,a\n'@x,1\n"),
    "categories": (pd.DataFrame({"a": pd.Categorical(["=x", "y"])}), "a\n'=x\ny\n"),
}


@pytest.mark.parametrize(("frame", "text"), FRAMES.values(), ids=FRAMES)
def test_no_cell_of_a_table_is_a_formula(
    world: World, monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, text: str
) -> None:
    """Names and values may be anybody's; spreadsheets run what begins like a formula."""
    answer = SimpleNamespace(value=SimpleNamespace(to_frame=lambda: frame))
    monkeypatch.setattr(releases, "_find", lambda *_: answer)
    told = world.client("ann").get(f"{PLACE}/{'a' * 16}/table.csv")
    assert told.status_code == 200 and told.content == text.encode()


def test_a_table_is_what_was_released(world: World) -> None:
    released = world.ask("ann", AGES).json()["releases"][0]
    told = world.client("ann").get(f"{PLACE}/{released['id']}/table.csv").text
    counts = pd.read_csv(io.StringIO(told))["count"].tolist()
    assert counts == released["value"]["counts"]


def test_a_list_reads_every_answer_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    stored = releases.stored_release

    def note(ledger: Any, dataset: str, id_: str) -> Any:
        read.append(id_)
        return stored(ledger, dataset, id_)

    monkeypatch.setattr(releases, "stored_release", note)
    first = world.ask("ann", AGES).json()["releases"][0]["id"]
    lists = [world.client(who).get(PLACE).json() for who in ("ann", "bob", "owner", "auditor", "ann")]
    assert [one["id"] for one in lists[0]] == read == [first] and lists == [lists[0]] * 5
    second = world.ask("ann", AGES, fresh=True).json()["releases"][0]["id"]
    assert [one["id"] for one in world.client("ann").get(PLACE).json()] == [second, first]
    assert read == [first, second]


def test_what_a_list_remembers_has_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "_MOST_LISTED", 1)
    for _ in range(3):
        world.ask("ann", AGES, fresh=True)
    assert len(world.client("ann").get(PLACE).json()) == 3 and len(world.office.listed) <= 1


def test_a_list_is_of_the_ledger_that_a_data_set_has_now(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    """One that is registered anew under its old name has none of its old answers."""
    world = make_world()
    world.ask("ann", AGES)
    assert len(world.client("ann").get(PLACE).json()) == 1
    dc.protect(
        tmp_path / "loans.csv",
        loan_schema(),
        dataset="loans",
        ledger=tmp_path / "new.db",
        epsilon=1.0,
    )
    project = tmp_path / "discreet.toml"
    project.write_text(project.read_text().replace('"ledger.db"', '"new.db"'))
    assert world.client("ann").get(PLACE).json() == []
    asked = world.ask("ann", AGES).json()["releases"][0]
    assert [one["id"] for one in world.client("bob").get(PLACE).json()] == [asked["id"]]
