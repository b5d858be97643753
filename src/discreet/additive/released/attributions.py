"""Exact SHAP values of an additive model, from released scores and released counts alone.

The value of a coalition is the mean margin if the other features are drawn from released counts, each
by itself (the interventional game of independent columns). Shapley values of a sum are the sums of
those of its terms. A term of one column gives that column its score less the mean score. A term of two,
s(a, b), is a game of two players with

    v({}) = E s(A, B),   v({a}) = E s(a, B),   v({b}) = E s(A, b),   v({a, b}) = s(a, b)

so that the first column gets ((v({a}) - v({})) + (v({a, b}) - v({b}))) / 2, the second the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.additive.released.result import AdditiveModel, Term
from discreet.plans import Attribution
from discreet.schema import FloatArray


def term_weights(term: Term) -> list[FloatArray]:
    """Return the shares of the bins of every column of a term, by its noisy counts."""
    counts = np.maximum(np.array(term.counts).reshape(term.shape), 0.0)
    axes = range(counts.ndim)
    margins = [counts.sum(axis=tuple(other for other in axes if other != own)) for own in axes]
    return [margin / margin.sum() if margin.sum() > 0 else _even(len(margin)) for margin in margins]


def term_mean(term: Term) -> FloatArray:
    """Return the mean score of a term for every margin."""
    table = term.table.reshape(-1, *term.shape)
    for weights in reversed(term_weights(term)):
        table = table @ weights
    return np.asarray(table)


def term_values(term: Term) -> list[FloatArray]:
    """Return the SHAP values of every cell, margins x cells, one table for each of the columns.

    They add up to the score less the mean score.
    """
    table = term.table.reshape(-1, *term.shape)
    if len(term.shape) == 1:
        return [table - term_mean(term)[:, None]]
    first, second = term_weights(term)
    of_first = (table @ second)[:, :, None]
    of_second = np.einsum("kab,a->kb", table, first)[:, None, :]
    empty = term_mean(term)[:, None, None]
    half = ((of_first - empty) + (table - of_second)) / 2
    other = ((of_second - empty) + (table - of_first)) / 2
    return [part.reshape(len(table), -1) for part in (half, other)]


def base_margins(model: AdditiveModel) -> FloatArray:
    """Return the mean margins over the noisy counts, which SHAP values start from."""
    return np.array(model.intercept) + sum(
        (term_mean(term) for term in model.terms), np.zeros(len(model.intercept))
    )


def encoded_values(model: AdditiveModel, encoded: FloatArray, margin: int) -> FloatArray:
    """Return the SHAP values of encoded rows for a margin, rows x features."""
    found = np.zeros((len(encoded), len(model.features)))
    for term in model.terms:
        cells = model.cells(term, encoded)
        for name, table in zip(term.columns, term_values(term), strict=True):
            found[:, model.features.index(name)] += table[margin][cells]
    return found


def attribute(model: AdditiveModel, x: Any, margin: int) -> Attribution:
    """Return the SHAP values of rows for a margin, against the released counts."""
    rows, labels = _as_rows(x)
    encoded = model.encode(rows)
    base = float(base_margins(model)[margin])
    found = Attribution(
        features=model.features,
        values=tuple(map(tuple, encoded_values(model, encoded, margin).tolist())),
        base_values=(base,) * len(encoded),
        predictions=tuple(model.encoded_margins(encoded)[:, margin].tolist()),
        data=_decoded(model, encoded),
        half_width=None,
        level=1.0,
        noise_std=None,
        quantity=f"SHAP value of the {model.margin_told(margin)}, against the released counts",
    )
    return found.labelled(labels)


def _as_rows(x: Any) -> tuple[Any, Any]:
    """Return one row, given as a mapping or a series, as a frame; and the index of a frame."""
    import pandas as pd

    if isinstance(x, pd.Series):
        x = x.to_dict()
    if isinstance(x, Mapping) and not any(np.ndim(value) for value in x.values()):
        return pd.DataFrame([dict(x)]), None
    return x, x.index if isinstance(x, pd.DataFrame) else None


def _decoded(model: AdditiveModel, encoded: FloatArray) -> tuple[tuple[Any, ...], ...]:
    """Return rows as values of their columns, as plain data."""
    columns = [
        [_plain(value) for value in model.schema[name].decode(encoded[:, place]).tolist()]
        for place, name in enumerate(model.features)
    ]
    return tuple(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def _even(bins: int) -> FloatArray:
    return np.full(bins, 1.0 / bins)
