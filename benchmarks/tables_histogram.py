"""Histograms: ranges from a tree beside ranges from cells, consistent counts, and speed beside peers.

OpenDP gets its own pipeline from an array of numbers to noisy counts (bins, counts, discrete Laplace
noise); diffprivlib, in an environment of its own, its ``tools.histogram``, which adds floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import seconds_side_by_side
from benchmarks.peers import ask_peer, missing
from benchmarks.tables_columns import Column, even_column, real_columns, values_of
from discreet.data import Summand, add_up
from discreet.plans import Setting
from discreet.randomness import SystemNoise
from discreet.tables.histogram.plan import histogram

EPSILON = 1.0
_RANGES = 400


def ranges(times: int) -> list[dict[str, Any]]:
    """Return the mean error of random ranges, from a tree and from single cells.

    Neither is clipped, so the errors are the same on every table.
    """
    rows, column = [], even_column()
    for bins in (16, 64, 256, 1_024, 4_096):
        counts = column.counts(bins)
        ends = np.sort(np.random.default_rng(0).integers(0, bins + 1, (_RANGES, 2)), axis=1)
        row: dict[str, Any] = {"bins": bins}
        for name, tree in (("cells", False), ("ranges=True", True)):
            plan = histogram("x", bins=bins, clip=False, ranges=tree, epsilon=EPSILON)
            values = values_of(plan, column, times)
            row[name] = float(np.mean([range_errors(v.counts, counts, ends) for v in values]))
        row |= {"levels": len(values[0].widths), "widest block": values[0].widths[0]}
        rows.append(row | {"cells / ranges": row["cells"] / row["ranges=True"]})
    return rows


def range_errors(found: Any, exact: Any, ends: Any) -> float:
    """Return the mean distance over ranges."""
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(found) - exact)])
    return float(np.abs(sums[ends[:, 1]] - sums[ends[:, 0]]).mean())


def consistency(times: int) -> list[dict[str, Any]]:
    """Return the root mean square error of counts, clipped and consistent."""
    rows = []
    for column in real_columns()[:4] or [even_column()]:
        part = column.sample(10_000)
        row: dict[str, Any] = {"column": part.name, "rows": 10_000, "bins": 256}
        for name, options in (
            ("raw", {"clip": False}),
            ("clip", {"consistent": False}),
            ("consistent", {"consistent": True}),
        ):
            plan = histogram("x", bins=256, epsilon=0.5, **options)
            errors = [np.asarray(v.counts) - part.counts(256) for v in values_of(plan, part, times)]
            row[name] = float(np.sqrt(np.mean(np.square(errors))))
        rows.append(row)
    return rows


def speed(repeats: int) -> list[dict[str, Any]]:
    """Return milliseconds from numbers in memory to noisy counts."""
    rows, left_out = [], missing("diffprivlib")
    for note in left_out:
        print(note)
    for size, bins in ((10_000, 30), (1_000_000, 30), (1_000_000, 4_096)):
        column = even_column(size)
        theirs, ours = seconds_side_by_side(
            opendp_histogram(column, bins), our_histogram(column, bins), repeats
        )
        row: dict[str, Any] = {"rows": size, "bins": bins, "ours": ours * 1e3, "OpenDP": theirs * 1e3}
        row["OpenDP / ours"] = theirs / ours
        if not left_out:
            asked = {"epsilon": EPSILON, "bins": bins, "repeats": repeats}
            peer = ask_peer("diffprivlib", "histograms", {"values": column.values}, **asked)
            row |= {"diffprivlib": peer * 1e3, "diffprivlib / ours": peer / ours}
        rows.append(row)
    return rows


def our_histogram(column: Column, bins: int) -> Any:
    """Return the work of a release between the ledger's two entries, calibration included."""
    table, setting = column.table(), Setting(column.schema, "replace-one", len(column.values))
    plan = histogram("x", bins=bins, epsilon=EPSILON)

    def work() -> Any:
        (stage,) = plan.prepare(setting).stages
        (raw,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
        return stage.noise.release(raw, SystemNoise())

    return work


def opendp_histogram(column: Column, bins: int) -> Any:
    """Return OpenDP's pipeline from numbers to noisy counts of bins."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    edges = np.linspace(column.low, column.high, bins + 1)[1:-1].tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    count = dp.t.make_find_bin(*space, edges=edges) >> dp.t.then_count_by_categories(
        categories=list(range(bins)), null_category=False, TOA="i64"
    )
    release = count >> dp.m.then_laplace(2 / EPSILON)
    return lambda: release(column.values)  # an array: a list takes it twenty times as long
