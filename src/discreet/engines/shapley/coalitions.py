"""Coalitions of features, and attributions from their values: all of them, or one public set.

*Enumeration.* A game v gives every coalition S of the features 1..d a number. The Shapley value of
feature j is

    phi_j = sum over S without j of w(|S|) (v(S + j) - v(S)),    w(k) = 1 / (d C(d - 1, k)),

so it is linear in the 2^d numbers: v(S) enters phi_j with w(|S| - 1) if j is in S and with -w(|S|) if
not. Coalitions are numbered by their bits: coalition number s holds feature j if bit j of s is set;
0 is the empty coalition, 2^d - 1 the full one.

Reference: Shapley (1953), "A Value for n-Person Games".

*One public set.* Kernel SHAP explains v(N) - v(empty) by the weights phi of a regression on coalitions
s_1, ..., s_K:

    minimise  sum_k w_k (y_k - f0 - s_k . phi)^2   subject to   sum_j phi_j = f(x) - f0,

with y_k the value of coalition k and f0 that of the empty one. The solution is linear,

    phi = M (y - f0) + c (f(x) - f0),

and M, c depend on the coalitions alone: they are computed once, from public numbers, and shared by all
queries and all records. That is what lets a record's share be bounded.

The set: all coalitions if they fit; else sizes 1 and d - 1 in full, then size after size in full while
its share of the rest allows, then drawn ones. A coalition always comes with its complement.

Deviations from Alissaiei (2026): drawn coalitions carry *equal* weights, because they are drawn by the
kernel already (drawing and weighting by it applies it twice); the efficiency constraint is kept
(without it the regression is biased even on all coalitions); ``unconstrained`` remains as a baseline.

References: Lundberg and Lee (2017), Theorem 2; Covert and Lee (2021) for paired coalitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.randomness import public_generator
from discreet.schema import FloatArray

BoolArray = NDArray[np.bool_]

LARGEST = 20
"""More features than this have too many coalitions to write down."""

Kind = Literal["exact", "constrained", "unconstrained"]
_MOST = 2**20
_FLAT = 1e-10
"""Directions in which the design is this much weaker than in its best one count as missing."""


def all_coalitions(features: int) -> BoolArray:
    """Return every coalition as a row of membership, in the order of their numbers.

    >>> all_coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    check_whole("features", features, 1, LARGEST)
    numbers = np.arange(2**features)
    return np.asarray((numbers[:, None] >> np.arange(features)) & 1 == 1)


def exact_operator(features: int) -> FloatArray:
    """Return the matrix that takes the values of all coalitions to the Shapley values.

    Guarantees:
      - ``exact_operator(d) @ v`` are the Shapley values of the game v, to rounding; every row sums to
        zero, and the full coalition enters with 1/d. [kernel-operator]
    """
    members = all_coalitions(features)
    sizes = members.sum(axis=1)
    weights = marginal_weights(features)
    inside = np.append(0.0, weights)[sizes]  # w(|S| - 1)
    outside = np.append(weights, 0.0)[sizes]  # w(|S|)
    return np.asarray(np.where(members, inside[:, None], -outside[:, None]).T)


def marginal_weights(features: int) -> FloatArray:
    """Return w(k), the weight of adding a feature to a coalition of k others, for k = 0..d-1."""
    d = features
    return np.array([1.0 / (d * math.comb(d - 1, k)) for k in range(d)])


