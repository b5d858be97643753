"""How long plain statistics of a million records take: ours, OpenDP's and diffprivlib's.

Ours starts from a sealed frame and an epsilon and ends with a result, calibration and intervals
included; ``release`` is the same through a session, whose ledger makes eight entries of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import seconds
from benchmarks.peers import ask_peer, missing
from discreet.data import PrivateTable, Summand, add_up
from discreet.plans import Plan, Setting
from discreet.randomness import SystemNoise

EPSILON = 1.0
BINS, CANDIDATES = 30, 1_001
_TURNS = 3
"""Sides take turns, so that both meet the machine as it is at several times."""


def plans() -> dict[str, Plan]:
    """Return what is asked."""
    return {
        "sum": dc.total("x", epsilon=EPSILON),
        "mean": dc.mean("x", epsilon=EPSILON),
        "variance": dc.variance("x", epsilon=EPSILON),
        "histogram": dc.histogram("x", bins=BINS, epsilon=EPSILON),
        "median": dc.quantiles(
            "x", [0.5], candidates=np.linspace(0, 1, CANDIDATES).tolist(), epsilon=EPSILON
        ),
    }


def speed(size: int, repeats: int) -> list[dict[str, Any]]:
    """Return milliseconds of every statistic and side, and how many times as long peers take."""
    values = np.random.default_rng(0).random(size)
    ours: dict[str, float] = {}
    theirs: dict[tuple[str, str], float] = {}
    for note in (absent := missing("diffprivlib")):
        print(note)
    for _ in range(_TURNS):
        _keep_least(ours, our_seconds(values, repeats))
        if not absent:
            asked = {"epsilon": EPSILON, "bins": BINS, "candidates": CANDIDATES, "repeats": repeats}
            found = ask_peer("diffprivlib", "statistics_speed", {"values": values}, **asked)
            for peer, times in found.items():
                _keep_least(theirs, {(peer, name): took for name, took in times.items()})
    return [_row(name, size, ours, theirs) for name in plans()]


def _keep_least(known: dict[Any, float], found: dict[Any, float]) -> None:
    for name, took in found.items():
        known[name] = min(took, known.get(name, np.inf))


def _row(
    name: str, size: int, ours: dict[str, float], theirs: dict[tuple[str, str], float]
) -> dict[str, Any]:
    row: dict[str, Any] = {"statistic": name, "rows": size, "ours": ours[name] * 1e3}
    row["release"] = ours[f"{name}, release"] * 1e3
    for peer in ("OpenDP", "diffprivlib"):
        took = theirs.get((peer, name), np.nan)
        row |= {peer: took * 1e3, f"{peer} / ours": took / ours[name]}
    return row


def our_seconds(values: Any, repeats: int) -> dict[str, float]:
    """Return the least seconds of every statistic, without and with a session around it."""
    schema = dc.Schema({"x": dc.Number(0, 1, missing=False)})
    frame, found = pd.DataFrame({"x": values}), {}
    table, setting = PrivateTable(frame, schema), Setting(schema, "replace-one", len(values))
    session = dc.protect(
        frame, schema, dataset="speed", epsilon=1e6, ledger=":memory:", workers=1, progress=False
    )
    for name, plan in plans().items():
        work = PlainReleaser(table)
        found[name] = seconds(lambda p=plan, w=work: p.prepare(setting).finish(w), repeats)
        found[f"{name}, release"] = seconds(lambda p=plan: session.release(p, fresh=True), repeats)
    return found


class PlainReleaser:
    """Answers stages as a release does, without a charge."""

    def __init__(self, table: PrivateTable) -> None:
        self._table = table

    def answer(self, *stages: Any) -> list[Any]:
        """Add up all stages in one pass, and add noise."""
        sums = add_up(self._table, [Summand(s.contribution, s.noise.step) for s in stages])
        source = SystemNoise()
        return [s.noise.release(raw, source) for s, raw in zip(stages, sums, strict=True)]
