"""What a record can do to a sum of attributions, hunted against the certificates.

The values of all coalitions but the full one are free in [lo, hi], independently for every record: any
such pair of games belongs to a model (``table_model`` builds it). So the changes under replace-one are
exactly the zonotope of the operator's columns, and hunting in it is hunting among models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from discreet.engines.shapley.coalitions import (
    MaskSet,
    all_masks,
    exact_operator,
    marginal_weights,
    sample_masks,
    unconstrained,
)
from discreet.engines.shapley.kernel import kernel_values, record_values
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.records import (
    bound_exact,
    bound_masks,
    centre,
    exact_l1,
    exact_l2,
    sign_widths,
)
from discreet.explain.shap.bounds.zonotopes import greatest_length, zonotope_bounds
from discreet.privacy.certificate import NORMS, Bounds, Box, Certificate
from discreet.schema import FloatArray
from tests.explain.shap.bounds.hunting import ascend, corners, hunt, keeps, size, tightness

UNIT = Box(0.0, 1.0)
BOXES = [UNIT, Box(-1.0, 3.0), Box(9.0, 10.0)]


def games(masks: MaskSet, box: Box, query_value: float) -> FloatArray:
    """Return the attributions of every game with values at the ends of the box, for few coalitions."""
    free = len(masks) + 1
    values = np.array(list(itertools.product(box.limits, repeat=free)))
    return masks.solve(np.column_stack([values, np.full(len(values), query_value)]))


def replaced(certificate: Certificate) -> Bounds:
    return certificate.bounds["replace-one"]


def added(certificate: Certificate) -> Bounds:
    return certificate.bounds["add-remove"]


def shrunk(bounds: Bounds, factor: float) -> Bounds:
    return Bounds(bounds.l1 * factor, bounds.l2 * factor, bounds.linf * factor)


# Replace-one, exact values


@pytest.mark.proves("shap-contribution")
@pytest.mark.proves("shap-l1")
@pytest.mark.proves("shap-l2")
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("features", [1, 2, 3, 4])
def test_every_pair_of_small_games_is_within_the_bounds(features: int, box: Box) -> None:
    bounds = replaced(bound_exact(features, box))
    changes = corners(exact_operator(features)[:, :-1] * (box.high - box.low))
    assert keeps(bounds, changes)
    assert tightness(bounds, "linf", changes) == pytest.approx(1, abs=1e-8)
    assert tightness(bounds, "l1", changes) == pytest.approx(1, abs=1e-8)
    assert tightness(bounds, "l2", changes) > 0.9


@pytest.mark.proves("shap-contribution")
@pytest.mark.proves("shap-l1")
@pytest.mark.proves("shap-l2")
@pytest.mark.parametrize("features", range(5, 11))
def test_hunted_pairs_are_within_the_bounds(features: int) -> None:
    bounds = replaced(bound_exact(features, UNIT))
    changes = hunt(exact_operator(features)[:, :-1])
    assert keeps(bounds, changes)
    assert tightness(bounds, "linf", changes) == pytest.approx(1, abs=1e-8)
    assert tightness(bounds, "l1", changes) == pytest.approx(1, abs=1e-8)
    assert tightness(bounds, "l2", changes) > 0.86


@pytest.mark.refutes("shap-contribution")
@pytest.mark.parametrize("features", [2, 3, 4, 8])
def test_a_box_as_wide_as_the_output_is_caught(features: int) -> None:
    # "A feature's share lies in [-r, r], so clip to r": replacing costs (2 - 1/d) r, not r.
    changes = hunt(exact_operator(features)[:, :-1])
    good = replaced(bound_exact(features, UNIT))
    assert keeps(good, changes)
    assert not keeps(replace(good, linf=1.0), changes)
    assert not keeps(replace(good, linf=(2 - 1 / features) * 0.999), changes)


@pytest.mark.refutes("shap-l1")
@pytest.mark.parametrize("features", [2, 4, 7, 10])
def test_an_l1_bound_from_fewer_signs_is_caught(features: int) -> None:
    changes = hunt(exact_operator(features)[:, :-1])
    good = replaced(bound_exact(features, UNIT))
    assert keeps(good, changes)
    assert not keeps(replace(good, l1=good.l1 * 0.999), changes)
    assert not keeps(replace(good, l1=sign_widths(features)[0]), changes)  # all signs alike


@pytest.mark.refutes("shap-l2")
def test_an_l2_bound_without_the_common_direction_is_caught() -> None:
    # At d = 2 the bound is tight, so that leaving out 1/d, or a thousandth, is too small.
    changes = corners(exact_operator(2)[:, :-1])
    good = replaced(bound_exact(2, UNIT))
    assert keeps(good, changes)
    assert not keeps(replace(good, l2=math.sqrt(exact_l2(2) ** 2 - 1 / 2)), changes)
    assert not keeps(replace(good, l2=good.l2 * 0.999), changes)


@pytest.mark.refutes("shap-l2")
@pytest.mark.parametrize("features", [6, 10])
def test_the_width_of_one_coordinate_is_caught_as_a_length(features: int) -> None:
    changes = hunt(exact_operator(features)[:, :-1])
    good = replaced(bound_exact(features, UNIT))
    assert not keeps(replace(good, l2=2 - 1 / features), changes)


@pytest.mark.parametrize(
    ("features", "l1", "l2"),
    [
        (2, 2.0, 1.58),
        (5, 4.20, 2.08),
        (10, 6.41, 2.35),
        (20, 9.63, 2.56),
        (50, 16.07, 2.76),
        (100, 23.36, 2.87),
    ],
)
def test_check_values(features: int, l1: float, l2: float) -> None:
    assert exact_l1(features) == pytest.approx(l1, abs=0.01)
    assert exact_l2(features) == pytest.approx(l2, abs=0.01)


def test_the_l2_bound_tends_to_pi() -> None:
    assert 3.0 < exact_l2(1000) < exact_l2(10_000) < math.pi


@pytest.mark.proves("shap-l1")
@pytest.mark.parametrize("features", [1, 2, 3, 6, 9])
def test_widths_are_the_sums_over_coalitions(features: int) -> None:
    operator = exact_operator(features)[:, :-1]
    for p, width in enumerate(sign_widths(features)):
        signs = np.where(np.arange(features) < p, 1.0, -1.0)
        assert width == pytest.approx(np.abs(signs @ operator).sum(), abs=1e-12)


@pytest.mark.proves("shap-l1")
@pytest.mark.parametrize("features", [10, 20, 31])
def test_the_closed_form_is_the_sum_over_sizes(features: int) -> None:
    d, w = features, [*marginal_weights(features), 0.0]

    def width(p: int) -> float:
        return sum(
            math.comb(p, a)
            * math.comb(d - p, b)
            * abs((a - b) * w[a + b - 1] * (a + b > 0) - (2 * p - d - a + b) * w[a + b])
            for a in range(p + 1)
            for b in range(d - p + 1)
            if a + b < d
        )

    assert sign_widths(d) == pytest.approx([width(p) for p in range(d + 1)], rel=1e-10)


# Models that attain the bounds, through the engine


def table_model(
    query: FloatArray, records: FloatArray, values: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return a model with a given value for every mixture of the query and one of the records."""
    features = len(query)
    known = {}
    for record, game in zip(records, values, strict=True):
        for number, value in enumerate(game):
            members = number >> np.arange(features) & 1 == 1
            known[np.where(members, query, record).tobytes()] = value
    return lambda matrix: np.array([known[row.tobytes()] for row in np.ascontiguousarray(matrix)])


