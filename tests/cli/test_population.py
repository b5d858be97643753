"""Data sets that share a budget, by shell alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from discreet.ledger import Ledger
from tests.cli.shell import protect_loans, shell, told

PLAN = ["histogram", "credit_score", "--epsilon", "0.5"]
SHARE = ["visits.csv", "--schema", "patients.toml", "--ledger", "loans.db", "--population", "patients"]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the data sets 'visits' and 'labs' of one population, epsilon 2."""
    protect_loans(tmp_path)
    monkeypatch.chdir(tmp_path)
    loans = pd.read_csv("loans.csv")
    loans.assign(patient=loans.index // 3).to_csv("visits.csv", index=False)
    plain = Path("schema.toml").read_text()
    Path("patients.toml").write_text(plain + '\n[person]\ncolumn = "patient"\n')
    done = shell("protect", *SHARE, "--dataset", "visits", "--epsilon", "2")
    assert done.out == "visits is protected, left of population patients: epsilon=2, delta=0\n", done
    assert told("protect", *SHARE, "--dataset", "labs") == {
        "dataset": "labs",
        "population": "patients",
        "remaining": {"epsilon": "2", "delta": "0"},
    }
    done = shell("release", *PLAN, "--dataset", "visits", "--out", "answer.json")
    assert done.code == 0 and "left of population patients: epsilon=1.5" in done.out
    return tmp_path


def test_show_tells_whose_budget_it_is(shared: Path) -> None:
    for name in ("labs", "visits", "patients"):
        plain = told("budget", "show", "--dataset", name)
        assert plain["population"] == "patients" and plain["remaining"]["epsilon"] == "1.5"
        spent = {who: own["epsilon"] for who, own in plain["members"].items()}
        assert spent == {"labs": "0", "visits": "0.5"}
    shown = shell("budget", "show", "--dataset", "labs").out
    assert "The budget is that of population patients. Its data sets:" in shown
    assert "epsilon spent" in shown
    assert "population" not in told("budget", "show", "--dataset", "loans")
    assert "budget of population 'patients'" in shell("show", "answer.json").out


def test_commands_of_the_budget_take_the_name_of_a_population(shared: Path) -> None:
    entries = told("budget", "history", "--dataset", "patients")
    assert [entry["kind"] for entry in entries] == ["register", "admit", "admit", "draw"]
    listed = shell("budget", "history", "--dataset", "patients").out
    assert "admit" in listed and "visits" in listed
    changed = ["--dataset", "patients", "--epsilon", "3", "--reason", "a second year"]
    assert told("budget", "change", *changed)["remaining"]["epsilon"] == "2.5"
    assert told("budget", "allot", "ann", "--epsilon", "1", "--dataset", "patients") == {
        "dataset": "patients",
        "analyst": "ann",
        "remaining": {"epsilon": "1", "delta": "0"},
    }
    assert told("budget", "verify", "answer.json", "--dataset", "patients")["ok"]
    with Ledger.open("loans.db") as ledger:
        assert ledger.balance("labs", "ann").remaining.to_json()["loss"] == "1"


def test_refusals_are_sentences(shared: Path) -> None:
    refused = shell("budget", "change", "--dataset", "labs", "--epsilon", "9", "--reason", "more")
    assert refused.code != 0 and "must be changed for the population 'patients'" in refused.err
    refused = shell("budget", "show", "--dataset", "nobody")
    assert refused.code != 0 and "--dataset must be one of those in" in refused.err
    refused = shell("budget", "show")
    assert refused.code != 0 and "(loans, visits, labs), got none. Name one." in refused.err
    refused = shell("protect", *SHARE, "--dataset", "drugs", "--epsilon", "9")
    assert refused.code != 0 and "as registered for population 'patients', got 9.0" in refused.err
    refused = shell("release", *PLAN, "--dataset", "patients")
    assert refused.code != 0
