"""What one record adds to permutation importances, and how far it can move them.

Every feature's permuted loss and the loss itself are summed; importances are differences. The loss is
the same in all of them, so it is summed once, beside the others, with a weight of its own: its noise is
then shared, and smaller. For one or two features it is cheaper to sum the differences.

Where to clip losses before features are ranked is tried out on rows drawn from the schema. The greatest
loss of a number is that of the farthest pair of bounds, which hardly a record has, and the noise is
proportional to it. Clipping lowers the noise and moves all features' losses; a ranking is harmed only
where their order changes. How often it would be right is known for public rows: permute their values,
let the model's own answers stand for their targets, and compare the order of clipped losses, under the
noise that belongs to the clip, with that of the unclipped. No private row has a say. Records' targets
may be farther from the answers than public rows can tell, so that no error up to a quarter of the
greatest is clipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.state import quietly
from discreet.engines.permute import PermuteEngine
from discreet.errors import ArgumentError, ModelError
from discreet.explain.clipping import public_rows
from discreet.explain.permutation.losses import Draws, Scorer, mean_losses, partners
from discreet.explain.permutation.noise import (
    Difference,
    Order,
    SignedRanking,
    SortedNoise,
    loss_weight,
)
from discreet.mechanisms import NOISES, NoiseName, ranking_noise, sum_noise
from discreet.mechanisms.additive.registry import laws_for
from discreet.mechanisms.selection.ranking import SORTED, OrderName, as_picks, sorting_is_better
from discreet.models import BoundModel
from discreet.numerics import UNIT_ROUNDOFF, up
from discreet.plans import Setting, Stage
from discreet.plans.stages.sums import sum_terms
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import FloatArray, Schema

_DIFFERENCE = 2.0
"""A difference of two losses holds two answers of the model."""

_ERRORS = 2.0 ** -np.arange(0.0, 2.25, 0.25)
"""Errors that are tried as the greatest, as a share of it."""

_POWERS = {"squared_error": 2, "absolute_error": 1}
_REPEATS = 5


@dataclass(frozen=True)
class PermutedLosses:
    """A model, a loss, and whose values are permuted: ``draws`` is None for partners in the table."""

    model: BoundModel
    engine: PermuteEngine
    scorer: Scorer
    target: str
    repeats: int
    seed: int
    draws: Draws | None

    @property
    def moved(self) -> int:
        """How many permuted losses of a feature one record enters: its own and its partner's."""
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

    def in_part(self, block: Block, vectors: FloatArray) -> FloatArray:
        """Return vectors that are zero for records without a target, which are not in the part.

        Guarantees:
          - Zero lies in every region that vectors are measured in the middle of. [pfi-part]
        """
        known = self.scorer.known(np.asarray(block.values)[:, -1])
        return np.where(known[:, None], vectors, 0.0)

    def contribution(
        self, compute: Callable[[Block], FloatArray], proven: Certificate, bound: float, weight: float
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
            region=Box(-bound, bound),
            fill=0.0,
            compute=compute,
            proven=proven,
            partners=self.repeats if self.draws is None else 0,
            calls=calls,
        )


def certify(
    moved: int, losses: int, most: float, weight: float | None, *, repeats: int, own: bool
) -> Certificate:
    """Certify sums of permuted losses, and of the loss itself beside or inside them.

    Args:
      moved: how many losses per feature one record enters: 2 for partners, 1 for draws.
      losses: the number of features.
      most: the greatest loss.
      weight: of the loss as one more coordinate; None if it is subtracted from all.
      repeats: over which permuted losses are averaged.
      own: whether the loss itself is there at all.

    Guarantees:
      - Replacing a record moves a permuted loss by at most ``moved`` times the greatest, and the
        loss by the greatest; all of them at once. [pfi] [pfi-loss-once]
      - Draws alone are certified under add-remove, by half of it: losses are measured from the middle.
        [pfi-marginal]
      - Means over repeats are sums of floats. [pfi-rounding]
    """
    if weight is None:
        each = moved + own
        replaced = _scaled(Bounds(losses * each, math.sqrt(losses) * each, each), most)
        added = _scaled(Bounds(losses * each, math.sqrt(losses) * each, each), most / 2)
        size = losses
    else:
        l1, l2 = losses * moved + weight, math.sqrt(losses * moved**2 + weight**2)
        replaced = _scaled(Bounds(l1, l2, max(moved, weight)), most)
        added = _scaled(Bounds(l1, l2, max(moved, weight)), most / 2)
        size = losses + 1
    if moved == 1:
        bounds: dict[Relation, Bounds] = {REPLACE_ONE: replaced, ADD_REMOVE: added}
        return Certificate(("pfi-marginal", "pfi-loss-once"), size, bounds)
    exact = Certificate(("pfi", "pfi-loss-once"), size, {REPLACE_ONE: replaced})
    return exact.widen(4 * (repeats + 1) ** 2 * UNIT_ROUNDOFF * most, "pfi-rounding")


def _scaled(bounds: Bounds, factor: float) -> Bounds:
    return Bounds(*(up(factor * bound) for bound in (bounds.l1, bounds.l2, bounds.linf)))


