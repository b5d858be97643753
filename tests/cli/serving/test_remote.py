"""The command line asks a server as it asks a project: the same commands, charges and sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.cli.serving.remote import open_remote, open_server
from discreet.cli.speech import in_options
from tests.cli.shell import shell, told
from tests.service.conftest import World, make_world, world

__all__ = ["make_world", "world"]


OPENED: list[Any] = []


@pytest.fixture
def at(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Be somewhere without a project, with Ann's key; returns how the server is named."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("DISCREET_KEY", world.keys["ann"])
    open_server.cache_clear()
    open_remote.cache_clear()

    def remembered(*args: Any, **options: Any) -> Any:
        OPENED.append(dc.connect(*args, **options))
        return OPENED[-1]

    monkeypatch.setattr("discreet.cli.serving.remote.connect", remembered)
    yield ["--server", world.server.url]
    for opened in OPENED:
        opened.close()
    OPENED.clear()


AGES = ["histogram", "age", "--bins", "5", "--epsilon", "0.5"]


def test_a_server_prices_and_answers(at: list[str], tmp_path: Path) -> None:
    priced = shell("price", *AGES, *at)
    assert priced.code == 0 and "costs epsilon=0.5" in priced.out and "left epsilon=10" in priced.out
    done = shell(
        "release", *AGES, *at, "--out", "ages.json", "--table", "ages.csv", "--plot", "ages.png"
    )
    assert done.code == 0 and "charged: epsilon=0.5, delta=0; left: epsilon=9.5" in done.out, done
    assert all(Path(f"ages.{ending}").exists() for ending in ("json", "csv", "png"))
    again = told("release", *AGES, *at)
    assert again["charged"]["epsilon"] == "0" and again["remaining"]["epsilon"] == "9.5"
    assert again["value"] == json.loads(Path("ages.json").read_text())["value"]


def test_models_are_named_as_the_server_does(at: list[str], tmp_path: Path) -> None:
    ask = ["partial-dependence", "age", "--model", "risk", "--resolution", "4", "--epsilon", "0.5"]
    assert told("price", *ask, *at)["affordable"]
    assert shell("release", *ask, *at).code == 0
    wrong = shell("price", "partial-dependence", "age", "--model", "other", "--epsilon", "1", *at)
    assert wrong.code == 2 and "one of the server's models (risk), got 'other'" in wrong.err
    told_off = shell("price", *ask, "--class", "1", *at)
    assert told_off.code == 2 and "--class must be left out with --server" in told_off.err
    every = ["partial-dependence", "all", "--model", "risk", "--resolution", "4", "--epsilon", "0.5"]
    assert shell("release", *every, *at, "--out", "curve.json").code == 0
    assert {path.name for path in Path().glob("curve*.json")} == {"curve-1.json", "curve-2.json"}
    Path("plans.toml").write_text(
        '[ages]\nplan = "histogram"\ncolumns = "age"\nepsilon = 0.1\n'
        '[score]\nplan = "partial-dependence"\nmodel = "risk"\nfeatures = "age"\nepsilon = 0.1\n'
    )
    both = told("release", "--plans", "plans.toml", *at)
    assert set(both["releases"]) == {"ages", "score"}


def test_the_budget_is_the_servers(
    world: World, at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("release", *AGES, *at).code == 0
    assert told("budget", "show", *at)["spent"]["epsilon"] == "0.5"
    shown = shell("budget", "show", *at)
    assert "loans (replace-one)" in shown.out and "epsilon=9.5" in shown.out
    entries = told("budget", "history", *at, "--dataset", "loans")
    assert [entry["kind"] for entry in entries] == ["register", "reserve", "settle"]
    assert entries[1]["epsilon"] == "0.5" and "histogram" in shell("budget", "history", *at).out
    denied = shell("verify", *at)
    assert denied.code == 9 and "got one of the role analyst" in denied.err
    Path("auditor.key").write_text(world.keys["auditor"] + "\n")
    monkeypatch.delenv("DISCREET_KEY")
    audited = shell("budget", "verify", *at, "--key-file", "auditor.key")
    assert audited.code == 0 and "loans: 3 entries, the chain holds" in audited.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["release", *AGES, "--analyst", "bob"], "--analyst must be left out with --server"),
        (["release", *AGES, "--workers", "2"], "--workers must be left out with --server"),
        (["price", *AGES, "--card", "card.json"], "--card must be left out with --server"),
        (["budget", "history", "--ledger", "x.db"], "--ledger must be left out with --server"),
        (["price", "histogram", "nothing", "--epsilon", "1"], "got 'nothing'"),
        (["release", "histogram", "age", "--epsilon", "11"], "epsilon=10"),
        (["budget", "show", "--dataset", "other"], "dataset must be one that this key opens"),
        (["budget", "show", "--key-file", "missing.key"], "--key-file must be a file that holds a key"),
    ],
)
def test_mistakes_are_told_in_one_sentence(at: list[str], words: list[str], sentence: str) -> None:
    done = shell(*words, *at)
    assert done.code > 0 and sentence in done.err and "dc." not in done.err, done


def test_an_interruption_names_no_call_of_python() -> None:
    sentence = (
        "Interrupted. The charge was taken and stays; the server goes on with job j1. server.job('j1') "
        "gets the answer, and asking the same again is free."
    )
    said = (
        "Interrupted. The charge was taken and stays; the server goes on with job j1. Asking the same"
    )
    assert in_options(sentence, {}) == f"{said} again is free."


def test_a_key_is_asked_for_and_never_shown(
    world: World, at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISCREET_KEY")
    assert "--key-file must be given, or DISCREET_KEY be set" in shell("budget", "show", *at).err
    monkeypatch.setenv("DISCREET_KEY", world.keys["ann"][:-1] + "!")
    done = shell("budget", "show", *at)
    assert done.code == 2 and world.keys["ann"][:-1] not in done.err + done.out
    plain = shell("budget", "show", "--server", "http://data.example.org")
    assert plain.code == 2 and "--server must begin with https://" in plain.err
    assert "insecure" not in plain.err
