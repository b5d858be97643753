"""What one record adds to permutation importances, and how far it can move them.

Every feature's exchanged loss and the loss itself are summed; importances are differences. The loss is
the same in all of them, so it is summed once, beside the others, with a weight of its own: its noise is
then shared, and smaller. For one or two features it is cheaper to sum the differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.engines.permute import Engine
from discreet.errors import ArgumentError, ModelError
from discreet.explain.permutation.losses import Draws, mean_losses, partners
from discreet.explain.permutation.noise import (
    Difference,
    Order,
    SignedRanking,
    SortedNoise,
    loss_weight,
)
from discreet.explain.permutation.scores import Scorer
from discreet.mechanisms import NOISES, NoiseName, ranking_noise, sum_noise
from discreet.mechanisms.additive.registry import laws_for
from discreet.mechanisms.selection.ranking import SORTED, OrderName, as_picks, sorting_is_better
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans import Setting, Stage
from discreet.plans.stages.sums import sum_terms
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import FloatArray

_LAST_BIT = 2.0**-53
_DIFFERENCE = 2.0
"""A difference of two losses holds two answers of the model."""


@dataclass(frozen=True)
class Exchange:
    """A model, a loss, and whose values are exchanged: ``draws`` is None for partners in the table."""

    model: BoundModel
    engine: Engine
    scorer: Scorer
    target: str
    repeats: int
    seed: int
    draws: Draws | None

    @property
    def moved(self) -> int:
        """How many exchanged losses of a feature one record enters: its own and its partner's."""
        return 2 if self.draws is None else 1

    @property
    def measured(self) -> tuple[int, ...]:
        """Features that are released with noise: a model's answer never depends on the others."""
        return self.engine.used or tuple(range(len(self.model.columns)))

    def losses(self, block: Block) -> FloatArray:
        """Return what ``mean_losses`` says of a block; the last of its columns is the target."""
        values = np.asarray(block.values)
        rows, truth = values[:, :-1], self.scorer.truth(values[:, -1])
        if self.draws is None:
            donors, index = rows, partners(self.seed, block.start, len(rows), self.repeats)
        else:
            donors, index = self.draws.donors, self.draws.index(values, self.repeats)
        return mean_losses(self.engine, self.scorer, rows, truth, donors, index)

    def contribution(
        self, compute: Callable[[Block], FloatArray], proven: Certificate, reach: float, weight: float
    ) -> VectorContribution:
        """Return a sum over records, which pays for steep losses of models that are not ours."""
        calls = ModelCalls(self.engine.third_party, lipschitz=self.scorer.steepness * weight)
        if calls.batch_error(REPLACE_ONE) * BLOCK_ROWS > self.scorer.most:
            raise ModelError(
                f"model must answer in double precision for {self.scorer.name}, got answers that move "
                "with the rows beside them, and a loss that moves with them. Use another scoring."
            )
        return VectorContribution(
            columns=(*self.model.columns, self.target),
            size=proven.size,
            region=Box(-reach, reach),
            fill=0.0,
            compute=compute,
            proven=proven,
            partners=self.repeats if self.draws is None else 0,
            calls=calls,
        )


def certify(
    exchanged: int, losses: int, most: float, weight: float | None, *, repeats: int, own: bool
) -> Certificate:
    """Certify sums of exchanged losses, and of the loss itself beside or inside them.

    Args:
      exchanged: how many losses per feature one record enters: 2 for partners, 1 for draws.
      losses: the number of features.
      most: the greatest loss.
      weight: of the loss as one more coordinate; None if it is subtracted from all.
      repeats: over which exchanged losses are averaged.
      own: whether the loss itself is there at all.

    Guarantees:
      - Replacing a record moves an exchanged loss by at most ``exchanged`` times the greatest, and the
        loss by the greatest; all of them at once. [pfi] [pfi-loss-once]
      - Draws alone are certified under add-remove, by half of it: losses are measured from the middle.
        [pfi-marginal]
      - Means over repeats are sums of floats. [pfi-rounding]
    """
    if weight is None:
        each = exchanged + own
        replaced = _scaled(Bounds(losses * each, math.sqrt(losses) * each, each), most)
        added = _scaled(Bounds(losses * each, math.sqrt(losses) * each, each), most / 2)
        size = losses
    else:
        l1, l2 = losses * exchanged + weight, math.sqrt(losses * exchanged**2 + weight**2)
        replaced = _scaled(Bounds(l1, l2, max(exchanged, weight)), most)
        added = _scaled(Bounds(l1, l2, max(exchanged, weight)), most / 2)
        size = losses + 1
    if exchanged == 1:
        bounds: dict[Relation, Bounds] = {REPLACE_ONE: replaced, ADD_REMOVE: added}
        return Certificate(("pfi-marginal", "pfi-loss-once"), size, bounds)
    exact = Certificate(("pfi", "pfi-loss-once"), size, {REPLACE_ONE: replaced})
    return exact.widen(4 * (repeats + 1) ** 2 * _LAST_BIT * most, "pfi-rounding")


