"""Where a clip hurts: public rows whose curves are farthest from flat, and rows bred from them.

Rows drawn evenly from the schema lie mostly where a model is sure of itself and its curves are flat;
records crowd where it is not. How a clip treats the drawn rows says little about these, so rows are
looked for whose curves are as far from flat as can be: the farthest are mixed, value by value, with
each other and with the drawn ones, and the mixtures again. The model and the schema are public,
and so is this.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import public_generator
from discreet.schema import FloatArray

_SEED = 20_261_116
_ROUNDS, _PARENTS, _KEPT = 3, 32, 13


def extreme_curves(
    rows: FloatArray,
    curves_of: Callable[[FloatArray], FloatArray],
    distance_of: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the curves farthest from their means, of the rows and of all mixtures tried.

    Args:
      rows: drawn from the schema.
      curves_of: computes the rows' curves.
      distance_of: says how far a curve is from its mean.
    """
    draw, pool, curves = public_generator(_SEED), rows, curves_of(rows)
    for _ in range(_ROUNDS):
        parents = pool[_first(distance_of(curves), _PARENTS)]
        one, other = (parents[draw.integers(len(parents), size=len(rows))] for _ in range(2))
        other[::2] = rows[::2]
        share = draw.random((len(rows), 1))
        children = np.where(draw.random(rows.shape) < share, one, other)
        pool = np.concatenate([pool, children])
        curves = np.concatenate([curves, curves_of(children)])
    return np.asarray(curves[_first(distance_of(curves), _KEPT)])


def _first(distances: FloatArray, count: int) -> NDArray[np.intp]:
    return np.argsort(-distances, kind="stable")[:count]
