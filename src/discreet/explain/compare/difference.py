"""What one record adds to a comparison of two models: the difference of their answers or losses.

Whether differences cancel cannot be assumed: the proven range is that of two answers, unless both are
linear or share trees (``apart``). It is clipped at a public length, seen on rows drawn from the schema,
where noise and bias together are less for it. Models that are known by their answers alone cannot share
a call: of two such, each has a sum of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError
from discreet.explain.clipping import PUBLIC_ROWS, clipped
from discreet.explain.compare.apart import farthest_apart
from discreet.explain.permutation.losses import Scorer, choose_scorer
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans.stages.parts import may_lack
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray, Schema

Vectors = Callable[[Block], FloatArray]

_QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_ROOM = 1.05
_LEAST = 1e-3
"""Of the whole length: no shorter clip is tried."""


@dataclass(frozen=True)
class ModelSide:
    """What a record adds to the sum of one model.

    Args:
      columns: that are read.
      size: of a vector.
      region: where its coordinates lie.
      compute: the vectors of a block's records.
      calls: of the model.
      proven: a certificate of the sum that says more than the region; such vectors stay uncentred.
    """

    columns: tuple[str, ...]
    size: int
    region: Box
    compute: Vectors
    calls: ModelCalls
    proven: Certificate | None = None

    @property
    def middle(self) -> float:
        """What coordinates are measured from in a release of this side alone."""
        return 0.0 if self.proven is not None else self.region.low / 2 + self.region.high / 2

    @property
    def alone(self) -> VectorContribution:
        """What a record adds to a release of this side alone, measured from the middle."""
        middle, compute = self.middle, self.compute
        region = self.region if self.proven is not None else _around(self.region)
        return VectorContribution(
            self.columns,
            self.size,
            region,
            0.0,
            lambda block: compute(block) - middle,
            self.proven,
            calls=self.calls,
        )


@dataclass(frozen=True)
class ModelDifference:
    """Vectors of differences of two models, and how long they can be.

    Args:
      first: the one.
      second: the other, of the same size.
      whole: no coordinate of a difference is farther from zero.
      proven: a certificate of the sum of differences that says more than ``whole``.
    """

    first: ModelSide
    second: ModelSide
    whole: float
    proven: Certificate | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are read."""
        return tuple(dict.fromkeys((*self.first.columns, *self.second.columns)))

    @property
    def size(self) -> int:
        """Of a vector."""
        return self.first.size

    @property
    def opaque(self) -> bool:
        """Whether both models are known by their answers alone."""
        return self.first.calls.code is not None and self.second.calls.code is not None

    def compute(self, block: Block) -> FloatArray:
        """Return the differences of a block's records."""
        first, second = (side.compute(block.narrow(side.columns)) for side in (self.first, self.second))
        return first - second

    def clipped(self, length: float) -> VectorContribution:
        """Return what a record adds, every coordinate at most ``length`` from zero."""
        proven = self.proven
        if proven is not None and length < self.whole:
            proven = clipped(proven, length, "linf")
        calls = self.second.calls if self.first.calls.code is None else self.first.calls
        box = Box(-length, length)
        return VectorContribution(self.columns, self.size, box, 0.0, self.compute, proven, calls=calls)

    def on_public_rows(self, schema: Schema) -> FloatArray:
        """Return the vectors of rows drawn from the schema."""
        places = [schema.position(name) for name in self.columns]
        rows = np.asfortranarray(schema.draw(PUBLIC_ROWS)[:, places])
        with quietly():
            found = self.compute(Block(0, self.columns, rows))
        return np.clip(np.nan_to_num(found), -self.whole, self.whole)

    def choose_length(
        self, seen: FloatArray, noise_of: Callable[[float], float], rows: int | None
    ) -> float:
        """Return the clip with the least error on public rows; where n is private, one that clips none.

        Args:
          seen: vectors of public rows.
          noise_of: half the width of the band of the sum, by the clip.
          rows: the public number of records.
        """
        farthest = np.abs(seen).max(axis=1)
        shares = (1.0,) if rows is None else _QUANTILES
        tried = [float(np.quantile(farthest, share)) * _ROOM for share in shares]
        lengths = [min(max(length, _LEAST * self.whole), self.whole) for length in tried]

        def error(length: float) -> float:
            return noise_of(length) / (rows or 1) + clip_bias(seen, length)

        return min(dict.fromkeys([*lengths, self.whole]), key=error)


def clip_bias(seen: FloatArray, length: float) -> float:
    """Return how far clipping moves the mean of public rows, at its farthest point."""
    return float(np.abs((seen - np.clip(seen, -length, length)).mean(axis=0)).max())


def curve_difference(
    first: BoundModel, second: BoundModel, schema: Schema, feature: str, grid: FloatArray
) -> ModelDifference:
    """Return the difference of records' curves of answers as a feature is set to grid points."""

    def side(model: BoundModel) -> ModelSide:
        engine = engine_for("curve", model, [model.columns.index(feature)], (grid,))

        def compute(block: Block) -> FloatArray:
            return _inside(model, engine.predict(block.values))

        calls = ModelCalls(engine.third_party, 1.0)
        return ModelSide(model.columns, len(grid), Box(*model.bounds.limits), compute, calls)

    return ModelDifference(side(first), side(second), farthest_apart(first, second, schema))


def loss_difference(
    first: BoundModel, second: BoundModel, schema: Schema, scorers: tuple[Scorer, Scorer]
) -> ModelDifference:
    """Return the difference of records' losses: above zero where the second model does better."""
    target = schema.target
    assert target is not None

    def side(model: BoundModel, scorer: Scorer) -> ModelSide:
        predict = engine_for("predict", model)

        def compute(block: Block) -> FloatArray:
            answers = predict(block.narrow(model.columns).values, 1)
            totals = np.zeros(len(block))
            scorer.add(answers[None], scorer.truth(block[target]), False, totals)
            return totals[:, None]

        calls = ModelCalls(model.third_party, scorer.steepness)
        return ModelSide((*model.columns, target), 1, Box(0.0, scorer.most), compute, calls)

    steep = max(scorer.steepness for scorer in scorers)
    apart = up(steep * farthest_apart(first, second, schema))
    whole = min(max(scorer.most for scorer in scorers), apart)
    return ModelDifference(side(first, scorers[0]), side(second, scorers[1]), whole)


def scorers_of(
    first: BoundModel, second: BoundModel, schema: Schema, scoring: str
) -> tuple[Scorer, Scorer]:
    """Return the same loss of both models, or raise."""
    made = tuple(choose_scorer(model, schema, scoring) for model in (first, second))  # type: ignore[arg-type]
    target = schema.target
    if made[0].name != made[1].name:
        raise ArgumentError(
            f"scoring must be the same for both models, got {made[0].name} and {made[1].name}."
        )
    if target is not None and may_lack(schema[target]):
        raise ArgumentError(
            f"schema must give every record a target for a difference of losses, got {target!r}, which "
            "may be missing or not listed. Say what such values become: missing=False, or unknown=..."
        )
    return made[0], made[1]


def _around(region: Box) -> Box:
    half = up(region.high / 2 - region.low / 2)
    return Box(-half, half)


def _inside(model: BoundModel, answers: FloatArray) -> FloatArray:
    return np.clip(np.where(np.isnan(answers), model.fill, answers), *model.bounds.limits)
