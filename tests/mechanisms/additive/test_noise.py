"""Noise on sums: exact laws over all neighbours, the lattice, and what is told to the accountant."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms import GaussianNoise, LaplaceNoise, Noise, count_noise, sum_noise
from discreet.privacy.accounting import CountGaussianEvent, GaussianEvent, event_cost
from discreet.privacy.accounting.discrete import lattice_slack
from discreet.privacy.certificate import (
    Ball,
    Bounds,
    Box,
    Certificate,
    certify_cells,
)
from discreet.privacy.relation import RELATIONS, Relation
from discreet.randomness import LARGEST_SCALE, SimulatedNoise, SystemNoise
from tests.oracles.gaussians import analytic_delta
from tests.oracles.selection import ScriptedNoise

EPSILONS = (0.05, 0.7, 1.0, 4.0)


def moves(size: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield every integer vector whose L1 norm is at most ``most``."""
    for move in itertools.product(range(-most, most + 1), repeat=size):
        if sum(map(abs, move)) <= most:
            yield move


def greatest_loss(probabilities: Callable[[np.ndarray], np.ndarray], size: int, most: int) -> float:
    """Return the greatest log-ratio over all moves and over all outputs in a wide window."""
    window = np.arange(-40, 41)
    log_law = np.log(probabilities(np.arange(-40 - most, 41 + most)))
    worst = 0.0
    for move in moves(size, most):
        # Coordinates are independent: the greatest loss of a vector is the sum of the greatest.
        losses = [log_law[window + 40 + most] - log_law[window + 40 + most - m] for m in move]
        worst = max(worst, sum(float(np.max(loss)) for loss in losses))
    return worst


# Laplace


@pytest.mark.proves("laplace")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_laplace_on_counts_keeps_epsilon_over_every_move(epsilon: float, relation: Relation) -> None:
    noise = count_noise(certify_cells(3), relation=relation, epsilon=epsilon)
    assert isinstance(noise, LaplaceNoise)
    most = 2 if relation == "replace-one" else 1
    loss = greatest_loss(noise.probabilities, 3, most)
    assert loss <= epsilon * (1 + 1e-12)
    assert loss == pytest.approx(epsilon, rel=1e-9)  # and wastes nothing


@pytest.mark.refutes("laplace")
@pytest.mark.refutes("histogram")
def test_noise_for_one_moved_cell_is_caught_under_replace_one() -> None:
    wrong = count_noise(certify_cells(3), relation="add-remove", epsilon=1.0)
    assert greatest_loss(wrong.probabilities, 3, 1) <= 1.0
    assert greatest_loss(wrong.probabilities, 3, 2) == pytest.approx(2.0)


@pytest.mark.refutes("laplace")
def test_an_l2_scale_is_caught() -> None:
    class FromL2(LaplaceNoise):
        @property
        def scale(self) -> float:
            return self.certificate.sensitivity("l2", self.relation) / self.epsilon

    wrong = FromL2(certify_cells(3), "replace-one", 1.0, 1.0, 2)
    assert greatest_loss(wrong.probabilities, 3, 2) > 1.4


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_law_has_mass_one_and_the_stated_spread(epsilon: float) -> None:
    noise = LaplaceNoise(certify_cells(2), "replace-one", epsilon, 1.0, 2)
    places = np.arange(-4000, 4001)
    law = noise.probabilities(places)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert math.sqrt(float(law @ places**2)) == pytest.approx(noise.std, rel=1e-9)