def _scaled(bounds: Bounds, factor: float) -> Bounds:
    return Bounds(*(up(factor * bound) for bound in (bounds.l1, bounds.l2, bounds.linf)))


def value_noise(
    exchange: Exchange, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> Difference:
    """Return the least noise on the importances of the features in use.

    Guarantees:
      - Joint over all features: calibrated in the norm of its law. [pfi-loss-once]
    """
    used = len(exchange.measured)
    found: list[Difference] = []
    for name in laws_for(mechanism, delta):
        for weight in (None, loss_weight(exchange.moved, used, NOISES[name].norm)):
            contribution = value_contribution(exchange, weight)
            certificate, terms = sum_terms(contribution, setting, statement="pfi-rounding")
            try:
                noise = sum_noise(certificate, epsilon=epsilon, delta=delta, mechanism=name, **terms)
            except ArgumentError:  # delta may be too small for Gaussian noise
                if found:
                    continue
                raise
            found.append(Difference(Stage("importance", contribution, noise), weight))
    return min(found, key=lambda difference: difference.std)


def value_contribution(exchange: Exchange, weight: float | None) -> VectorContribution:
    """Return what one record adds to the importances of the features in use."""
    used, most = list(exchange.measured), exchange.scorer.most
    proven = certify(exchange.moved, len(used), most, weight, repeats=exchange.repeats, own=True)

    def compute(block: Block) -> FloatArray:
        losses = exchange.losses(block)
        if weight is None:
            return losses[:, used] - losses[:, -1:]
        vectors = losses[:, [*used, -1]] - most / 2
        vectors[:, -1] *= weight
        return vectors

    reach = most if weight is None else max(1.0, weight) * most / 2
    return exchange.contribution(compute, proven, reach, weight or _DIFFERENCE)


def ranking_contribution(exchange: Exchange) -> VectorContribution:
    """Return what one record adds to the exchanged losses of all features.

    Guarantees:
      - Each moves by two losses (partners), one (draws) or half of one (draws, add-remove): the loss
        itself is common to all features and left out. [pfi-ranking]
    """
    features, most = len(exchange.model.columns), exchange.scorer.most
    proven = certify(exchange.moved, features, most, None, repeats=exchange.repeats, own=False)

    def compute(block: Block) -> FloatArray:
        return exchange.losses(block)[:, :-1] - most / 2

    return exchange.contribution(compute, proven, most / 2, 1.0)


def ranking_stage(
    exchange: Exchange,
    setting: Setting,
    *,
    k: int,
    epsilon: float,
    delta: float,
    mechanism: OrderName,
) -> Stage[Order]:
    """Return the stage that picks features by their exchanged losses, or sorts them if that is better.

    Guarantees:
      - (epsilon, delta) for all places together. [top-k] [pfi-ranking] [box]
    """
    contribution = ranking_contribution(exchange)
    certificate, terms = sum_terms(contribution, setting, statement="pfi-rounding")
    law = SORTED.get(mechanism, "auto")
    sorting = sum_noise(certificate, epsilon=epsilon, delta=delta, mechanism=law, joint=True, **terms)
    pick = as_picks(mechanism)
    if pick is None:
        return Stage("ranking", contribution, SortedNoise(sorting, k))
    picks = ranking_noise(certificate, epsilon=epsilon, delta=delta, k=k, mechanism=pick, **terms)
    best: Order = SignedRanking.of(picks)
    if mechanism == "auto" and sorting_is_better(picks, sorting.std):
        best = SortedNoise(sorting, k)
    return Stage("ranking", contribution, best)
