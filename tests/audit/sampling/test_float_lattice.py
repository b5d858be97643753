"""Float noise betrays its sum by the last bits; lattice noise does not."""

from __future__ import annotations

import json

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.random import Generator

from discreet.audit.sampling.float_lattice import granularity, lattice
from discreet.audit.sampling.subjects import releases_of
from discreet.errors import ArgumentError
from discreet.mechanisms import sum_noise
from discreet.privacy.certificate import Box
from discreet.randomness import SystemNoise


def test_granularity_of_floats() -> None:
    values = np.array([1.0, 1.5, -6.0, 0.1, 2.0**-40, 3.0 * 2.0**60])
    assert granularity(values).tolist() == [1.0, 0.5, 2.0, 2.0**-55, 2.0**-40, 2.0**60]


@pytest.mark.parametrize("kind", ["laplace", "normal", "logistic"])
def test_float_noise_is_caught(kind: str) -> None:
    def noisy(value: float, size: int, generator: Generator) -> np.ndarray:
        return value + getattr(generator, kind)(0.0, 1.0, size)

    audit = lattice(noisy, 0.0, 1.0, batched=True, seed=1)
    assert not audit.held and audit.share > 0.3 and audit.p_value < 1e-12
    assert audit.steps[0] != audit.steps[1] and "never occur" in str(audit)
    assert json.dumps(audit.to_json())


def test_vectors_are_looked_at_number_by_number() -> None:
    def noisy(value: float, size: int, generator: Generator) -> np.ndarray:
        whole = np.rint(generator.laplace(0.0, 50.0, size))
        return np.column_stack([whole, value + generator.laplace(0.0, 1.0, size)])

    assert not lattice(noisy, 0.0, 1.0, batched=True, seed=1).held


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_ours_is_on_one_lattice(mechanism: str) -> None:
    noise = sum_noise(
        Box(0.0, 1.0).certify(1),
        relation="replace-one",  # type: ignore[arg-type]
        epsilon=1.0,
        delta=0.0 if mechanism == "laplace" else 1e-3,
        mechanism=mechanism,  # type: ignore[arg-type]
        largest_sum=1000.0,
    )
    steps = np.array([0]), np.array([int(1 / noise.step)])
    audit = lattice(releases_of(noise, SystemNoise()), *steps, samples=2000, batched=True)
    assert audit.held and audit.share == 0 and audit.bands > 3 and "one lattice" in str(audit)


def test_opendp_is_on_one_lattice() -> None:
    dp.enable_features("contrib")
    noise = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 1.0)
    assert lattice(noise, 0.0, 1.0, samples=1000).held


def test_equal_float_noise_is_not_blamed() -> None:
    """The same sum on both sides cannot be told by its last bits: 100 tries."""

    def noisy(value: float, size: int, generator: Generator) -> np.ndarray:
        return value + generator.laplace(0.0, 1.0, size)

    assert all(lattice(noisy, 1.0, 1.0, samples=300, batched=True, seed=s).held for s in range(100))


def test_too_few_numbers_are_refused() -> None:
    with pytest.raises(ArgumentError, match="Raise samples"):
        lattice(lambda value: value + 1.0, 0.0, 1.0, samples=20)
    with pytest.raises(ArgumentError, match="numbers"):
        lattice(lambda value: "text", 0.0, 1.0, samples=100)


def test_an_interruption_keeps_what_was_drawn() -> None:
    left = [1500]

    def noisy(value: float, generator: Generator) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return value + generator.laplace()

    audit = lattice(noisy, 0.0, 1.0, seed=1)
    assert audit.stopped == "interrupted" and audit.samples == 750 and not audit.held


@pytest.mark.parametrize("tables", [(2, 3), (4, 5), (16, 17)])
def test_little_noise_on_whole_numbers_is_rare_and_not_impossible(tables: tuple[int, int]) -> None:
    def whole(value: int, size: int, generator: Generator) -> np.ndarray:
        keep = 1 - np.exp(-5.0)
        return value + generator.geometric(keep, size) - generator.geometric(keep, size)

    audits = [lattice(whole, *tables, batched=True, samples=100, seed=seed) for seed in range(20)]
    assert all(audit.held for audit in audits)


def test_even_and_odd_numbers_are_told_apart() -> None:
    def doubled(value: int, size: int, generator: Generator) -> np.ndarray:
        return 2 * generator.integers(0, 10**6, size) + value

    assert not lattice(doubled, 0, 1, batched=True, seed=1).held
    assert lattice(doubled, 0, 2, batched=True, seed=1).held
