"""A bootstrap guess at how far one background record moves an explanation. It certifies nothing.

Algorithm 1 of Alissaiei (2026), for the value function "mean". At hop k, for b = 1, ..., B:

    D_b      the background with k records overwritten by records drawn from it with replacement
    LS_kb  = max over r of |phi(D_b) - phi(D_b with record r overwritten by such a draw)|_2
    UB_k   = max_b LS_kb + sqrt(2 V_k L / B) + 7 M L / (3 (B - 1)),   L = ln(2 (k_max + 1) / alpha)
    S      = max_k exp(-beta k) UB_k,  beta = epsilon / (2 ln(1 / delta))
    sigma  = S sqrt(2 ln(1.25 / delta)) / epsilon

with V_k the sample variance over b and M a bound on every LS_kb. Everything here is a function of the
private background, the worst neighbour is only met if it resembles records that are already there, and
neither S nor sigma is smooth between neighbours: noise of this size protects nobody. It is kept as the
published baseline.

The background enters through its mean alone, so a swap is a shift of the mean by the difference of two
records over n. All distinct shifts (at hop 0 no more than n^2, whatever B) are explained in one go, as
the records of a background; in a sum of small trees each tree is evaluated once for all means that lie
on the same sides of its splits.

Reference: Maurer and Pontil (2009) for the correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.engines.shapley.kernel import Predictor, record_values
from discreet.errors import ArgumentError
from discreet.models import TreeEnsemble
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray

_BLOCK = 2**13
"""Means explained at once."""

_MOST_NODES = 125
"""A tree with so many nodes has at most 62 splits, one bit each."""


@dataclass(frozen=True, eq=False)
class BootstrapSensitivity:
    """What the bootstrap saw. Private, heuristic, not certified.

    Args:
      swaps: LS, one row per hop and one column per resample.
      greatest: M, the bound on a swap that the correction uses.
      failure: alpha, the chance that a mean over resamples lies above its bound.
    """

    swaps: FloatArray
    greatest: float
    failure: float

    certified = False

    @property
    def corrections(self) -> FloatArray:
        """The empirical Bernstein term of every hop."""
        hops, resamples = self.swaps.shape
        confidence = math.log(2.0 * hops / self.failure)
        spread = np.sqrt(2.0 * self.swaps.var(axis=1, ddof=1) * confidence / resamples)
        return np.asarray(spread + 7.0 * self.greatest * confidence / (3.0 * (resamples - 1)))

    @property
    def envelopes(self) -> FloatArray:
        """UB of every hop: the greatest swap seen and the correction."""
        return np.asarray(self.swaps.max(axis=1) + self.corrections)

    def sensitivity(self, epsilon: float, delta: float) -> float:
        """Return S, what the published baseline takes for a smooth sensitivity."""
        check_positive("epsilon", epsilon)
        _check_chance("delta", delta)
        beta = epsilon / (2.0 * math.log(1.0 / delta))
        return float((np.exp(-beta * np.arange(len(self.swaps))) * self.envelopes).max())

    def noise_scale(self, epsilon: float, delta: float) -> float:
        """Return sigma of the published baseline; noise of this size protects nobody."""
        return self.sensitivity(epsilon, delta) * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def bootstrap_sensitivity(
    predict: Predictor | TreeEnsemble,
    query: FloatArray,
    background: FloatArray,
    masks: MaskSet,
    *,
    greatest: float,
    resamples: int = 400,
    hops: int = 0,
    failure: float = 0.01,
    seed: int = 0,
) -> BootstrapSensitivity:
    """Estimate how far replacing a record moves one query's attributions against the mean.

    A heuristic: it depends on private rows, misses neighbours unlike the rows at hand, and is no
    certificate. Use ``operator_bounds`` or the interventional value function for a real one.

    Args:
      predict: a model as ``kernel_values`` takes it, or an ensemble of trees.
      query: one encoded row.
      background: encoded rows, at least two.
      masks: the public coalitions; the published form has ``constrained=False``.
      greatest: M, a bound on a swap.
      resamples: B, at least two.
      hops: k_max; the published experiments stay at 0.
      failure: alpha.
      seed: of the resampling.
    """
    query, background = _checked(query, background, masks)
    check_positive("greatest", greatest)
    check_whole("resamples", resamples, 2)
    check_whole("hops", hops, 0, len(background), "A background can lose no more records than it has.")
    _check_chance("failure", failure)
    check_whole("seed", seed, 0)
    generator = public_generator(seed)
    swaps = []
    for hop in range(hops + 1):
        members, incoming = draw_swaps(generator, len(background), resamples, hop)
        with np.errstate(all="ignore"):  # nothing a row holds may warn
            swaps.append(_local_sensitivities(predict, query, background, masks, members, incoming))
    return BootstrapSensitivity(np.array(swaps), float(greatest), failure)


def draw_swaps(
    generator: np.random.Generator, rows: int, resamples: int, hop: int
) -> tuple[IntArray, IntArray]:
    """Return, per resample, the records of D_b and the record that replaces each (resamples x rows).

    Both are numbers of rows of the background; ``hop`` places, all different, are overwritten.
    """
    members = np.tile(np.arange(rows), (resamples, 1))
    if hop:
        places = generator.random((resamples, rows)).argsort(axis=1)[:, :hop]
        drawn = generator.integers(rows, size=(resamples, hop))
        np.put_along_axis(members, places, drawn, axis=1)
    return members, generator.integers(rows, size=(resamples, rows))


def _local_sensitivities(
    predict: Predictor | TreeEnsemble,
    query: FloatArray,
    background: FloatArray,
    masks: MaskSet,
    members: IntArray,
    incoming: IntArray,
) -> FloatArray:
    """Return LS of every resample."""
    rows = len(background)
    contents, of_resample = np.unique(np.sort(members, axis=1), axis=0, return_inverse=True)
    # A swap is (contents, outgoing record, incoming record): equal ones are explained once.
    codes = (of_resample.reshape(-1, 1) * rows + members) * rows + incoming
    swaps, of_code = np.unique(codes, return_inverse=True)
    base, outgoing, new = swaps // rows**2, swaps // rows % rows, swaps % rows
    means = np.array([background[content].mean(axis=0) for content in contents])
    before = _explain(predict, query, means, masks)
    moves = np.empty(len(swaps))
    for start in range(0, len(swaps), _BLOCK):
        part = slice(start, start + _BLOCK)
        shifts = (background[new[part]] - background[outgoing[part]]) / rows
        after = _explain(predict, query, means[base[part]] + shifts, masks)
        moves[part] = np.linalg.norm(after - before[base[part]], axis=1)
    return np.asarray(moves[of_code.reshape(codes.shape)].max(axis=1))


def _explain(
    predict: Predictor | TreeEnsemble, query: FloatArray, means: FloatArray, masks: MaskSet
) -> FloatArray:
    """Return the attributions against every mean: against a background of that single record."""
    if not isinstance(predict, TreeEnsemble):
        return np.asarray(record_values(predict, query, means, masks)[0])
    ends = np.append(predict.roots[1:], len(predict.feature))
    small = (ends - predict.roots).max() <= _MOST_NODES
    if not small or predict.link != "identity" or np.isnan(means).any():
        return _explain(predict.predict, query, means, masks)
    corners = np.vstack([query, means.min(axis=0), means.max(axis=0)])
    found = np.zeros(means.shape)
    for root, end in zip(predict.roots, ends, strict=True):
        found += _explain_tree(predict, slice(root, end), corners, means, masks)
    return found


def _explain_tree(
    trees: TreeEnsemble, nodes: slice, corners: FloatArray, means: FloatArray, masks: MaskSet
) -> FloatArray:
    """Do so for one tree: means on the same side of all its splits have the same attributions."""
    feature, threshold = trees.feature[nodes], trees.threshold[nodes]
    here = corners[:, feature]  # leaves look at some column; their threshold is infinite
    own, sides, other = (here <= threshold) | (np.isnan(here) & trees.missing_left[nodes])
    differ = np.flatnonzero(sides & ~other)  # the others have all means on one side
    bits = means[:, feature[differ]] <= threshold[differ]
    _, one, of_mean = np.unique(
        bits @ (1 << np.arange(len(differ))), return_index=True, return_inverse=True
    )
    sides = np.tile(sides, (len(one), 1))
    sides[:, differ] = bits[one]
    pattern, coalition = np.indices((len(one), len(masks.coalitions)), sparse=True)
    at = np.zeros((len(one), len(masks.coalitions)), dtype=np.int64)
    for _ in range(int(trees.depth[nodes].max())):
        left = np.where(masks.coalitions[coalition, feature[at]], own[at], sides[pattern, at])
        at = trees.left[nodes][at] - nodes.start + ~left
    return masks.solve(trees.value[nodes][at])[of_mean]


def _checked(
    query: FloatArray, background: FloatArray, masks: MaskSet
) -> tuple[FloatArray, FloatArray]:
    query, background = np.asarray(query, np.float64), np.asarray(background, np.float64)
    if query.shape != (masks.features,):
        raise ArgumentError(
            f"query must be one row of {masks.features} numbers, one per feature of the masks, "
            f"got shape {query.shape}."
        )
    if background.ndim != 2 or background.shape[1] != masks.features or len(background) < 2:
        raise ArgumentError(
            f"background must be at least two rows of {masks.features} columns, "
            f"got shape {background.shape}."
        )
    return query[None, :], background


def _check_chance(name: str, value: float) -> None:
    check_positive(name, value)
    check_probability(name, value)
