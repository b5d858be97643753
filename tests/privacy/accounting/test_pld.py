"""Prices of batches: never below an exact composition, never above what simpler sums give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import version

import mpmath as mp
import numpy as np
import pytest

from discreet.errors import ArgumentError, UnsupportedEvent
from discreet.privacy.accounting import (
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    batch_epsilon,
)
from discreet.privacy.accounting.conversion import zcdp_epsilon
from discreet.privacy.accounting.discrete import count_gaussian_delta
from discreet.privacy.accounting.pld import _composable
from tests.oracles.gaussians import analytic_delta, least_epsilon

Price = Callable[[Sequence[Event], float], float]


@cache
def response_epsilon(each: float, count: int, delta: float) -> float:
    """Return the exact epsilon of composed randomised responses, a binomial sum."""
    more = 1 / (1 + mp.e ** -mp.mpf(each))
    weights = [mp.binomial(count, j) * more**j * (1 - more) ** (count - j) for j in range(count + 1)]

    def delta_at(epsilon: float) -> mp.mpf:
        losses = [(2 * j - count) * mp.mpf(each) for j in range(count + 1)]
        return mp.fsum(
            w * (1 - mp.e ** (epsilon - loss))
            for w, loss in zip(weights, losses, strict=True)
            if loss > epsilon
        )

    return least_epsilon(delta_at, delta)


@cache
def gaussian_epsilon(multipliers: tuple[float, ...], delta: float) -> float:
    together = float(1 / mp.sqrt(mp.fsum(mp.mpf(m) ** -2 for m in multipliers)))
    return least_epsilon(lambda epsilon: analytic_delta(epsilon, together), delta)


@cache
def counts_epsilon(scale: float, moves: int, delta: float) -> float:
    return least_epsilon(lambda epsilon: mp.mpf(count_gaussian_delta(epsilon, scale, moves)), delta)


EXACT = [
    ([PureEvent(0.1, "rr")] * 20, 1e-6, partial(response_epsilon, 0.1, 20, 1e-6)),
    ([PureEvent(0.5, "rr")] * 30, 1e-5, partial(response_epsilon, 0.5, 30, 1e-5)),
    ([PureEvent(0.01, "rr")] * 500, 1e-6, partial(response_epsilon, 0.01, 500, 1e-6)),
    ([PureEvent(2.0, "rr")] * 3, 1e-3, partial(response_epsilon, 2.0, 3, 1e-3)),
    ([GaussianEvent(10.0, 0.0)] * 10, 1e-6, partial(gaussian_epsilon, (10.0,) * 10, 1e-6)),
    ([GaussianEvent(60.0, 0.0)] * 900, 1e-10, partial(gaussian_epsilon, (60.0,) * 900, 1e-10)),
    (
        [GaussianEvent(10.0, 1e-25), GaussianEvent(30.0, 1e-25)] * 5,
        1e-6,
        partial(gaussian_epsilon, (10.0, 30.0) * 5, 1e-6),
    ),
    ([CountGaussianEvent(3.0, 1)], 1e-5, partial(counts_epsilon, 3.0, 1, 1e-5)),
    ([CountGaussianEvent(3.0, 1)] * 2, 1e-5, partial(counts_epsilon, 3.0, 2, 1e-5)),
    ([CountGaussianEvent(5.0, 2)], 1e-5, partial(counts_epsilon, 5.0, 2, 1e-5)),
]


def never_below_exact(price: Price) -> bool:
    return all(price(events, delta) >= exact() * (1 - 1e-9) for events, delta, exact in EXACT)


@pytest.mark.proves("pld-batch")
def test_a_batch_costs_at_least_its_exact_composition() -> None:
    assert never_below_exact(batch_epsilon)


@pytest.mark.proves("pld-batch")
@pytest.mark.parametrize(("events", "delta", "exact"), EXACT)
def test_a_batch_costs_little_more_than_its_exact_composition(
    events: list[Event], delta: float, exact: Callable[[], float]
) -> None:
    assert batch_epsilon(events, delta) <= exact() * 1.01 + 1e-4 * math.sqrt(len(events)) + 1e-3


@pytest.mark.refutes("pld-batch")
def test_an_ignored_count_is_caught() -> None:
    assert not never_below_exact(lambda events, delta: batch_epsilon(set(events), delta))


@pytest.mark.refutes("pld-batch")
def test_a_forgotten_second_count_or_slack_is_caught() -> None:
    def one_move(events: Sequence[Event], delta: float) -> float:
        less = [
            CountGaussianEvent(e.scale, 1) if isinstance(e, CountGaussianEvent) else e for e in events
        ]
        return batch_epsilon(less, delta)

    assert not never_below_exact(one_move)
    slack = 1e-7  # half of what it may take at most
    with_slack = batch_epsilon([GaussianEvent(10.0, slack)] * 2, 1e-6)
    assert with_slack > batch_epsilon([GaussianEvent(10.0, 0.0)] * 2, 1e-6)
    left = 1e-6 - 2 * slack * (1 + math.exp(with_slack))
    assert with_slack >= gaussian_epsilon((10.0,) * 2, left)


def counts_are_kept(price_times: Callable[[float, int], float]) -> bool:
    """Say whether a hundred uses at once cost what a hundred single ones do, and more than one."""
    return price_times(0.1, 100) > 2 * price_times(0.1, 1)


def test_a_hundred_at_once_are_a_hundred_singles() -> None:
    assert counts_are_kept(lambda epsilon, n: batch_epsilon([PureEvent(epsilon, "x")] * n, 1e-6))


@pytest.mark.skipif(version("dp-accounting") != "0.6.0", reason="the defect of that version")
def test_the_accountant_we_do_not_use_forgets_the_count() -> None:
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.pld import PLDAccountant

    def theirs(epsilon: float, n: int) -> float:
        noise = 2 / (1 + math.exp(epsilon))  # keeps the truth with probability 1 - noise / 2
        accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
        accountant.compose(dp_event.RandomizedResponseDpEvent(noise, 2), n)
        return float(accountant.get_epsilon(1e-6))

    assert not counts_are_kept(theirs)


@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize(
    "event",
    [
        PureEvent(0.2, "x"),
        BoundedRangeEvent(0.2),
        GaussianEvent(8.0, 1e-24),
        CountGaussianEvent(8.0, 2),
    ],
)
def test_grouping_changes_nothing(event: Event, count: int) -> None:
    """Composing by powers gives what composing one by one gives (names keep events apart)."""
    apart = [type(event)(**(vars(event) | {"mechanism": f"m{i}"})) for i in range(count)]
    assert batch_epsilon(apart, 1e-6) == pytest.approx(batch_epsilon([event] * count, 1e-6), rel=2e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize(
    "epsilons",
    [[1e-5] * 1000, [0.00105] * 1000, [1.0], [0.3, 0.7], [100.0] * 10, [1000.0] * 2, [1e-12] * 50],
)
def test_pure_events_never_cost_more_than_their_sum(epsilons: list[float], delta: float) -> None:
    events: list[Event] = [PureEvent(e, "x") for e in epsilons[::2]]
    events += [BoundedRangeEvent(e) for e in epsilons[1::2]]
    assert 0 < batch_epsilon(events, delta) <= math.fsum(epsilons) * (1 + 1e-12)


def test_no_batch_costs_more_than_its_sum_of_rhos() -> None:
    rng = np.random.default_rng(0)
    events: list[Event] = [PureEvent(float(e), "x") for e in rng.choice([0.01, 0.02, 0.005], 400)]
    events += [GaussianEvent(float(m), 1e-26) for m in rng.choice([50.0, 80.0, 100.0], 400)]
    events += [CountGaussianEvent(float(s), 2) for s in rng.choice([60.0, 90.0], 200)]
    rho = math.fsum(event.rho for event in events)
    for delta in (1e-14, 1e-6):
        assert 0.5 < batch_epsilon(events, delta) <= zcdp_epsilon(delta, rho) * (1 + 1e-9)


@pytest.mark.parametrize(
    "events",
    [
        [GaussianEvent(5.0, 1e-3)] * 2,  # the slack alone exceeds delta
        [GaussianEvent(5.0, 0.0)] * 3,  # at a delta below what the grid can tell from zero
        [GaussianEvent(0.01, 1e-30)],  # losses far beyond the grid
        [GaussianEvent(5.0, 1e-30), PureEvent(400.0, "x")],
    ],
)
def test_where_distributions_cannot_answer_simpler_sums_do(events: list[Event]) -> None:
    rho = math.fsum(event.rho for event in events)
    answer = batch_epsilon(events, 1e-15)
    assert math.isfinite(answer)
    assert answer <= zcdp_epsilon(1e-15, rho) * (1 + 1e-9)


def test_counts_with_much_noise_are_composed_as_continuous_noise_plus_slack() -> None:
    event = CountGaussianEvent(1e5, 2)
    twin = _composable(event)
    assert isinstance(twin, GaussianEvent)
    assert twin.multiplier <= 1e5 / math.sqrt(2) and twin.slack >= 2e-11
    assert _composable(CountGaussianEvent(1e3, 2)) == CountGaussianEvent(1e3, 2)
    assert batch_epsilon([event] * 4, 1e-6) >= gaussian_epsilon((1e5 / math.sqrt(2),) * 4, 1e-6)


def test_no_delta_no_gaussian() -> None:
    assert batch_epsilon([GaussianEvent(5.0, 0.0)], 0.0) == math.inf
    assert batch_epsilon([GaussianEvent(1e-200, 0.0)], 1e-6) == math.inf


def test_nothing_costs_nothing() -> None:
    assert batch_epsilon([], 1e-6) == 0.0


def test_wrong_arguments() -> None:
    for delta in (1.0, -1e-9, math.nan, "0", True):
        with pytest.raises(ArgumentError, match="delta must be"):
            batch_epsilon([PureEvent(1.0, "x")], delta)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedEvent, match="object has no privacy loss distribution"):
        batch_epsilon([object()], 1e-6)  # type: ignore[list-item]