@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_half_width_on_counts_is_the_least_that_holds(
    mechanism: str, epsilon: float, level: float
) -> None:
    noise = count_noise(
        certify_cells(2), relation="replace-one", epsilon=epsilon, delta=1e-3, mechanism=mechanism
    )
    inside = int(noise.half_width(level))
    mass = noise.probabilities(np.arange(-inside, inside + 1)).sum()
    assert mass >= level - 1e-12
    if inside > 0:
        assert noise.probabilities(np.arange(-inside + 1, inside)).sum() < level


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_half_width_on_a_fine_lattice_is_that_of_the_continuous_law(mechanism: str) -> None:
    noise = sum_noise(
        Box(0.0, 1.0).certify(2),
        relation="replace-one",
        epsilon=1.0,
        delta=1e-6,
        mechanism=mechanism,
        largest_sum=1e6,
    )
    if mechanism == "laplace":
        expected = -math.log(0.05) * noise.step * noise.scale
    else:
        expected = 1.959963984540054 * noise.step * noise.scale
    assert noise.half_width(0.95) == pytest.approx(expected, rel=1e-9)


# Gaussian


@pytest.mark.proves("gauss-counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_on_counts_speaks_of_as_many_moves_as_the_certificate(relation: Relation) -> None:
    noise = count_noise(
        certify_cells(3), relation=relation, epsilon=1.0, delta=1e-6, mechanism="gaussian"
    )
    assert noise.event == CountGaussianEvent(noise.scale, 2 if relation == "replace-one" else 1)
    assert noise.event.delta(1.0) <= 1e-6
    event_cost("basic", noise.event, 1.0, 1e-6)


@pytest.mark.parametrize("scale", [0.4, 3.0, 2.0**21])
def test_gaussian_law_has_mass_one(scale: float) -> None:
    noise = GaussianNoise(
        certify_cells(2), "add-remove", 1.0, 0.5, 1.0, scale, CountGaussianEvent(scale, 1)
    )
    places = np.arange(-30, 31) if scale < 10 else np.arange(-8, 9) * 2**21
    law = noise.probabilities(places)
    if scale < 10:
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        assert math.sqrt(float(law @ places**2)) <= noise.std * (1 + 1e-12)
    else:
        assert law[8] == pytest.approx(1 / (math.sqrt(2 * math.pi) * scale))
        assert law[9] / law[8] == pytest.approx(math.exp(-0.5))


# The lattice


def lattice_values(low: float, high: float, step: float) -> list[float]:
    """Return contributions in a box at which roundings turn, and its ends."""
    halves = range(math.ceil(2 * low / step), math.floor(2 * high / step) + 1)
    near = [h * step / 2 + nudge for h in halves for nudge in (-1e-9, 0.0, 1e-9)]
    return [low, high, *(value for value in near if low <= value <= high)]


def rounded_sums_stay_within(
    noise: Noise, values: list[float], relation: Relation, batch_rows: int
) -> bool:
    """Hunt the worst move of a rounded sum: any record changes, all batch_rows flip outwards."""
    steps = {int(np.rint(value / noise.step)) for value in values}
    away = max(steps) - min(steps) if relation == "replace-one" else max(map(abs, steps))
    worst = away + batch_rows
    size = noise.certificate.size
    bounds = noise.certificate.bounds[relation]
    exact = [Fraction(worst) * Fraction(noise.step)] * size
    fits = sum(exact) <= Fraction(bounds.l1) and exact[0] <= Fraction(bounds.linf)
    fits &= sum(x * x for x in exact) <= Fraction(bounds.l2) ** 2
    if isinstance(noise, LaplaceNoise):
        return fits and size * worst <= noise.sensitivity
    assert isinstance(noise.event, GaussianEvent)
    return fits and math.sqrt(size) * worst * noise.event.multiplier <= noise.scale


def coarse_noise(mechanism: str, relation: Relation, batch_rows: int, box: Box, size: int) -> Noise:
    """Return noise on a lattice so coarse that rounding is worth something: a step of 1/4."""
    certificate = box.certify(size)
    return sum_noise(
        certificate,
        relation=relation,
        epsilon=0.02,
        delta=0.05,
        mechanism=mechanism,
        largest_sum=2.0**58,
        batch_rows=batch_rows,
    )


BOXES = [Box(-0.375, 0.375), Box(0.0, 1.0), Box(-0.3, 0.7), Box(0.1, 0.4)]


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("batch_rows", [0, 3, 100])
@pytest.mark.parametrize("box", BOXES)
def test_the_certificate_in_use_is_that_of_the_rounded_sum(
    mechanism: str, relation: Relation, batch_rows: int, box: Box
) -> None:
    noise = coarse_noise(mechanism, relation, batch_rows, box, 2)
    assert noise.step == 0.25
    values = lattice_values(box.low, box.high, noise.step)
    assert rounded_sums_stay_within(noise, values, relation, batch_rows)
    assert "lattice" in noise.certificate.statements


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_rounding_that_is_not_paid_for_is_caught(mechanism: str) -> None:
    box, relation = Box(-0.375, 0.375), RELATIONS[0]
    values = lattice_values(box.low, box.high, 0.25)
    bare = coarse_noise(mechanism, relation, 0, box, 2)
    assert rounded_sums_stay_within(bare, values, relation, 0)
    assert not rounded_sums_stay_within(bare, values, relation, 1)  # a forgotten companion
    unrounded = dataclasses.replace(bare, certificate=box.certify(2))
    assert not rounded_sums_stay_within(unrounded, values, relation, 0)  # a forgotten widening


@pytest.mark.proves("lattice")
@settings(max_examples=60, deadline=None)
@given(
    st.floats(-10, 0), st.floats(0.1, 1e3), st.integers(1, 40), st.floats(1e-3, 8), st.integers(0, 6)
)
def test_steps_are_fine_and_sums_stay_inside_64_bits(
    low: float, width: float, size: int, epsilon: float, digits: int
) -> None:
    box = Box(low, low + width)
    largest = 10.0**digits * box.magnitude
    for relation, mechanism in itertools.product(RELATIONS, ("laplace", "gaussian")):
        noise = sum_noise(
            box.certify(size),
            relation=relation,
            epsilon=epsilon,
            delta=1e-6,
            mechanism=mechanism,
            largest_sum=largest,
        )
        assert math.frexp(noise.step)[0] == 0.5  # a power of two: products with it are exact
        assert largest / noise.step <= 2.0**61
        assert noise.scale <= LARGEST_SCALE
        # Rounding costs next to nothing.
        ideal = box.certify(size).sensitivity("l1", relation)
        assert noise.certificate.sensitivity("l1", relation) <= ideal * (1 + 1e-6)
        event_cost("basic", noise.event, epsilon, noise.delta)
        event_cost("zcdp", noise.event, epsilon, noise.delta)


@pytest.mark.proves("gauss-lattice")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_gaussian_noise_on_sums_meets_the_analytic_condition_after_rounding(epsilon: float) -> None:
    noise = sum_noise(
        Ball(1.0, "l2").certify(20),
        relation="replace-one",
        epsilon=epsilon,
        delta=1e-6,
        mechanism="gaussian",
        largest_sum=1e5,
        batch_rows=8192,
    )
    assert isinstance(noise.event, GaussianEvent)
    moved = Fraction(noise.certificate.sensitivity("l2", "replace-one")) / Fraction(noise.step)
    assert Fraction(noise.event.multiplier) * moved <= Fraction(noise.scale)
    assert noise.event.slack >= lattice_slack(noise.scale, 20)
    assert analytic_delta(epsilon, noise.event.multiplier) <= 1e-6


def test_a_coarse_lattice_leaves_gaussian_noise_to_laplace() -> None:
    wanted = {"relation": "replace-one", "epsilon": 1.0, "delta": 1e-6, "largest_sum": 2.0**66}
    certificate = Box(0.0, 1.0).certify(1)
    with pytest.raises(ArgumentError, match="lattice's own share"):
        sum_noise(certificate, mechanism="gaussian", **wanted)  # type: ignore[arg-type]
    assert isinstance(sum_noise(certificate, **wanted), LaplaceNoise)  # type: ignore[arg-type]


# Which noise


@pytest.mark.parametrize("size", [1, 3, 400])
def test_auto_takes_the_smaller_spread(size: int) -> None:
    certificate = Box(0.0, 1.0).certify(size)
    choices = {
        name: sum_noise(
            certificate,
            relation="replace-one",
            epsilon=1.0,
            delta=1e-6,
            mechanism=name,
            largest_sum=100.0,
        )
        for name in ("auto", "laplace", "gaussian")
    }
    assert choices["auto"].std == min(choices["laplace"].std, choices["gaussian"].std)
    assert choices["auto"].name == ("gaussian" if size == 400 else "laplace")


def test_auto_without_delta_is_pure() -> None:
    assert count_noise(certify_cells(2), relation="add-remove", epsilon=1.0).delta == 0.0
    assert count_noise(certify_cells(2), relation="add-remove", epsilon=5.0, delta=0.01).std > 0


def test_counts_that_move_by_more_than_two_take_laplace_noise() -> None:
    twice = certify_cells(3).stack(certify_cells(3))
    with pytest.raises(ArgumentError, match="two move by one"):
        count_noise(twice, relation="replace-one", epsilon=1.0, delta=1e-6, mechanism="gaussian")
    noise = count_noise(twice, relation="replace-one", epsilon=1.0, delta=1e-6)
    assert isinstance(noise, LaplaceNoise) and noise.sensitivity == 4


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bounds_rounded_up_do_not_make_a_count_move_further(mechanism: str, relation: Relation) -> None:
    cells = certify_cells(3)
    plain = count_noise(cells, relation=relation, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    for same in (cells.scale(1.0), cells.widen(0.0, "x"), cells.restrict(2)):
        noise = count_noise(same, relation=relation, epsilon=1.0, delta=1e-6, mechanism=mechanism)
        assert noise.scale == plain.scale


def test_counts_that_never_move_still_get_noise() -> None:
    still = Certificate(("constant",), 2, {"add-remove": Bounds(0.0, 0.0, 0.0)})
    for name in ("laplace", "gaussian"):
        noise = count_noise(still, relation="add-remove", epsilon=1.0, delta=1e-6, mechanism=name)
        assert noise.scale > 0.5


# Releasing


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_release_is_the_query_plus_the_drawn_steps(mechanism: str) -> None:
    noise = sum_noise(
        Box(0.0, 1.0).certify(3),
        relation="replace-one",
        epsilon=1.0,
        delta=1e-6,
        mechanism=mechanism,
        largest_sum=100.0,
    )
    source = ScriptedNoise((5, -7, 0))
    raw = np.array([100, 200, -300])
    assert np.array_equal(noise.release(raw, source), np.array([105, 193, -300]) * noise.step)
    assert source.scales == [noise.scale] * 3
    for real in (SystemNoise(), SimulatedNoise(0)):
        assert noise.release(raw, real).shape == (3,)


@pytest.mark.parametrize("bad", [[0.5, 1.5], [[1, 2]], 3, ["a"], [True, False]])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_query_off_the_lattice_is_refused(mechanism: str, bad: object) -> None:
    """A fraction of a step would shine through any integer noise."""
    noise = count_noise(
        certify_cells(2), relation="add-remove", epsilon=1.0, delta=1e-6, mechanism=mechanism
    )
    with pytest.raises(ArgumentError, match="whole lattice steps"):
        noise.release(np.array(bad), SimulatedNoise(0))


def test_unsigned_counts_are_added_as_integers() -> None:
    noise = count_noise(certify_cells(1), relation="add-remove", epsilon=1.0)
    raw = np.array([2**53 + 1], dtype=np.uint64)
    assert noise.release(raw, ScriptedNoise((-(2**53),)))[0] == 1.0


# Wrong arguments


@pytest.mark.parametrize("epsilon", [0, 0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_wrong_epsilon(epsilon: float) -> None:
    for build in (
        lambda: count_noise(certify_cells(2), relation="add-remove", epsilon=epsilon),
        lambda: sum_noise(
            certify_cells(2), relation="add-remove", epsilon=epsilon, delta=0.1, largest_sum=1.0
        ),
        lambda: LaplaceNoise(certify_cells(2), "add-remove", epsilon, 1.0, 1),
        lambda: GaussianNoise(
            certify_cells(2), "add-remove", epsilon, 0.1, 1.0, 5.0, CountGaussianEvent(5.0, 1)
        ),
    ):
        with pytest.raises(ArgumentError, match="epsilon must be a positive finite number, got"):
            build()


@pytest.mark.parametrize("delta", [1.0, -0.1, math.nan, "0", True])
def test_wrong_delta(delta: float) -> None:
    for build in (
        lambda: count_noise(certify_cells(2), relation="add-remove", epsilon=1.0, delta=delta),
        lambda: GaussianNoise(
            certify_cells(2), "add-remove", 1.0, delta, 1.0, 5.0, CountGaussianEvent(5.0, 1)
        ),
    ):
        with pytest.raises(ArgumentError, match="delta must be at least 0 and below 1, got"):
            build()


def test_gaussian_noise_needs_a_delta() -> None:
    with pytest.raises(ArgumentError, match=r"delta must be positive .* mechanism='laplace'\.$"):
        count_noise(certify_cells(2), relation="add-remove", epsilon=1.0, mechanism="gaussian")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"mechanism": "cauchy"},
            "mechanism must be one of auto, laplace, linf, gaussian, got 'cauchy'",
        ),
        ({"largest_sum": 0.0}, "largest_sum must be"),
        ({"largest_sum": math.inf}, "largest_sum must be"),
        ({"batch_rows": -1}, "batch_rows must be"),
        ({"batch_rows": 0.5}, "batch_rows must be"),
        ({"epsilon": 1e-14}, "A noise scale must be"),
    ],
)
def test_wrong_sum_noise(changed: dict[str, object], text: str) -> None:
    right = {"relation": "replace-one", "epsilon": 1.0, "largest_sum": 10.0, "batch_rows": 2**24}
    sum_noise(Box(0.0, 1.0).certify(2), **right)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=text):
        sum_noise(Box(0.0, 1.0).certify(2), **(right | changed))  # type: ignore[arg-type]


