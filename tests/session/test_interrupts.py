"""An interrupted release says that the charge stays, and carries nothing of a row."""

from __future__ import annotations

import signal
import traceback
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

import discreet as dc
from discreet.cli import asking
from discreet.plans import Plan
from discreet.session.session import Session

pytestmark = pytest.mark.usefixtures("hears_ctrl_c")
SECRET = 0.987654321
SCHEMA = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
ROWS = pd.DataFrame(np.random.default_rng(0).uniform(0, 0.9, (60, 2)), columns=["a", "b"])
ROWS.iloc[7, 0] = SECRET


def telling(values: Any) -> None:
    if SECRET in np.asarray(values):
        raise KeyboardInterrupt(f"row with a={SECRET}")


def pressing(values: Any) -> None:
    if SECRET in np.asarray(values):
        signal.raise_signal(signal.SIGINT)


def by_model(stop: Any) -> Plan:
    def model(rows: np.ndarray) -> np.ndarray:
        stop(rows[:, 0])
        return rows[:, 1]

    return dc.partial_dependence(
        dc.Model(model, bounds=(0, 1), name="m"), "b", epsilon=1.0, resolution=3
    )


def by_explainer(stop: Any) -> Plan:
    def explainer(frame: pd.DataFrame) -> list[float]:
        stop(frame["a"])
        return [0.5, 0.5]

    return dc.any_curve(explainer, grid=[0, 1], bounds=(0, 1), subsets=5, name="e", epsilon=1.0)


def by_utility(stop: Any) -> Plan:
    def utility(rows: Any, candidates: Any) -> np.ndarray:
        stop(rows["a"])
        return np.zeros((len(rows["a"]), len(candidates)))

    return dc.choose(utility, [0.0, 1.0], bounds=(0, 1), name="u", epsilon=1.0)


def held(error: BaseException) -> list[types.FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("stop", [telling, pressing])
@pytest.mark.parametrize("plan", [by_model, by_explainer, by_utility])
def test_an_interrupt_is_bare(plan: Any, stop: Any, workers: int) -> None:
    session = dc.protect(
        ROWS, SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", progress=False, workers=workers
    )
    with pytest.raises(
        KeyboardInterrupt, match=r"interrupted after its reservation .* stays spent"
    ) as c:
        session.release(plan(stop))
    error = c.value
    assert error.__cause__ is None and error.__context__ is None
    assert str(SECRET) not in "".join(traceback.format_exception(error))
    assert len(traceback.format_exception(error)) < 10
    inner = [frame.f_locals for frame in held(error)[1:]]
    kinds = {type(value).__name__ for names in inner for value in names.values()}
    assert not kinds & {"ndarray", "DataFrame", "Block", "KeptRows", "_Releaser"}
    assert session.remaining.loss == 8.0


def test_the_command_line_says_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = dc.protect(ROWS, SCHEMA, dataset="d", epsilon=9.0, ledger=":memory:", progress=False)
    monkeypatch.setattr(asking, "open_session", lambda *given, **options: session)
    with pytest.raises(typer.Exit) as left:
        asking.release_plan(by_model(pressing))
    assert left.value.exit_code == 130
    assert "which stays spent. Nothing was released." in capsys.readouterr().err

    def at_once(self: Session, plans: Any, *, fresh: bool) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "release", at_once)
    with pytest.raises(typer.Exit):
        asking.release_plan(by_model(pressing))
    assert capsys.readouterr().err == "Interrupted.\n"
