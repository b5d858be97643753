"""Events: their zCDP cost against exact divergences, and their shape on disk."""

from __future__ import annotations

import json
import math

import mpmath as mp
import pytest

from discreet.errors import ArgumentError, DiscreetError, UnsupportedEvent
from discreet.privacy.accounting import (
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    event_from_json,
    event_to_json,
)
from discreet.privacy.accounting.events import lattice_term
from tests.oracles.gaussians import discrete_gaussian, product, shifted
from tests.oracles.laws import greatest_rho

EVENTS: list[Event] = [
    PureEvent(0.5, "laplace"),
    BoundedRangeEvent(0.5),
    GaussianEvent(3.0, 1e-20),
    CountGaussianEvent(2.0, 2),
]


def gaussian_pair(scale: float, shifts: tuple[int, ...]) -> tuple[list[mp.mpf], list[mp.mpf]]:
    reach = math.ceil(10 * scale) + max(shifts)
    first, second = [mp.mpf(1)], [mp.mpf(1)]
    for shift in shifts:
        here, there = shifted(discrete_gaussian(scale, reach), shift)
        first, second = product(first, here), product(second, there)
    return first, second


def rho_holds(rho: float, scale: float, shifts: tuple[int, ...]) -> bool:
    """Say whether rho covers discrete Gaussian noise on a vector that moves by ``shifts``.

    The lists end at 10 standard deviations, so orders that live beyond them are left to theory.
    """
    first, second = gaussian_pair(scale, shifts)
    return bool(mp.mpf(rho) >= greatest_rho(first, second, (1, 1.01, 1.5, 2, 3)) * (1 - 1e-12))


@pytest.mark.proves("gauss-zcdp")
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("moves", [1, 2])
def test_rho_of_counts(scale: float, moves: int) -> None:
    assert rho_holds(CountGaussianEvent(scale, moves).rho, scale, (1,) * moves)


@pytest.mark.proves("gauss-zcdp")
@pytest.mark.parametrize("scale", [0.7, 2.0])
@pytest.mark.parametrize("shifts", [(1,), (3,), (1, 2)])
def test_rho_on_a_lattice_needs_no_slack(scale: float, shifts: tuple[int, ...]) -> None:
    assert rho_holds(GaussianEvent(scale / math.hypot(*shifts), 0.5).rho, scale, shifts)


@pytest.mark.refutes("gauss-zcdp")
def test_a_forgotten_count_or_a_shrunk_rho_is_caught() -> None:
    assert not rho_holds(CountGaussianEvent(1.0, 1).rho, 1.0, (1, 1))
    assert not rho_holds(GaussianEvent(2.0 / math.hypot(1, 2), 0.0).rho * 0.99, 2.0, (1, 2))
    assert not rho_holds(GaussianEvent(2.0 / max(1, 2), 0.0).rho, 2.0, (1, 2))  # Linf for L2


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_survives_json_and_has_a_price(event: Event) -> None:
    plain = json.loads(json.dumps(event_to_json(event)))
    assert event_from_json(plain) == event
    assert 0 < event.rho < math.inf
    assert 0 <= event.delta(2.0) <= event.delta(0.1) <= 1


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"event": "LaplaceEvent", "epsilon": 1.0},
        {"event": "PureEvent", "epsilon": 1.0},
        {"event": "PureEvent", "epsilon": 1.0, "mechanism": "x", "count": 3},
    ],
)
def test_unknown_events_are_refused(plain: dict[str, object]) -> None:
    with pytest.raises(UnsupportedEvent, match="not an event this version knows"):
        event_from_json(plain)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_wrong_events_are_refused(bad: float) -> None:
    for build in (
        lambda: PureEvent(bad, "x"),
        lambda: BoundedRangeEvent(bad),
        lambda: GaussianEvent(bad, 0.0),
        lambda: CountGaussianEvent(bad, 1),
        lambda: CountGaussianEvent(1.0, bad),  # type: ignore[arg-type]
        lambda: event_from_json({"event": "PureEvent", "epsilon": bad, "mechanism": "x"}),
    ):
        with pytest.raises(DiscreetError, match=r"must be .*, got"):
            build()


@pytest.mark.parametrize("slack", [-1e-9, 1.0, math.nan, math.inf, "0"])
def test_a_slack_is_a_probability(slack: float) -> None:
    with pytest.raises(ArgumentError, match="slack must be"):
        GaussianEvent(1.0, slack)


def test_the_lattice_term_is_never_cut_off() -> None:
    assert lattice_term(1.0, 0.0) == lattice_term(1e6, 0.0) == 0.0
    assert lattice_term(1.0, 1e-9) >= (1 + math.e) * 1e-9
    assert lattice_term(800.0, 1e-310) == math.inf


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_extreme_noise_has_a_rho(value: float) -> None:
    for rho in (GaussianEvent(value, 0.0).rho, CountGaussianEvent(value, 2).rho):
        assert rho == math.inf if value < 1 else 0 < rho < 1e-300
