"""Fits on rows that were given: their keys, their assumption, and places of a session's own table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
import discreet.session.releaser as engine
from discreet.data import PrivateTable
from discreet.errors import ArgumentError, DiscreetError
from discreet.estimators.fits import CHOSEN, GIVEN

N = 300
SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "b": dc.Number(0, 1, missing=False),
        "t": dc.Category(0, 1, missing=False, other=False),
    },
    target="t",
)


def table(seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(draw.random((N, 2)), columns=["a", "b"])
    return frame.assign(t=(frame.a > 0.5).astype(int))


def bound(frame: pd.DataFrame, **options: Any) -> dc.PrivateDecisionTreeClassifier:
    terms = {"dataset": "d", "ledger": ":memory:", "epsilon": 1e4, "progress": False}
    session = dc.protect(frame, SCHEMA, **terms, **options)
    return dc.PrivateDecisionTreeClassifier(epsilon=20.0, max_depth=1, session=session)


def test_a_fit_on_other_rows_is_never_found_for_the_table() -> None:
    """Flipped labels were stored as the table's own answer, and came back for nothing."""
    frame = table()
    model = bound(frame)
    session = model.session
    assert session is not None
    model.fit(frame[["a", "b"]], 1 - frame.t)
    plan = dc.decision_tree("t", features=("a", "b"), depth=1, epsilon=20.0)
    own = session.release(plan)
    assert own.id != model.release_.id
    assert np.mean(own.value.predict(frame) == frame.t) > 0.9
    assert np.mean(model.predict(frame[["a", "b"]]) == frame.t) < 0.1
    assert session.release(plan).id == own.id
    again = model.fit(frame[["a", "b"]], 1 - frame.t).release_
    assert again.id != model.fit(frame[["a", "b"]], 1 - frame.t).release_.id
    keys = {entry.plan_key for entry in session._ledger.history("d") if entry.kind == "reserve"}
    assert len(keys) == 4, "every fit on given rows is a question of its own"


def test_the_assumption_is_on_the_face_of_the_guarantee() -> None:
    frame = table()
    features, labels = frame[["a", "b"]], frame.t
    alone = dc.PrivateDecisionTreeClassifier(20.0, max_depth=1, bounds=(0, 1), classes=[0, 1])
    piped = make_pipeline(StandardScaler(), bound(frame)).fit(features, labels)[-1]
    for model in (alone.fit(features, labels), bound(frame).fit(features, labels), piped):
        assert GIVEN in model.guarantee_.assumptions
        assert "provided that each row of X is made from one record alone" in str(model.guarantee_)
        assert "no record is in two rows" in model.release_.dumps()
    whole, places = bound(frame).fit(), bound(frame).fit(rows=range(0, N, 2))
    for model in (whole, places):
        assert GIVEN not in model.guarantee_.assumptions and "provided" not in str(model.guarantee_)
        assert model.guarantee_.certified
    assert CHOSEN in places.guarantee_.assumptions and CHOSEN not in whole.guarantee_.assumptions


def test_rows_of_the_own_table_are_trained_on_by_their_places() -> None:
    frame = table()
    frame.loc[N // 2 :, "t"] = 1 - frame.t[N // 2 :]
    model = bound(frame)
    halves = np.arange(N // 2), np.arange(N // 2, N)
    for half in halves:
        rows = frame.iloc[half]
        assert model.fit(rows=half).score(rows[["a", "b"]], rows.t) > 0.9
    assert model.fit(rows=halves[0][::-1]).release_.plan == model.fit(rows=halves[0]).release_.plan
    folds = [model.fit(rows=train).guarantee_ for train, _ in KFold(2).split(frame)]
    assert all(guarantee.certified for guarantee in folds)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 1, 1], "one twice"),
        ([0, N], "places from 0 to 299"),
        ([-1, 0], "places from 0 to 299"),
        ([0.5], "places from 0 to 299"),
        ([True, False], "places from 0 to 299"),
        ([], "places from 0 to 299"),
        ("all", "places from 0 to 299"),
        (None, "requires y"),
    ],
)
def test_places_are_checked_and_nothing_is_spent(rows: Any, message: str) -> None:
    model = bound(table())
    with pytest.raises(DiscreetError, match=message):
        model.fit(table()[["a", "b"]]) if rows is None else model.fit(rows=rows)
    assert model.session is not None and model.session.balance.spent.loss == 0


