"""Laws of noise that the audit lays out itself, against draws and against definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.of_noise import noise_subject, response_subject, rounded_cubes, whole_cubes
from discreet.audit.laws.of_scores import laplace_at, laplace_below
from discreet.errors import ArgumentError
from discreet.mechanisms import LinfNoise, count_noise, sum_noise
from discreet.privacy.accounting.conversion import gaussian_delta
from discreet.privacy.certificate import Bounds, Box, Certificate, certify_cells
from discreet.randomness import SimulatedNoise
from tests.oracles.gaussians import discrete_gaussian, shifted
from tests.oracles.laws import hockey_stick


def cubes(size: int) -> LinfNoise:
    bounds = Bounds(size * 1.0, math.sqrt(size), 1.0)
    certificate = Certificate(("pfi-ranking",), size, {"replace-one": bounds})
    return LinfNoise(certificate, "replace-one", 1.0, 1.0, 1)


@pytest.mark.parametrize("size", [1, 2])
def test_rounded_cubes_are_what_is_released(size: int) -> None:
    noise, source = cubes(size), SimulatedNoise(3)
    law = rounded_cubes(noise, size)((0,) * size)
    side = round((len(law) - 1) ** (1 / size))
    window = law[:-1].reshape((side,) * size)
    times = 3_000
    drawn = np.array([noise.release(np.zeros(size, dtype=np.int64), source) for _ in range(times)])
    middle = (side - 1) // 2
    for place in ([0] * size, [1] * size, [2] + [0] * (size - 1)):
        chance = window[tuple(p + middle for p in place)]
        seen = (drawn == place).all(axis=1).mean()
        assert abs(seen - chance) < 5 * math.sqrt(chance / times)
    wrong = rounded_cubes(cubes(size), size)((1,) * size)[:-1].reshape((side,) * size)
    zero = (middle,) * size
    assert abs((drawn == 0).all(axis=1).mean() - wrong[zero]) > 5 * math.sqrt(wrong[zero] / times)


def test_three_coordinates_follow_their_greatest() -> None:
    law = whole_cubes(cubes(3))((0, 0, 0))
    side = round((len(law) - 1) ** (1 / 3))
    window, m = law[:-1].reshape((side,) * 3), (side - 1) // 2
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert window[m, m, m] / window[m + 2, m - 1, m] == pytest.approx(math.exp(2.0))


def test_gaussian_noise_on_counts_is_the_exact_sum() -> None:
    noise = count_noise(
        certify_cells(1), relation="add-remove", epsilon=1.0, delta=1e-3, mechanism="gaussian"
    )
    audit = exact(noise)
    law = discrete_gaussian(noise.scale, math.ceil(14 * noise.scale))
    for epsilon in (0.0, 0.7, 1.0, 1.4):
        expected = float(hockey_stick(*shifted(law, 1), epsilon))
        assert audit.curve([epsilon])[0] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_gaussian_noise_on_sums_is_the_continuous_curve() -> None:
    noise = sum_noise(
        Box(0.0, 1.0).certify(1),
        relation="replace-one",
        epsilon=1.0,
        delta=1e-6,
        mechanism="gaussian",
        largest_sum=1e6,
    )
    audit = exact(noise)
    for epsilon in (0.0, 0.5, 1.0):
        expected = gaussian_delta(epsilon, noise.event.multiplier)  # type: ignore[attr-defined]
        assert audit.curve([epsilon])[0] == pytest.approx(expected, rel=1e-5)
    assert 0.999 < audit.tightness <= 1.0


@pytest.mark.parametrize("values", [2, 3, 10])
def test_randomised_response_is_known_in_closed_form(values: int) -> None:
    audit = exact(response_subject(0.8, values))
    lie = 1 / (math.exp(0.8) + values - 1)
    assert audit.epsilon == pytest.approx(0.8, abs=1e-9)
    assert audit.curve([0.3])[0] == pytest.approx(lie * (math.exp(0.8) - math.exp(0.3)))


def test_laplace_chances_add_up() -> None:
    places = np.arange(-200, 201)
    assert laplace_at(places, 2.5).sum() == pytest.approx(1.0)
    assert np.diff(laplace_below(places, 2.5)) == pytest.approx(laplace_at(places[:-1], 2.5))


def test_many_coordinates_are_refused() -> None:
    with pytest.raises(ArgumentError, match="the number of coordinates must be"):
        noise_subject(cubes(4))