def shapley_values(values: FloatArray) -> FloatArray:
    """Return the Shapley values of games given by the values of all their coalitions.

    Args:
      values: the last axis runs over the 2^d coalitions in the order of their numbers.

    >>> shapley_values(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    games = np.asarray(values, dtype=np.float64)
    count = games.shape[-1]
    features = count.bit_length() - 1
    if count != 2**features or not 1 <= features <= LARGEST:
        raise ArgumentError(f"values must have 2^d entries for 1 to {LARGEST} features, got {count}.")
    sizes = all_coalitions(features).sum(axis=1)
    weights = np.append(marginal_weights(features), 0.0)[sizes]
    numbers = np.arange(count)
    phi = [
        np.sum((games[..., without + (1 << j)] - games[..., without]) * weights[without], axis=-1)
        for j in range(features)
        for without in [numbers[(numbers >> j) & 1 == 0]]
    ]
    return np.stack(phi, axis=-1)


def enumerate_values(value: Callable[[BoolArray], float], features: int) -> FloatArray:
    """Return the Shapley values of a game given as a function of a coalition."""
    members = all_coalitions(features)
    return shapley_values(np.array([float(value(row)) for row in members]))


@dataclass(frozen=True, eq=False)
class MaskSet:
    """Public coalitions with weights, and the linear map from their values to attributions.

    Args:
      masks: K rows of membership, without the empty and the full coalition.
      weights: one positive number per mask.
      response: M, one row per feature and one column per mask.
      total: c, one number per feature.
      kind: ``exact`` (all coalitions), ``constrained``, or the baseline ``unconstrained``.
    """

    masks: BoolArray
    weights: FloatArray
    response: FloatArray
    total: FloatArray
    kind: Kind

    def __post_init__(self) -> None:
        for array in (self.masks, self.weights, self.response, self.total):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.masks)

    def __repr__(self) -> str:
        return f"MaskSet({len(self)} masks of {self.features} features, {self.kind})"

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.masks.shape[1])

    @cached_property
    def coalitions(self) -> BoolArray:
        """The empty coalition, the masks, the full coalition."""
        ends = np.zeros((1, self.features), dtype=bool)
        return np.ascontiguousarray(np.concatenate([ends, self.masks, ~ends]))

    @cached_property
    def operator(self) -> FloatArray:
        """The map from the values of ``coalitions``, in their order, to attributions."""
        empty = -(self.response.sum(axis=1) + self.total)
        return np.column_stack([empty, self.response, self.total])

    def solve(self, values: FloatArray) -> FloatArray:
        """Return the attributions of games given by the values of ``coalitions`` (last axis).

        Guarantees:
          - Attributions of a mean of games are the mean of theirs. [shap-contribution]
          - They sum to v(full) - v(empty), unless ``kind`` is ``unconstrained``. [kernel-operator]
        """
        return np.asarray(values @ self.operator.T)


def sample_masks(features: int, number: int, *, seed: int = 0) -> MaskSet:
    """Return a public set of at most ``number`` masks, the same for the same arguments.

    Args:
      features: number of features.
      number: how many masks to evaluate; at least twice the features, unless all masks fit.
      seed: of the public generator; it protects nothing.

    Guarantees:
      - If all 2^d - 2 masks fit, attributions are the Shapley values. [kernel-operator]
      - Else a mask's weight times its chance is proportional to the Shapley kernel. [kernel-operator]
    """
    check_whole("features", features, 1)
    check_whole("number", number, 1, _MOST)
    check_whole("seed", seed, 0)
    if features <= LARGEST and 2**features - 2 <= number:
        return all_masks(features)
    if number < 2 * features:
        raise ArgumentError(
            f"number must be at least {2 * features} for {features} features, got {number}: fewer "
            "masks leave the regression without a unique solution. Ask for more masks."
        )
    return mask_set(*_draw(features, number // 2, public_generator(seed)))


def all_masks(features: int) -> MaskSet:
    """Return all 2^d - 2 masks with the Shapley kernel's weights and the exact operator."""
    operator = exact_operator(features)
    masks = all_coalitions(features)[1:-1]
    return MaskSet(
        masks, kernel_weights(masks), operator[:, 1:-1].copy(), operator[:, -1].copy(), "exact"
    )


def kernel_weights(masks: BoolArray) -> FloatArray:
    """Return the Shapley kernel (d - 1) / (C(d, k) k (d - k)) of every mask of k features."""
    d = masks.shape[1]
    by_size = [(d - 1) / (math.comb(d, k) * k * (d - k)) if 0 < k < d else 0.0 for k in range(d + 1)]
    return np.asarray(np.array(by_size)[masks.sum(axis=1)])


def mask_set(masks: BoolArray, weights: FloatArray, *, constrained: bool = True) -> MaskSet:
    """Solve the regression on given masks and weights once for all values.

    Args:
      masks: K rows of membership; neither empty nor full.
      weights: one positive number per mask; for masks drawn by the Shapley kernel all equal.
      constrained: keep sum phi = f(x) - f0; False gives R = (Z'WZ)^-1 Z'W of Alissaiei (2026), a
        baseline that is not a Shapley value.

    Guarantees:
      - For any masks of full rank and any weights an additive game v(S) = f0 + sum of u_j over S is
        attributed exactly: phi = u. [kernel-operator]
    """
    masks, weights = _checked(masks, weights)
    weighted = (masks * (weights / weights.sum())[:, None]).T  # Z'W
    gram = weighted @ masks.astype(np.float64)
    if not constrained:
        _check_rank(gram, masks)
        response = np.linalg.solve(gram, weighted)
        return MaskSet(masks, weights, response, np.zeros(masks.shape[1]), "unconstrained")
    # phi = (f(x) - f0)/d + B theta with B an orthonormal basis of the vectors that sum to zero.
    basis = _zero_sum_basis(masks.shape[1])
    inner = basis.T @ gram @ basis
    _check_rank(inner, masks)
    response = basis @ np.linalg.solve(inner, basis.T @ weighted)
    total = (1.0 - response @ masks.sum(axis=1)) / masks.shape[1]
    return MaskSet(masks, weights, response, total, "constrained")


def unconstrained(masks: MaskSet) -> MaskSet:
    """Return the baseline without the efficiency constraint on the same masks and weights."""
    return mask_set(masks.masks, masks.weights, constrained=False)


