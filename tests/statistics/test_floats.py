"""No output of one table is impossible for its neighbour.

Floats are not evenly spaced: noise drawn as a float and added to a float leaves traces of both in the
last bits (Mironov 2012). Lattice noise leaves none; numpy's is the planted fault.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.mechanisms import Noise, count_noise, sum_noise
from discreet.privacy.certificate import Box, certify_cells
from discreet.randomness import NoiseSource, SimulatedNoise, SystemNoise
from tests.oracles.goodness import FloatArray, granularity, impossible_share

pytestmark = pytest.mark.slow

DRAWS = 4000
Outputs = Callable[[float], FloatArray]


def leaks(outputs: Outputs, low: float, high: float) -> bool:
    """Say whether outputs for sums 0 and 1 tell the two apart by their spacing alone."""
    zero, one = outputs(0.0), outputs(1.0)
    return max(impossible_share(zero, one, low, high), impossible_share(one, zero, low, high)) > 0


def ours(noise: Noise, source: NoiseSource) -> Outputs:
    def outputs(value: float) -> FloatArray:
        return noise.release(np.full(DRAWS, round(value / noise.step)), source)

    return outputs


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(5)], ids=["system", "simulated"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_sums_are_released_on_one_lattice(source: NoiseSource, mechanism: str, epsilon: float) -> None:
    noise = sum_noise(
        Box(0.0, 1.0).certify(1),
        relation="replace-one",
        epsilon=epsilon,
        delta=1e-3,
        mechanism=mechanism,
        largest_sum=1000.0,
    )
    assert not leaks(ours(noise, source), 0.25, 0.5)
    assert not leaks(ours(noise, source), 0.5, 1.0)
    for value in (0.0, 1.0):
        released = ours(noise, source)(value)
        assert granularity(released[released != 0]).min() == noise.step


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_counts_are_released_as_whole_numbers(mechanism: str) -> None:
    noise = count_noise(
        certify_cells(2), relation="replace-one", epsilon=1.0, delta=1e-3, mechanism=mechanism
    )
    outputs = ours(noise, SystemNoise())
    assert not leaks(outputs, 1.0, 8.0)
    assert set(np.mod(outputs(1.0), 1.0)) == {0.0}
    # Around the middle every whole number occurs for both.
    middle = set(range(-3, 5))
    assert middle <= set(outputs(0.0).astype(int)) and middle <= set(outputs(1.0).astype(int))


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_float_noise_is_caught(kind: str) -> None:
    generator = np.random.default_rng(1)

    def outputs(value: float) -> FloatArray:
        return value + getattr(generator, kind)(0.0, 1.0, DRAWS)

    assert leaks(outputs, 0.25, 0.5)


@pytest.mark.refutes("lattice")
def test_float_noise_rounded_to_a_lattice_of_its_own_is_caught() -> None:
    """Rounding the noise alone does not help: the sum must be on the lattice before it is added."""
    generator = np.random.default_rng(1)

    def outputs(value: float) -> FloatArray:
        return (value / 3) + np.rint(generator.laplace(0.0, 1.0, DRAWS) * 1024) / 1024

    assert leaks(outputs, 0.25, 0.5)
