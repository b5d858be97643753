"""The routes to a measure of a table, each with its stages, its answer and its public error.

Where the number of records is private, it is released first: noise fits so many records as were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.data import Contribution
from discreet.mechanisms import Noise, NoiseName
from discreet.plans import Perturbation, Releaser, Setting, Stage, share_out
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import count_stage, size_stage
from discreet.schema import Bins
from discreet.tables.entropy.estimates import Estimate, estimate_measure, rehearse
from discreet.tables.entropy.noise import MeasureNoise, above, between, direct_noise, narrowed_noise
from discreet.tables.entropy.values import Measure

FIRST_SHARE = 0.1
"""What the first of two stages gets of epsilon: the number of records, or the range of counts."""

FIRST_LEVEL, SECOND_LEVEL = 0.98, 0.97
"""The first misses on one side with half of what is missing; together they keep ``LEVEL``."""

REFERENCE_ROWS = 10_000
"""Where routes are compared if the number of records is private."""

MOST_REHEARSED = 2**16
"""The most cells of which a noisy histogram is simulated."""

_ROOM = 1.2


@dataclass(frozen=True)
class Route:
    """One way to an answer.

    ``worst`` is its mean error on the worst public table (for noise on the number itself: on any),
    ``even`` that on a table with equal counts; both in nats.
    """

    name: str
    stages: tuple[Stage[Perturbation], ...]
    answer: Callable[[Releaser], Estimate]
    std: float
    worst: float
    even: float


@dataclass(frozen=True)
class Budget:
    """What a measure may cost, and which noise it gets."""

    epsilon: float
    delta: float
    mechanism: NoiseName


def choose_route(routes: list[Route]) -> Route:
    """Return the route to take, by public errors alone.

    Those up to 1.2 times as bad as the best on their worst table stay; of these the best on an even
    table is taken: a little is risked where much may be won.
    """
    least = min(route.worst for route in routes)
    return min((r for r in routes if r.worst <= _ROOM * least), key=lambda r: r.even)


def direct_route(cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget) -> Route:
    """Return noise on the number itself, where the number of records is public."""
    noise = direct_noise(
        measure, setting, epsilon=budget.epsilon, delta=budget.delta, mechanism=budget.mechanism
    )
    stage = Stage("measure", counted_cells(cells, setting), noise)

    def answer(releaser: Releaser) -> Estimate:
        (noisy,) = releaser.answer(stage)
        return Estimate(float(noisy[0]), noise.std, noise.half_width(LEVEL))

    error = mean_error(noise)
    return Route("direct", (stage,), answer, noise.std, error, error)


def narrowed_route(cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget) -> Route:
    """Return noise on Shannon's entropy for the range of counts, which is released first."""
    assert setting.rows is not None
    shares, rows = share_out(budget.epsilon, (FIRST_SHARE, 1 - FIRST_SHARE)), setting.rows
    counted = count_stage("range of counts", cells, setting, epsilon=shares[0])
    noise = narrowed_noise(
        rows, setting, epsilon=shares[1], delta=budget.delta, mechanism=budget.mechanism
    )
    stage = Stage("measure", counted.contribution, noise)
    margin = counted.noise.half_width(FIRST_LEVEL)

    def fitted(least: float, greatest: float) -> MeasureNoise:
        # No table has a least count above the mean one; a unit for such counts would be too small.
        low = int(min(max(least - margin, 1.0), max(rows // counted.contribution.size, 1)))
        return between(noise, low, int(min(max(greatest + margin, low + 1), max(rows, 2))))

    def answer(releaser: Releaser) -> Estimate:
        (noisy_counts,) = releaser.answer(counted)
        narrow = fitted(float(noisy_counts.min()), float(noisy_counts.max()))
        (noisy,) = releaser.answer(replace(stage, noise=narrow))
        return Estimate(float(noisy[0]), narrow.std, narrow.half_width(SECOND_LEVEL))

    # The greatest of m noises lies about scale * ln(m / 2) out.
    spread = counted.noise.scale * math.log(max(measure.cells / 2, 1.0))
    even = fitted(rows / measure.cells - spread, rows / measure.cells + spread)
    return Route("narrowed", (counted, stage), answer, noise.std, mean_error(noise), mean_error(even))


def histogram_route(
    cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget
) -> Route:
    """Return noise on every count, and the measure of what comes out, freed of its bias."""
    stage = count_stage(
        "counts",
        cells,
        setting,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism=budget.mechanism,
    )

    def answer(releaser: Releaser) -> Estimate:
        (noisy_counts,) = releaser.answer(stage)
        return estimate_measure(noisy_counts, setting.rows, measure, stage.noise, level=LEVEL)

    worst, even = rehearse(
        measure, setting.rows or REFERENCE_ROWS, stage.noise, public=setting.rows is not None
    )
    return Route("histogram", (stage,), answer, worst, worst, even)


@dataclass(frozen=True)
class Above:
    """Noise on the number itself, fitted to a released number of records."""

    counted: Stage[Noise]
    stage: Stage[MeasureNoise]
    most_rows: int

    def fitted(self, size: float) -> MeasureNoise:
        """Return the noise for a released number of records."""
        floor = size - self.counted.noise.half_width(FIRST_LEVEL)
        return above(self.stage.noise, int(min(max(floor, 1.0), self.most_rows)))

    def answer(self, releaser: Releaser, size: float) -> Estimate:
        """Return the noisy number."""
        noise = self.fitted(size)
        (noisy,) = releaser.answer(replace(self.stage, noise=noise))
        return Estimate(float(noisy[0]), noise.std, noise.half_width(SECOND_LEVEL))


def direct_above(cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget) -> Above:
    """Return the two stages of the direct way."""
    shares = share_out(budget.epsilon, (FIRST_SHARE, 1 - FIRST_SHARE))
    counted = size_stage(next(iter(cells)), setting, epsilon=shares[0])
    noise = direct_noise(
        measure, setting, epsilon=shares[1], delta=budget.delta, mechanism=budget.mechanism
    )
    return Above(counted, Stage("measure", counted_cells(cells, setting), noise), setting.most_rows)


def direct_above_route(
    cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget
) -> Route:
    """Return noise on the number itself, for so many records as were released first."""
    way = direct_above(cells, measure, setting, budget)

    def answer(releaser: Releaser) -> Estimate:
        (size,) = releaser.answer(way.counted)
        return way.answer(releaser, float(size[0]))

    typical = way.fitted(REFERENCE_ROWS)
    error = mean_error(typical)
    return Route("direct", (way.counted, way.stage), answer, typical.std, error, error)


def counted_route(cells: dict[str, Bins], measure: Measure, setting: Setting, budget: Budget) -> Route:
    """Return the number of records first, then the better of the other two routes for so many.

    Without a delta both routes cost the same pure event, so the price does not tell which one follows.
    """
    way = direct_above(cells, measure, setting, budget)
    counts = histogram_route(cells, measure, setting, replace(budget, epsilon=way.stage.noise.epsilon))
    noise = counts.stages[0].noise
    assert isinstance(noise, Noise)

    def errors(size: float) -> dict[str, float]:
        rows = round(min(max(size, 1.0), setting.most_rows))
        direct = min(mean_error(way.fitted(rows)), measure.greatest)
        return {"direct": direct, "histogram": rehearse(measure, rows, noise, public=False)[0]}

    def answer(releaser: Releaser) -> Estimate:
        (size,) = releaser.answer(way.counted)
        compared = errors(float(size[0]))
        taken = min(compared, key=lambda name: compared[name])
        direct = taken == "direct"
        found = way.answer(releaser, float(size[0])) if direct else counts.answer(releaser)
        return replace(found, method=taken, compared=tuple(compared.items()))

    typical = errors(REFERENCE_ROWS)
    name = min(typical, key=lambda name: typical[name])
    std = way.fitted(REFERENCE_ROWS).std if name == "direct" else counts.std
    return Route(name, (way.counted, way.stage), answer, std, typical[name], typical[name])


def counted_cells(cells: dict[str, Bins], setting: Setting) -> Contribution:
    """Return what every record adds to the counts; the noise is on what is made of them."""
    return count_stage("counts", cells, setting, epsilon=1.0).contribution


def mean_error(noise: MeasureNoise) -> float:
    """Return the mean distance between the released and the exact number."""
    return noise.noise.mean_deviation * noise.std
