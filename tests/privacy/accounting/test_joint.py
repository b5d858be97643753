"""What events keep together: never less than an exact composition; only what was priced is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
import pytest

from discreet.errors import CertificateError
from discreet.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    batch_epsilon,
    event_cost,
    joint_delta,
    joint_epsilon,
    joint_rho,
)
from discreet.privacy.accounting.conversion import gaussian_delta, gaussian_deltas, zcdp_delta
from discreet.privacy.accounting.events import GroupEvent
from discreet.privacy.accounting.joint import JointEvents, covers, flatten
from tests.oracles.gaussians import analytic_delta
from tests.privacy.accounting.test_pld import EXACT

MIXED: list[tuple[list[Event], float]] = [
    ([GaussianEvent(9.0, 0.0), PureEvent(0.2, "x")], 0.6),
    ([GaussianEvent(4.0, 0.0)] * 3 + [PureEvent(0.3, "x"), PureEvent(0.1, "x")] * 2, 1.5),
    ([PureEvent(0.1 + k / 50, "x") for k in range(14)], 1.0),
    ([GaussianEvent(2.0, 0.0), BoundedRangeEvent(1.0)], 1.2),
]


def exact_delta(events: Sequence[Event], epsilon: float) -> mp.mpf:
    """Return delta of Gaussians beside randomised responses, by all of their outcomes."""
    outcomes = [(mp.mpf(0), mp.mpf(1))]
    inverse = mp.mpf(0)
    for event in events:
        if isinstance(event, GaussianEvent):
            inverse += mp.mpf(event.multiplier) ** -2
            continue
        assert isinstance(event, PureEvent | BoundedRangeEvent)
        each, truth = mp.mpf(event.epsilon), 1 / (1 + mp.e ** -mp.mpf(event.epsilon))
        outcomes = [
            (loss + sign * each, chance * p)
            for loss, chance in outcomes
            for sign, p in ((1, truth), (-1, 1 - truth))
        ]
    if not inverse:
        return mp.fsum(p * (1 - mp.e ** (epsilon - loss)) for loss, p in outcomes if loss > epsilon)
    multiplier = float(1 / mp.sqrt(inverse))
    return mp.fsum(p * analytic_delta(epsilon - loss, multiplier) for loss, p in outcomes)


def never_below(delta_of: Callable[[Sequence[Event], float], float]) -> bool:
    """Say whether a delta is at least the exact one where no rho makes it less."""
    pairs = [(e, at) for e, at in MIXED if not any(isinstance(x, BoundedRangeEvent) for x in e)]
    return all(
        delta_of(e, at) >= min(exact_delta(e, at), _by_rho(e, at)) * (1 - 1e-9) for e, at in pairs
    )


def _by_rho(events: Sequence[Event], epsilon: float) -> float:
    return zcdp_delta(epsilon, math.fsum(event.rho for event in events))


@pytest.mark.proves("joint-stages")
def test_delta_is_never_below_the_exact_composition() -> None:
    assert never_below(joint_delta)


@pytest.mark.proves("joint-stages")
@pytest.mark.parametrize(("events", "epsilon"), MIXED)
def test_delta_is_hardly_more_than_the_exact_composition(events: list[Event], epsilon: float) -> None:
    assert joint_delta(events, epsilon) <= exact_delta(events, epsilon) * 1.005 + 1e-12


@pytest.mark.proves("joint-stages")
@pytest.mark.parametrize(("events", "delta", "exact"), EXACT)
def test_epsilon_is_never_below_that_of_equal_events(
    events: list[Event], delta: float, exact: Callable[[], float]
) -> None:
    assert joint_epsilon(events, delta) >= exact() * (1 - 1e-9)
    if not any(isinstance(event, CountGaussianEvent) for event in events):
        assert joint_epsilon(events, delta) <= batch_epsilon(events, delta) * (1 + 1e-5)


@pytest.mark.refutes("joint-stages")
def test_stages_that_each_take_the_whole_promise_are_caught() -> None:
    assert not never_below(lambda events, epsilon: max(joint_delta([e], epsilon) for e in events))
    alone = [GaussianEvent(9.0, 0.0)]
    with pytest.raises(CertificateError, match="does not keep"):
        event_cost("basic", alone * 2, joint_epsilon(alone, 1e-6), 1e-6)


@pytest.mark.refutes("joint-stages")
def test_equal_events_that_are_priced_once_are_caught() -> None:
    assert not never_below(lambda events, epsilon: joint_delta(set(events), epsilon))


PRICED = [GaussianEvent(9.0, 1e-12), CountGaussianEvent(5.0, 1), PureEvent(0.2, "x")]


def priced() -> JointEvents:
    return JointEvents(PRICED, 2.0, joint_delta(PRICED, 2.0))


@pytest.mark.refutes("joint-stages")
@pytest.mark.parametrize(
    "asked",
    [
        [GaussianEvent(4.3, 1e-12)],
        [GaussianEvent(6.0, 1e-12)] * 2,
        [GaussianEvent(9.0, 1e-2)],
        [CountGaussianEvent(5.0, 2)],
        [PureEvent(0.3, "x")],
        [PureEvent(0.2 * (1 + 1e-9), "x")],
        [PureEvent(0.2, "x")] * 2,
        [ApproximateEvent(0.1, 1e-9, "x")],
        [GroupEvent(CountGaussianEvent(7.0, 1), 3)],
    ],
    ids=repr,
)
def test_what_was_not_priced_is_not_asked(asked: list[Event]) -> None:
    left = priced()
    with pytest.raises(CertificateError, match="this plan was priced for"):
        left.take(asked)
    left.take([PureEvent(0.1, "y"), GaussianEvent(9.5, 1e-13), CountGaussianEvent(5.0, 1)])


@pytest.mark.proves("joint-stages")
def test_noise_may_be_divided_otherwise_than_it_was_priced() -> None:
    """Whatever passes keeps the promise: noises of the same sum of inverse squares are alike."""
    left, promise = priced(), joint_delta(PRICED, 2.0)
    multiplier = math.sqrt(2 / (1 / 81 + 1 / 25)) * (1 + 1e-9)
    asked = [GaussianEvent(multiplier, 1e-13), GaussianEvent(multiplier, 1e-13), PureEvent(0.2, "x")]
    left.take(asked[:1])
    left.take(asked[1:])
    assert joint_delta(asked, 2.0) <= promise
    with pytest.raises(CertificateError):
        left.take([GaussianEvent(1e3, 0.0)])


@pytest.mark.proves("joint-stages")
@pytest.mark.parametrize("spare", [0.0, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_what_is_left_of_delta_is_told_once(epsilon: float, spare: float) -> None:
    """Less noise and coarser lattices, both as far as they are let pass, keep the promise together."""
    noise, choice = GaussianEvent(5.0, 1e-12), PureEvent(0.2, "x")
    delta = joint_delta([noise, choice], epsilon) * (1 + spare)
    left = JointEvents([noise, choice], epsilon, delta)
    least = left._power**-0.5 * (1 + 1e-14)
    asked = [GaussianEvent(least, left._slack * (1 - 1e-12)), choice]
    left.take(asked)
    assert joint_delta(asked, epsilon) <= delta * (1 + 1e-10)


@pytest.mark.refutes("joint-stages")
@pytest.mark.parametrize("moves", [1, 2])
def test_counts_that_are_priced_alone_are_no_other_noise(moves: int) -> None:
    """Their own curve is not that of continuous noise, which may lose more."""
    counts, epsilon = CountGaussianEvent(1.0, moves), moves / 2
    same = GaussianEvent(moves**-0.5, 0.0)
    assert same.delta(epsilon) > 1.05 * counts.delta(epsilon)
    left = JointEvents([counts], epsilon, counts.delta(epsilon))
    with pytest.raises(CertificateError, match="has less noise"):
        left.take([same])
    left.take([counts])


@pytest.mark.refutes("joint-stages")
def test_counts_of_a_group_that_are_priced_alone_are_no_other_noise() -> None:
    """Continuous noise of the same size, on a lattice as coarse, promises nothing: it is refused."""
    group, epsilon = GroupEvent(CountGaussianEvent(1.4, 1), 2), 2.0
    same = flatten(group)
    delta = joint_delta([group], epsilon)
    assert same.delta(epsilon) > 1.05 * delta
    left = JointEvents([group], epsilon, delta)
    with pytest.raises(CertificateError, match="has less noise"):
        left.take([same])
    left.take([group])
    with pytest.raises(CertificateError, match="has less noise"):
        left.take([group])


@pytest.mark.refutes("joint-stages")
@pytest.mark.parametrize("count", [1, 2])
def test_less_noise_by_more_than_rounding_is_caught(count: int) -> None:
    event = GaussianEvent(9.0, 1e-13)
    JointEvents([event] * count, 2.0, 1e-6).take([event] * count)
    less = GaussianEvent(9.0 * (1 - 1e-7), 1e-13)
    with pytest.raises(CertificateError, match="has less noise"):
        JointEvents([event] * count, 2.0, 1e-6).take([less] * count)


def test_a_choice_is_covered_by_what_is_pure_and_not_the_other_way_round() -> None:
    assert covers(PureEvent(0.2, "x"), BoundedRangeEvent(0.2))
    assert not covers(BoundedRangeEvent(0.2), PureEvent(0.2, "x"))
    events: list[Event] = [PureEvent(0.3, "x"), PureEvent(0.2, "x"), BoundedRangeEvent(0.2)]
    left = JointEvents(events, 1.0, 1e-6)
    left.take([BoundedRangeEvent(0.2)])
    left.take([PureEvent(0.1, "x")])
    left.take([PureEvent(0.3, "x")])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_gaussian_stages_may_have_so_much_rho_in_all(epsilon: float) -> None:
    rho = joint_rho(epsilon, 1e-6)
    events = [GaussianEvent(math.sqrt(0.5 / (rho * share)), 1e-14) for share in (0.5, 0.3, 0.2)]
    assert 0.99 * epsilon <= joint_epsilon(events, 1e-6) <= epsilon * (1 + 1e-6)
    assert joint_delta(events, epsilon) <= 1e-6
    assert joint_rho(epsilon, 1e-6, choices=True) < rho, "rho converts with a loss"


PAIR = ApproximateEvent(0.4, 1e-7, "x")


def test_known_pairs_are_added() -> None:
    assert joint_delta([PAIR, PureEvent(0.6, "x")], 1.0) == pytest.approx(1e-7)
    assert joint_delta([PAIR, PureEvent(0.6, "x")], 0.3) == 1.0


@pytest.mark.proves("joint-stages")
@pytest.mark.parametrize("beside", [PureEvent(0.6, "x"), GaussianEvent(5.0, 0.0)], ids=repr)
def test_a_pair_of_a_group_counts_beside_others(beside: Event) -> None:
    """Three records one after the other: 3 epsilon, and delta 1 + e^0.4 + e^0.8 times."""
    group, own = GroupEvent(PAIR, 3), 1e-7 * (1 + math.exp(0.4) + math.exp(0.8))
    assert joint_delta([group, beside], 1.8) == pytest.approx(own + beside.delta(0.6), rel=1e-9)
    assert joint_delta([group, beside], 1.19) == 1.0
    assert joint_epsilon([group, beside], 0.1) >= 1.2
    assert batch_epsilon([group, beside], 0.1) >= 1.2


@pytest.mark.refutes("joint-stages")
def test_an_event_of_which_nothing_is_known_is_not_left_out() -> None:
    """So a pair of a group was: with others beside it, the group had their delta alone."""
    strange = GroupEvent(ApproximateEvent(2.0, 0.5, "x"), 3)
    assert all(joint_delta([strange, event], 9.0) == 1.0 for event in PRICED)


def test_very_many_pure_events_are_composed_by_their_rhos() -> None:
    events = [PureEvent(0.001, "x")] * 10_000
    assert joint_epsilon(events, 1e-6) < 0.6


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 9.0, 400.0])
def test_many_deltas_are_those_of_one(multiplier: float) -> None:
    epsilons = np.concatenate([-np.geomspace(1e-3, 30, 20), [0.0], np.geomspace(1e-3, 30, 20)])
    each = [gaussian_delta(float(epsilon), multiplier) for epsilon in epsilons]
    assert gaussian_deltas(epsilons, multiplier) == pytest.approx(each, rel=1e-13, abs=1e-299)
