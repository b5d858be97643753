"""Noise that adds up to nothing: private where sums are public, exactly drawn, and less of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.laws.of_noise import noise_subject
from discreet.errors import CertificateError
from discreet.mechanisms import LaplaceNoise, count_noise
from discreet.mechanisms.additive.balanced import BalancedLaplaceNoise, _is_kept, balanced
from discreet.privacy.certificate import certify_cells
from discreet.privacy.relation import Relation
from discreet.randomness import NoiseSource, SimulatedNoise, SystemNoise

EPSILONS = (0.3, 1.0, 3.0)


def noise_on(cells: int, epsilon: float = 1.0, total: int = 9) -> BalancedLaplaceNoise:
    found = balanced(count_noise(certify_cells(cells), relation="replace-one", epsilon=epsilon), total)
    assert isinstance(found, BalancedLaplaceNoise)
    return found


def law_on(counts: tuple[int, ...], scale: float, reach: int) -> np.ndarray:
    """Return the law of three noisy counts by its definition, on near vectors that have their sum."""
    line = np.arange(-reach, reach + 1)
    first, second = line[:, None], line[None, :]
    last = sum(counts) - first - second
    away = np.abs(first - counts[0]) + np.abs(second - counts[1]) + np.abs(last - counts[2])
    weights = np.exp(-away / scale)
    return np.asarray(weights / weights.sum())


def greatest_loss(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(np.log(one / other))))


def tables(records: int) -> dict[tuple[int, ...], tuple[int, ...]]:
    return {
        table: tuple(table.count(cell) for cell in range(3))
        for table in itertools.product(range(3), repeat=records)
    }


@pytest.mark.proves("balanced")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_replacement_keeps_epsilon(epsilon: float) -> None:
    scale, worst, counts = noise_on(3, epsilon).scale, 0.0, tables(2)
    laws = {own: law_on(own, scale, math.ceil(30 * scale)) for own in set(counts.values())}
    for table, place, other in itertools.product(counts, range(2), range(3)):
        replaced = (*table[:place], other, *table[place + 1 :])
        worst = max(worst, greatest_loss(laws[counts[table]], laws[counts[replaced]]))
    assert worst == pytest.approx(epsilon, rel=1e-6)  # kept, and nothing is wasted


@pytest.mark.refutes("balanced")
def test_the_scale_of_one_moved_count_is_caught() -> None:
    assert greatest_loss(law_on((2, 0, 0), 1.0, 20), law_on((1, 1, 0), 1.0, 20)) > 1.99


@pytest.mark.refutes("balanced")
def test_sums_that_differ_are_caught() -> None:
    drawn = [noise_on(3).release(np.array([2, 0, 7]), SimulatedNoise(seed)) for seed in range(20)]
    others = [
        noise_on(3, total=8).release(np.array([1, 0, 7]), SimulatedNoise(seed)) for seed in range(20)
    ]
    assert not {float(one.sum()) for one in drawn} & {float(one.sum()) for one in others}
    added = count_noise(certify_cells(3), relation="add-remove", epsilon=1.0)
    assert balanced(added, 9) is added
    with pytest.raises(CertificateError, match="public sum"):
        BalancedLaplaceNoise(certify_cells(3), Relation("add-remove"), 1.0, 1.0, 1, total=9)


def test_a_release_has_the_public_sum_whatever_it_is_given() -> None:
    for source in (SystemNoise(), SimulatedNoise(1)):
        for counts in ([3, 4, 2], [3, 4, 1], [0, 0, 0]):
            assert noise_on(3).release(np.array(counts), source).sum() == 9


@pytest.mark.proves("balanced")
@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(5)])
@pytest.mark.parametrize("cells", [2, 3])
def test_draws_follow_the_law(cells: int, source: NoiseSource) -> None:
    noise, draws = noise_on(cells, 1.5), 1_500
    counts = np.array([4, 5, 0][:cells])
    drawn = np.array([noise.release(counts, source) for _ in range(draws)]) - counts
    assert not drawn.sum(axis=1).any()
    for law, fits in ((noise.probabilities, True), (LaplaceNoise.probabilities.__get__(noise), False)):
        assert (_farthest(drawn, law) < 6.0) is fits


class Words:
    """Gives the same word whenever it is asked."""

    simulation = True

    def __init__(self, word: int) -> None:
        self.word = word

    def below(self, count: int) -> int:
        return self.word


@pytest.mark.proves("balanced")
@pytest.mark.parametrize("scale", [0.4, 2.0, 700.0])
@pytest.mark.parametrize("distance", [1, 2, 5])
def test_draws_are_kept_with_the_chance_that_the_last_count_needs(distance: int, scale: float) -> None:
    edge = math.exp(-distance / scale) * 2.0**32
    below, above = Words(math.floor(edge) - 2), Words(math.ceil(edge) + 2)
    assert _is_kept(distance, scale, below)  # type: ignore[arg-type]
    assert not _is_kept(distance, scale, above)  # type: ignore[arg-type]


def _farthest(drawn: np.ndarray, law: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the greatest distance of a frequency from its probability, in standard errors."""
    places = np.arange(-2, 3)
    chances = law(places)
    seen = np.mean(drawn[:, -1][:, None] == places, axis=0)
    return float(np.max(np.abs(seen - chances) / np.sqrt(chances * (1 - chances) / len(drawn))))


@pytest.mark.parametrize("epsilon", [0.004, 0.3, 3.0])
@pytest.mark.parametrize("cells", [2, 3, 20])
def test_the_spread_is_what_is_said_and_below_that_of_independent_noise(
    cells: int, epsilon: float
) -> None:
    noise = noise_on(cells, epsilon)
    drawn = noise.simulate(np.random.default_rng(2), 5_000, cells)
    assert not drawn.sum(axis=1).any()
    assert drawn.std() == pytest.approx(noise.std, rel=0.08)
    half = noise.half_width(0.95)
    assert np.mean(np.abs(drawn[:, 0]) <= half) > 0.94
    assert np.mean(np.abs(drawn[:, 0]) <= 0.9 * half - 1) < 0.95
    assert np.mean(np.abs(drawn[:, 0] - drawn[:, 1]) > noise.half_width_of_two(1.0, 0.95)) < 0.05
    plain = count_noise(certify_cells(cells), relation="replace-one", epsilon=epsilon)
    assert noise.std < plain.std and half <= plain.half_width(0.95)


def test_of_two_cells_half_the_noise_is_left() -> None:
    assert noise_on(2, 0.1).std == pytest.approx(noise_on(200, 0.1).std / 2, rel=0.02)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 3])
def test_the_audit_lays_out_the_law(cells: int, epsilon: float) -> None:
    subject = noise_subject(noise_on(cells, epsilon))
    rest, move = subject.pairs()[0]
    assert np.max(np.abs(np.log(subject.law(rest) / subject.law(move)))) == pytest.approx(epsilon)


def test_many_cells_keep_independent_noise() -> None:
    plain = count_noise(certify_cells(257), relation="replace-one", epsilon=1.0)
    assert balanced(plain, 9) is plain
