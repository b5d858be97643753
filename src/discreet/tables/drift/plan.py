"""``drift``: the total variation between the table of today and a histogram released before.

Two routes: noise on the one number (*direct*), or on every count (*histogram*), whose distance is then
taken. Which one errs less follows from public facts, and is known before a row is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plans import (
    Histogram,
    Perturbation,
    Program,
    Release,
    Releaser,
    Result,
    Setting,
    Stage,
    share_out,
)
from discreet.plans.expected import GREATEST, Expected
from discreet.plans.held import Rows
from discreet.plans.kinds import UNSAID, Delta, Epsilon, NoiseChoice, OneOf
from discreet.plans.parts import WherePlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.drift import Drift
from discreet.plans.stages import count_stage, partition, size_stage
from discreet.randomness import IntArray, public_generator
from discreet.schema import Bins, FloatArray
from discreet.tables.drift.distance import PARTS, DistanceNoise, whole_shares

Method = Literal["auto", "direct", "histogram"]

_MOST_CELLS = 2**16
_DRAWS, _MOST_NUMBERS = 2_000, 2**22
_IMAGINED_ROWS = (1_000, 10_000, 100_000)
"""How many records are imagined where their number is private."""

_MOVED = 0.2
"""Routes are compared on records drawn from the reference, and from one that is so far off."""

_SIZE_SHARE = 0.25
"""What a private number of records gets of epsilon: the distance is divided by it."""

_HALF = 0.5 + LEVEL / 2
"""The level of either band where a distance is divided by a noisy number of records."""


def as_reference(given: Any) -> Histogram:
    """Return a released or public histogram: a result, its release, or its plain data."""
    value = given.value if isinstance(given, Release) else given
    if isinstance(value, Mapping):
        value = Result.read(dict(value.get("value", value)))
    if not isinstance(value, Histogram):
        raise ArgumentError(
            f"reference must be a histogram or its release, got {_told(given)}. "
            "Release one with dc.histogram, or load a saved one."
        )
    return value


def _told(given: Any) -> str:
    return f"the release {given.title!r}" if isinstance(given, Release) else shown(given)


class drift(WherePlan):
    """Plan how far the table is from a histogram released before: their total variation.

    That is the share of records that would have to be elsewhere; 0 if nothing changed, 1 if the two
    have no cell in common.

    Args:
      reference: a ``Histogram`` or its release, of an earlier table or of a public one; on the command
        line a saved release. Its columns and cells must be those of this schema, but for missing and
        unlisted values, of which it had none if it has no cell for them.
      method: ``direct``, noise on the distance itself; ``histogram``, the distance of noisy counts; or
        ``auto``: the one with the smaller error, by public facts.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing a record moves n times the distance by at most 1, adding or removing one by at most 1
        minus the least share; computed in whole numbers. [drift]
      - A private number of records is released beside it. [histogram]

    >>> cells = ("x",), (("a", "b"),), (None,), (30.0, 10.0), 1.0, 2.0, 0.95
    >>> drift(Histogram(*cells), epsilon=0.5).arguments()["method"]
    'auto'
    """

    reference: Annotated[Any, Rows(as_reference, inline=True)]
    _: KW_ONLY
    method: Annotated[Method, OneOf(get_args(Method))] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Find the cells, compare the routes and calibrate the one taken."""
        cells, counts = _same_cells(self.reference, setting)
        shares = whole_shares(counts)
        terms: Any = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        makers = {"direct": _direct, "histogram": _through_counts}
        # Records off are whole ones: of parts of records the counts are released.
        known = makers if setting.relation.whole else ("histogram",)
        asked = known if self.method == "auto" else (self.method,)
        routes = [makers[name](cells, shares, setting, terms) for name in asked]
        route = min(routes, key=lambda each: each.error)
        compared = tuple((each.name, each.error) for each in routes)

        def finish(releaser: Releaser) -> Drift:
            return _result(self, route, compared, route.answer(releaser), setting.rows)

        error = route.half / (setting.rows or 1)
        unknown: Any = None if setting.rows else "noise"
        expected = Expected(error, 1.0, GREATEST, unknown=unknown)
        return Program(route.stages, finish, {"total variation": expected})


@dataclass(frozen=True)
class Distance:
    """What a route found: how many records are off, how many there are, and half the widths."""

    off: float
    half: float
    records: float
    half_records: float


