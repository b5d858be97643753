"""What one record adds to partial dependence: the model's answers with features set to grid points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.engines.curves import TreeGrid
from discreet.explain.pdp.grids import cells_of
from discreet.models import BoundModel, LinearForm, TreeEnsemble
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

Curves = Callable[[Block], FloatArray]

_ROWS_AT_ONCE = 2**15
"""About so many rows are made at once."""


def curve_contribution(
    model: BoundModel, feature: str | tuple[str, ...], *grids: FloatArray
) -> VectorContribution:
    """Return what one record adds: its curve of predictions, measured from the middle of the bounds.

    For two features it is a surface, flat, the second feature fastest.

    Guarantees:
      - Every coordinate lies within half the output's range of zero. [pdp]
    """
    half = (model.bounds.high - model.bounds.low) / 2
    features = (feature,) if isinstance(feature, str) else feature
    return VectorContribution(
        columns=model.columns,
        size=int(np.prod([len(grid) for grid in grids])),
        region=Box(-half, half),
        fill=0.0,
        compute=record_curves(model, features, grids),
        calls=ModelCalls(model.third_party, lipschitz=1.0),
    )


def record_curves(
    model: BoundModel, features: tuple[str, ...], grids: tuple[FloatArray, ...]
) -> Curves:
    """Return how curves are computed: fused for linear models and trees, else by calls of the model.

    Answers are not clipped, and NaN where the model fails.
    """
    places = [model.columns.index(name) for name in features]
    match model.form:
        case LinearForm() as form:
            return _of_linear(form, places, grids, model.fill)
        case TreeEnsemble() as trees:
            return _of_trees(TreeGrid.of(trees, places, grids), model.fill)
    return _of_calls(model, places, cells_of(grids))


def _of_linear(
    form: LinearForm, places: list[int], grids: tuple[FloatArray, ...], fill: float
) -> Curves:
    weights = form.weights[places]
    shifts = (cells_of(grids) * weights).sum(axis=1)

    def compute(block: Block) -> FloatArray:
        rest = form.scores(block.values)
        for place, weight in zip(places, weights, strict=True):
            rest -= weight * block.values[:, place]
        vectors = form.shifted(rest, shifts)
        vectors -= fill
        return vectors

    return compute


def _of_trees(grid: TreeGrid, fill: float) -> Curves:
    def compute(block: Block) -> FloatArray:
        vectors = grid.predict(block.values)
        vectors -= fill
        return vectors

    return compute


def _of_calls(model: BoundModel, places: list[int], cells: FloatArray) -> Curves:
    def compute(block: Block) -> FloatArray:
        vectors = np.empty((len(block), len(cells)), order="F")
        records = max(1, _ROWS_AT_ONCE // len(cells))
        for start in range(0, len(block), records):
            part = np.repeat(block.values[start : start + records], len(cells), axis=0)
            part[:, places] = np.tile(cells, (len(part) // len(cells), 1))
            answers = model.answer(part, len(cells)).reshape(-1, len(cells))
            vectors[start : start + records] = answers - model.fill
        return vectors

    return compute
