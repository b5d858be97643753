"""How far one record moves the steps of the built-in diagrams."""

from __future__ import annotations

import math

from discreet.explain.shap.bounds.records import bound_exact
from discreet.numerics import check_whole, up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import RELATIONS, REPLACE_ONE, Relation

_ONE_SUBSET = "a record is in one subset, and coming, going or changing it moves no other record"
_BLIND_PERMUTATION = "rows are permuted by position, without regard to the records"


def public_value(size: int) -> Certificate:
    """Certify numbers that do not depend on the table: nothing moves.

    Guarantees:
      - Zero in every norm, under both relations. [diagram-bounds]
    """
    return _each(size, 0.0, *RELATIONS)


def anywhere(size: int, width: float) -> Certificate:
    """Certify numbers of which nothing is known but an interval of this width that holds them.

    Guarantees:
      - Each moves by at most the width, under both relations. [diagram-bounds]
    """
    return _each(size, width, *RELATIONS)


def record_numbers(size: int, width: float) -> Certificate:
    """Certify the numbers of all records together, of which a record has its own ``size``.

    Guarantees:
      - Replacing a record moves its own numbers alone, by at most the width. [diagram-bounds]
    """
    return _each(size, width, REPLACE_ONE)


def permuted_losses(features: int, loss: float) -> Certificate:
    """Certify the sums over records of losses after one feature was permuted, for every feature.

    Guarantees:
      - Replacing a record moves its own loss and that of the row that got its value, each by at most
        the greatest loss. [diagram-bounds]
    """
    return _each(features, 2 * loss, REPLACE_ONE).assume(_BLIND_PERMUTATION)


def importances(features: int, loss: float) -> Certificate:
    """Certify the sums over records of the permuted loss less the loss itself, for every feature.

    Guarantees:
      - Three losses move, each by at most the greatest loss. [diagram-bounds]
    """
    return _each(features, 3 * loss, REPLACE_ONE).assume(_BLIND_PERMUTATION)


def subset_curves(size: int, width: float, subsets: int) -> Certificate:
    """Certify the mean over subsets of curves that are clipped to an interval of this width.

    Guarantees:
      - One curve moves, anywhere in the interval, also if a record comes or goes. [diagram-bounds]
    """
    return anywhere(size, width).scale(1 / subsets).assume(_ONE_SUBSET)


def subset_points(items: int, subsets: int) -> Certificate:
    """Certify the mean over subsets of the points 0, ..., M - 1 each gives to M items.

    Guarantees:
      - One ranking moves: L1 floor(M^2 / 2), L2 sqrt(M (M^2 - 1) / 3), Linf M - 1, over the number of
        subsets; attained. [diagram-bounds]
    """
    check_whole("items", items, 2)
    found = Bounds(float(items**2 // 2), up(math.sqrt(items * (items**2 - 1) / 3)), float(items - 1))
    points = Certificate(("diagram-bounds",), items, dict.fromkeys(RELATIONS, found))
    return points.scale(1 / subsets).assume(_ONE_SUBSET)


def any_attributions(features: int, box: Box) -> Certificate:
    """Certify exact Shapley values of which every coalition's value may move through the whole box.

    Guarantees:
      - What one background record moves in its own attributions, not divided by n; under both
        relations. [shap-operator]
    """
    found = bound_exact(features, box).bounds[REPLACE_ONE]
    return Certificate(
        ("shap-operator", "shap-l1", "shap-l2"), features, dict.fromkeys(RELATIONS, found)
    )


def _each(size: int, most: float, *relations: Relation) -> Certificate:
    found = Bounds(up(size * most), up(math.sqrt(size) * most), most) if most else Bounds(0.0, 0.0, 0.0)
    return Certificate(("diagram-bounds",), size, dict.fromkeys(relations, found))