@dataclass(frozen=True)
class DriftRoute:
    """One way to the distance.

    ``error`` is its mean error on public tables, drawn from the reference and from one that drifted;
    ``half`` half the width of its band, whatever the table. Both are in records.
    """

    name: str
    stages: tuple[Stage[Perturbation], ...]
    answer: Callable[[Releaser], Distance]
    std: float
    error: float
    half: float


def _direct(
    cells: dict[str, Bins], shares: IntArray, setting: Setting, terms: dict[str, Any]
) -> DriftRoute:
    """Return noise on the number of records that would have to move."""
    counted = count_stage("counts", cells, setting, epsilon=1.0).contribution
    if setting.rows is not None:
        noise, level = DistanceNoise.of(shares, setting, **terms), LEVEL
        stages: tuple[Stage[Any], ...] = (Stage("distance", counted, noise),)
    else:
        parts = share_out(terms["epsilon"], (1 - _SIZE_SHARE, _SIZE_SHARE))
        noise, level = DistanceNoise.of(shares, setting, **terms | {"epsilon": parts[0]}), _HALF
        size = size_stage(next(iter(cells)), setting, epsilon=parts[1])
        stages = (Stage("distance", counted, noise), size)

    def answer(releaser: Releaser) -> Distance:
        off, *size = releaser.answer(*stages)
        rows = float(setting.rows or 0) if not size else float(size[0][0])
        around = 0.0 if not size else stages[1].noise.half_width(_HALF)
        return Distance(float(off[0]), noise.half_width(level), rows, around)

    draw = public_generator(0)
    added, *sized = (
        each.simulate(draw, _DRAWS, 1)[:, 0] for each in (noise.noise, *(s.noise for s in stages[1:]))
    )

    def found(counts: FloatArray, off: FloatArray, rows: float) -> FloatArray:
        sizes = np.maximum(rows + (sized[0][: len(off)] if sized else 0.0), 1.0)
        return np.asarray(np.clip((off + added[: len(off)]) / sizes, 0.0, 1.0))

    error, half = _mean_error(found, shares, setting), noise.half_width(level)
    return DriftRoute("direct", stages, answer, noise.std, error, half)


