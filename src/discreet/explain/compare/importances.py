"""Differences of two models' importances: by SHAP record by record, by permutation apart.

A record's difference of absolute SHAP values moves by no more than both models' vectors move together.
Permutation importances mix records of a public order; of two models each is released by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.data.blocks import Block
from discreet.explain.compare.difference import ModelDifference, ModelSide
from discreet.explain.shap.engines import choose_engine
from discreet.explain.shap.importance import importance_contribution
from discreet.explain.shap.queries import Queries
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans import Attribution, Program, Releaser, Shared
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.schema import FloatArray, Schema

_HAIR = 1e-12
"""What subtracting two floats loses, of the greater."""


def all_features(first: BoundModel, second: BoundModel) -> tuple[str, ...]:
    """Return what either model reads."""
    return tuple(dict.fromkeys((*first.columns, *second.columns)))


def shap_difference(
    first: BoundModel, second: BoundModel, schema: Schema, background: Queries
) -> ModelDifference:
    """Return the difference of records' absolute SHAP values; zero of what a model does not read.

    Guarantees:
      - A sum of differences moves by at most what both sums move by together. [shap-importance]
    """
    features = all_features(first, second)

    def side(model: BoundModel) -> ModelSide:
        engine = choose_engine(model, schema)
        rows = background.encode(schema, model.columns, check=False)
        own = importance_contribution(engine, rows)
        places = [features.index(name) for name in model.columns]

        def compute(block: Block) -> FloatArray:
            out = np.zeros((len(block), len(features)))
            out[:, places] = own.compute(block)
            return out

        assert own.proven is not None and own.calls is not None and isinstance(own.region, Box)
        proven = _with_size(own.proven, len(features))
        return ModelSide(model.columns, len(features), own.region, compute, own.calls, proven)

    sides = side(first), side(second)
    whole = up(max(each.region.high for each in sides))
    assert sides[0].proven is not None and sides[1].proven is not None
    proven = _together(sides[0].proven, sides[1].proven).widen(_HAIR * whole)
    return ModelDifference(*sides, whole, proven)


def _with_size(certificate: Certificate, size: int) -> Certificate:
    """Return the same bounds of vectors with further coordinates, which are zero."""
    return Certificate(certificate.statements, size, certificate.bounds, certificate.assumptions)


def _together(first: Certificate, second: Certificate) -> Certificate:
    bounds = {
        relation: Bounds(up(a.l1 + b.l1), up(a.l2 + b.l2), up(a.linf + b.linf))
        for relation, a in first.bounds.items()
        for b in (second.bounds[relation],)
    }
    statements = tuple(dict.fromkeys((*first.statements, *second.statements)))
    assumptions = tuple(dict.fromkeys((*first.assumptions, *second.assumptions)))
    return Certificate(statements, first.size, bounds, assumptions)


def two_importances(parts: Sequence[Program], features: tuple[str, ...]) -> Program:
    """Return the program that releases importances of two models and subtracts them."""
    first, second = (part.shared for part in parts)
    if first is not None and second is not None:
        return _after_both(first, second, features)
    return _two(parts, features)


def _after_both(first: Shared, second: Shared, features: tuple[str, ...]) -> Program:
    """Return what is asked once values to draw have been released for either model."""

    def ask(releaser: Releaser) -> Program:
        return _two((first.ask(releaser), second.ask(releaser)), features)

    rest = _two((first.rest, second.rest), features)
    return Shared((*first.stages, *second.stages), rest, ask).program()


def _two(parts: Sequence[Program], features: tuple[str, ...]) -> Program:
    def finish(releaser: Releaser) -> Attribution:
        first, second = (part.finish(releaser) for part in parts)
        assert isinstance(first, Attribution) and isinstance(second, Attribution)
        return _subtracted(first, second, features)

    first, second = parts
    stages = (*first.stages, *second.stages)
    told = tuple(dict.fromkeys((*first.assumptions, *second.assumptions)))
    greater = max(parts, key=lambda part: part.expected_error["importance"].error)
    return Program(stages, finish, greater.expected_error, assumptions=told)


def _subtracted(first: Attribution, second: Attribution, features: tuple[str, ...]) -> Attribution:
    """Return a difference of importances; squares of half widths add, which holds for either law."""

    def of(result: Attribution) -> FloatArray:
        told = dict(zip(result.features, result.values[0], strict=True))
        return np.array([told.get(name, 0.0) for name in features])

    def both(name: str) -> float:
        return math.hypot(*(getattr(result, name) or 0.0 for result in (first, second)))

    return Attribution(
        features=features,
        values=(tuple((of(first) - of(second)).tolist()),),
        base_values=None,
        predictions=None,
        data=None,
        half_width=both("half_width"),
        level=first.level,
        noise_std=both("noise_std"),
        quantity=f"{first.quantity}, first minus second",
        half_width_each=both("half_width_each"),
    )
