"""Kernel SHAP on one public set of coalitions, per query and per background record.

Two value functions, with x a query and z_1..z_n the background:

    interventional   v(S) = mean over i of f(x on S, z_i elsewhere)
    mean             v(S) = f(x on S, mean of z_i elsewhere)

The interventional attributions are the mean over records of phi(x; z_i), the attributions against the
single record z_i. Those are what privacy clips and sums; ``record_values`` returns them.

Nothing depends on the data: the coalitions are given, no feature is dropped or selected, and the rows
of a model call follow from the shapes alone. A model sees a float64 matrix of encoded rows, as many at
once as a fixed amount of memory holds, and returns one number per row. A prediction that is NaN becomes
the middle of ``bounds`` if they are given; else it makes NaN what it enters (that record's own vector,
and the query's mean), which whoever clips must fill. No value of a row raises or warns here.

Deviations from the shap library: the same coalitions for every query and record, no l1 selection, no
dropping of features that do not vary, identity link.

Models whose first layer is a sum of columns are not called: for a coalition S the first layer of the
masked row is (bias + sum over S of w_j x_j) + (sum over the rest of w_j z_j): the query's part is
prepared once per query, the record's once per record, and only what follows the sum is computed per
pair. Linear and logistic models are networks with a single unit. Small trees are not called either:
``tree_games`` finds the leaves that mixed rows can fall into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.engines.shapley.coalitions import BoolArray, MaskSet
from discreet.engines.shapley.tree_games import TreeGames, fits_games
from discreet.errors import ArgumentError
from discreet.models import BoundModel, LinearForm, NetworkForm, TreeEnsemble
from discreet.numerics import check_choice
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_PART_CELLS = 2**22
"""Numbers held at once for the queries' parts (32 MB)."""

Value = Literal["interventional", "mean"]
Predictor = Callable[[FloatArray], FloatArray] | LinearForm | NetworkForm | BoundModel
_CALL_CELLS = 2**21
"""A model is called with a matrix of at most about so many numbers (16 MB)."""


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


def kernel_values(
    predict: Predictor,
    queries: FloatArray,
    background: FloatArray,
    masks: MaskSet,
    *,
    value: Value = "interventional",
    bounds: Box | None = None,
) -> FloatArray:
    """Return the attributions of every query against the whole background (queries x features).

    Args:
      predict: a function of a float64 matrix that returns one number per row, or a recognised model
        (``LinearForm``, ``NetworkForm``, ``BoundModel``), evaluated without masked rows if it can.
      queries: encoded rows to explain.
      background: encoded rows to explain against.
      masks: the public coalitions.
      value: the value function.
      bounds: clip every prediction to this box; a ``BoundModel`` brings its own.

    Guarantees:
      - For ``interventional``, the mean of ``record_values`` over the records, to
        rounding. [shap-contribution]
      - With all masks, the Shapley values by enumeration, to rounding. [kernel-operator]
    """
    check_choice("value", value, ("interventional", "mean"))
    queries, background = _checked(queries, background, masks)
    if len(background) == 0:
        raise ArgumentError("background must have at least one row, got none.")
    with np.errstate(all="ignore"):
        if value == "mean":
            background = background.mean(axis=0, keepdims=True)
        return _solved(masks, _evaluator(predict, masks, bounds).mean_values(queries, background))


def record_values(
    predict: Predictor,
    queries: FloatArray,
    background: FloatArray,
    masks: MaskSet,
    *,
    bounds: Box | None = None,
) -> FloatArray:
    """Return phi(x; z) for every query x and record z (queries x records x features).

    Arguments are those of ``kernel_values``; the value function is the interventional one.

    Guarantees:
      - With predictions in a box of width r, a record's vector lies in a set of width w_j r per
        feature, w_j = 2 - 1/d for all masks. [shap-masks]
      - If a prediction depends on its own row alone, as those of recognised models do, a record's
        vector depends on its own row alone, bit for bit. [shap-rounding]
    """
    queries, background = _checked(queries, background, masks)
    with np.errstate(all="ignore"):
        return _evaluator(predict, masks, bounds).record_values(queries, background)


