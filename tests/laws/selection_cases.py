"""Pairs of exact laws of neighbours for every selection mechanism beyond the plain ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import discreet as dc
from discreet.mechanisms import InverseSensitivity, JointSmoothMax, LocalDampening, SmoothNoisyMax
from discreet.mechanisms.smooth.tables import TABLES
from discreet.plans import Setting
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import certify_cells
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.quantiles.cuts import QuantileCuts
from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities
from discreet.select.quantiles.percentile import PERCENTILE_CHOICES, percentile
from tests.select.tables import neighbours, small_tables

FloatArray = np.ndarray
Pairs = Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
Fields = tuple[str, float, float, tuple[Event, ...], Pairs, float]
"""Name, epsilon, delta, events, pairs, and the factor below its promise at which it is caught."""

RELATIONS = ("replace-one", "add-remove")
SCHEMA = dc.Schema({"size": dc.Number(0, 2, step=1), "kind": dc.Category("a", "b", "c")})


def of_tables(law: Callable[[FloatArray], FloatArray], relation: str, most: int = 4) -> Pairs:
    known = cache(lambda counts: law(np.array(counts)))

    def pairs() -> Iterator[tuple[FloatArray, FloatArray]]:
        for counts in small_tables(3, most):
            for other in neighbours(counts, relation):
                if sum(counts) and sum(other):
                    yield known(counts), known(other)

    return pairs


def stabilities(mechanism: SmoothNoisyMax) -> Pairs:
    """Yield the laws of all steps of a stability, and of a change of winner."""

    def pairs() -> Iterator[tuple[FloatArray, FloatArray]]:
        yield mechanism.probabilities(0, 0), mechanism.probabilities(1, 0)
        for s in range(mechanism.table.greatest + 1):
            yield mechanism.probabilities(2, s), mechanism.probabilities(2, s + 1)

    return pairs


def smooth_cases(epsilon: float, delta: float) -> Iterator[Fields]:
    for name, spent in itertools.product(TABLES, (0.0, delta)):
        mechanism = SmoothNoisyMax(4, epsilon, spent, name)
        kind = f"{mechanism.name}, delta {spent:g}"
        yield kind, epsilon, spent, (mechanism.event,), stabilities(mechanism), 2.0


def joint_cases(epsilon: float, delta: float) -> Iterator[Fields]:
    """Scores slide and scales dilate together, in any direction; bounds are loose, and so the check."""
    for noise, element_wise in itertools.product(("student-t", "laplace"), (False, True)):
        mechanism = JointSmoothMax(3, epsilon, delta, noise, element_wise)  # type: ignore[arg-type]
        spent = 0.0 if noise == "student-t" else delta
        name = f"{mechanism.name}, {'element-wise' if element_wise else 'common'}"
        yield name, epsilon, spent, (mechanism.event,), _slides(mechanism), 8.0


def _slides(mechanism: JointSmoothMax) -> Pairs:
    bounds = np.array([40.0, 20.0, 80.0]) if mechanism.element_wise else np.full(3, 40.0)
    signs = list(itertools.product((-1, 1), repeat=3))
    factors = signs if mechanism.element_wise else [(-1,) * 3, (1,) * 3]

    def pairs() -> Iterator[tuple[FloatArray, FloatArray]]:
        for scores in (np.array([0, 0, 0]), np.array([300, 0, 100])):
            first = mechanism.probabilities(scores, bounds)
            for slide, grow in itertools.product(signs, factors):
                moved = scores + (np.array(slide) * bounds).astype(int)
                grown = bounds * np.exp(mechanism.beta * np.array(grow))
                yield first, mechanism.probabilities(moved, grown)

    return pairs


def plan_cases(epsilon: float) -> Iterator[Fields]:
    """Yield the plans that choose, with every mechanism that has a law."""
    for relation in RELATIONS:
        setting = Setting(SCHEMA, relation, 4 if relation == "replace-one" else None)  # type: ignore[arg-type]
        for name in PERCENTILE_CHOICES[1:]:
            plan: Any = percentile("size", 50, epsilon=epsilon, mechanism=name)  # type: ignore[arg-type]
            noise: Any = plan.prepare(setting).stages[0].noise
            yield (
                f"percentile {relation} {name}",
                epsilon,
                0.0,
                noise.events,
                of_tables(noise.law, relation),
                2.0,
            )
        plan = most_frequent("kind", epsilon=epsilon, mechanism="exponential")
        noise = plan.prepare(setting).stages[0].noise
        yield (
            f"most frequent {relation}",
            epsilon,
            0.0,
            noise.events,
            of_tables(_law(noise), relation),
            2.0,
        )
        for kind in ("exponential", "permute-and-flip"):
            share = epsilon / 2
            cuts = QuantileCuts(certify_cells(3), relation, epsilon, 0.0, share, kind, (0, 2, 3, 4), 1)  # type: ignore[arg-type]
            yield (
                f"quantiles {relation} {kind}",
                epsilon,
                0.0,
                cuts.events,
                of_tables(_cuts(cuts), relation),
                3.0,
            )


def _law(noise: Any) -> Callable[[FloatArray], FloatArray]:
    return lambda counts: noise.chooser.law(noise.standing(counts))


def _cuts(cuts: QuantileCuts) -> Callable[[FloatArray], FloatArray]:
    ends = list(itertools.combinations_with_replacement(range(4), 2))
    return lambda counts: np.array([cuts.probability(counts, pair) for pair in ends])


def _inverse(
    mechanism: InverseSensitivity, measure: PercentileDistances
) -> Callable[[FloatArray], FloatArray]:
    return lambda counts: mechanism.probabilities(measure.distances(counts))


def distance_cases(epsilon: float) -> Iterator[Fields]:
    inverse = InverseSensitivity(epsilon)
    for relation in RELATIONS:
        measure = PercentileDistances(Fraction(50), relation)  # type: ignore[arg-type]
        law = of_tables(_inverse(inverse, measure), relation)
        yield f"{inverse.name} {relation}", epsilon, 0.0, (inverse.event,), law, 2.0
        for shift in (0, 5):
            dampening = LocalDampening(epsilon, 2, shift)

            def dampened(counts: FloatArray, m: Any = measure, d: Any = dampening) -> FloatArray:
                off = np.abs(np.arange(3) - m.standing(counts).winner)
                return d.probabilities(-off, value_sensitivities(counts, m, 3))

            name = f"{dampening.name} {relation}, shift {shift}"
            yield name, epsilon, 0.0, (dampening.event,), of_tables(dampened, relation), 4.0


def selection_cases(epsilon: float, delta: float) -> list[Fields]:
    """Return all of them."""
    return [
        *smooth_cases(epsilon, delta),
        *joint_cases(epsilon, delta),
        *distance_cases(epsilon),
        *plan_cases(epsilon),
    ]