@pytest.mark.proves("shap-contribution")
@pytest.mark.parametrize("norm", NORMS)
def test_a_model_moves_as_far_as_the_bound_and_no_farther(norm: str) -> None:
    features = 5
    operator = exact_operator(features)
    worst = ascend(operator[:, :-1], norm)
    direction = {"l1": np.sign(worst), "l2": worst, "linf": np.eye(5)[np.argmax(np.abs(worst))]}[norm]
    high = (direction @ operator[:, :-1] * np.sign(direction @ worst) > 0).astype(float)
    query, records = np.zeros(features), np.array([np.ones(features), np.full(features, 2.0)])
    games_ = np.column_stack([[high, 1 - high], [0.4, 0.4]])
    model = table_model(query, records, games_)
    first, second = record_values(model, query[None], records, all_masks(features))[0]
    bounds = replaced(bound_masks(all_masks(features), UNIT))
    assert keeps(bounds, [first - second])
    assert size(first - second, norm) > (0.86 if norm == "l2" else 1 - 1e-8) * getattr(bounds, norm)
    others = np.array([[1.0] * 5, [1.0] * 5])
    tables = [np.concatenate([others, records[i : i + 1]]) for i in (0, 1)]
    moved = [kernel_values(model, query[None], table, all_masks(features))[0] for table in tables]
    assert moved[0] - moved[1] == pytest.approx((first - second) / 3, abs=1e-12)


