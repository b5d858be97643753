"""What one record adds to partial dependence: the model's answers with features set to grid points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.engines.curves import CurveEngine
from discreet.engines.table import engine_for
from discreet.models import BoundModel
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray


@dataclass(frozen=True)
class Curves:
    """Records' answers over a grid, measured from ``fill``; not clipped, NaN where the model fails."""

    engine: CurveEngine
    fill: float

    def __call__(self, block: Block) -> FloatArray:
        """Return the curves of a block's records, a row each."""
        vectors = self.engine.predict(block.values)
        vectors -= self.fill
        return vectors

    def calls(self, lipschitz: float) -> ModelCalls:
        """Return what is called for coordinates that move so far per unit of an answer."""
        return ModelCalls(self.engine.third_party, lipschitz)


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
    curves = record_curves(model, features, grids)
    return VectorContribution(
        columns=model.columns,
        size=int(np.prod([len(grid) for grid in grids])),
        region=Box(-half, half),
        fill=0.0,
        compute=curves,
        calls=curves.calls(lipschitz=1.0),
    )


def record_curves(
    model: BoundModel, features: tuple[str, ...], grids: tuple[FloatArray, ...]
) -> Curves:
    """Return how the curves of records are computed: as fast as the model's form allows."""
    places = [model.columns.index(name) for name in features]
    return Curves(engine_for("curve", model, places, grids), model.fill)
