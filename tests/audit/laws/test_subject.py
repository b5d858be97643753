"""What is promised: a pair of epsilon and delta, and the curve of the events that are told."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.of_noise import response_subject
from discreet.audit.laws.subject import Promise, Subject
from discreet.errors import ArgumentError
from discreet.privacy.accounting import ApproximateEvent, BoundedRangeEvent, GaussianEvent, PureEvent
from discreet.privacy.accounting.conversion import pure_delta

ASKED = np.array([0.0, 0.5, 1.0, 2.0])


def test_one_event_says_its_curve_itself() -> None:
    event = GaussianEvent(1.3, 0.0)
    assert Promise(1.0, 1e-3, (event,)).curve(ASKED).tolist() == [event.delta(e) for e in ASKED]
    certain = Promise(1.0, 1e-3, (ApproximateEvent(1.0, 1e-3, "x"),)).curve(ASKED)
    assert certain.tolist() == [1.0, 1.0, 1e-3, 1e-3]


def test_several_pure_events_are_one_of_their_sum() -> None:
    both = (PureEvent(0.4, "x"), BoundedRangeEvent(0.6))
    assert Promise(1.0, 0.0, both).curve(ASKED) == pytest.approx([pure_delta(e, 1.0) for e in ASKED])
    assert Promise(1.0).curve(ASKED) == pytest.approx([pure_delta(e, 1.0) for e in ASKED])


def test_of_others_the_pair_is_all_that_is_known() -> None:
    events = (GaussianEvent(1.3, 0.0),) * 2
    assert Promise(1.0, 1e-3, events).curve(ASKED).tolist() == [1.0, 1.0, 1e-3, 1e-3]


def test_an_event_that_says_less_than_the_promise_is_caught() -> None:
    honoured = response_subject(1.0)
    told = Promise(1.0, 0.0, (PureEvent(0.5, "x"),))
    assert exact(honoured).kept
    assert not exact(Subject("told", honoured.law, told, honoured.pairs)).kept


def test_a_smaller_promise_is_a_control() -> None:
    smaller = response_subject(1.0).promising(0.5)
    assert smaller.promise == Promise(0.5) and not exact(smaller).kept


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 1.0), (float("nan"), 0.0)])
def test_wrong_promises_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ArgumentError, match="must be"):
        Promise(epsilon, delta)
