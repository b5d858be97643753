"""No output of one table is impossible for its neighbour.

Floats are not evenly spaced: noise drawn as a float and added to a float leaves traces of both in the
last bits (Mironov 2012). Lattice noise leaves none; numpy's is the planted fault.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.sampling.float_lattice import granularity, lattice
from discreet.mechanisms import Noise, count_noise, sum_noise
from discreet.privacy.certificate import Box, certify_cells
from discreet.randomness import NoiseSource, SimulatedNoise, SystemNoise

pytestmark = pytest.mark.slow

DRAWS = 4000
FloatArray = np.ndarray
Outputs = Callable[[float, int], FloatArray]


def leaks(outputs: Outputs) -> bool:
    """Say whether outputs for sums 0 and 1 tell the two apart by their spacing alone."""
    return not lattice(outputs, 0.0, 1.0, samples=DRAWS, batched=True).held


def ours(noise: Noise, source: NoiseSource) -> Outputs:
    def outputs(value: float, size: int) -> FloatArray:
        return noise.release(np.full(size, round(value / noise.step)), source)

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
    assert not leaks(ours(noise, source))
    for value in (0.0, 1.0):
        released = ours(noise, source)(value, DRAWS)
        assert granularity(released[released != 0]).min() == noise.step


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_counts_are_released_as_whole_numbers(mechanism: str) -> None:
    noise = count_noise(
        certify_cells(2), relation="replace-one", epsilon=1.0, delta=1e-3, mechanism=mechanism
    )
    outputs = ours(noise, SystemNoise())
    assert not leaks(outputs)
    assert set(np.mod(outputs(1.0, DRAWS), 1.0)) == {0.0}
    # Around the middle every whole number occurs for both.
    middle = set(range(-3, 5))
    for value in (0.0, 1.0):
        assert middle <= set(outputs(value, DRAWS).astype(int))


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_float_noise_is_caught(kind: str) -> None:
    generator = np.random.default_rng(1)

    def outputs(value: float, size: int) -> FloatArray:
        return value + getattr(generator, kind)(0.0, 1.0, size)

    assert leaks(outputs)


@pytest.mark.refutes("lattice")
def test_float_noise_rounded_to_a_lattice_of_its_own_is_caught() -> None:
    """Rounding the noise alone does not help: the sum must be on the lattice before it is added."""
    generator = np.random.default_rng(1)

    def outputs(value: float, size: int) -> FloatArray:
        return (value / 3) + np.rint(generator.laplace(0.0, 1.0, size) * 1024) / 1024

    assert leaks(outputs)
