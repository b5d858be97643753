"""Which strategy is best for many queries: one by one, in one batch, or from a background paid once.

All strategies are tried on the same public tables, with the same public queries, the same k and the
noise they would have: what is compared are means of the same measure. Records may lie anywhere, so
there are three kinds of tables, and the worst counts: uniform rows, rows that gather around a few, and
rows whose columns move together. A background answers another question in between (it stands for the
records), so it is recommended only if it wins by far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.data import Summand
from discreet.data.blocks import Block
from discreet.data.engine import sum_block
from discreet.explain.shap.background import Background, background
from discreet.explain.shap.engines import ShapEngine
from discreet.mechanisms.selection.registry import ON_SCORES, pick_share
from discreet.plans import Perturbation, Setting, Stage, Strategy
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import IntArray, SimulatedNoise, public_generator
from discreet.schema import FloatArray, Schema

NoiseStd = Callable[[float, float, int], float]

_ROWS = 1_000
_QUERIES = 8
_SIMULATIONS = 3
_DRAWS = 200
_SHARED = 0.75
_GATHERED = 3
_PUBLIC_SEED = 20_260_415
_MARGIN = 0.7
"""A background is recommended if it errs, two standard errors included, at most this much as far as the
best other strategy: on six real tables none was then recommended that did more than 3 % worse."""

_BACKGROUND = "background"


@dataclass(frozen=True)
class PublicTask:
    """A public table, public queries and their exact attributions: what every strategy is tried on."""

    setting: Setting
    table: FloatArray
    queries: FloatArray
    exact: FloatArray

    def lost(self, scores: FloatArray, k: int) -> FloatArray:
        """Return the attribution lost per place by the first k of noisy scores, draws x queries."""
        size, first = np.abs(self.exact), np.argsort(-scores, axis=-1)[..., :k]
        best = np.sort(size, axis=1)[:, ::-1][:, :k].mean(axis=1)
        return np.asarray(best - np.take_along_axis(size[None], first, axis=-1).mean(axis=-1))


def ranking_strategies(
    engine: ShapEngine,
    setting: Setting,
    *,
    moved: float,
    noise_std: NoiseStd,
    queries: int,
    k: int,
    epsilon: float,
    delta: float,
) -> tuple[Strategy, ...]:
    """Compare rankings: picks and sorted values, one by one or together, and backgrounds.

    Args:
      engine: of the model.
      setting: of the table.
      moved: how far a record moves a coordinate of the sum.
      noise_std: ``noise_std(epsilon, delta, queries)`` is the noise on a value of so many queries.
      queries: how many there will be.
      k: how many features of each.
      epsilon: for all of them.
      delta: see ``epsilon``.
    """
    picks, rows = queries * k, setting.rows or 1
    scales = {
        (kind, "accountant basic"): 2 * moved / (epsilon / picks) / rows
        for kind in ("permute-and-flip", "exponential")
    }
    values = {"accountant basic": noise_std(epsilon / queries, delta / queries, 1)}
    if picks > 1 and delta > 0:
        for kind in ("exponential", "permute-and-flip"):
            share = pick_share(kind, epsilon, delta, picks)[0]
            scales[kind, "accountant zcdp or one batch"] = 2 * moved / share / rows
    if queries > 1:
        values["one batch"] = noise_std(epsilon, delta, queries)
    measure = "attribution lost per place" + _unit(setting)
    if setting.rows is None:
        worst = {
            f"{kind}, {how}": s * ON_SCORES[kind].worst_loss(engine.features)
            for (kind, how), s in scales.items()
        }
        return _recommended(
            [Strategy(name, lost, f"{measure}, at most") for name, lost in worst.items()]
        )
    tasks = public_tasks(engine, setting)
    strategies = [
        _worst(f"{kind}, {how}", [_selected(task, kind, scale, k) for task in tasks], measure)
        for (kind, how), scale in scales.items()
    ]
    strategies += [
        _worst(f"sorted values, {how}", [_sorted(task, std, k) for task in tasks], measure)
        for how, std in values.items()
    ]
    return _recommended(
        [*strategies, *_background_strategies(engine, tasks, epsilon, delta, measure, k)]
    )


def value_strategies(
    engine: ShapEngine,
    setting: Setting,
    *,
    queries: int,
    noise_std: NoiseStd,
    epsilon: float,
    delta: float,
) -> tuple[Strategy, ...]:
    """Compare values: one by one, in one batch, and from a background.

    ``noise_std(epsilon, delta, queries)`` returns the noise on a value of that many queries at once.
    """
    measure = "error of an attribution" + _unit(setting)
    strategies = [
        Strategy(
            "one by one, accountant basic", noise_std(epsilon / queries, delta / queries, 1), measure
        ),
        Strategy("one batch", noise_std(epsilon, delta, queries), measure),
    ]
    if setting.rows is None:
        return _recommended(strategies)
    tasks = public_tasks(engine, setting)
    return _recommended(
        [*strategies, *_background_strategies(engine, tasks, epsilon, delta, measure, None)]
    )


def public_tasks(engine: ShapEngine, setting: Setting) -> list[PublicTask]:
    """Return the three public tables with queries of the same kind, and exact attributions."""
    schema, places = setting.schema, [setting.schema.position(n) for n in engine.model.columns]
    assert setting.rows is not None
    rows, found = min(setting.rows, _ROWS), []
    for drawn in public_kinds(schema, rows + _QUERIES):
        table, queries = drawn[:rows], np.ascontiguousarray(drawn[rows:][:, places])
        exact = engine.against(np.ascontiguousarray(table[:, places]))(queries)
        found.append(PublicTask(setting, table, queries, exact))
    return found


def public_kinds(schema: Schema, count: int) -> list[FloatArray]:
    """Return encoded public rows: uniform, around a few of them, with columns that move together."""
    even, draw = schema.draw(count), public_generator(_PUBLIC_SEED)
    shared = draw.random(even.shape) < _SHARED
    middles = even[draw.integers(min(_GATHERED, count), size=count)]
    sides = draw.random(even.shape[1]) < 0.5
    together = np.where(sides, np.sort(even, axis=0), np.sort(even, axis=0)[::-1])
    moved = np.where(shared, together, even)[draw.permutation(count)]
    return [even, np.where(shared, middles, even), moved]


def _selected(task: PublicTask, kind: str, scale: float, k: int) -> FloatArray:
    """Return the losses of many picks, by the laws' continuous twins."""
    draw, scores = public_generator(_PUBLIC_SEED), np.abs(task.exact)
    size = (_DRAWS, *scores.shape)
    if kind == "exponential":
        return task.lost(scores + scale * draw.gumbel(size=size), k)
    gone, order = np.zeros(size), np.zeros(size)
    for place in range(k):  # permute-and-flip is the greatest score with exponential noise
        first = np.argmax(scores + gone + draw.exponential(scale, size), axis=-1)[..., None]
        np.put_along_axis(gone, first, -np.inf, axis=-1)
        np.put_along_axis(order, first, float(k - place), axis=-1)
    return task.lost(order, k)


