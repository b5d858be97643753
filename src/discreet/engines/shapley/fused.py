"""Attributions of models whose first layer is a sum of columns, without calling the model.

For a coalition S the first layer of the masked row is (bias + sum over S of w_j x_j) + (sum over the
rest of w_j z_j): the query's part is prepared once per query, the record's once per record, and only
what follows the sum is computed per pair. Linear and logistic models are networks with a single unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.engines.shapley.coalitions import MaskSet
from discreet.engines.shapley.enumeration import BoolArray
from discreet.models import NetworkForm
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_PART_CELLS = 2**22
"""Numbers held at once for the queries' parts (32 MB)."""


@dataclass(frozen=True)
class FusedModel:
    """A recognised model, ready for one set of masks."""

    form: NetworkForm
    masks: MaskSet
    bounds: Box | None

    def mean_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return every coalition's mean value over the background (queries x coalitions)."""
        totals = np.zeros((len(queries), len(self.masks.coalitions)))
        nothing = np.empty((len(queries), 0, self.masks.features))
        for part in self._chunks(len(queries)):
            self._run(queries[part], background, totals[part], nothing[part])
        return totals / len(background)

    def record_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return the attributions of every query against every record."""
        out = np.zeros((len(queries), len(background), self.masks.features))
        totals = np.empty((len(queries), 0))
        for part in self._chunks(len(queries)):
            self._run(queries[part], background, totals[part], out[part])
        return out

    def _chunks(self, queries: int) -> list[slice]:
        cells = len(self.masks.coalitions) * len(self.form.bias)
        size = max(1, _PART_CELLS // cells)
        return [slice(start, start + size) for start in range(0, queries, size)]

    def _run(
        self, queries: FloatArray, background: FloatArray, totals: FloatArray, out: FloatArray
    ) -> None:
        from discreet.engines.shapley.kernels import run_records

        form, patterns = self.form, _patterns(self.masks)
        sums, products, near = _query_parts(form, queries, patterns)
        run_records(
            background,
            form.weights,
            form.rate,
            patterns.bits,
            patterns.outside,
            sums,
            products,
            near,
            form.outer,
            form.outer_bias,
            form.curve,
            form.logistic,
            _limits(self.bounds),
            patterns.operator,
            totals,
            out,
        )


@dataclass(frozen=True)
class _Patterns:
    """Coalitions in groups of ``bits`` features, and the operator with a row per coalition."""

    bits: int
    inside: IntArray
    outside: IntArray
    operator: FloatArray


@lru_cache(maxsize=8)
def _patterns(masks: MaskSet) -> _Patterns:
    bits = _group_bits(*masks.coalitions.shape)
    return _Patterns(
        bits,
        pattern_codes(masks.coalitions, bits),
        pattern_codes(~masks.coalitions, bits),
        np.ascontiguousarray(masks.operator.T),
    )


def pattern_codes(members: BoolArray, bits: int) -> IntArray:
    """Return, per group of ``bits`` features, the pattern of every row of membership as a number."""
    count, features = members.shape
    groups = -(-features // bits)
    padded = np.zeros((count, groups * bits), dtype=np.int64)
    padded[:, :features] = members
    codes = padded.reshape(count, groups, bits) @ (1 << np.arange(bits))
    return np.ascontiguousarray(codes.T)


def _group_bits(count: int, features: int) -> int:
    """Return the group size that needs the fewest table entries and look-ups per row."""
    sizes = range(1, min(features, 12) + 1)
    return min(sizes, key=lambda bits: -(-features // bits) * (2**bits + count))


def _query_parts(
    form: NetworkForm, queries: FloatArray, patterns: _Patterns
) -> tuple[FloatArray, FloatArray, BoolArray]:
    from discreet.engines.shapley.kernels import first_layer

    units, codes, bits = len(form.bias), patterns.inside, patterns.bits
    table = np.empty((len(codes), 2**bits, units))
    sums = np.empty((len(queries), codes.shape[1], units))
    products = np.empty(sums.shape if form.rate else (len(queries), 0, 0))
    near = np.zeros(len(queries), dtype=bool)
    for q, row in enumerate(queries):
        near[q] = first_layer(
            row, form.weights, form.bias, form.rate, bits, codes, table, sums[q], products[q], True
        )
    return sums, products, near


def _limits(bounds: Box | None) -> tuple[float, float, float]:
    if bounds is None:
        return -np.inf, np.inf, np.nan
    return bounds.low, bounds.high, bounds.low / 2 + bounds.high / 2
