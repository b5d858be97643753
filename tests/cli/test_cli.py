"""The command line: the whole way, JSON everywhere, one sentence and an exit code for an error."""

from __future__ import annotations

import json
import subprocess
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import discreet as dc
from discreet.errors import LedgerConflict, LedgerTampered
from tests.cli.shell import shell

NUMBERS = ["age", "income", "credit_score"]


def discreet(*words: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    with chdir(cwd):
        done = shell(*words)
    return subprocess.CompletedProcess(list(words), done.code, done.out, done.err)


def answer(*words: Any, cwd: Path) -> Any:
    done = discreet(*words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a schema, a model, and the table protected."""
    from skops.io import dump

    where = tmp_path_factory.mktemp("project")
    frame = dc.samples.loans(400)[[*NUMBERS, "defaulted"]]
    frame.to_csv(where / "loans.csv", index=False)
    full = dc.samples.loan_schema()
    dc.Schema({name: full[name] for name in frame.columns}, target="defaulted").save(
        where / "schema.toml"
    )
    dump(
        HistGradientBoostingClassifier(max_iter=5).fit(frame[NUMBERS], frame["defaulted"]),
        where / "model.skops",
    )
    terms = ["--dataset", "loans", "--ledger", "books.db", "--epsilon", "2", "--delta", "1e-6"]
    told = answer("protect", "loans.csv", "--schema", "schema.toml", *terms, cwd=where)
    assert told == {"dataset": "loans", "remaining": {"epsilon": "2", "delta": "0.000001"}}
    return where


def test_price_release_and_budget(folder: Path) -> None:
    ask = ["histogram", "age", "--epsilon", "0.25", "--bins", "5"]
    price = answer("price", *ask, cwd=folder)
    assert price["cost"]["epsilon"] == "0.25" and price["affordable"]
    priced = price["plans"][0]["expected_error"]["count"]
    assert (priced["error"], priced["size"], priced["level"]) == (18.0, 80.0, 0.95)
    assert price["plans"][0]["usable"]["rows"] == pytest.approx(1_800, rel=0.05)
    shown = discreet("price", *ask, cwd=folder).stdout
    assert "count ± 18 (95% band, each value), 22.50% of a cell's even share of the records" in shown
    tried = discreet("diagnose", *ask, cwd=folder).stdout
    assert tried.startswith("FOR THE CURATOR ONLY") and "exact values inside their band" in tried
    release = answer("release", *ask, "--out", "age.json", "--plot", "age.png", cwd=folder)
    assert len(release["value"]["counts"]) == 5
    assert (folder / "age.png").read_bytes().startswith(b"\x89PNG")
    assert release["charged"] == {"epsilon": "0.25", "delta": "0"} and "epsilon" in release["remaining"]
    saved = dc.Release.load(folder / "age.json").to_json()
    assert saved == {name: release[name] for name in saved}
    again = answer("release", *ask, cwd=folder)
    assert again["id"] == release["id"] and again["charged"]["epsilon"] == "0"
    assert "free: it was answered before" in discreet("release", *ask, cwd=folder).stdout
    balance = answer("budget", "show", cwd=folder)
    assert balance["budget"]["epsilon"] == "2" and balance["relation"] == "replace-one"
    entries = answer("budget", "history", cwd=folder)
    assert [entry["kind"] for entry in entries][:3] == ["register", "reserve", "settle"]
    assert entries[0]["epsilon"] == "2" and "loss" not in entries[0]
    assert answer("budget", "verify", "age.json", cwd=folder)["ok"]


def test_partial_dependence_of_a_saved_model(folder: Path) -> None:
    ask = [
        "partial-dependence",
        "credit_score",
        "--model",
        "model.skops",
        "--epsilon",
        "0.5",
        "--smooth",
    ]
    price = answer("price", *ask, cwd=folder)
    assert [stage["name"] for stage in price["plans"][0]["stages"]] == ["curve", "rug"]
    release = answer("release", *ask, cwd=folder)
    assert release["value"]["feature"] == "credit_score" and release["guarantee"]["certified"]
    shown = discreet("release", *ask, cwd=folder)
    assert (
        "credit_score" in shown.stdout
        and "certified" in shown.stdout
        and "left: epsilon=" in shown.stdout
    )


def test_shap_from_the_shell(folder: Path) -> None:
    model = ["--model", "model.skops", "--epsilon", "0.05"]
    row = dc.samples.loans(1, seed=3)[NUMBERS].iloc[0].to_dict()
    (folder / "query.json").write_text(json.dumps(row, default=float))
    query = ["--query", "query.json"]
    ranking = answer("release", "shap-ranking", *query, *model, "--k", "2", cwd=folder)
    assert len(ranking["value"]["order"][0]) == 2
    price = answer("price", "shap-values", *query, *model, "--queries", "20", cwd=folder)
    assert any(strategy["recommended"] for strategy in price["plans"][0]["strategies"])
    values = answer("release", "shap-values", *query, *model, "--plot", "values.png", cwd=folder)
    assert values["value"]["features"] == NUMBERS
    assert (folder / "values.png").read_bytes().startswith(b"\x89PNG")
    answer("release", "background", "--epsilon", "0.05", "--out", "background.json", cwd=folder)
    background = ["--background", "background.json"]
    found = answer("release", "shap-importance", *background, *model, cwd=folder)
    assert found["value"]["quantity"].startswith("mean |SHAP value|")
    (folder / "bad.json").write_text(json.dumps({"age": 4000}))
    refused = discreet("release", "shap-values", "--query", "bad.json", *model, cwd=folder)
    assert refused.returncode == 2 and "--query must have" in refused.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["release", "histogram", "height", "--epsilon", "1"], 3, "columns must be among"),
        (["release", "additive-model", "nope", "--epsilon", "1"], 3, "target must be one of"),
        (["release", "histogram", "age", "--epsilon", "0"], 2, "--epsilon must be a positive"),
        (["release", "histogram", "age", "--epsilon", "9"], 8, "This plan costs epsilon=9"),
        (
            ["release", "partial-dependence", "age", "--model", "no.skops", "--epsilon", "1"],
            5,
            "--model must be a file saved",
        ),
        (["budget", "show", "--dataset", "other"], 2, "--dataset must be one of"),
        (["budget", "show", "--project", "none.toml"], 2, "Run 'discreet protect' first"),
        (
            [
                "protect",
                "none.csv",
                "--schema",
                "schema.toml",
                "--dataset",
                "d",
                "--ledger",
                "d.db",
                "--epsilon",
                "1",
            ],
            4,
            "existing file",
        ),
        (
            ["protect", "loans.csv", "--schema", "none.toml", "--dataset", "d", "--ledger", "d.db"],
            3,
            "cannot be read",
        ),
        (["sketch", "loans.csv", "--out", "schema.toml"], 2, "--out must be a new file"),
    ],
)
def test_errors_are_sentences_with_exit_codes(
    folder: Path, words: list[str], code: int, sentence: str
) -> None:
    said = discreet(*words, cwd=folder)
    assert said.returncode == code and sentence in said.stderr and said.stderr.count("\n") == 1
    told = json.loads(discreet(*words, "--json", cwd=folder).stdout)
    assert sentence in told["error"]["message"] and told["error"]["code"]
    assert "Traceback" not in said.stderr


def test_sketch_then_protect_refuses_the_draft(folder: Path) -> None:
    told = discreet("sketch", "loans.csv", "--out", "draft.toml", "--target", "defaulted", cwd=folder)
    assert told.returncode == 0 and "read from data, not public" in (folder / "draft.toml").read_text()
    terms = ["--dataset", "draft", "--ledger", "draft.db", "--epsilon", "1"]
    refused = discreet("protect", "loans.csv", "--schema", "draft.toml", *terms, cwd=folder)
    assert refused.returncode == 3 and "read from data" in refused.stderr


def test_verify_finds_an_edit(folder: Path, tmp_path: Path) -> None:
    import shutil
    import sqlite3
    from contextlib import closing

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    answer("release", "histogram", "age", "--epsilon", "0.1", cwd=copy)
    with closing(sqlite3.connect(copy / "books.db")) as books, books:
        books.execute("UPDATE discreet_entries SET loss = 1 WHERE kind = 'reserve'")
    found = discreet("budget", "verify", cwd=copy)
    assert found.returncode == LedgerTampered.exit_code and "error:" in found.stderr


def test_verify_tells_an_edited_release(folder: Path, tmp_path: Path) -> None:
    saved = answer("release", "histogram", "age", "--epsilon", "0.1", "--out", "kept.json", cwd=folder)
    assert answer("budget", "verify", "kept.json", cwd=folder)["ok"]
    saved["guarantee"]["epsilon"] = 0.0001
    (tmp_path / "edited.json").write_text(json.dumps(saved))
    found = discreet("budget", "verify", str(tmp_path / "edited.json"), cwd=folder)
    assert found.returncode == LedgerTampered.exit_code
    assert f"The release '{saved['id']}' of dataset 'loans' was edited" in found.stderr


def test_terms_change_with_a_reason(tmp_path: Path) -> None:
    dc.samples.loans(50)[["age"]].to_csv(tmp_path / "loans.csv", index=False)
    dc.Schema({"age": dc.Number(18, 90)}).save(tmp_path / "schema.toml")
    dc.Schema({"age": dc.Number(18, 99)}).save(tmp_path / "corrected.toml")
    terms = ["--dataset", "loans", "--ledger", "books.db", "--epsilon", "1"]
    answer("protect", "loans.csv", "--schema", "schema.toml", *terms, cwd=tmp_path)
    change = ["budget", "change", "--reason", "agreed in May"]
    assert answer(*change, "--epsilon", "2", cwd=tmp_path)["budget"]["epsilon"] == "2"
    answer(*change, "--schema", "corrected.toml", cwd=tmp_path)
    answer("release", "histogram", "age", "--epsilon", "1", cwd=tmp_path)
    refused = discreet(*change, "--epsilon", "0.5", cwd=tmp_path)
    assert refused.returncode == LedgerConflict.exit_code
    assert "budget must be at least epsilon=1 and delta=0, which was already spent" in refused.stderr
    history = answer("budget", "history", cwd=tmp_path)
    assert [entry["note"].get("reason") for entry in history[1:3]] == 2 * ["agreed in May"]
    assert answer("budget", "verify", cwd=tmp_path)["ok"]


def test_help_and_version(tmp_path: Path) -> None:
    assert "Private answers" in discreet("--help", cwd=tmp_path).stdout
    for words in ("version", "--version"):
        assert discreet(words, cwd=tmp_path).stdout.strip() == dc.__version__


@pytest.mark.slow
def test_demo_leaves_a_page(tmp_path: Path) -> None:
    told = answer("demo", "--out", "out", cwd=tmp_path)
    assert told["verified"] and told["refusal"].startswith("This plan costs epsilon=3.5")
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count('<div class="picture">') == len(told["releases"]) == 28
    again = answer("demo", "--out", "out", cwd=tmp_path)
    assert again["remaining"] == told["remaining"], "the same demo again is free"
