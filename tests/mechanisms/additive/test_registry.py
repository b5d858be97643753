"""What every noise of the registry says of itself holds, and its names are those of signatures."""

from __future__ import annotations

import typing

import numpy as np
import pytest

from discreet.mechanisms import NOISES, Noise, NoiseName, count_noise, sum_noise
from discreet.mechanisms.additive.noise import LawName
from discreet.mechanisms.additive.registry import asks_for_pure, laws_for, noise_names
from discreet.mechanisms.selection.borda import BORDA_MECHANISMS, BordaMechanism
from discreet.mechanisms.selection.ranking import ORDERS, RANKINGS, OrderName, RankingName
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY, tells_gap
from discreet.privacy.certificate import Box, certify_cells
from discreet.randomness import SimulatedNoise
from discreet.select.choose.chooser import CHOICES, ChoiceName
from discreet.trees.splits import DAMPENING, MECHANISMS, SplitName

SIZE = 6


def words(annotation: object) -> set[str]:
    if typing.get_origin(annotation) is typing.Literal:
        return set(typing.get_args(annotation))
    return set().union(*map(words, typing.get_args(annotation)))


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        (LawName, NOISES),
        (NoiseName, noise_names()),
        (RankingName, RANKINGS),
        (OrderName, ORDERS),
        (BordaMechanism, BORDA_MECHANISMS),
        (ChoiceName, CHOICES),
        (SplitName, MECHANISMS),
    ],
)
def test_signatures_name_what_the_registries_hold(annotation: object, names: object) -> None:
    assert words(annotation) == set(names)  # type: ignore[call-overload]


def made(name: LawName, *, counts: bool) -> Noise:
    promise = {"relation": "replace-one", "epsilon": 0.5, "delta": 1e-5, "mechanism": name}
    if counts:
        return count_noise(certify_cells(SIZE), **promise)  # type: ignore[arg-type]
    certificate = Box(-1.0, 1.0).certify(SIZE)
    return sum_noise(certificate, largest_sum=100.0, **promise)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("name", NOISES)
def test_a_noise_says_of_itself_what_its_draws_show(name: LawName, counts: bool) -> None:
    noise, source = made(name, counts=counts), SimulatedNoise(11)
    assert noise.name == name and (noise.delta > 0) == noise.needs_delta
    zeros = np.zeros(SIZE, dtype=np.int64)
    released = np.array([noise.release(zeros, source) for _ in range(3_000)])
    for drawn in (released, noise.simulate(np.random.default_rng(2), 30_000, SIZE)):
        assert drawn.std() == pytest.approx(noise.std, rel=0.05)
        assert np.abs(drawn).mean() == pytest.approx(noise.mean_deviation * noise.std, rel=0.05)
        assert drawn.max(axis=1).mean() <= noise.mean_greatest(SIZE) * 1.05
        assert np.abs(drawn).max(axis=1).mean() <= noise.mean_farthest(SIZE) * 1.05
        assert np.mean(np.abs(drawn) <= noise.half_width(0.95)) >= 0.94
        for weight in (0.0, 0.5, 1.0, 3.0):
            two = np.abs(drawn[:, 0] + weight * drawn[:, 1])
            assert np.mean(two <= noise.half_width_of_two(weight, 0.95)) >= 0.935
        even = np.abs(drawn.sum(axis=1)) / np.sqrt(SIZE)
        assert np.mean(even <= noise.half_width_of_sums(0.95)) >= 0.94
        squares = np.corrcoef(drawn[:, 0] ** 2, drawn[:, 1] ** 2)[0, 1]
        assert noise.independent == (abs(squares) < 0.1)


def test_auto_compares_independent_laws_unless_all_coordinates_may_be_drawn_at_once() -> None:
    for delta in (0.0, 1e-6):
        usable = {name for name, law in NOISES.items() if delta > 0 or not law.needs_delta}
        assert set(laws_for("auto", delta, joint=True)) == usable
        assert set(laws_for("auto", delta)) == {name for name in usable if NOISES[name].independent}
    assert all(laws_for(name, 0.0) == (name,) for name in NOISES)
    assert not asks_for_pure("auto")
    assert {name for name in NOISES if asks_for_pure(name)} == set(laws_for("auto", 0.0, joint=True))


def test_a_mechanism_has_one_meaning_in_every_plan_that_selects() -> None:
    assert not set(ON_SCORES) & {*ON_STABILITY, DAMPENING}
    assert [name for name in (*ORDERS, *CHOICES) if tells_gap(name)] == ["laplace", "laplace"]