def test_wrong_relation() -> None:
    with pytest.raises(ArgumentError, match="relation must be one of"):
        count_noise(certify_cells(2), relation="swap", epsilon=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("step", "sensitivity"), [(0.0, 2), (math.nan, 2), (1.0, 0), (1.0, 1.5), (1.0, True)]
)
def test_wrong_laplace_noise(step: float, sensitivity: int) -> None:
    with pytest.raises(ArgumentError, match="must be"):
        LaplaceNoise(certify_cells(2), "add-remove", 1.0, step, sensitivity)


def test_noise_smaller_than_its_certificate_is_refused() -> None:
    cells = certify_cells(2)
    with pytest.raises(CertificateError, match="less than the certificate"):
        LaplaceNoise(cells, "replace-one", 1.0, 1.0, 1)
    for event, scale in (
        (GaussianEvent(5.0, 0.0), 5.0),  # L2 is sqrt 2
        (CountGaussianEvent(5.0, 1), 5.0),  # two counts move
        (CountGaussianEvent(5.0, 2), 4.0),  # less noise than the event says
    ):
        with pytest.raises(CertificateError, match="less than the certificate"):
            GaussianNoise(cells, "replace-one", 1.0, 0.1, 1.0, scale, event)
    for certificate, step in ((cells, 0.5), (cells.scale(2.0), 1.0)):  # more than one step at once
        with pytest.raises(CertificateError, match="less than the certificate"):
            GaussianNoise(certificate, "add-remove", 1.0, 0.1, step, 5.0, CountGaussianEvent(5.0, 2))


@pytest.mark.parametrize("level", [1.0, -0.1, math.nan, 2.0])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_wrong_level(mechanism: str, level: float) -> None:
    noise = count_noise(
        certify_cells(2), relation="add-remove", epsilon=1.0, delta=1e-6, mechanism=mechanism
    )
    with pytest.raises(ArgumentError, match="level must be"):
        noise.half_width(level)
