"""A grid for tree ensembles: adaptive knots, looked for on rows drawn from the schema.

Trees jump at thresholds, which are often crowded in a small part of a feature's range; even points
spend most of a grid where nothing happens. Of the points of a fine grid those are taken between which
straight lines miss the curves of public rows by least, in squares summed over rows and points: the
shortest path from one end of the range to the other. The model and the rows are public, and no bound
depends on where the points are.
"""

from __future__ import annotations

import numpy as np

from discreet.data.blocks import Block
from discreet.explain.clipping import public_rows
from discreet.explain.pdp.contribution import record_curves
from discreet.models import BoundModel
from discreet.schema import FloatArray, Number, Schema

_FINE = 513


def adaptive_knots(
    model: BoundModel, schema: Schema, feature: str, column: Number, resolution: int
) -> FloatArray:
    """Return at most ``resolution`` points of a feature, its ends included.

    Guarantees:
      - A function of the model and the schema alone; what is drawn at the points has bounds that hold
        for any points. [pdp]
    """
    fine = column.grid(_FINE)
    if len(fine) <= resolution:
        return column.grid(resolution)
    rows = np.asfortranarray(public_rows(schema, model.columns))
    curves = record_curves(model, (feature,), (fine,))(Block(0, model.columns, rows))
    chosen = shortest_path(missed_by_lines(fine, np.nan_to_num(curves)), resolution)
    return fine[chosen]


def missed_by_lines(x: FloatArray, curves: FloatArray) -> FloatArray:
    """Return by how much a line from point i to point j misses the points between, squares summed.

    With a = (x_t - x_i) / (x_j - x_i) a line misses the point t by y_t - (1 - a) y_i - a y_j; the sum
    of the squares over all curves is a sum of products y_s . y_t, added up along t once for all.

    >>> x, curve = np.arange(4.0), np.array([[0.0, 0.0, 1.0, 1.0]])
    >>> missed_by_lines(x, curve)[0].round(4).tolist()
    [0.0, 0.0, 0.25, 0.2222]
    """
    products = curves.T @ curves
    offsets = (x - x[0]) / (x[-1] - x[0])
    powers = np.vander(offsets, 3, increasing=True)
    size, width = len(x), offsets[None, :] - offsets[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # 1 - a and a as lines in x_t: constant and slope, for every pair (i, j)
        left = (offsets[None, :] / width, -1 / width)
        right = (-offsets[:, None] / width, 1 / width)
        own = np.diag(products)
        missed = _between(np.diag(products)[:, None])[:, :, 0] * np.ones((size, size))
        sums = [_between(powers[:, [p]])[:, :, 0] for p in range(3)]
        cross = [_cumulated(products * powers[:, [p]]) for p in range(2)]
        for p in range(2):
            at_left, at_right = _ends(cross[p])
            missed -= 2 * left[p] * at_left + 2 * right[p] * at_right
            for q in range(2):
                missed += sums[p + q] * (
                    left[p] * left[q] * own[:, None]
                    + 2 * left[p] * right[q] * products
                    + right[p] * right[q] * own[None, :]
                )
    return np.triu(np.maximum(np.nan_to_num(missed, posinf=0.0, neginf=0.0), 0.0), 1)


def _cumulated(terms: FloatArray) -> FloatArray:
    """Return sums over the first rows, with a row of zeros before them."""
    return np.concatenate([np.zeros((1, terms.shape[1])), np.cumsum(terms, axis=0)])


def _between(terms: FloatArray) -> FloatArray:
    """Return sums over the points strictly between i and j."""
    total = _cumulated(terms)
    return np.asarray(total[None, :-1] - total[1:, None])


def _ends(total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums over the points between i and j of their products with point i, and with point j."""
    with_left = total[:-1].T - np.diag(total[1:])[:, None]
    with_right = np.diag(total[:-1])[None, :] - total[1:]
    return with_left, with_right


def shortest_path(missed: FloatArray, points: int) -> list[int]:
    """Return the ``points`` places, both ends included, between which lines miss least in all."""
    size = len(missed)
    cost = np.where(np.triu(np.ones((size, size), dtype=bool), 1), missed, np.inf)
    best, before = cost[0].copy(), []
    for _ in range(points - 2):
        through = best[:, None] + cost
        before.append(np.argmin(through, axis=0))
        best = np.min(through, axis=0)
    path = [size - 1]
    for step in reversed(before):
        path.append(int(step[path[-1]]))
    return [0, *reversed(path)]
