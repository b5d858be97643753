"""The K-norm (L-infinity) mechanism: its exact law, its promise, and faults that are caught."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms import count_noise, sum_noise
from discreet.mechanisms.additive.linf import LinfNoise, draw_half_width
from discreet.privacy.certificate import Bounds, Certificate, certify_cells
from discreet.randomness import SimulatedNoise, SystemNoise

REACH = 40


def certificate(size: int, linf: float) -> Certificate:
    bounds = Bounds(size * linf, math.sqrt(size) * linf, linf)
    return Certificate(("pfi-ranking",), size, {"replace-one": bounds})


def cube(size: int = 2, *, moves: int = 2, epsilon: float = 1.0) -> LinfNoise:
    return LinfNoise(certificate(size, moves), "replace-one", epsilon, 1.0, moves)


def mixed_law(noise: LinfNoise, size: int, power: int | None = None) -> dict[tuple[int, ...], float]:
    """Return the law as it is drawn: cubes of every half width, each point of a cube as likely."""
    ratio, power = math.exp(-1 / noise.scale), size if power is None else power
    widths = [(2 * r + 1) ** power * ratio**r for r in range(REACH)]
    total = sum(widths)
    law: dict[tuple[int, ...], float] = {}
    for r, weight in enumerate(widths):
        for point in itertools.product(range(-r, r + 1), repeat=size):
            law[point] = law.get(point, 0.0) + weight / total / (2 * r + 1) ** size
    return law


def worst_loss(law: dict[tuple[int, ...], float], moves: int, inside: int = 12) -> float:
    """Return the greatest log-ratio between tables whose sums differ by at most ``moves`` each."""
    near = [p for p in law if max(map(abs, p)) <= inside]
    shifts = itertools.product(range(-moves, moves + 1), repeat=len(near[0]))
    return max(
        math.log(law[p] / law[tuple(a + b for a, b in zip(p, s, strict=True))])
        for s in shifts
        for p in near
    )


@pytest.mark.proves("box")
@pytest.mark.parametrize(("size", "moves", "epsilon"), [(1, 1, 1.0), (2, 1, 0.8), (2, 2, 1.5)])
def test_the_mixture_of_cubes_keeps_the_promise(size: int, moves: int, epsilon: float) -> None:
    noise = cube(size, moves=moves, epsilon=epsilon)
    law = mixed_law(noise, size)
    flat = {p: math.log(w) + max(map(abs, p)) / noise.scale for p, w in law.items()}
    near = [v for p, v in flat.items() if max(map(abs, p)) <= 12]
    assert max(near) - min(near) < 1e-6  # proportional to exp(-greatest coordinate / scale)
    assert worst_loss(law, moves) == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.refutes("box")
def test_a_wrong_width_and_a_small_bound_are_caught() -> None:
    """Cubes drawn with one power less, and a bound of one loss where two may move."""
    noise = cube(2, moves=1, epsilon=1.0)
    assert worst_loss(mixed_law(noise, 2, power=0), 1) > 1.05
    assert worst_loss(mixed_law(noise, 2), 2) == pytest.approx(2.0, abs=1e-6)
    with pytest.raises(CertificateError, match="Linf"):
        LinfNoise(certificate(2, 2.0), "replace-one", 1.0, 1.0, 1)


@pytest.mark.proves("box")
@pytest.mark.parametrize("exact", [False, True])
def test_half_widths_have_their_law(exact: bool) -> None:
    """Both sources, against the law by a chi-squared distance at which a true sampler fails never."""
    size, scale, times = 3, 1.5, 2_000 if exact else 20_000
    source = SystemNoise() if exact else SimulatedNoise(1)
    drawn = np.array([draw_half_width(size, scale, source) for _ in range(times)])
    weights = np.array([(2 * r + 1) ** size * math.exp(-r / scale) for r in range(60)])
    wanted = times * weights / weights.sum()
    cells = np.minimum(drawn, 15)
    wanted = np.append(wanted[:15], wanted[15:].sum())
    distance = np.sum((np.bincount(cells, minlength=16) - wanted) ** 2 / wanted)
    assert distance < 80  # 15 degrees of freedom: beyond 80 once in 10^10
    shifted = np.sum((np.bincount(np.minimum(drawn + 1, 15), minlength=16) - wanted) ** 2 / wanted)
    assert shifted > 80


@pytest.mark.proves("box")
def test_released_points_have_the_stated_width() -> None:
    noise = sum_noise(
        certificate(5, 2.0),
        relation="replace-one",
        epsilon=0.5,
        largest_sum=1e4,
        batch_rows=3,
        mechanism="linf",
    )
    assert isinstance(noise, LinfNoise)
    assert noise.certificate.sensitivity("linf", "replace-one") == pytest.approx(2.0, rel=1e-6)
    assert noise.sensitivity * noise.step >= 2.0 + 4 * noise.step
    source, raw = SimulatedNoise(3), np.arange(5) * 1000
    found = np.array([noise.release(raw, source) for _ in range(20_000)]) - raw * noise.step
    assert found.std(axis=0) == pytest.approx(noise.std, rel=0.05)
    assert found.max(axis=1).mean() == pytest.approx(noise.mean_greatest(5), rel=0.05)
    assert np.abs(found).max(axis=1).mean() <= noise.mean_farthest(5)
    assert np.abs(found).mean() == pytest.approx(noise.mean_deviation * noise.std, rel=0.02)
    assert noise.std == pytest.approx(4 * math.sqrt(6 * 7 / 3), rel=1e-3)
    for level in (0.5, 0.95):
        inside = np.mean(np.abs(found) <= noise.half_width(level))
        assert inside == pytest.approx(level, abs=0.01)
    with pytest.raises(ArgumentError, match="whole lattice steps"):
        noise.release(np.arange(6), source)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_sums_of_coordinates_stay_within_their_band(size: int) -> None:
    """Sums of uniform variables go farther than one of them, so they need a wider band."""
    noise = sum_noise(
        certificate(size, 1.0),
        relation="replace-one",
        epsilon=1.0,
        largest_sum=1e3,
        mechanism="linf",
    )
    drawn = noise.simulate(np.random.default_rng(5), 200_000, size)
    assert drawn.std() == pytest.approx(noise.std, rel=0.02)
    weights = [np.eye(size)[0], np.full(size, size**-0.5), np.arange(1, size + 1.0)]
    for level in (0.8, 0.95, 0.999):
        band = noise.half_width_of_sums(level)
        for weight in weights:
            outside = np.mean(np.abs(drawn @ weight) > band * np.linalg.norm(weight))
            assert outside <= (1 - level) * 1.1
    assert noise.half_width_of_two(0.0, 0.95) == noise.half_width(0.95)
    if size == 7:  # the band of one coordinate is too narrow for their mean
        assert np.mean(np.abs(drawn @ weights[1]) > noise.half_width(0.95)) > 0.05


@pytest.mark.proves("box")
@pytest.mark.parametrize("epsilon", [0.2, 5.0])
def test_counts_are_whole_and_have_the_stated_width(epsilon: float) -> None:
    """Noise on counts is drawn on a finer lattice, else half widths would hardly ever be kept."""
    noise = count_noise(certify_cells(30), relation="add-remove", epsilon=epsilon, mechanism="linf")
    source, raw = SimulatedNoise(7), np.arange(30)
    found = np.array([noise.release(raw, source) for _ in range(4_000)])
    assert np.array_equal(found, np.rint(found))
    assert (found - raw).std() == pytest.approx(noise.std, rel=0.02)
    assert np.mean(np.abs(found - raw) <= noise.half_width(0.95)) >= 0.945
    assert noise.release(raw[:4], source).shape == (4,)


@pytest.mark.parametrize("size", [1, 2, 13, 100])
def test_many_coordinates_gain(size: int) -> None:
    terms = {"relation": "replace-one", "epsilon": 1.0, "largest_sum": 1e6}
    proven = certificate(size, 2.0)
    ratio = sum_noise(proven, mechanism="linf", **terms).std / sum_noise(proven, **terms).std
    assert ratio == pytest.approx(math.sqrt((size + 1) * (size + 2) / 6) / size, rel=1e-3)
    assert (ratio < 0.5) == (size == 13 or size == 100)


class LongDraws(SimulatedNoise):
    """Every geometric variable is as long as on the finest lattice, and every width is kept."""

    def laplace(self, scale: float, size: int) -> np.ndarray:
        return np.full(size, 2**45)

    def below(self, count: int) -> int:
        return 0


@pytest.mark.proves("box")
def test_half_widths_of_long_vectors_do_not_wrap() -> None:
    """In 64 bits the sum of 2^19 such numbers wraps to almost nothing, and so did the noise."""
    assert draw_half_width(2**19, 2.0**45, LongDraws(0)) == (2**19 + 1) * 2**45


@pytest.mark.parametrize("size", [1, 2**12, 2**17, 2**19, 2**22])
def test_noise_on_long_vectors_fits_its_lattice(size: int) -> None:
    noise = sum_noise(
        certificate(size, 1.0), relation="replace-one", epsilon=1.0, mechanism="linf", largest_sum=1e3
    )
    assert isinstance(noise, LinfNoise) and noise.parts == 1
    assert noise.scale * (size + 1) < 2.0**60
    assert noise.step < 1e-4 * noise.std


def test_noise_that_leaves_64_bits_is_refused() -> None:
    with pytest.raises(ArgumentError, match="inside 64 bits"):
        count_noise(certify_cells(2**20), relation="replace-one", epsilon=1e-14, mechanism="linf")
