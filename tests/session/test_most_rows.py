"""How many rows a table may have under add-remove is a term of the data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cards import describe
from discreet.cli import app
from discreet.errors import ArgumentError, DataRefused, LedgerConflict, ModelError
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE, PARTED, REPLACE_ONE

SCHEMA = dc.Schema({"age": dc.Number(0, 100, missing=False)})
FRAME = pd.DataFrame({"age": np.arange(20.0)})


def opened(ledger: Any, data: Any = FRAME, **terms: Any) -> dc.Session:
    return dc.protect(data, SCHEMA, dataset="people", ledger=ledger, **terms)


def registered(folder: Path, **terms: Any) -> dc.Session:
    return opened(folder / "l.db", epsilon=1.0, relation="add-remove", **terms)


def score(rows: np.ndarray) -> np.ndarray:
    return np.tanh(rows[:, 0] / 100)


def test_the_term_is_kept_and_binds_the_table(tmp_path: Path) -> None:
    session = registered(tmp_path, most_rows=30)
    assert session.facts().setting.most_rows == 30
    assert opened(tmp_path / "l.db").facts().setting.most_rows == 30
    larger = pd.concat([FRAME, FRAME])
    with pytest.raises(DataRefused, match="at most 30 rows under add-remove, got more"):
        opened(tmp_path / "l.db", larger)
    with pytest.raises(LedgerConflict, match=r"most_rows must be 30 as registered .* change_terms"):
        opened(tmp_path / "l.db", most_rows=40)
    session.change_terms(most_rows=40, reason="the register grows")
    assert opened(tmp_path / "l.db", larger).facts().setting.most_rows == 40
    assert session.history()["note"].iloc[-1]["most_rows"] == 40
    assert session.verify().ok


def test_the_default_is_as_it_was(tmp_path: Path) -> None:
    session = registered(tmp_path)
    assert session.facts().setting.most_rows == 2**24
    assert "most_rows" not in session.history()["note"].iloc[0]
    assert opened(tmp_path / "l.db", most_rows=2**24).facts().setting.most_rows == 2**24
    told = session.release(dc.mean("age", epsilon=0.5)).guarantee.assumptions
    assert "the table has at most 16777216 rows" in told


@pytest.mark.parametrize("wrong", [0, -1, 2**38 + 1, 2.5, "many", True])
def test_wrong_numbers_register_nothing(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="most_rows must be"):
        registered(tmp_path, most_rows=wrong)
    with pytest.raises(ArgumentError, match="epsilon must be given the first time"):
        opened(tmp_path / "l.db")


def test_replace_one_has_no_such_term(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="most_rows must be left out under replace-one"):
        opened(tmp_path / "l.db", epsilon=1.0, most_rows=30)
    session = opened(tmp_path / "l.db", epsilon=1.0)
    with pytest.raises(ArgumentError, match="most_rows must be left out under replace-one"):
        session.change_terms(most_rows=30, reason="more")
    assert len(session.history()) == 1


def test_a_part_has_at_most_the_rows_of_its_table() -> None:
    """Of a public number of rows a part is no larger; a table beyond 2^24 rows has larger parts."""
    whole = Setting(SCHEMA, REPLACE_ONE, 2**25)
    assert whole.within(PARTED).most_rows == 2**25
    assert Setting(SCHEMA, ADD_REMOVE, None, 30).within(ADD_REMOVE).most_rows == 30


def test_noise_of_proven_models_hardly_grows_beyond_2_30_rows() -> None:
    """A sum in 64 bits of 2^37 rows still has steps of 2^-24 of a record."""
    plans = [dc.mean("age", epsilon=0.1), dc.histogram("age", bins=5, epsilon=0.1)]
    for plan in plans:
        usual, wide = (
            plan.prepare(Setting(SCHEMA, ADD_REMOVE, None, cap)).stages[0].noise.std
            for cap in (2**24, 2**37)
        )
        assert usual <= wide <= usual * (1 + 2**-20)


def test_models_that_are_not_proven_are_refused_beyond_2_30_rows() -> None:
    def prepare(cap: int, **options: Any) -> None:
        model = dc.Model(score, bounds=(0, 1), name="score", **options)
        plan = dc.partial_dependence(model, "age", epsilon=0.1)
        plan.prepare(Setting(SCHEMA, ADD_REMOVE, None, cap))

    prepare(2**24)
    prepare(2**37, isolated=True)
    with pytest.raises(
        ModelError, match=r"proven or isolated .* more than 2\^30 rows under add-remove"
    ):
        prepare(2**30 + 1)


def test_cards_and_the_shell_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = describe(registered(tmp_path, most_rows=30_000))
    assert "number of records private, at most 30,000, add-remove" in str(card)
    again = dc.Card.load(card.save(tmp_path / "card.json"))
    assert again == card and again.setting.most_rows == 30_000
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    SCHEMA.save("schema.toml")
    run = CliRunner().invoke
    made = "protect rows.csv --schema schema.toml --dataset a --ledger a.db --epsilon 1"
    assert run(app, f"{made} --relation add-remove --most-rows 30".split()).exit_code == 0
    assert "add-remove, at most 30 rows" in run(app, ["budget", "show"]).output
    changed = run(app, ["budget", "change", "--reason", "it grows", "--most-rows", "50", "--json"])
    assert '"most_rows": 50' in changed.output


def test_cards_of_earlier_versions_are_read(tmp_path: Path) -> None:
    session = registered(tmp_path)
    plain = {k: v for k, v in describe(session).unsigned().items() if k != "most_rows"}
    signature = session.sign(plain)
    signed = {**plain, "public_key": signature.public_key, "signature": signature.value}
    card = dc.Card.from_json(signed)
    assert card.setting.most_rows == 2**24 and card.to_json() == signed