def test_places_need_a_session_and_public_positions() -> None:
    frame = table()
    with pytest.raises(ArgumentError, match="places of a session's own table"):
        dc.PrivateDecisionTreeClassifier(bounds=(0, 1), classes=[0, 1]).fit(rows=[0, 1])
    with pytest.raises(ArgumentError, match="places of a session's own table"):
        bound(frame).fit(frame[["a", "b"]], frame.t, rows=[0, 1])
    with pytest.raises(ArgumentError, match="left out under add-remove"):
        bound(frame, relation="add-remove").fit(rows=[0, 1])


# -- how far one record moves what is added up


Fit = Callable[[dc.PrivateDecisionTreeClassifier, pd.DataFrame], Any]


def first_sums(fit: Fit, frame: pd.DataFrame, patch: pytest.MonkeyPatch) -> tuple[Any, float]:
    """Return the exact sums of the first stage, and the bound on their move, in steps."""
    seen: list[tuple[Any, float]] = []
    true = engine.add_up

    def spy(rows: Any, summands: Any, **options: Any) -> Any:
        raw = true(rows, summands, **options)
        bound_ = summands[0].contribution.certificate.sensitivity("l1", "replace-one")
        seen.append((raw[0].copy(), bound_ / summands[0].step))
        return raw

    with patch.context() as context:
        context.setattr(engine, "add_up", spy)
        fit(bound(frame), frame)
    return seen[0]


def worst_move(fit: Fit, patch: pytest.MonkeyPatch) -> float:
    """Return how far replacing one record moves the sums, in units of the certificate."""
    before, most = first_sums(fit, table(), patch)
    worst = 0.0
    for place, (a, t) in ((0, (0.95, 0)), (1, (0.05, 1)), (N - 1, (0.95, 0)), (150, (0.05, 1))):
        other = table()
        other.loc[place, ["a", "b"]] = a
        other.loc[place, "t"] = t
        worst = max(worst, float(np.abs(first_sums(fit, other, patch)[0] - before).sum()) / most)
    return worst


def by_places(model: dc.PrivateDecisionTreeClassifier, frame: pd.DataFrame) -> Any:
    return model.fit(rows=np.arange(0, N, 2))


def bagged(model: dc.PrivateDecisionTreeClassifier, frame: pd.DataFrame) -> Any:
    twice = frame.iloc[np.tile(np.arange(0, N, 10), 10)]
    return model.fit(twice[["a", "b"]], twice.t)


def twice(model: dc.PrivateDecisionTreeClassifier, frame: pd.DataFrame) -> Any:
    return model.fit(rows=np.tile(np.arange(0, N, 10), 10))


@pytest.mark.proves("given-rows")
def test_one_record_moves_a_fit_by_places_within_its_certificate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert 0 < worst_move(by_places, monkeypatch) <= 1
    assert 0 < worst_move(lambda model, frame: model.fit(), monkeypatch) <= 1


@pytest.mark.refutes("given-rows")
def test_a_record_in_many_rows_moves_more_than_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the assumption is for, and what the check of places keeps out."""
    assert worst_move(bagged, monkeypatch) > 2
    monkeypatch.setattr(np, "unique", lambda values, **options: values)
    assert worst_move(twice, monkeypatch) > 2, "the planted fault: duplicates pass"


def test_places_are_read_in_order_from_every_chunk() -> None:
    from discreet.data.rows import open_rows

    matrix = np.arange(140_000.0)[:, None] / 140_000
    schema = dc.Schema({"x": dc.Number(0, 1, missing=False)})
    places = np.random.default_rng(0).permutation(140_000)[:70_000]
    part = PrivateTable(matrix, schema).at(places)
    read = np.concatenate([block.values for block in open_rows(part, ["x"])])
    assert part.count() == 70_000 and np.array_equal(read, matrix[np.sort(places)])
