"""Certify the attributions of a sealed query: how far its values may move, and what that does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.errors import ArgumentError, ModelError
from discreet.explain.shap.bounds.operator import bound_linear_query, bound_logistic_query
from discreet.explain.shap.engines import Engine, KernelEngine, LinearEngine
from discreet.models import BoundModel
from discreet.numerics import check_positive
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import Column, FloatArray, Number, Schema


def certify_sealed(engine: Engine, schema: Schema, radius: Any) -> tuple[Certificate, str]:
    """Certify the attributions of a sealed query of a linear or logistic model."""
    model: BoundModel = engine.model
    form = model.weighted_sum
    if form is None:
        raise ModelError(
            "model must be linear or logistic when protects='query', got another kind: no bound is "
            "proven for it. Protect the background instead, or explain a linear model."
        )
    weights, shown = form.weights * _radii(radius, schema, model.columns), _shown(radius)
    if isinstance(engine, LinearEngine):
        certificate = bound_linear_query(weights, radius=1.0)
    else:
        assert isinstance(engine, KernelEngine)
        certificate = bound_logistic_query(weights, engine.masks, radius=1.0, slope=form.slope)
    return certificate.widen(2 * engine.rounding, "shap-rounding"), shown


def sealed_reach(engine: Engine, background: FloatArray) -> float:
    """Return how large an attribution of any query can be against a public background."""
    return engine.certify_rows(background).sensitivity("linf", ADD_REMOVE)


def _radii(radius: Any, schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return how far each encoded value of the query may move; its whole range if nothing is said.

    A category may become any other. A value on a ladder is rounded to a rung after it moved, so that
    it may move by one rung more than fits into the radius.
    """
    if isinstance(radius, Mapping) and (strange := [n for n in radius if n not in columns]):
        raise ArgumentError(
            f"radius must name columns the model uses ({', '.join(columns)}), got {strange[0]!r}."
        )
    return np.array([_width(name, schema[name], radius) for name in columns])


def _width(name: str, column: Column, radius: Any) -> float:
    given = radius.get(name) if isinstance(radius, Mapping) else radius
    if given is not None:
        check_positive("radius", given, "It is in the units of the column.")
    if not isinstance(column, Number):
        return max(len(column) - 1.0, 1e-12)
    whole = column.high - column.low
    if given is None:
        return whole
    rungs = 0.0 if column.step is None else column.step * (math.floor(given / column.step) + 1)
    return min(max(float(given), rungs), whole)


def _shown(radius: Any) -> str:
    if radius is None:
        return "its whole range"
    return "its radius" if isinstance(radius, Mapping) else f"{radius:g}"


def plain_radius(radius: Any) -> Any:
    """Return a radius as plain data."""
    return {name: float(r) for name, r in radius.items()} if isinstance(radius, Mapping) else radius