def _through_counts(
    cells: dict[str, Bins], shares: IntArray, setting: Setting, terms: dict[str, Any]
) -> DriftRoute:
    """Return the distance of noisy counts: off by half the L1 length of what noise does to them."""
    stage = count_stage("counts", cells, setting, **terms)
    q, public = shares / PARTS, setting.rows is not None
    draws = max(100, min(_DRAWS, _MOST_NUMBERS // len(q)))
    noises = stage.noise.simulate(public_generator(0), draws, len(q))
    total = noises.sum(axis=1)
    moved = np.abs(noises - (0.0 if public else q * total[:, None])).sum(axis=1) / 2
    half = float(np.quantile(moved, LEVEL if public else _HALF))
    around = 0.0 if public else float(np.quantile(np.abs(total), _HALF))

    def answer(releaser: Releaser) -> Distance:
        (noisy_counts,) = releaser.answer(stage)
        rows = float(setting.rows) if setting.rows is not None else float(noisy_counts.sum())
        return Distance(float(np.abs(noisy_counts - rows * q).sum()) / 2, half, rows, around)

    def found(counts: FloatArray, off: FloatArray, rows: float) -> FloatArray:
        own = noises[: len(off)]
        sizes = np.full(len(off), rows) if public else np.maximum(rows + own.sum(axis=1), 1.0)
        away = np.abs(counts + own - sizes[:, None] * q).sum(axis=1) / 2
        return np.asarray(np.clip(away / sizes, 0.0, 1.0))

    error = _mean_error(found, shares, setting)
    return DriftRoute("histogram", (stage,), answer, float(moved.std()), error, half)


def _mean_error(
    found: Callable[[FloatArray, FloatArray, float], FloatArray], shares: IntArray, setting: Setting
) -> float:
    """Return how many records an answer is off on average, over tables drawn from public shares.

    Even of a table that did not drift some records are off, by the draw: where nothing at all is off,
    which no table is like, an answer that is cut at zero would look better than it is.
    """
    draw, q, errors = public_generator(1), shares / PARTS, []
    tables = max(20, min(100, _MOST_NUMBERS // 4 // len(q)))
    for rows in _IMAGINED_ROWS if setting.rows is None else (setting.rows,):
        for drawn in (q, _drifted(q)):
            counts = draw.multinomial(rows, drawn / drawn.sum(), tables).astype(np.float64)
            counts = np.repeat(counts, max(1, min(_DRAWS, _MOST_NUMBERS // len(q)) // tables), axis=0)
            off = np.maximum(counts - rows * q, 0.0).sum(axis=1)
            errors.append(float(np.abs(found(counts, off, float(rows)) - off / rows).mean() * rows))
    return float(np.mean(errors))


def _drifted(q: FloatArray) -> FloatArray:
    """Return public shares that are some way from those of the reference."""
    order = np.argsort(q)
    turned = np.empty_like(q)
    turned[order] = q[order[::-1]]  # what was rare is common
    far = turned if np.abs(turned - q).sum() > 0 else np.eye(len(q))[0]
    return np.asarray(q + min(1.0, 2 * _MOVED / max(float(np.abs(far - q).sum()), 1e-9)) * (far - q))


def _result(
    plan: drift,
    route: DriftRoute,
    compared: tuple[tuple[str, float], ...],
    found: Distance,
    rows: int | None,
) -> Drift:
    """Return the distance as a share of the records, with its interval."""
    least = max(found.records - found.half_records, 1.0)
    most = max(found.records + found.half_records, 1.0)
    records = max(found.records, 1.0)
    ends = (found.off - found.half) / most, (found.off + found.half) / least
    reference: Histogram = plan.reference
    value, low, high = (float(min(max(end, 0.0), 1.0)) for end in (found.off / records, *ends))
    return Drift(
        name=f"total variation of {', '.join(reference.columns)} from the reference",
        value=value,
        half_width=max(high - value, value - low),
        level=LEVEL,
        noise_std=route.std / records,
        unit="of the records",
        range=(0.0, 1.0),
        method=route.name,
        why=_reason(plan.method, compared),
        compared=tuple((name, error / records) for name, error in compared),
        ends=(low, high),
        records=None if rows is not None else found.records,
        columns=reference.columns,
        reference_error=reference_error(reference),
    )


def reference_error(reference: Histogram) -> float:
    """Return how far the reference's own noise moves the distance on average, at the most (about).

    The distances from a noisy and from an exact reference differ by the total variation of these two.
    """
    counts: FloatArray = np.maximum(np.array(reference.counts), 0.0)
    cells, records = len(counts), max(float(counts.sum()), 1.0)
    return min(1.0, (cells + math.sqrt(cells)) / 2 * reference.noise_std / records)


def _same_cells(reference: Histogram, setting: Setting) -> tuple[dict[str, Bins], FloatArray]:
    """Return the cells of this schema and the reference's counts in them, or raise if they differ.

    Cells of missing and unlisted values that the reference does not have are empty there.
    """
    missing = [name for name in reference.columns if name not in setting.schema]
    if missing:
        raise ArgumentError(
            f"reference must count columns of this schema, got {missing[0]!r}, which it does not have."
        )
    if len(reference.counts) > _MOST_CELLS:
        raise ArgumentError(
            f"reference must have at most {_MOST_CELLS} cells, got {len(reference.counts)}. "
            "Use one with fewer bins."
        )
    bins = {
        name: 1 if edges is None else len(edges) - 1
        for name, edges in zip(reference.columns, reference.edges, strict=True)
    }
    cells = partition(setting, reference.columns, bins)
    parts = zip(reference.columns, reference.labels, reference.edges, strict=True)
    places = [_places(name, cells[name], labels, edges) for name, labels, edges in parts]
    counts = np.zeros([len(part) for part in cells.values()])
    counts[np.ix_(*places)] = reference.to_array()
    return cells, counts.ravel()


def _places(
    name: str, cells: Bins, labels: tuple[str, ...], edges: tuple[float, ...] | None
) -> list[int]:
    """Return where the reference's cells of a column are among those of the schema."""
    listed = cells.labels[: len(cells) - cells.reserved]
    if cells.edges != edges or not set(listed) <= set(labels) <= set(cells.labels):
        raise ArgumentError(
            f"reference must have the cells of this schema, got others of {name!r}. Its range, "
            "values or what may be missing changed; release a reference with this schema."
        )
    return [cells.labels.index(label) for label in labels]


def _reason(asked: str, compared: tuple[tuple[str, float], ...]) -> str:
    if asked != "auto":
        return "asked for"
    told = ", ".join(f"{name} {error:.3g}" for name, error in compared)
    return f"mean error on public tables, in records: {told}"
