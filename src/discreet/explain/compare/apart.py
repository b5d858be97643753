"""How far apart the answers of two models can be: less than their ranges say, where forms are known.

Linear models differ by a linear function of the columns; ensembles that share trees, as a boosted model
and one that was trained on from it, by the trees they do not share. Behind a logistic link scores are
four times as far apart as answers at least. Of other pairs nothing is known but both ranges.

Differences are clipped to this length all the same, so that a bound is kept whatever floats do.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from discreet.models import BoundModel
from discreet.models.bounds import Ranges
from discreet.models.forms.linear import LinearForm
from discreet.models.forms.trees import TreeEnsemble
from discreet.numerics import up
from discreet.schema import Schema

_ROUNDING = 1e-9
"""Of the sizes of all terms: more than adding them up in another order loses."""

_LOGISTIC = 0.25
"""How far answers move per unit of a score behind a logistic link."""


def farthest_apart(first: BoundModel, second: BoundModel, schema: Schema) -> float:
    """Return a length that no two answers to the same row are farther apart."""
    ranges = max(first.bounds.high - second.bounds.low, second.bounds.high - first.bounds.low)
    a, b = first.form, second.form
    found: float | None = None
    if isinstance(a, LinearForm) and isinstance(b, LinearForm) and a.logistic == b.logistic:
        found = _linear(first, second, a, b, schema) * (_LOGISTIC if a.logistic else 1.0)
    if isinstance(a, TreeEnsemble) and isinstance(b, TreeEnsemble) and _same_rows(first, second):
        found = _not_shared(a, b)
    return up(ranges if found is None else min(found, ranges))


def _same_rows(first: BoundModel, second: BoundModel) -> bool:
    same = first.columns == second.columns and first.sight == second.sight
    return same and getattr(first.form, "link", None) == getattr(second.form, "link", None)


def _linear(
    first: BoundModel, second: BoundModel, a: LinearForm, b: LinearForm, schema: Schema
) -> float:
    """Return the greatest difference of two weighted sums over the ranges of all columns."""
    columns = tuple(dict.fromkeys((*first.columns, *second.columns)))
    weights = np.zeros(len(columns))
    for model, form, sign in ((first, a, 1.0), (second, b, -1.0)):
        places = [columns.index(name) for name in model.columns]
        weights[places] += sign * form.weights
    shift = np.asarray(a.intercept - b.intercept)
    reached = Ranges.of(schema, columns).weighted(weights, shift)
    return float(max(abs(reached.low), abs(reached.high)))


def _not_shared(a: TreeEnsemble, b: TreeEnsemble) -> float:
    """Return the greatest difference of two sums of trees, those that both have left out."""
    ours, theirs = _trees(a), _trees(b)
    shared = Counter(ours.keys()) & Counter(theirs.keys())
    if not shared:
        return math.inf
    left = [ends for key, ends in ours.items() if key not in shared]
    left += [(-high, -low) for key, (low, high) in theirs.items() if key not in shared]
    lost = _ROUNDING * math.fsum(max(map(abs, ends)) for ends in (*ours.values(), *theirs.values()))
    base = a.base - b.base
    low, high = (base + math.fsum(ends[side] for ends in left) for side in (0, 1))
    slope = _LOGISTIC if a.link == "logistic" else 1.0
    return slope * (max(abs(low), abs(high)) + lost)


def _trees(form: TreeEnsemble) -> dict[tuple[bytes, ...], tuple[float, float]]:
    """Return the least and the greatest leaf of every tree by what it is; equal ones are numbered."""
    ends = [*form.roots[1:].tolist(), len(form.feature)]
    found: dict[tuple[bytes, ...], tuple[float, float]] = {}
    for start, stop in zip(form.roots.tolist(), ends, strict=True):
        own = slice(start, stop)
        parts = (form.feature, form.threshold, form.missing_left, form.left - start, form.value)
        key = tuple(part[own].tobytes() for part in parts)
        leaves = form.value[own][form.feature[own] == -1]
        while key in found:
            key += (b"again",)
        found[key] = (float(leaves.min()), float(leaves.max()))
    return found
