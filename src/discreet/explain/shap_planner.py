"""Which way is best for many queries: one by one, in one batch, or from a background paid once.

All errors follow from public facts: the calibrated noise, and for the background a simulation on rows
drawn from the schema with the noise the release would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discreet.explain.background import background
from discreet.explain.shapley.engines import Engine
from discreet.mechanisms.ranking import pick_share, worst_loss
from discreet.models.output_bounds import Ranges
from discreet.plans import Setting, Way
from discreet.randomness import public_generator

NoiseOf = Callable[[float, float, int], float]

_BACKGROUND = "background(kind='mean') once, then free (value function: f at the mean)"
_SIMULATED_ROWS = 400
_SIMULATED_QUERIES = 8
_SIMULATIONS = 6
_PUBLIC_SEED = 20_260_415


def ways_to_rank(
    engine: Engine,
    setting: Setting,
    *,
    moved: float,
    queries: int,
    k: int,
    epsilon: float,
    delta: float,
) -> tuple[Way, ...]:
    """Compare rankings: both mechanisms one by one under both accountants, and a background.

    ``moved`` is how far a record moves a coordinate of the sum.
    """
    measure = "attribution lost by a wrong choice"
    rows = setting.rows or 1
    candidates, picks = engine.features, queries * k

    def loss(kind: str, share: float) -> float:
        return worst_loss(kind, candidates) * 2 * moved / share / rows

    ways = [
        Way("permute-and-flip, accountant basic", loss("permute-and-flip", epsilon / picks), measure),
        Way("exponential, accountant basic", loss("exponential", epsilon / picks), measure),
    ]
    if delta > 0 and picks > 1:
        for kind in ("exponential", "permute-and-flip"):
            share = pick_share(kind, epsilon, delta, picks)[0]
            ways.append(Way(f"{kind}, accountant zcdp or one batch", loss(kind, share), measure))
    if setting.rows is not None:
        error = simulate_background(engine, setting, epsilon, delta)[1]
        ways.append(Way(_BACKGROUND, error, measure))
    return _recommended(ways)


def ways_to_measure(
    engine: Engine, setting: Setting, *, queries: int, noise_std: NoiseOf, epsilon: float, delta: float
) -> tuple[Way, ...]:
    """Compare values: one by one, in one batch, and from a background.

    ``noise_std(epsilon, delta, queries)`` returns the noise on a value of that many queries at once.
    """
    measure = "noise on an attribution"
    ways = [
        Way("one by one, accountant basic", noise_std(epsilon / queries, delta / queries, 1), measure),
        Way("one batch", noise_std(epsilon, delta, queries), measure),
    ]
    if setting.rows is not None:
        error = simulate_background(engine, setting, epsilon, delta)[0]
        ways.append(Way(_BACKGROUND, error, measure))
    return _recommended(ways)


def simulate_background(
    engine: Engine, setting: Setting, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return root mean square error and mean loss of a top-1 choice with a noisy mean background.

    The table is public: rows drawn from the schema. Only the noise's size depends on the real one, and
    only through its public number of rows.
    """
    assert setting.rows is not None
    plan = background(kind="mean", epsilon=epsilon, delta=delta)
    noise = plan.prepare(setting).stages[0].noise.std / setting.rows
    draw = public_generator(_PUBLIC_SEED)
    columns = engine.model.columns
    drawn = setting.schema.draw(_SIMULATED_ROWS + _SIMULATED_QUERIES)
    rows = drawn[:, [setting.schema.position(name) for name in columns]]
    queries, mean = rows[_SIMULATED_ROWS:], rows[:_SIMULATED_ROWS].mean(axis=0, keepdims=True)
    ends = Ranges.of(setting.schema, columns)
    scales = noise * (ends.high - ends.low) / 2
    exact = engine.against(mean)(queries)
    shifted = [mean + draw.normal(size=mean.shape) * scales for _ in range(_SIMULATIONS)]
    noisy = [engine.against(np.clip(row, ends.low, ends.high))(queries) for row in shifted]
    rms = math.sqrt(float(np.mean([(values - exact) ** 2 for values in noisy])))
    best, place = np.abs(exact).max(axis=1), np.arange(len(exact))
    lost = [best - np.abs(exact)[place, np.argmax(np.abs(v), axis=1)] for v in noisy]
    return rms, float(np.mean(lost))


def _recommended(ways: Sequence[Way]) -> tuple[Way, ...]:
    best = min(ways, key=lambda way: way.error)
    return tuple(replace(way, recommended=way is best) for way in ways)