def _checked(masks: BoolArray, weights: FloatArray) -> tuple[BoolArray, FloatArray]:
    masks, weights = np.array(masks, dtype=bool), np.array(weights, dtype=np.float64)
    if masks.ndim != 2 or 0 in masks.shape or masks.all(axis=1).any() or not masks.any(axis=1).all():
        raise ArgumentError("masks must be rows of membership, none of them empty or full.")
    if weights.shape != masks.shape[:1] or not np.all((weights > 0) & (weights < np.inf)):
        raise ArgumentError("weights must be one positive finite number per mask.")
    return masks, weights


def _check_rank(gram: FloatArray, masks: BoolArray) -> None:
    eigenvalues = np.linalg.eigvalsh(gram)
    if eigenvalues[0] <= _FLAT * eigenvalues[-1]:
        d = masks.shape[1]
        raise ArgumentError(
            f"masks must determine all {d} features, got {len(masks)} that leave some open. At least "
            f"{len(gram)} independent ones are needed; the {2 * d} of sizes 1 and {d - 1} suffice."
        )


def _zero_sum_basis(features: int) -> FloatArray:
    columns = np.column_stack([np.ones(features), np.eye(features)[:, 1:]])
    return np.asarray(np.linalg.qr(columns)[0][:, 1:])


@dataclass(frozen=True)
class _Layer:
    """All pairs of a mask of ``size`` features and its complement."""

    features: int
    size: int

    @property
    def middle(self) -> bool:
        return 2 * self.size == self.features

    @property
    def pairs(self) -> int:
        return math.comb(self.features, self.size) // (2 if self.middle else 1)

    @property
    def mass(self) -> float:
        """The Shapley kernel's sum over the layer."""
        per_size = (self.features - 1) / (self.size * (self.features - self.size))
        return per_size if self.middle else 2 * per_size

    def every(self) -> BoolArray:
        """Return the first mask of every pair."""
        return _from_members(list(islice(self._members(), self.pairs)), self.features)

    def draw(self, count: int, generator: np.random.Generator) -> BoolArray:
        """Return the first masks of ``count`` different pairs, all equally likely."""
        if 4 * count >= self.pairs:
            chosen = generator.choice(self.pairs, count, replace=False)
            return self.every()[chosen]
        found: dict[bytes, BoolArray] = {}
        while len(found) < count:
            draws = generator.random((count - len(found), self.features))
            masks = draws.argsort(axis=1).argsort(axis=1) < self.size
            if self.middle:
                masks ^= ~masks[:, :1]
            found |= {mask.tobytes(): mask for mask in masks}
        return np.array(list(found.values()))

    def _members(self) -> combinations[tuple[int, ...]]:
        # Of a middle-sized pair the half that holds feature 0 comes first: combinations are in order.
        return combinations(range(self.features), self.size)


def _from_members(members: list[tuple[int, ...]], features: int) -> BoolArray:
    masks = np.zeros((len(members), features), dtype=bool)
    np.put_along_axis(masks, np.array(members, dtype=np.intp), True, axis=1)
    return masks


def _draw(features: int, pairs: int, generator: np.random.Generator) -> tuple[BoolArray, FloatArray]:
    """Return masks and weights: whole layers with their own mass, drawn masks with equal shares."""
    whole, drawn, left = _whole_layers(features, pairs)
    halves = [layer.every() for layer in whole]
    weights = [np.full(layer.pairs, layer.mass / layer.pairs) for layer in whole]
    counts = _shares([layer.mass for layer in drawn], left, generator)
    for layer, count in zip(drawn, counts, strict=True):
        if count:
            halves.append(layer.draw(count, generator))
            weights.append(np.full(count, sum(other.mass for other in drawn) / left))
    half, weight = np.concatenate(halves), np.concatenate(weights)
    return np.concatenate([half, ~half]), np.concatenate([weight, weight]) / 2


def _whole_layers(features: int, pairs: int) -> tuple[list[_Layer], list[_Layer], int]:
    """Split the layers into those that fit in full and the rest, and say how many pairs are left."""
    rest = [_Layer(features, size) for size in range(1, features // 2 + 1)]
    whole = [rest.pop(0)]
    left = pairs - features
    while rest and left * rest[0].mass >= rest[0].pairs * sum(layer.mass for layer in rest):
        left -= rest[0].pairs
        whole.append(rest.pop(0))
    return whole, rest, left


def _shares(masses: list[float], count: int, generator: np.random.Generator) -> list[int]:
    """Return whole shares that differ from the exact ones by less than one and are right on average."""
    if not count:
        return [0] * len(masses)
    ends = np.cumsum(masses) / np.sum(masses) * count
    ends[-1] = count
    marks = np.floor(np.append(0.0, ends) + generator.random())
    return [int(share) for share in np.diff(marks)]
