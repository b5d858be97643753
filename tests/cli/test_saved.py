"""Saved releases: shown, drawn, put on a page and verified without the table."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.asking import tell_plan
from discreet.errors import LedgerTampered, ReleaseError
from discreet.privacy.accounting import Amount
from tests.cli.shell import left, protect_loans, shell, told

ASK = ["release", "histogram", "age", "--bins", "4", "--epsilon", "0.5", "--out", "age.json"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release and its ledger; the table is gone."""
    from contextlib import chdir

    where = tmp_path_factory.mktemp("saved")
    protect_loans(where)
    with chdir(where):
        told(*ASK)
    (where / "loans.csv").unlink()
    (where / "schema.toml").unlink()
    return where


@pytest.fixture(autouse=True)
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def test_show(folder: Path) -> None:
    done = shell("show", "age.json", "--table", "age.csv")
    assert (
        done.code == 0
        and "Histogram of age" in done.out
        and "columns age, bins 4" in done.out
        and "18 to 35" in done.out
    )
    assert "of loans (version 1)" in done.out and "certified" in done.out
    assert (folder / "age.csv").read_text().count("\n") == 5
    assert told("show", "age.json") == dc.Release.load("age.json").to_json()
    assert shell("show", "age.json", "--table", "none/age.csv").code == 2


def test_arguments_that_hold_nothing_are_not_told() -> None:
    asked = {"bins": 4, "residuals": [], "by": None, "smooth": False, "values": {}}
    told_as = tell_plan({"kind": "evaluate", "arguments": asked, "epsilon": 0.5})
    assert told_as == "evaluate: bins 4, smooth no, epsilon 0.5"


def test_plot(folder: Path) -> None:
    assert shell("plot", "age.json").out == "age.png\n"
    assert (folder / "age.png").read_bytes().startswith(b"\x89PNG")
    assert told("plot", "age.json", "--out", "big.svg", "--title", "Ages") == {"picture": "big.svg"}
    assert "<svg" in (folder / "big.svg").read_text()
    refused = shell("plot", "age.json", "--out", "age.gif")
    assert refused.code == 2 and "--out must end with" in refused.err


def test_report_with_and_without_the_ledger(folder: Path) -> None:
    assert told("report", "age.json", "age.json", "--title", "Loans") == {"page": "report.html"}
    page = (folder / "report.html").read_text()
    assert (
        page.count("<svg ") + page.count("data:image/") == 2
        and "Budget of loans" in page
        and "Loans" in page
    )
    assert shell("report", "age.json", "--no-budget", "--out", "bare.html").code == 0
    assert "Budget of" not in (folder / "bare.html").read_text()
    assert shell("report", "age.json", "--project", "none.toml", "--out", "bare.html").code == 0
    assert shell("report", "age.json", "--out", "page.pdf").code == 2


def test_verify_of_a_file(folder: Path) -> None:
    done = shell("verify", "age.json")
    assert done.code == 0 and done.out.endswith("age.json: as it was settled\n")
    edited = json.loads((folder / "age.json").read_text())
    edited["value"]["counts"][0] += 1
    (folder / "edited.json").write_text(json.dumps(edited))
    assert shell("verify", "edited.json").code == LedgerTampered.exit_code
    found = shell("verify", "edited.json", "--json")
    assert found.code == LedgerTampered.exit_code and not json.loads(found.out)["ok"]


def test_what_is_no_release_is_told(folder: Path) -> None:
    (folder / "other.json").write_text("{}")
    for command in ("show", "plot", "report", "verify"):
        for name in ("other.json", "none.json"):
            done = shell(command, name)
            assert done.code == ReleaseError.exit_code and done.err.count("\n") == 1


def test_a_charge_without_an_answer_is_seen(folder: Path) -> None:
    before = Decimal(left())
    assert "without an answer" not in shell("budget", "history").out
    with dc.Ledger.open(folder / "loans.db", create=False) as ledger:  # and then the process dies
        ledger.reserve("loans", Amount.charge(0.25), plan_key="k", note={"plan": {"kind": "entropy"}})
    seen = shell("budget", "history").out
    assert "1 without an answer" in seen and "NO" in seen and "entropy" in seen
    assert Decimal(left()) == before - Decimal("0.25") and shell("verify").code == 0


def test_shares(folder: Path) -> None:
    before = left()
    assert told("budget", "allot", "ann", "--epsilon", "0.75")["remaining"]["epsilon"] == "0.75"
    assert left() == before
    assert "ann" in shell("budget", "show").out
    shares = told("budget", "show")["shares"]
    assert shares["ann"]["budget"] == {"epsilon": "0.75", "delta": "0"}
    assert told("budget", "show", "--analyst", "ann")["remaining"]["epsilon"] == "0.75"
    wrong = shell("budget", "allot", "ann", "--epsilon", "0")
    assert wrong.code == 2 and wrong.err.startswith("error: --epsilon must be a positive")