def value_noise(
    permuted: PermutedLosses, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> Difference:
    """Return the least noise on the importances of the features in use.

    Guarantees:
      - Joint over all features: calibrated in the norm of its law. [pfi-loss-once]
    """
    used = len(permuted.measured)
    found: list[Difference] = []
    for name in laws_for(mechanism, delta):
        for weight in (None, loss_weight(permuted.moved, used, NOISES[name].norm)):
            contribution = value_contribution(permuted, weight)
            certificate, terms = sum_terms(contribution, setting, statement="pfi-rounding")
            try:
                noise = sum_noise(certificate, epsilon=epsilon, delta=delta, mechanism=name, **terms)
            except ArgumentError:  # delta may be too small for Gaussian noise
                if found:
                    continue
                raise
            found.append(Difference(Stage("importance", contribution, noise), weight))
    return min(found, key=lambda difference: difference.std)


def value_contribution(permuted: PermutedLosses, weight: float | None) -> VectorContribution:
    """Return what one record adds to the importances of the features in use."""
    used, most = list(permuted.measured), permuted.scorer.most
    proven = certify(permuted.moved, len(used), most, weight, repeats=permuted.repeats, own=True)

    def compute(block: Block) -> FloatArray:
        losses = permuted.losses(block)
        if weight is None:
            return permuted.in_part(block, losses[:, used] - losses[:, -1:])
        vectors = losses[:, [*used, -1]] - most / 2
        vectors[:, -1] *= weight
        return permuted.in_part(block, vectors)

    bound = most if weight is None else max(1.0, weight) * most / 2
    return permuted.contribution(compute, proven, bound, weight or _DIFFERENCE)


def ranking_contribution(permuted: PermutedLosses) -> VectorContribution:
    """Return what one record adds to the permuted losses of all features.

    Guarantees:
      - Each moves by two losses (partners), one (draws) or half of one (draws, add-remove): the loss
        itself is common to all features and left out. [pfi-ranking]
    """
    features, most = len(permuted.model.columns), permuted.scorer.most
    proven = certify(permuted.moved, features, most, None, repeats=permuted.repeats, own=False)

    def compute(block: Block) -> FloatArray:
        return permuted.in_part(block, permuted.losses(block)[:, :-1] - most / 2)

    return permuted.contribution(compute, proven, most / 2, 1.0)


def ranking_stage(
    permuted: PermutedLosses,
    setting: Setting,
    *,
    k: int,
    epsilon: float,
    delta: float,
    mechanism: OrderName,
) -> Stage[Order]:
    """Return the stage that picks features by their permuted losses, or sorts them if that is better.

    Guarantees:
      - (epsilon, delta) for all places together. [top-k] [pfi-ranking] [box]
    """
    contribution = ranking_contribution(permuted)
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


def ranking_clip(permuted: PermutedLosses, schema: Schema, *, k: int, spread: float) -> float | None:
    """Return the clip that ranks public rows best, or None if that is the greatest loss.

    Args:
      permuted: with a loss that is not clipped.
      schema: that public rows are drawn from.
      k: how many places are wanted.
      spread: the standard deviation of the noise on a feature's mean loss, not clipped.
    """
    if permuted.scorer.name not in _POWERS:
        return None  # answers are no labels: the loss of a class is not seen on public rows
    clips = _ERRORS ** _POWERS[permuted.scorer.name]
    losses, most = _public_losses(permuted, schema), permuted.scorer.most
    order = np.argsort(-losses.mean(axis=0), kind="stable")
    shares = [_in_order(np.minimum(losses, c * most)[:, order], k, c * spread) for c in clips]
    best = float(clips[int(np.argmax(shares))])
    return None if best == 1 else best * most


def clip_bias(permuted: PermutedLosses, whole: PermutedLosses, schema: Schema) -> float:
    """Return how far clipping moves a loss of public rows; zero where these tell nothing of it."""
    if whole.scorer.name not in _POWERS:
        return 0.0
    lost = _public_losses(whole, schema).mean(axis=0) - _public_losses(permuted, schema).mean(axis=0)
    return float(np.abs(lost).max())


def _public_losses(permuted: PermutedLosses, schema: Schema) -> FloatArray:
    """Return permuted losses of public rows, one column per feature, against their own answers."""
    model = permuted.model
    rows = public_rows(schema, model.columns)
    with quietly(model.pulse is not None):
        own = model.predict(np.asfortranarray(rows))
        index = partners(permuted.seed, 0, len(rows), _REPEATS)
        parts = [
            mean_losses(permuted.engine, permuted.scorer, rows, own, rows, one[None, :])[:, :-1]
            for one in index
        ]
    return np.nan_to_num(np.concatenate(parts), nan=permuted.scorer.most)


def _in_order(losses: FloatArray, k: int, spread: float) -> float:
    """Return the share of pairs, one of them among the first k, that noise leaves in this order."""
    from scipy.special import ndtr

    means = losses.mean(axis=0)
    first, second = np.triu_indices(len(means), 1)
    first, second = first[first < k], second[first < k]
    return float(np.mean(ndtr((means[first] - means[second]) / (np.sqrt(2.0) * spread))))
