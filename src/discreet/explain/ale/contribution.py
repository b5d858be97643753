"""What one record adds to accumulated effects: how the model moves over the record's own step.

A *step* leads from one point of a feature to the next: from edge to edge of an interval, or from a
category to its neighbour. A record in an interval answers for that interval alone; a record of a
category answers for the step that leads to it and for the step that leads on. Beside the moves, each
record counts in its cell (interval or category) with a public ``weight``, so that sums and counts
are one vector with one certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.engines.curves import StepEngine
from discreet.engines.table import engine_for
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.privacy.certificate import Bounds, Box, Certificate, Norm
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import MISSING, FloatArray


def output_range(model: BoundModel) -> float:
    """Return how far the model can move over a step: the range of its output."""
    return model.bounds.high - model.bounds.low


def count_weight(norm: Norm, relation: Relation, radius: float, categories: int) -> float:
    """Return what a record counts for beside its moves; ``categories`` is zero for intervals.

    Noise is the same on all coordinates, so a greater weight makes counts more exact and moves less
    so. In L2 and under replace-one counts are free up to ``radius``, because a record that changes its
    cell moves no further than one that stays and turns its move round; in Linf they always are.
    """
    free = Relation(relation).edits == 2 and categories != 2
    weights = {
        "l1": radius / 2 if categories > 2 else radius / 4,
        "l2": radius if free else radius / 2,
        "linf": radius,
    }
    return weights[norm]


def interval_effects(
    model: BoundModel,
    feature: str,
    edges: FloatArray,
    size: int,
    weight: float,
    limit: float | None = None,
) -> VectorContribution:
    """Return what one record adds: f(right edge) - f(left edge) and a count, in its interval's place.

    Moves stand in the first ``size`` coordinates, weighted counts in the others; there may be fewer
    intervals than ``size``. The first interval holds its left edge, every one its right edge. Moves are
    clipped to ``limit``, the range of the output if it is left out. A record without a value is in no
    interval and adds nothing.

    Guarantees:
      - The certificate holds whatever the edges are. [ale]
    """
    steps = engine_for("steps", model, model.columns.index(feature))

    def compute(block: Block) -> FloatArray:
        cell = np.searchsorted(edges[1:-1], block[feature], side="left")
        left, right = steps.predict(block.values, (edges[cell], edges[cell + 1]))
        vectors, rows = np.zeros((len(block), 2 * size), order="F"), np.arange(len(block))
        there = block[feature] != MISSING
        vectors[rows, cell] = np.where(there, right - left, 0.0)
        vectors[rows, size + cell] = np.where(there, weight, 0.0)
        return vectors

    most = output_range(model) if limit is None else limit
    return _contribution(model, steps, compute, certify_intervals(size, most, weight), most)


def category_effects(
    model: BoundModel,
    feature: str,
    codes: NDArray[np.int64],
    weight: float,
    limit: float | None = None,
) -> VectorContribution:
    """Return what one record adds: how the model moves from the category before it, and to the next.

    The step between two neighbours is answered by the records of both, as in Apley's ALEPlot.
    ``codes`` are all values in their order; steps come first, then a weighted count of each. Moves are
    clipped to ``limit``, the range of the output if it is left out. A record with none of the values
    adds nothing.

    Guarantees:
      - The certificate holds for every order. [ale]
    """
    last = len(codes) - 1
    ranks = np.argsort(codes)
    steps = engine_for("steps", model, model.columns.index(feature))

    def compute(block: Block) -> FloatArray:
        own = block[feature].astype(np.int64)
        there, cell = own <= last, ranks[np.minimum(own, last)]
        values = codes.astype(np.float64)
        around = (values[np.maximum(cell - 1, 0)], values[cell], values[np.minimum(cell + 1, last)])
        below, here, above = steps.predict(block.values, around)
        vectors = np.zeros((len(block), 2 * last + 1), order="F")
        later, earlier = np.flatnonzero(cell > 0), np.flatnonzero(cell < last)
        vectors[later, cell[later] - 1] = (here - below)[later]
        vectors[earlier, cell[earlier]] = (above - here)[earlier]
        vectors[np.arange(len(block)), last + cell] = weight
        vectors[~there] = 0.0
        return vectors

    most = output_range(model) if limit is None else limit
    return _contribution(model, steps, compute, certify_categories(len(codes), most, weight), most)


def certify_intervals(size: int, radius: float, weight: float) -> Certificate:
    """Certify sums of moves within ``radius`` and weighted counts, one of each per record.

    Guarantees:
      - Replacing a record moves L1 2 (radius + weight), L2 the greater of 2 radius (same interval) and
        sqrt(2 (radius^2 + weight^2)) (two intervals); adding or removing one L1 radius + weight, L2
        sqrt(radius^2 + weight^2). [ale]
    """
    r, w = radius, weight
    one = math.hypot(r, w)
    return Certificate(
        ("ale",),
        2 * size,
        {
            REPLACE_ONE: Bounds(up(2 * (r + w)), up(max(2 * r, math.sqrt(2) * one)), up(max(2 * r, w))),
            ADD_REMOVE: Bounds(up(r + w), up(one), max(r, w)),
        },
    )


def certify_categories(count: int, radius: float, weight: float) -> Certificate:
    """Certify sums of moves to both neighbouring categories and weighted counts of categories.

    Guarantees:
      - Two categories have one step, which all records answer: replacing a record moves L1
        2 (radius + weight), L2 sqrt(4 radius^2 + 2 weight^2); adding or removing one as for
        intervals. [ale]
      - With three or more, replacing moves L1 4 radius + 2 weight, L2 the greater of sqrt(8) radius
        (same category) and sqrt(6 radius^2 + 2 weight^2) (neighbours); adding or removing one L1
        2 radius + weight, L2 sqrt(2 radius^2 + weight^2). [ale]
    """
    r, w = radius, weight
    if count == 2:
        replace, add = (2 * r + 2 * w, math.sqrt(4 * r * r + 2 * w * w)), (r + w, math.hypot(r, w))
    else:
        apart = max(math.sqrt(8) * r, math.sqrt(6 * r * r + 2 * w * w))
        replace, add = (4 * r + 2 * w, apart), (2 * r + w, math.sqrt(2 * r * r + w * w))
    return Certificate(
        ("ale",),
        2 * count - 1,
        {
            REPLACE_ONE: Bounds(up(replace[0]), up(replace[1]), up(max(2 * r, w))),
            ADD_REMOVE: Bounds(up(add[0]), up(add[1]), max(r, w)),
        },
    )


def _contribution(
    model: BoundModel,
    steps: StepEngine,
    compute: Callable[[Block], FloatArray],
    proven: Certificate,
    limit: float,
) -> VectorContribution:
    return VectorContribution(
        columns=model.columns,
        size=proven.size,
        region=Box(-limit, limit),
        fill=0.0,
        compute=compute,
        proven=proven,
        calls=ModelCalls(steps.third_party, lipschitz=2.0),  # a move is a difference of two answers
    )
