"""From a card to an answer by shell alone: the analyst's folder has the card and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from skops.io import dump

import discreet as dc
from discreet.errors import ArgumentError, CardError, ModelError
from tests.cli.shell import left, protect_loans, shell, told

PDP = ["partial-dependence", "credit_score", "--resolution", "5", "--epsilon", "0.5"]


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("protected")
    protect_loans(where)
    loans, names = dc.samples.loans(300), ["age", "credit_score"]
    dump(LogisticRegression(max_iter=1_000).fit(loans[names], loans["defaulted"]), where / "risk.skops")
    return where


@pytest.fixture
def owner(protected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The owner's folder, where commands are run, and beside it the analyst's."""
    shutil.copytree(protected, tmp_path / "owner")
    (tmp_path / "analyst").mkdir()
    monkeypatch.chdir(tmp_path / "owner")
    return tmp_path / "owner"


def test_card_price_plan_answer(owner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = ["card", "write", "--model", "risk=risk.skops", "--files"]
    written = told(*card, "--out", "../analyst/loans.card.json")

    monkeypatch.chdir(owner.parent / "analyst")
    shown = shell("card", "show", "loans.card.json", "--public-key", written["public_key"])
    assert shown.code == 0 and "model risk: LogisticRegression (linear)" in shown.out
    asked = [*PDP, "--model", "loans.card.json#risk", "--card", "loans.card.json"]
    offline = told("price", *asked, "--save", "../owner/plans.json")
    assert told("card", "price", "loans.card.json", "../owner/plans.json") == offline
    assert offline["cost"]["epsilon"] == "0.5" and offline["affordable"]

    monkeypatch.chdir(owner)
    models = ["--model", "risk.skops"]
    assert told("card", "answer", "plans.json", *models, "--price")["cost"] == offline["cost"]
    assert left() == "5"
    (owner / "answers").mkdir()
    done = told("card", "answer", "plans.json", *models, "--out", "answers")
    assert list(done["releases"]) == ["plan-1"] and left() == "4.5"
    held = told("card", "answer", "plans.json", "--card", "../analyst/loans.card.json")
    assert held["releases"]["plan-1"]["id"] == done["releases"]["plan-1"]["id"] and left() == "4.5"
    release = dc.Release.load(owner / "answers" / "plan-1.json")
    dc.Card.load(owner.parent / "analyst" / "loans.card.json").check_release(release)


def test_the_owner_prices_a_model_that_the_card_does_not_hold(owner: Path) -> None:
    assert shell("card", "write", "--model", "risk=risk.skops", "--out", "loans.card.json").code == 0
    asked = [*PDP, "--model", "loans.card.json#risk", "--card", "loans.card.json"]
    refused = shell("price", *asked)
    assert refused.code == ModelError.exit_code and "The owner prices it" in refused.err
    saved = shell("price", *asked, "--save", "plans.json")
    assert saved.code == 0 and "The owner prices it" in saved.out
    assert told("card", "answer", "plans.json", "--model", "risk.skops", "--price")["affordable"]
    nothing = shell("card", "answer", "plans.json")
    assert nothing.code == ArgumentError.exit_code and left() == "5"


def test_wrong_cards_and_files_are_one_sentence(owner: Path) -> None:
    assert shell("card", "write", "--out", "loans.card.json").code == 0
    plain = json.loads((owner / "loans.card.json").read_text())
    (owner / "edited.json").write_text(json.dumps({**plain, "rows": 9}))
    for words, code, sentence in (
        (["card", "show", "edited.json"], CardError.exit_code, "was edited after it was signed"),
        (["card", "show", "nowhere.json"], CardError.exit_code, "nowhere.json cannot be read"),
        (
            ["card", "show", "loans.card.json", "--public-key", "00"],
            CardError.exit_code,
            "must be the one the card is signed with",
        ),
        (["card", "answer", "loans.card.json"], CardError.exit_code, "must be a plan file"),
        (
            ["card", "write", "--out", "no/card.json"],
            ArgumentError.exit_code,
            "--out must be in a folder",
        ),
        (
            ["card", "write", "--out", "card.json", "--model", "risk"],
            ArgumentError.exit_code,
            "--model must be a name and a file, as risk=model.skops",
        ),
        (
            ["price", *PDP, "--model", "loans.card.json#risk", "--card", "loans.card.json"],
            ArgumentError.exit_code,
            "one of the card's models (none)",
        ),
    ):
        done = shell(*words)
        assert done.code == code and sentence in done.err, done
        assert done.err.count("\n") == 1 and done.err.startswith("error: ")


def test_the_books_are_read_without_project_and_key(
    owner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("release", "histogram", "age", "--epsilon", "0.5").code == 0
    (owner / "loans.db.key").rename(owner / "elsewhere")
    monkeypatch.chdir(owner.parent / "analyst")
    assert told("budget", "show", "--ledger", "../owner/loans.db")["remaining"]["epsilon"] == "4.5"
    history = told("budget", "history", "--ledger", "../owner/loans.db", "--dataset", "loans")
    assert [entry["kind"] for entry in history] == ["register", "reserve", "settle"]
    strange = shell("budget", "show", "--ledger", "../owner/loans.db", "--dataset", "others")
    assert strange.code != 0 and "got 'others'" in strange.err
