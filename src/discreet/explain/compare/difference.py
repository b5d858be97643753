"""What one record adds to a comparison of two models: the difference of their answers or losses.

Whether differences cancel cannot be assumed: the proven range is that of two answers, unless both are
linear or share trees (``apart``). It is clipped at
a public length, seen on rows drawn from the schema, where noise and bias together are less for it. One
noisy sum of differences has less noise than two noisy sums at the same price, clipped or not: it moves
by the sum of both ranges, and two sums move by that much together and add their noises up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.data.calls import ThirdParty
from discreet.data.state import quietly
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError
from discreet.explain.clipping import PUBLIC_ROWS
from discreet.explain.compare.apart import farthest_apart
from discreet.explain.permutation.losses import Scorer, choose_scorer
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans.stages.parts import may_lack
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Schema

Vectors = Callable[[Block], FloatArray]

_QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_ROOM = 1.05
_LEAST = 1e-3
"""Of the whole length: no shorter clip is tried."""


@dataclass(frozen=True)
class ModelDifference:
    """Vectors of differences, and how long they can be.

    Args:
      columns: that are read.
      size: of a vector.
      whole: no coordinate is farther from zero.
      compute: the vectors of a block's records.
      calls: of the model that is third-party code, if one is.
    """

    columns: tuple[str, ...]
    size: int
    whole: float
    compute: Vectors
    calls: ModelCalls

    def clipped(self, length: float) -> VectorContribution:
        """Return what a record adds, every coordinate at most ``length`` from zero."""
        return VectorContribution(
            self.columns, self.size, Box(-length, length), 0.0, self.compute, calls=self.calls
        )

    def on_public_rows(self, schema: Schema) -> FloatArray:
        """Return the vectors of rows drawn from the schema."""
        places = [schema.position(name) for name in self.columns]
        rows = np.asfortranarray(schema.draw(PUBLIC_ROWS)[:, places])
        with quietly():
            found = self.compute(Block(0, self.columns, rows))
        return np.clip(np.nan_to_num(found), -self.whole, self.whole)

    def choose_length(self, seen: FloatArray, noise: float, rows: int | None) -> float:
        """Return the clip with the least error on public rows; where n is private, one that clips none.

        Args:
          seen: vectors of public rows.
          noise: half the width of the band of the sum if nothing is clipped.
          rows: the public number of records.
        """
        farthest = np.abs(seen).max(axis=1)
        shares = (1.0,) if rows is None else _QUANTILES
        tried = [float(np.quantile(farthest, share)) * _ROOM for share in shares]
        lengths = [min(max(length, _LEAST * self.whole), self.whole) for length in tried]

        def error(length: float) -> float:
            return noise * length / self.whole / (rows or 1) + clip_bias(seen, length)

        return min([*lengths, self.whole], key=error)


def clip_bias(seen: FloatArray, length: float) -> float:
    """Return how far clipping moves the mean of public rows, at its farthest point."""
    return float(np.abs((seen - np.clip(seen, -length, length)).mean(axis=0)).max())


def curve_difference(
    first: BoundModel, second: BoundModel, schema: Schema, feature: str, grid: FloatArray
) -> ModelDifference:
    """Return the difference of records' curves of answers as a feature is set to grid points."""
    curves = [
        (model, engine_for("curve", model, [model.columns.index(feature)], (grid,)))
        for model in (first, second)
    ]

    def compute(block: Block) -> FloatArray:
        parts = [
            _inside(model, engine.predict(block.narrow(model.columns).values))
            for model, engine in curves
        ]
        return parts[0] - parts[1]

    farthest = farthest_apart(first, second, schema)
    code = _one_code(*(engine.third_party for _, engine in curves))
    return ModelDifference(_columns(first, second), len(grid), farthest, compute, ModelCalls(code, 1.0))


def loss_difference(
    first: BoundModel, second: BoundModel, schema: Schema, scorers: tuple[Scorer, Scorer]
) -> ModelDifference:
    """Return the difference of records' losses: above zero where the second model does better."""
    target = schema.target
    assert target is not None
    judged = [
        (model, engine_for("predict", model), scorer)
        for model, scorer in zip((first, second), scorers, strict=True)
    ]

    def compute(block: Block) -> FloatArray:
        parts = []
        for model, predict, scorer in judged:
            answers = predict(block.narrow(model.columns).values, 1)
            totals = np.zeros(len(block))
            scorer.add(answers[None], scorer.truth(block[target]), False, totals)
            parts.append(totals)
        return (parts[0] - parts[1])[:, None]

    steep = max(scorer.steepness for scorer in scorers)
    apart = up(steep * farthest_apart(first, second, schema))
    whole = min(max(scorer.most for scorer in scorers), apart)
    code = _one_code(first.third_party, second.third_party)
    columns = (*_columns(first, second), target)
    return ModelDifference(columns, 1, whole, compute, ModelCalls(code, steep))


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


def _inside(model: BoundModel, answers: FloatArray) -> FloatArray:
    return np.clip(np.where(np.isnan(answers), model.fill, answers), *model.bounds.limits)


def _columns(first: BoundModel, second: BoundModel) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first.columns, *second.columns)))


def _one_code(*codes: ThirdParty | None) -> ThirdParty | None:
    """Return the third-party code of the models, of which at most one may be such."""
    known = [code for code in codes if code is not None]
    if len(known) > 1:
        raise ArgumentError(
            "first and second must not both be models that are known by their answers alone, got two. "
            "Compare with one that is compiled (linear, trees, networks), or release both."
        )
    return known[0] if known else None