def _sorted(task: PublicTask, std: float, k: int) -> FloatArray:
    draw = public_generator(_PUBLIC_SEED)
    noisy = task.exact + std * draw.normal(size=(_DRAWS, *task.exact.shape))
    return task.lost(np.abs(noisy), k)


def _background_strategies(
    engine: ShapEngine,
    tasks: Sequence[PublicTask],
    epsilon: float,
    delta: float,
    measure: str,
    k: int | None,
) -> list[Strategy]:
    """Return both kinds of background, released once, as strategies."""
    strategies = []
    for kind in ("sample", "mean"):
        errors = []
        for task in tasks:
            noisy = explained_with(kind, engine, task, epsilon, delta)
            if k is None:
                errors.append(np.sqrt(np.mean((noisy - task.exact) ** 2, axis=-1)))
            else:
                errors.append(task.lost(np.abs(noisy), k))
        strategies.append(_worst(f"{_BACKGROUND}(kind={kind!r}) once, then free", errors, measure))
    return strategies


def explained_with(
    kind: str, engine: ShapEngine, task: PublicTask, epsilon: float, delta: float
) -> FloatArray:
    """Return the queries' attributions against several backgrounds released from the task's table.

    The table has fewer rows than the real one and, to make up for it, more epsilon: the noise on a
    share is the same.
    """
    schema, rows = task.setting.schema, len(task.table)
    plan = background(kind, epsilon=epsilon * (task.setting.rows or rows) / rows, delta=delta)
    program = plan.prepare(Setting(schema, REPLACE_ONE, rows))
    releaser = _PublicReleaser(Block(0, tuple(schema), np.asfortranarray(task.table)))
    noisy = []
    for _ in range(_SIMULATIONS):
        found = program.finish(releaser)
        assert isinstance(found, Background)
        own = [found.columns.index(name) for name in engine.model.columns]
        noisy.append(engine.against(found.encoded(schema)[:, own])(task.queries))
    return np.array(noisy)


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


def _worst(name: str, errors: Sequence[FloatArray], measure: str) -> Strategy:
    """Return a strategy as it fares on the worst public table; the spread is that between queries."""
    worst = max(errors, key=np.mean)
    return Strategy(name, float(worst.mean()), measure, spread=float(worst.mean(axis=0).std()))


def _unit(setting: Setting) -> str:
    return "" if setting.rows is not None else " times the number of records"


def _recommended(strategies: Sequence[Strategy]) -> tuple[Strategy, ...]:
    """Mark the best strategy; a background has to win by a clear margin."""

    def handicapped(strategy: Strategy) -> float:
        if not strategy.name.startswith(_BACKGROUND):
            return strategy.error
        return (strategy.error + 2 * strategy.spread / math.sqrt(_QUERIES)) / _MARGIN

    best = min(strategies, key=handicapped)
    return tuple(replace(strategy, recommended=strategy is best) for strategy in strategies)