# Add-remove


@pytest.mark.proves("shap-addremove")
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_every_small_game_is_within_the_reach(features: int, box: Box, share: float) -> None:
    masks, query_value = all_masks(features), box.low + share * (box.high - box.low)
    vectors = games(masks, box, query_value)
    known = added(bound_exact(features, box, query_value=query_value))
    assert keeps(known, vectors)
    assert tightness(known, "linf", vectors) == pytest.approx(1, abs=1e-8)
    assert tightness(known, "l1", vectors) == pytest.approx(1, abs=1e-8)
    assert keeps(added(bound_exact(features, box)), vectors)  # f(x) at its worst
    shifted = vectors - centre(masks, box, query_value)
    centred = added(bound_exact(features, box, query_value=query_value, centred=True))
    assert keeps(centred, shifted)
    assert tightness(centred, "linf", shifted) == pytest.approx(1, abs=1e-8)
    assert centred.l1 == pytest.approx(replaced(bound_exact(features, box)).l1 / 2, rel=1e-8)


@pytest.mark.proves("shap-addremove")
@pytest.mark.parametrize(
    "masks", [sample_masks(4, 8), sample_masks(4, 10), unconstrained(all_masks(3))]
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_every_small_game_on_drawn_masks_is_within_the_reach(masks: MaskSet, share: float) -> None:
    box = Box(-1.0, 1.5)
    query_value = box.low + share * (box.high - box.low)
    vectors = games(masks, box, query_value)
    known = added(bound_masks(masks, box, query_value=query_value))
    assert keeps(known, vectors)
    assert tightness(known, "linf", vectors) == pytest.approx(1, abs=1e-7)
    centred = added(bound_masks(masks, box, query_value=query_value, centred=True))
    assert keeps(centred, vectors - centre(masks, box, query_value))


@pytest.mark.refutes("shap-addremove")
@pytest.mark.parametrize("masks", [all_masks(1), all_masks(3), sample_masks(4, 10)])
def test_half_the_diameter_without_the_centre_is_caught(masks: MaskSet) -> None:
    vectors = games(masks, UNIT, 1.0)
    half = added(bound_masks(masks, UNIT, query_value=1.0, centred=True))
    assert keeps(half, vectors - centre(masks, UNIT, 1.0))
    assert not keeps(half, vectors)
    assert keeps(added(bound_masks(masks, UNIT, query_value=1.0)), vectors)
    assert not keeps(added(bound_masks(masks, UNIT, query_value=0.5)), vectors)  # another query's


# Drawn masks


@pytest.mark.proves("shap-masks")
@pytest.mark.parametrize(
    "masks",
    [
        sample_masks(4, 8),
        sample_masks(9, 60),
        sample_masks(20, 100),
        sample_masks(20, 400),
        all_masks(7),
    ],
    ids=repr,
)
@pytest.mark.parametrize("box", BOXES)
def test_hunted_pairs_on_the_masks_in_use_are_within_the_bounds(masks: MaskSet, box: Box) -> None:
    bounds = replaced(bound_masks(masks, box))
    changes = hunt(masks.operator[:, :-1] * (box.high - box.low))
    assert keeps(bounds, changes)
    assert tightness(bounds, "linf", changes) == pytest.approx(1, abs=1e-6)
    assert tightness(bounds, "l2", changes) > 0.8  # sqrt(2 / pi) at worst


@pytest.mark.proves("shap-masks")
def test_every_pair_of_small_games_on_drawn_masks_is_within_the_bounds() -> None:
    masks = sample_masks(5, 10)
    bounds = replaced(bound_masks(masks, UNIT))
    changes = corners(masks.operator[:, :-1])
    assert keeps(bounds, changes)
    assert tightness(bounds, "l1", changes) == pytest.approx(1, abs=1e-7)


@pytest.mark.refutes("shap-masks")
@pytest.mark.parametrize("number", [100, 200, 400])
def test_the_exact_values_bound_is_caught_on_drawn_masks(number: int) -> None:
    masks = sample_masks(20, number)
    changes = hunt(masks.operator[:, :-1])
    assert keeps(replaced(bound_masks(masks, UNIT)), changes)
    assert not keeps(replaced(bound_exact(20, UNIT)), changes)
    assert not keeps(shrunk(replaced(bound_masks(masks, UNIT)), 0.999), changes)


@pytest.mark.parametrize(("number", "most"), [(100, 4.2), (200, 2.9), (400, 2.4), (1600, 2.05)])
def test_widths_of_drawn_masks_are_near_the_exact_ones(number: int, most: float) -> None:
    widths = [replaced(bound_masks(sample_masks(20, number, seed=s), UNIT)).linf for s in range(5)]
    assert min(widths) > 1.95 and max(widths) < most


def test_the_length_bound_finds_the_closed_form() -> None:
    for features in (2, 5, 9):
        found = greatest_length(exact_operator(features)[:, :-1])
        assert found == pytest.approx(exact_l2(features), rel=1e-5)
        assert found >= exact_l2(features) * (1 - 1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_zonotopes_of_any_scale(scale: float) -> None:
    generators = np.random.default_rng(0).normal(size=(3, 6)) * scale
    bounds = zonotope_bounds(generators)
    assert bounds.l1 == pytest.approx(size(ascend(generators / scale, "l1"), "l1") * scale, rel=1e-8)
    assert size(ascend(generators / scale, "l2"), "l2") * scale <= bounds.l2


def test_a_zonotope_without_vectors_is_a_point() -> None:
    assert zonotope_bounds(np.zeros((3, 2))) == Bounds(0.0, 0.0, 0.0)


# What a certificate says


def test_a_certificate_names_its_statements_and_assumptions() -> None:
    certificate = bound_masks(sample_masks(20, 100), UNIT, query_value=0.5, centred=True)
    assert certificate.certified and certificate.size == 20
    assert certificate.statements == (
        "shap-contribution",
        "shap-masks",
        "shap-addremove",
        "shap-rounding",
    )
    assert "predictions are clipped to the bounds" in certificate.assumptions
    assert any("centre" in assumption for assumption in certificate.assumptions)
    exact = bound_masks(all_masks(4), UNIT)
    assert {"shap-l1", "shap-l2", "shap-contribution"} <= set(exact.statements)
    assert not any("centre" in assumption for assumption in exact.assumptions)


def test_wide_offsets_cost_their_rounding() -> None:
    masks = sample_masks(20, 100)
    near, far = (replaced(bound_masks(masks, Box(low, low + 1.0))).linf for low in (0.0, 1e9))
    assert near < far < near + 1e-3


@pytest.mark.parametrize("query_value", [-0.1, 1.1, math.nan, math.inf])
def test_a_query_value_outside_the_bounds_is_refused(query_value: float) -> None:
    with pytest.raises(ArgumentError, match="query_value must be"):
        bound_exact(3, UNIT, query_value=query_value)


@pytest.mark.parametrize("features", [0, 10_001, 2.5])
def test_a_number_of_features_out_of_range_is_refused(features: int) -> None:
    with pytest.raises(ArgumentError, match="features must be a whole number"):
        bound_exact(features, UNIT)
