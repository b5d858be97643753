"""One suite over every mechanism: its exact law, its promise, what the accountant charges.

The laws are those of the audit's catalogue, which walks through the registries: a new mechanism joins
by being registered.
"""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from discreet.audit.laws.catalogue import catalogue
from discreet.audit.laws.divergence import ROUNDING, aligned
from discreet.audit.laws.exact_audit import ExactAudit, exact
from discreet.audit.laws.subject import Subject
from discreet.errors import UnsupportedEvent
from discreet.privacy.accounting import (
    ACCOUNTANTS,
    AccountantName,
    ApproximateEvent,
    event_cost,
    event_from_json,
    event_to_json,
)

SLOW = "splits of a tree, laplace"
NAMES = [name for name in catalogue() if name != SLOW]
ALL = pytest.mark.parametrize("name", NAMES)


@cache
def subjects(name: str) -> list[Subject]:
    return catalogue()[name]()


@cache
def audits(name: str) -> list[ExactAudit]:
    return [exact(subject) for subject in subjects(name)]


@ALL
def test_a_law_is_a_law(name: str) -> None:
    for subject in subjects(name):
        for x, y in itertools.islice(subject.pairs(), 20):
            for law in aligned(subject.law(x), subject.law(y)):
                assert (law >= 0).all()
                assert law.sum() == pytest.approx(1.0, abs=1e-6 if len(law) > 100 else 1e-9)


@ALL
def test_the_promise_is_kept_by_every_neighbour(name: str) -> None:
    for audit in audits(name):
        assert audit.complete and audit.kept, audit.worst


@ALL
def test_a_smaller_promise_is_caught(name: str) -> None:
    """The same audit refuses an epsilon that the mechanism does not keep."""
    for subject, audit in zip(subjects(name), audits(name), strict=True):
        smaller = subject.promise.epsilon / subject.caught
        assert audit.epsilon > smaller
        assert not exact(subject.promising(smaller)).kept


@ALL
def test_the_loss_comes_near_the_promise_or_it_is_said_why_not(name: str) -> None:
    for subject, audit in zip(subjects(name), audits(name), strict=True):
        assert audit.tightness > 0.9 or subject.loose


@ALL
def test_no_outcome_is_impossible_for_a_neighbour(name: str) -> None:
    for subject in subjects(name):
        rarest = max(subject.promise.delta, ROUNDING)
        for x, y in itertools.islice(subject.pairs(), 60):
            p, q = aligned(subject.law(x), subject.law(y))
            assert max(p[q == 0].max(initial=0), q[p == 0].max(initial=0)) <= rarest


@ALL
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_every_event_is_charged_and_together_they_cost_no_more_than_promised(
    name: str, accountant: AccountantName
) -> None:
    for promise in (subject.promise for subject in subjects(name)):
        share = promise.epsilon / len(promise.events)
        for event in promise.events:
            if accountant == "zcdp" and isinstance(event, ApproximateEvent):
                with pytest.raises(UnsupportedEvent, match="has no zCDP cost"):
                    event_cost(accountant, event, share, promise.delta)
                continue
            cost = event_cost(accountant, event, share, promise.delta / len(promise.events))
            assert cost.loss > 0
            assert event_from_json(event_to_json(event)) == event
