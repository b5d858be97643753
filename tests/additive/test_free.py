"""Explanations of a released additive model read no row and cost nothing, also by the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.additive.released.result import AdditiveModel
from discreet.cli import app
from discreet.cli.files import load_model
from discreet.cli.questions import _modelled
from discreet.data.table import PrivateTable
from discreet.session import Release

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 10),
        "b": dc.Number(0, 5, step=1, missing=False),
        "home": dc.Category("x", "y"),
        "t": dc.Category("no", "yes", missing=False, other=False),
    },
    target="t",
)


def frame(records: int = 1500) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    made = pd.DataFrame(
        {
            "a": draw.uniform(0, 10, records),
            "b": draw.integers(0, 6, records),
            "home": draw.choice(["x", "y", "elsewhere"], records),
        }
    )
    made.loc[::9, "a"] = np.nan
    chance = 1 / (1 + np.exp(-(made["a"].fillna(5) - 5) / 2))
    return made.assign(t=np.where(draw.random(records) < chance, "yes", "no"))


@pytest.fixture(scope="module")
def asked() -> tuple[dc.Session, Release]:
    session = dc.protect(
        frame(),
        SCHEMA,
        dataset="d",
        ledger=":memory:",
        epsilon=4.0,
        delta=1e-5,
        progress=False,
        workers=1,
    )
    return session, session.release(dc.additive_model("t", epsilon=2.0, delta=1e-6))


def explain(model: AdditiveModel, rows: pd.DataFrame) -> list[Any]:
    """Return all that is free."""
    edited = model.monotone("a").smoothed("b").with_score("home", "x", 0.0).without("b")
    figures = [model.plot(), model.shape("a").plot(), model.importances().plot(), edited.plot()]
    plt.close("all")
    assert all(figure.ax_ is not None for figure in figures)
    return [
        model.to_frame().to_json(),
        model.shape("a"),
        model.shape("home").to_frame().to_json(),
        [*model.shapes()],
        model.importances(),
        model.feature_importances_.tolist(),
        model.shap_values(rows),
        model.to_model().bind(SCHEMA).predict(model.encode(rows)).tolist(),
        model.digest,
        edited,
        edited.predict_proba(rows).tolist(),
    ]


def test_no_row_is_read_and_nothing_is_charged(
    asked: tuple[dc.Session, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, release = asked
    assert isinstance(release.value, AdditiveModel)
    opened: list[PrivateTable] = []
    unseal = PrivateTable.unseal
    monkeypatch.setattr(PrivateTable, "unseal", lambda table: opened.append(table) or unseal(table))
    before, left = len(session.history()), session.remaining
    explain(release.value, frame(50).drop(columns="t"))
    assert opened == [] and session.remaining == left and len(session.history()) == before
    session.release(dc.partial_dependence(release.value, "a", epsilon=0.1))
    assert opened != [], "what reads rows is seen by the spy"


def test_a_saved_release_is_enough(asked: tuple[dc.Session, Release]) -> None:
    """Whoever has the file has the explanations: there is no session, no table and no ledger."""
    again = Release.loads(asked[1].dumps()).value
    assert again == asked[1].value and isinstance(again, AdditiveModel)
    rows = frame(20).drop(columns="t")
    assert explain(again, rows) == explain(asked[1].value, rows)


def test_the_shell_shows_draws_and_uses_it(asked: tuple[dc.Session, Release], tmp_path: Path) -> None:
    path = asked[1].save(tmp_path / "model.json")
    run = CliRunner()
    shown = run.invoke(app, ["show", str(path), "--table", str(tmp_path / "scores.csv")])
    assert shown.exit_code == 0 and "Additive model for t" in shown.output
    table = pd.read_csv(tmp_path / "scores.csv")
    assert {"term", "cell", "score", "count"} <= {*table.columns}
    for ending in ("png", "svg"):
        drawn = run.invoke(app, ["plot", str(path), "--out", str(tmp_path / f"model.{ending}")])
        assert drawn.exit_code == 0 and (tmp_path / f"model.{ending}").stat().st_size > 5_000
    page = run.invoke(app, ["report", str(path), "--out", str(tmp_path / "page.html"), "--no-budget"])
    assert page.exit_code == 0 and "Shape functions" in (tmp_path / "page.html").read_text()
    assert load_model(path) == asked[1].value
    margin = _modelled(asked[1].value, {"output": "margin", "class_": "no"})
    assert margin.output == "margin" and margin.class_index == 0
    edited = asked[1].value.without("b")  # type: ignore[attr-defined]
    assert load_model(edited.save(tmp_path / "edited.json")) == edited


def test_notebooks_show_it(asked: tuple[dc.Session, Release]) -> None:
    html = asked[1]._repr_html_()
    assert html.count("<svg") == 2 and "Shape functions" in html
