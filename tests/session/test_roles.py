"""Roles: what is the owner's alone is refused to analysts; stored answers need a share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import AccessDenied, ArgumentError, DiscreetError
from tests.session.conftest import small_frame

Open = Callable[..., dc.Session]


def values_for_owners() -> dc.Plan:
    return dc.data_shapley(LogisticRegression(), test=small_frame(9), records=[0], epsilon=0.1)


OWNERS: dict[str, Callable[[dc.Session], Any]] = {
    "allot": lambda session: session.allot("ann", epsilon=1.0),
    "change_terms": lambda session: session.change_terms(epsilon=9.0, reason="more"),
    "diagnose": lambda session: session.diagnose(dc.histogram("home", epsilon=0.1)),
    "values for owners": lambda session: session.release(values_for_owners()),
}


@pytest.mark.parametrize("call", OWNERS)
def test_owners_calls_are_refused_to_an_analyst(open_session: Open, call: str) -> None:
    owner = open_session()
    owner.allot("ann", epsilon=0.3)
    ann = open_session(analyst="ann")
    before = owner.history()
    with pytest.raises(AccessDenied, match="asked by the data set's owner, got the analyst 'ann'"):
        OWNERS[call](ann)
    assert owner.history().equals(before) and ann.remaining.loss == 0.3


def test_an_analyst_cannot_become_the_owner(open_session: Open) -> None:
    open_session()
    ann = open_session(analyst="ann")
    with pytest.raises(AttributeError):
        ann.analyst = None  # type: ignore[misc]


def test_what_only_an_owner_may_ask_for_when_a_session_is_made(open_session: Open) -> None:
    with pytest.raises(AccessDenied, match="Registering"):
        open_session(analyst="ann", epsilon=9.0)
    open_session()
    with pytest.raises(AccessDenied, match="nobody proved"):
        open_session(analyst="ann", heuristics=True)


@pytest.mark.parametrize("name", ["", " ann", "a\nb", 7, "x" * 300])
def test_a_name_is_checked_when_a_session_is_made(open_session: Open, name: Any) -> None:
    open_session()
    with pytest.raises(ArgumentError, match="analyst must"):
        open_session(analyst=name)


def test_a_stored_release_is_for_analysts_with_a_share(open_session: Open) -> None:
    """It was handed to anybody: the ledger looked for an allotment only when one was charged."""
    owner, plan = open_session(), dc.histogram("home", epsilon=0.2)
    early = open_session(analyst="bob")
    stored = owner.release(plan)
    assert early.release(plan).id == stored.id, "nobody has a share yet: analysts are not told apart"
    owner.allot("ann", epsilon=0.3)
    assert open_session(analyst="ann").release(plan).id == stored.id
    with pytest.raises(AccessDenied, match="allotment"):
        early.release(plan)  # made before there were shares
    with pytest.raises(AccessDenied, match="allotment"):
        open_session(analyst="bob")


def test_the_owner_is_never_refused(open_session: Open) -> None:
    owner = open_session(heuristics=True)
    owner.allot("ann", epsilon=0.3)
    assert open_session().release(dc.histogram("home", epsilon=0.1)).guarantee.certified
    with pytest.raises(DiscreetError, match="can be diagnosed"):
        owner.diagnose(dc.most_frequent("home", epsilon=0.1))
