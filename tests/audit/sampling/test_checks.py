"""The product holds what it promises, as far as runs tell; smaller promises are found broken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.finding import KINDS, Check, Effort, registry_of
from discreet.audit.sampling.checks import checks, lattice_check, sample_check
from discreet.audit.sampling.drawn_ahead import DrawnAhead
from discreet.audit.sampling.plan_subjects import plans
from discreet.audit.sampling.subjects import RunSubject, noises, selections
from discreet.mechanisms import NOISES
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.randomness import SimulatedNoise
from tests.oracles.clocks import Clock
from tests.oracles.goodness import fits
from tests.statistics.test_samplers import laplace_law

CHECKS = checks()


def simulated() -> Iterator[RunSubject]:
    """Yield every subject with noise that begins anew, so that no test follows from those before it."""
    source = SimulatedNoise(3)
    yield from (*noises(source), *selections(source), *plans(source))


def test_everything_registered_is_on_trial() -> None:
    registry = registry_of(CHECKS)
    for law in NOISES:
        for kind in ("sample", "lattice"):
            assert {f"{kind}: {law} noise on counts", f"{kind}: {law} noise on a sum"} <= set(registry)
    assert {f"sample: {name} selection" for name in (*ON_SCORES, *ON_STABILITY)} <= set(registry)
    assert {check.kind for check in CHECKS} == {"sample", "lattice"} <= set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_promises_hold_with_the_real_samplers(check: Check) -> None:
    found = check.run(Effort(seconds=0.9, samples=4000))
    assert found.held, found.said
    assert found.check == check.name and found.tries > 0 and found.found < 1.6


@pytest.mark.slow
@pytest.mark.parametrize("name", [subject.name for subject in simulated()])
def test_a_promise_of_a_tenth_is_found_broken(name: str) -> None:
    """The control of every check: the same runs and the same look, with less promised."""
    (subject,) = [subject for subject in simulated() if subject.name == name]
    smaller = replace(subject, epsilon=subject.epsilon / 10)
    found = sample_check(smaller).run(Effort(seconds=900.0, samples=12_000))
    assert not found.held and found.tightness > 1, found.said


def test_a_mechanism_that_raises_holds_nothing() -> None:
    left = [200]

    def mechanism(table: float) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise ValueError("no")
        return 0.0

    found = sample_check(RunSubject("broken", "two", mechanism, 0.0, 1.0)).run(Effort())
    assert not found.held and "raised ValueError" in found.said


@pytest.mark.parametrize("of", [sample_check, lattice_check])
def test_an_interruption_is_handed_on(of: object) -> None:
    left = [400]

    def mechanism(table: float) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return table + left[0] / 7

    with pytest.raises(KeyboardInterrupt):
        of(RunSubject("stopped", "two", mechanism, 0.0, 1.0)).run(Effort())  # type: ignore[operator]


def test_last_bits_are_looked_at_however_slow_the_first_runs_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, late = Clock(), [0.3]
    monkeypatch.setattr("discreet.audit.sampling.drawing.time", clock)

    def mechanism(table: float, size: int, generator: np.random.Generator) -> np.ndarray:
        clock.passes(late.pop() if late else 0.0)
        return np.rint((table + generator.laplace(0.0, 1.0, size)) * 2.0**20) / 2.0**20

    found = lattice_check(RunSubject("slow", "two", mechanism, 0.0, 1.0, batched=True))
    assert found.run(Effort(seconds=0.1)).held


def test_noise_drawn_ahead_follows_its_law_and_is_used_once() -> None:
    source = DrawnAhead()
    drawn = np.concatenate([source.laplace(2.5, size) for size in (1, 3, 7, 5000, 40) * 8])
    assert fits(drawn.tolist(), laplace_law(2.5)) and not fits(drawn.tolist(), laplace_law(2.8))
    great = [source.laplace(2.0**50, 2) for _ in range(3000)]
    assert len(np.unique(np.concatenate(great))) == 6000
    assert len(source.gaussian(2.0, 3)) == 3
