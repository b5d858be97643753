"""The routes to a measure of a table whose number of records is private: it is released first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from discreet.data import ROWS_CAP
from discreet.mechanisms import Noise
from discreet.plans import Releaser, Setting, Stage, share_out
from discreet.plans.stages import size_stage
from discreet.schema import Bins
from discreet.tables.entropy.estimates import Estimate, rehearse
from discreet.tables.entropy.noise import MeasureNoise, above, direct_noise
from discreet.tables.entropy.routes import (
    FIRST_LEVEL,
    FIRST_SHARE,
    REFERENCE_ROWS,
    SECOND_LEVEL,
    Budget,
    Route,
    counted_cells,
    histogram_route,
    mean_error,
)
from discreet.tables.entropy.values import Measure


@dataclass(frozen=True)
class Above:
    """Noise on the number itself, fitted to a released number of records."""

    counted: Stage[Noise]
    stage: Stage[MeasureNoise]

    def fitted(self, size: float) -> MeasureNoise:
        """Return the noise for a released number of records."""
        floor = size - self.counted.noise.half_width(FIRST_LEVEL)
        return above(self.stage.noise, int(min(max(floor, 1.0), ROWS_CAP)))

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
    return Above(counted, Stage("measure", counted_cells(cells, setting), noise))


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
    """Return the number of records first, then the better of the other two ways for so many.

    Without a delta both ways cost the same pure event, so the price does not tell which one follows.
    """
    way = direct_above(cells, measure, setting, budget)
    counts = histogram_route(cells, measure, setting, replace(budget, epsilon=way.stage.noise.epsilon))
    noise = cast(Noise, counts.stages[0].noise)

    def errors(size: float) -> dict[str, float]:
        rows = round(min(max(size, 1.0), ROWS_CAP))
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
