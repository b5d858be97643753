"""Our answers to plain statistics, many times: rows are added up once, noise is drawn anew."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import discreet as dc
from benchmarks.peers.statistics import GROUPED, QUANTILES
from benchmarks.statistics_cases import BINS, Case
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import KeptRows
from discreet.plans import Plan
from discreet.randomness import SimulatedNoise

Question = tuple[Callable[[float], Plan], Callable[[Any], Any]]
"""A plan for an epsilon, and the numbers of its result."""

AUTO = ", auto clip"


def questions(case: Case) -> dict[str, Question]:
    """Return what is asked of a column; of a skewed one also with a private clip."""
    found: dict[str, Question] = {
        "sum": (lambda e: dc.total("x", epsilon=e), _value),
        "mean": (lambda e: dc.mean("x", epsilon=e), _value),
        "variance": (lambda e: dc.variance("x", epsilon=e), _value),
        "histogram": (lambda e: dc.histogram("x", bins=BINS, epsilon=e), _counts),
        "count above the middle": (
            lambda e: dc.count(where=dc.col("x") > case.told.middle, epsilon=e),
            _value,
        ),
        "count by group": (lambda e: dc.count(by="group", epsilon=e), _of_groups(_value)),
        "sum by group": (lambda e: dc.total("x", by="group", epsilon=e), _of_groups(_value)),
        "mean by group": (lambda e: dc.mean("x", by="group", epsilon=e), _of_groups(_value)),
        "variance by group": (
            lambda e: dc.variance("x", by="group", epsilon=e),
            _of_groups(_value),
        ),
        "histogram by group": (
            lambda e: dc.histogram("x", bins=BINS, by="group", epsilon=e),
            _of_groups(_counts),
        ),
    }
    for name, level in QUANTILES.items():
        found[name] = (lambda e, q=level: dc.quantiles("x", [q], epsilon=e), _first)
        found[name + GROUPED] = (
            lambda e, q=level: dc.quantiles("x", [q], by="group", epsilon=e),
            _of_groups(_first),
        )
    if case.skewed:
        for name, plan in (("sum", dc.total), ("mean", dc.mean), ("variance", dc.variance)):
            found[name + AUTO] = (lambda e, p=plan: p("x", clip="auto", epsilon=e), _value)
    return found


def _value(result: Any) -> float:
    return float(result.value)


def _counts(result: Any) -> Any:
    return result.counts


def _first(result: Any) -> float:
    return float(result.values[0])


def _of_groups(numbers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda found: np.ravel([numbers(result) for result in found.results])


def our_errors(
    case: Case, epsilons: tuple[float, ...], draws: int, enough: float
) -> list[dict[str, Any]]:
    """Return a row per statistic and epsilon: the mean error and its standard error.

    A cell gets ``draws`` releases, or a tenth of them and what more there is in ``enough`` seconds.
    """
    releaser, rows = SumsReleaser(case.table(), zlib.crc32(case.name.encode())), []
    for statistic, (plan, numbers) in questions(case).items():
        asked = statistic.removesuffix(AUTO)
        for epsilon in epsilons:
            program = plan(epsilon).prepare(case.setting)
            releaser.fixed = program.stages
            answers = _draw(lambda p=program, n=numbers: n(p.finish(releaser)), draws, enough)
            row = {"column": case.name, "epsilon": epsilon, "skewed": case.skewed}
            for found in case.told.errors(asked, answers):
                auto = AUTO if statistic.endswith(AUTO) else ""
                rows.append(row | found | {"statistic": found["statistic"] + auto})
    return rows


def _draw(release: Callable[[], Any], draws: int, enough: float) -> list[Any]:
    started, found = time.perf_counter(), list[Any]()
    # Intervals are not measured here, and those of quotients take longer than all the rest.
    with patch("discreet.statistics.shares.share_ends", return_value=(0.0, 1.0)):
        while len(found) < draws:
            if len(found) >= draws // 10 and time.perf_counter() - started > enough:
                break
            found.append(release())
    return found


class SumsReleaser:
    """Answers stages with seeded noise; sums of stages that a program always asks are taken once."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table, self._noise = table, SimulatedNoise(seed)
        self._kept, self._sums = KeptRows(), dict[int, tuple[Any, Any]]()
        self.fixed: tuple[Any, ...] = ()

    def answer(self, *stages: Any) -> list[Any]:
        """Return the noisy answers."""
        return [stage.noise.release(self._sum(stage), self._noise) for stage in stages]

    def _sum(self, stage: Any) -> Any:
        if id(stage) not in self._sums:
            summand = Summand(stage.contribution, stage.noise.step)
            (raw,) = add_up(self._table, [summand], kept=self._kept)
            if not any(stage is one for one in self.fixed):
                return raw
            self._sums[id(stage)] = (stage, raw)
        return self._sums[id(stage)][1]
