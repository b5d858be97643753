"""Where to clip losses before features are ranked: tried out on rows drawn from the schema.

The greatest loss of a number is that of the farthest pair of bounds, which hardly a record has, and the
noise is proportional to it. Clipping lowers the noise and moves all features' losses; a ranking is
harmed only where their order changes. How often it would be right is known for public rows: exchange
their values, let the model's own answers stand for their targets, and compare the order of clipped
losses, under the noise that belongs to the clip, with that of the unclipped. No private row has a say.
Records' targets may be farther from the answers than public rows can tell, so that no error up to a
quarter of the greatest is clipped.
"""

from __future__ import annotations

import numpy as np

from discreet.data.state import quietly
from discreet.explain.clipping import public_rows
from discreet.explain.permutation.contribution import Exchange
from discreet.explain.permutation.losses import mean_losses, partners
from discreet.schema import FloatArray, Schema

_ERRORS = 2.0 ** -np.arange(0.0, 2.25, 0.25)
"""Errors that are tried as the greatest, as a share of it."""

_POWERS = {"squared_error": 2, "absolute_error": 1}
_REPEATS = 5


def ranking_clip(exchange: Exchange, schema: Schema, *, k: int, spread: float) -> float | None:
    """Return the clip that ranks public rows best, or None if that is the greatest loss.

    Args:
      exchange: with a loss that is not clipped.
      schema: that public rows are drawn from.
      k: how many places are wanted.
      spread: the standard deviation of the noise on a feature's mean loss, not clipped.
    """
    if exchange.scorer.name not in _POWERS:
        return None  # answers are no labels: the loss of a class is not seen on public rows
    clips = _ERRORS ** _POWERS[exchange.scorer.name]
    losses, most = _public_losses(exchange, schema), exchange.scorer.most
    order = np.argsort(-losses.mean(axis=0), kind="stable")
    shares = [_in_order(np.minimum(losses, c * most)[:, order], k, c * spread) for c in clips]
    best = float(clips[int(np.argmax(shares))])
    return None if best == 1 else best * most


def clip_bias(exchange: Exchange, whole: Exchange, schema: Schema) -> float:
    """Return how far clipping moves a loss of public rows; zero where these tell nothing of it."""
    if whole.scorer.name not in _POWERS:
        return 0.0
    lost = _public_losses(whole, schema).mean(axis=0) - _public_losses(exchange, schema).mean(axis=0)
    return float(np.abs(lost).max())


def _public_losses(exchange: Exchange, schema: Schema) -> FloatArray:
    """Return exchanged losses of public rows, one column per feature, against their own answers."""
    model = exchange.model
    rows = public_rows(schema, model.columns)
    with quietly(model.pulse is not None):
        own = model.predict(np.asfortranarray(rows))
        index = partners(exchange.seed, 0, len(rows), _REPEATS)
        parts = [
            mean_losses(exchange.engine, exchange.scorer, rows, own, rows, one[None, :])[:, :-1]
            for one in index
        ]
    return np.nan_to_num(np.concatenate(parts), nan=exchange.scorer.most)


def _in_order(losses: FloatArray, k: int, spread: float) -> float:
    """Return the share of pairs, one of them among the first k, that noise leaves in this order."""
    from scipy.special import ndtr

    means = losses.mean(axis=0)
    first, second = np.triu_indices(len(means), 1)
    first, second = first[first < k], second[first < k]
    return float(np.mean(ndtr((means[first] - means[second]) / (np.sqrt(2.0) * spread))))
