"""Which way is best for many queries: one by one, in one batch, or from a background paid once.

All errors follow from public facts: the calibrated noise, and for backgrounds a simulation on a table
drawn from the schema with noise as large as the release would have. Losses of choices by a mechanism
are worst cases, those of a background are simulated means: a background has to win clearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discreet.data import Summand
from discreet.data.blocks import Block
from discreet.data.engine import sum_block
from discreet.explain.background import Background, background
from discreet.explain.shapley.engines import Engine
from discreet.mechanisms.ranking import pick_share, worst_loss
from discreet.plans import Perturbation, Setting, Stage, Way
from discreet.randomness import IntArray, SimulatedNoise
from discreet.schema import FloatArray

NoiseOf = Callable[[float, float, int], float]

_SIMULATED_ROWS = 2_000
_SIMULATED_QUERIES = 8
_SIMULATIONS = 3
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
    measure = "attribution lost by a wrong choice" + _unit(setting)
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
    ways += background_ways(engine, setting, epsilon, delta, measure, ranked=True)
    return _recommended(ways)


def ways_to_measure(
    engine: Engine, setting: Setting, *, queries: int, noise_std: NoiseOf, epsilon: float, delta: float
) -> tuple[Way, ...]:
    """Compare values: one by one, in one batch, and from a background.

    ``noise_std(epsilon, delta, queries)`` returns the noise on a value of that many queries at once.
    """
    measure = "error of an attribution" + _unit(setting)
    ways = [
        Way("one by one, accountant basic", noise_std(epsilon / queries, delta / queries, 1), measure),
        Way("one batch", noise_std(epsilon, delta, queries), measure),
    ]
    ways += background_ways(engine, setting, epsilon, delta, measure, ranked=False)
    return _recommended(ways)


def background_ways(
    engine: Engine, setting: Setting, epsilon: float, delta: float, measure: str, *, ranked: bool
) -> list[Way]:
    """Return both kinds of background, released once, as ways; none if the rows' number is private."""
    if setting.rows is None:
        return []
    ways = []
    for kind in ("sample", "mean"):
        rms, lost = simulate_background(kind, engine, setting, epsilon, delta)
        name = f"background(kind={kind!r}) once, then free (simulated)"
        ways.append(Way(name, lost if ranked else rms, measure))
    return ways


def simulate_background(
    kind: str, engine: Engine, setting: Setting, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return root mean square error and mean loss of a top-1 choice, explained with a background.

    The truth are interventional values on a public table: rows drawn from the schema. It has fewer
    rows than the real one and, to make up for it, more epsilon: the noise on a share is the same.
    """
    assert setting.rows is not None
    schema, columns = setting.schema, engine.model.columns
    rows = min(setting.rows, _SIMULATED_ROWS)
    drawn = schema.draw(rows + _SIMULATED_QUERIES)
    places = [schema.position(name) for name in columns]
    table, queries = drawn[:rows], drawn[rows:][:, places]
    exact = engine.against(np.ascontiguousarray(table[:, places]))(queries)
    plan = background(kind, epsilon=epsilon * setting.rows / rows, delta=delta)
    program = plan.prepare(Setting(schema, "replace-one", rows))
    releaser = _PublicReleaser(Block(0, tuple(schema), np.asfortranarray(table)))
    noisy = []
    for _ in range(_SIMULATIONS):
        found = program.finish(releaser)
        assert isinstance(found, Background)
        own = [found.columns.index(name) for name in columns]
        noisy.append(engine.against(found.encoded(schema)[:, own])(queries))
    rms = math.sqrt(float(np.mean([(values - exact) ** 2 for values in noisy])))
    best, place = np.abs(exact).max(axis=1), np.arange(len(exact))
    lost = [best - np.abs(exact)[place, np.argmax(np.abs(v), axis=1)] for v in noisy]
    return rms, float(np.mean(lost))


class _PublicReleaser:
    """Answers about public rows with seeded noise, adding them up once."""

    def __init__(self, block: Block) -> None:
        self._block, self._noise = block, SimulatedNoise(_PUBLIC_SEED)
        self._sums: dict[tuple[int, float], IntArray] = {}

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers of the stages."""
        for stage in stages:
            place = (id(stage.contribution), stage.noise.step)
            if place not in self._sums:
                summand = Summand(stage.contribution, stage.noise.step)
                (self._sums[place],) = sum_block(self._block, [summand])
        return [
            stage.noise.release(self._sums[id(stage.contribution), stage.noise.step], self._noise)
            for stage in stages
        ]


def _unit(setting: Setting) -> str:
    return "" if setting.rows is not None else " times the number of records"


def _recommended(ways: Sequence[Way]) -> tuple[Way, ...]:
    best = min(ways, key=lambda way: way.error)
    return tuple(replace(way, recommended=way is best) for way in ways)