class _OpaqueModel:
    """A function of masked rows, called on blocks of pairs of a query and a record.

    ``predict`` is told how many successive rows belong together.
    """

    def __init__(
        self, predict: Callable[[FloatArray, int], FloatArray], masks: MaskSet, bounds: Box | None
    ) -> None:
        self._predict, self._masks, self._bounds = predict, masks, bounds

    def mean_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return every coalition's mean value over the background (queries x coalitions)."""
        from discreet.engines.shapley.kernels import add_pairs

        records = len(background)
        totals = np.zeros((len(queries), len(self._masks.coalitions)))
        for first, columns, values in self._blocks(queries, background, together=records):
            add_pairs(values, first, records, totals[:, columns])
        return totals / records

    def record_values(self, queries: FloatArray, background: FloatArray) -> FloatArray:
        """Return the attributions of every query against every record."""
        from discreet.engines.shapley.kernels import attribute_pairs

        features = self._masks.features
        out = np.zeros((len(queries) * len(background), features))
        by_coalition = np.ascontiguousarray(self._masks.operator.T)
        for first, columns, values in self._blocks(queries, background, together=1):
            attribute_pairs(values, by_coalition[columns], out[first : first + len(values)])
        return out.reshape(len(queries), len(background), features)

    def _blocks(
        self, queries: FloatArray, background: FloatArray, *, together: int
    ) -> Iterator[tuple[int, slice, FloatArray]]:
        """Yield the first pair, the coalitions and the values (pairs x coalitions) of every block.

        So many successive pairs are ``together`` about one record of the table.
        """
        from discreet.engines.shapley.kernels import fill_masked

        count, features = self._masks.coalitions.shape
        rows = max(1, _CALL_CELLS // features)
        all_pairs = len(queries) * len(background)
        width, pairs = min(count, rows), max(1, min(rows // count, all_pairs))
        group = together if together <= pairs else 1
        pairs -= pairs % group
        buffer = np.empty((pairs, width, features))  # written anew for every block
        for first in range(0, all_pairs, pairs):
            for start in range(0, count, width):
                columns = slice(start, min(start + width, count))
                masked = buffer[: min(pairs, all_pairs - first), : columns.stop - start]
                fill_masked(queries, background, self._masks.coalitions[columns], first, masked)
                yield first, columns, self._call(masked, group)

    def _call(self, masked: FloatArray, group: int) -> FloatArray:
        size, width, features = masked.shape
        said = self._predict(masked.reshape(-1, features), group * width)
        answer = np.asarray(said, dtype=np.float64)
        if answer.shape != (size * width,):
            raise ArgumentError(
                f"predict must return one number per row, got shape {answer.shape} for {size * width} "
                "rows. Wrap the model, or pick one of its outputs."
            )
        if self._bounds is not None:
            middle = self._bounds.low / 2 + self._bounds.high / 2
            answer = np.clip(np.where(np.isnan(answer), middle, answer), *self._bounds.limits)
        return np.ascontiguousarray(answer).reshape(size, width)


def _evaluator(
    predict: Predictor, masks: MaskSet, bounds: Box | None
) -> _OpaqueModel | FusedModel | TreeGames:
    if isinstance(predict, BoundModel):
        if isinstance(predict.form, TreeEnsemble) and fits_games(predict.form):
            return TreeGames(predict.form, predict.seen, masks, bounds or predict.bounds)
        if predict.weighted_sum is None:
            return _OpaqueModel(predict.predict, masks, bounds)
        return _evaluator(predict.weighted_sum, masks, bounds or predict.bounds)
    if isinstance(predict, LinearForm | NetworkForm):
        form = predict if isinstance(predict, NetworkForm) else NetworkForm.of_linear(predict)
        if len(form.weights) != masks.features:  # the kernel would read beyond the weights
            raise ArgumentError(
                f"masks must be of the model's {len(form.weights)} features, got {masks.features}."
            )
        return FusedModel(form, masks, bounds)
    return _OpaqueModel(lambda rows, _: predict(rows), masks, bounds)


def _solved(masks: MaskSet, values: FloatArray) -> FloatArray:
    """Return ``masks.solve(values)``, every game by itself: a matrix product rounds them together."""
    from discreet.engines.shapley.kernels import attribute_pairs

    out = np.zeros((len(values), masks.features))
    attribute_pairs(values, np.ascontiguousarray(masks.operator.T), out)
    return out


def _checked(
    queries: FloatArray, background: FloatArray, masks: MaskSet
) -> tuple[FloatArray, FloatArray]:
    found = []
    for name, rows in (("queries", queries), ("background", background)):
        matrix = np.array(rows, dtype=np.float64, order="C")  # one kind of array: compiled once
        if matrix.ndim != 2 or matrix.shape[1] != masks.features:
            raise ArgumentError(
                f"{name} must be a matrix with {masks.features} columns, one per feature of the masks, "
                f"got shape {np.shape(rows)}."
            )
        found.append(matrix)
    return found[0], found[1]
