"""Whoever edits a release, and leaves its place in the ledger as it is, is found by ``verify``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.ledger.chain import body_digest

Open = Callable[..., dc.Session]
Edit = Callable[[dict[str, Any]], Any]


def edited(release: dc.Release, edit: Edit) -> dc.Release:
    plain = json.loads(release.dumps())
    edit(plain)
    return dc.Release.loads(json.dumps(plain))


@pytest.fixture
def session(open_session: Open) -> dc.Session:
    return open_session(progress=False)


@pytest.fixture
def release(session: dc.Session) -> dc.Release:
    return session.release(dc.histogram("home", epsilon=0.25))


EDITS: dict[str, tuple[Edit, str]] = {
    "a count": (lambda r: r["value"]["counts"].__setitem__(0, 99999), "was edited"),
    "a count, by little": (
        lambda r: r["value"]["counts"].__setitem__(0, r["value"]["counts"][0] + 1e-9),
        "was edited",
    ),
    "epsilon": (lambda r: r["guarantee"].update(epsilon=0.0001), "was edited"),
    "the stamp": (lambda r: r["guarantee"].update(certified=False), "was edited"),
    "the plan": (lambda r: r["plan"]["arguments"].update(columns=["age"]), "was edited"),
    "a stage": (lambda r: r["stages"].clear(), "was edited"),
    "the time": (lambda r: r.update(created="2001-01-01T00:00:00+00:00"), "was edited"),
    "the version": (lambda r: r.update(version="2"), "was edited"),
    "the id": (lambda r: r.update(id="0" * 32), "was never settled in this ledger"),
    "the data set": (lambda r: r.update(dataset="others"), "was never settled in this ledger"),
    "the head": (lambda r: r["head"].update(sequence=1), "carries the place of another entry"),
    "no head": (lambda r: r.update(head=None), "carries no place in the ledger"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_told(session: dc.Session, release: dc.Release, name: str) -> None:
    edit, sentence = EDITS[name]
    found = session.verify([release, edited(release, edit)])
    assert not found.ok
    assert any(sentence in problem for problem in found.problems), found.problems


def test_genuine_releases_pass_however_they_travelled(
    session: dc.Session, release: dc.Release, tmp_path: Path
) -> None:
    again = session.release(dc.histogram("home", epsilon=0.25))
    loaded = dc.Release.load(release.save(tmp_path / "kept.json"))
    assert session.verify([release, again, loaded, tmp_path / "kept.json"]).problems == []


def test_one_release_with_the_head_of_another(session: dc.Session, release: dc.Release) -> None:
    other = session.release(dc.histogram("age", epsilon=0.25))
    assert other.head is not None
    (problem,) = session.verify([release.with_head(other.head)]).problems
    assert "carries the place of another entry" in problem


def test_a_file_with_a_line_that_no_release_has(
    session: dc.Session, release: dc.Release, tmp_path: Path
) -> None:
    plain = json.loads(release.dumps()) | {"remark": "epsilon is really 0.001"}
    (tmp_path / "remark.json").write_text(json.dumps(plain))
    (problem,) = session.verify([tmp_path / "remark.json"]).problems
    assert "was edited" in problem


def test_a_ledger_that_was_made_to_fit_the_edit(
    session: dc.Session, release: dc.Release, tmp_path: Path
) -> None:
    forged = edited(release, EDITS["a count"][0])
    body = json.dumps({**forged.to_json(), "head": None})
    with closing(sqlite3.connect(tmp_path / "books.db", isolation_level=None)) as books:
        books.execute("UPDATE discreet_releases SET body = ?", [body])
        problems = session.verify([forged]).problems
        assert any("cannot be compared" in problem for problem in problems), problems
        change = "UPDATE discreet_entries SET body_digest = ? WHERE kind = 'settle'"
        books.execute(change, [body_digest(body)])
    assert any("was never settled" in problem for problem in session.verify([forged]).problems)


def test_a_text_stored_by_an_earlier_version_passes(session: dc.Session, release: dc.Release) -> None:
    """A reader may add what an old text lacks; the release read from it is no edit."""
    reservation = session._ledger.reserve(
        "people",
        release_cost := session.price(dc.histogram("age", epsilon=0.1)).cost.amount,
        plan_key="old",
        note={},
    )
    plain = json.loads(release.dumps()) | {"id": reservation.id, "head": None}
    plain["guarantee"].pop("protects")
    head = session._ledger.settle(reservation, version="1", body=json.dumps(plain))
    read = dc.Release.loads(json.dumps(plain)).with_head(head)
    assert release_cost.loss > 0 and "protects" in read.to_json()["guarantee"]
    assert session.verify([read]).problems == []
    assert not session.verify([edited(read, EDITS["epsilon"][0])]).ok
