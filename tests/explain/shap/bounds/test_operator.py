"""Certificates of the attributions themselves, hunted with real models; published forms as controls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from discreet.engines.shapley.coalitions import (
    MaskSet,
    all_masks,
    kernel_weights,
    mask_set,
    sample_masks,
    unconstrained,
)
from discreet.engines.shapley.kernel import kernel_values
from discreet.engines.shapley.values import linear_record_values
from discreet.errors import ArgumentError, CertificateError
from discreet.explain.shap.bounds.operator import (
    bound_linear_background,
    bound_linear_box,
    bound_linear_query,
    bound_logistic_background,
    bound_logistic_query,
    bound_operator,
    bound_operator_lipschitz,
    bound_operator_range,
    bound_rank_condition,
    bound_stumps,
    stump_sensitivity,
)
from discreet.models import LinearForm
from discreet.privacy.certificate import NORMS, Bounds, Box, Certificate
from discreet.schema import FloatArray
from tests.explain.shap.bounds.hunting import corners, hunt, keeps, size, tightness

Predict = Callable[[FloatArray], FloatArray]
UNIT = Box(0.0, 1.0)


def replaced(certificate: Certificate) -> Bounds:
    return certificate.bounds["replace-one"]


def against_mean(predict: Predict, query: FloatArray, mean: FloatArray, masks: MaskSet) -> FloatArray:
    return kernel_values(predict, query[None], mean[None], masks, value="mean")[0]


def mean_moves(
    predict: Predict, query: FloatArray, mean: FloatArray, step: FloatArray, masks: MaskSet
) -> FloatArray:
    """Return how the attributions move with the background's mean."""
    return against_mean(predict, query, mean + step, masks) - against_mean(predict, query, mean, masks)


def ball(rng: np.random.Generator, features: int, radius: float) -> FloatArray:
    step = rng.normal(size=features) * rng.choice([0.0, 1.0], size=features)
    return radius * step / max(float(np.linalg.norm(step)), 1e-12)


# The operator bound


@pytest.mark.proves("shap-operator")
@pytest.mark.parametrize(
    "masks", [sample_masks(4, 8), unconstrained(sample_masks(4, 10)), all_masks(3)]
)
def test_every_change_of_the_values_is_within_the_operator_bound(masks: MaskSet) -> None:
    moves = np.random.default_rng(0).uniform(0, 1, size=len(masks) + 1)
    bounds = replaced(bound_operator(masks, moves[1:], float(moves[0])))
    changes = corners(masks.operator[:, :-1] * moves)
    assert keeps(bounds, changes)
    assert tightness(bounds, "linf", changes) == pytest.approx(1, abs=1e-8)


@pytest.mark.proves("shap-operator")
@pytest.mark.parametrize("constrained", [True, False])
def test_the_range_form_holds_for_hunted_values(constrained: bool) -> None:
    masks = sample_masks(20, 400)
    masks = masks if constrained else unconstrained(masks)
    certificate = bound_operator_range(masks, Box(2.0, 5.0))
    changes = hunt(masks.operator[:, :-1] * 3.0)
    assert keeps(replaced(certificate), changes)
    assert tightness(replaced(certificate), "linf", changes) == pytest.approx(1, abs=1e-8)
    assert certificate.bounds["add-remove"] == replaced(certificate)
    # The published form: 4 F_max sqrt(K) times the operator's norm.
    published = 4 * 5.0 * math.sqrt(len(masks)) * np.linalg.norm(masks.response, 2)
    assert replaced(certificate).l2 < published / 5


@pytest.mark.refutes("shap-operator")
def test_a_range_form_without_the_centering_term_is_caught() -> None:
    masks = unconstrained(sample_masks(6, 30))
    changes = hunt(masks.operator[:, :-1])
    good = replaced(bound_operator_range(masks, UNIT))
    assert keeps(good, changes)
    uncentred = float(np.abs(masks.response).sum(axis=1).max())
    assert not keeps(replace(good, linf=uncentred), changes)


def crossed(matrix: FloatArray) -> FloatArray:
    """u_2 clip(u_1, -1, 1) on |u_2| <= 0.1: Lipschitz with constant at most 1.005."""
    return np.clip(matrix[:, 1], -0.1, 0.1) * np.clip(matrix[:, 0], -1, 1)


def counterexample(rows: int) -> tuple[MaskSet, FloatArray]:
    """Masks (1, 0) and (0, 1), R the identity; the mean moves by 2/rows in the second coordinate."""
    masks = mask_set(np.eye(2, dtype=bool), np.ones(2), constrained=False)
    step = np.array([0.0, 2.0 / rows])
    return masks, mean_moves(crossed, np.array([1.0, 0.0]), np.array([-1.0, 0.0]), step, masks)


@pytest.mark.proves("shap-operator")
def test_the_lipschitz_form_holds_at_the_counterexample() -> None:
    masks, change = counterexample(rows=1000)
    bounds = replaced(bound_operator_lipschitz(masks, lipschitz=1.005, clip=1.0, rows=1000))
    assert keeps(bounds, [change])
    assert tightness(bounds, "linf", [change]) == pytest.approx(2 / 2.01, abs=1e-6)


@pytest.mark.refutes("shap-operator")
def test_the_published_lipschitz_form_is_caught_at_the_counterexample() -> None:
    masks, change = counterexample(rows=1000)
    good = replaced(bound_operator_lipschitz(masks, lipschitz=1.005, clip=1.0, rows=1000))
    by_row = np.linalg.norm(masks.response, axis=1).max()
    published = by_row * math.sqrt(len(masks)) * 1.005 * 2 * 1.0 / 1000
    assert published == pytest.approx(1.42 * 0.002, rel=0.01)
    assert size(change, "linf") == pytest.approx(2 * 0.002, rel=1e-9)
    assert keeps(good, [change])
    assert not keeps(replace(good, linf=published), [change])


@pytest.mark.proves("shap-operator")
@pytest.mark.parametrize("masks", [all_masks(3), sample_masks(5, 12), unconstrained(all_masks(4))])
def test_the_lipschitz_form_holds_for_many_models(masks: MaskSet) -> None:
    rng = np.random.default_rng(0)
    d, rows, clip = masks.features, 50, 2.0
    bounds = replaced(bound_operator_lipschitz(masks, lipschitz=1.0, clip=clip, rows=rows))

    def change() -> FloatArray:
        anchors, shifts = rng.normal(size=(2, 6, d)), rng.normal(size=6)

        def distance(matrix: FloatArray) -> FloatArray:  # |u - a| + shift, least of six: Lipschitz 1
            return (np.linalg.norm(matrix[:, None] - anchors[0], axis=2) + shifts).min(axis=1)

        step = ball(rng, d, 2 * clip / rows)
        return mean_moves(distance, rng.normal(size=d), rng.normal(size=d), step, masks)

    assert keeps(bounds, [change() for _ in range(400)])


def test_the_finer_lipschitz_form_is_finer() -> None:
    masks = sample_masks(20, 400)
    finer = replaced(bound_operator_lipschitz(masks, lipschitz=1.0, clip=1.0, rows=2))
    plain = replaced(bound_operator(masks, np.ones(len(masks)), 1.0))
    assert finer.linf < 0.8 * plain.linf


# Linear models


@pytest.mark.proves("shap-linear-query")
@pytest.mark.parametrize("masks", [sample_masks(6, 14), all_masks(6), unconstrained(all_masks(6))])
def test_a_moved_query_of_a_linear_model(masks: MaskSet) -> None:
    weights, radius = np.array([0.3, -2.0, 1.0, 0.0, 0.5, 1.9]), 0.7
    bounds = replaced(bound_linear_query(weights, radius=radius))
    changes = list(_query_changes(LinearForm(weights, 1.0, False).predict, masks, radius))
    assert keeps(_with_room(bounds), changes)
    assert all(tightness(bounds, norm, changes) == pytest.approx(1, abs=1e-8) for norm in NORMS)


@pytest.mark.refutes("shap-linear-query")
def test_the_mean_weight_is_caught() -> None:
    weights, radius = np.array([0.3, -2.0, 1.0]), 0.7
    predict = LinearForm(weights, 1.0, False).predict
    changes = list(_query_changes(predict, all_masks(3), radius))
    assert not keeps(replaced(bound_linear_query(np.full(3, 1.1), radius=radius)), changes)


def _query_changes(
    predict: Predict, masks: MaskSet, radius: float, scale: float = 1.0
) -> Iterator[FloatArray]:
    """Yield how attributions move as each coordinate of random queries moves, background fixed."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        query, background = rng.normal(size=(2, 5, masks.features)) * scale
        moved = query[0] + radius * np.concatenate([np.eye(masks.features), -np.eye(masks.features)])
        for value in ("interventional", "mean"):
            values = kernel_values(
                predict, np.vstack([query[:1], moved]), background, masks, value=value
            )
            yield from values[1:] - values[0]


def _with_room(bounds: Bounds, room: float = 1e-12) -> Bounds:
    """Computed attributions carry rounding that the certificate of the exact ones does not."""
    return Bounds(bounds.l1 + room, bounds.l2 + room, bounds.linf + room)


def _far_records(weights: FloatArray, clip: float) -> FloatArray:
    """Return records on the sphere: axes, the weights' direction, and random ones."""
    rng = np.random.default_rng(0)
    found = [*np.eye(len(weights)), weights, *rng.normal(size=(20, len(weights)))]
    units = np.array([row / np.linalg.norm(row) for row in found])
    return clip * np.concatenate([units, -units])


@pytest.mark.proves("shap-linear-background")
@pytest.mark.parametrize("clip", [0.5, 3.0])
def test_a_replaced_or_added_record_of_a_linear_model(clip: float) -> None:
    weights, query = np.array([0.3, -2.0, 1.0, 0.5]), np.array([1.0, -0.5, 0.0, 2.0])
    certificate = bound_linear_background(weights, clip=clip, query=query)
    records = _far_records(weights, clip)
    vectors = linear_record_values(LinearForm(weights, 0.2, False), query[None], records)[0]
    changes = [a - b for a, b in itertools.product(vectors, repeat=2)]
    assert keeps(replaced(certificate), changes)
    assert all(
        tightness(replaced(certificate), n, changes) == pytest.approx(1, abs=1e-8) for n in NORMS
    )
    assert keeps(certificate.bounds["add-remove"], vectors)


@pytest.mark.proves("shap-linear-background")
def test_records_in_a_box() -> None:
    weights, query = np.array([0.3, -2.0, 1.0]), np.array([1.0, -0.5, 0.0])
    low, high = np.array([0.0, -1.0, 2.0]), np.array([1.0, 4.0, 2.0])
    certificate = bound_linear_box(weights, low, high, query=query)
    records = np.array(list(itertools.product(*zip(low, high, strict=True))))
    vectors = linear_record_values(LinearForm(weights, 0.2, False), query[None], records)[0]
    changes = [a - b for a, b in itertools.product(vectors, repeat=2)]
    assert keeps(replaced(certificate), changes)
    assert keeps(certificate.bounds["add-remove"], vectors)
    for norm in NORMS:
        assert tightness(replaced(certificate), norm, changes) == pytest.approx(1, abs=1e-8)
        assert tightness(certificate.bounds["add-remove"], norm, vectors) == pytest.approx(1, abs=1e-8)


@pytest.mark.refutes("shap-linear-background")
def test_one_radius_instead_of_two_is_caught() -> None:
    weights, query = np.array([0.3, -2.0, 1.0, 0.5]), np.zeros(4)
    vectors = linear_record_values(
        LinearForm(weights, 0.2, False), query[None], _far_records(weights, 1.0)
    )[0]
    changes = [a - b for a, b in itertools.product(vectors, repeat=2)]
    certificate = bound_linear_background(weights, clip=1.0, query=query)
    assert keeps(replaced(certificate), changes)
    assert not keeps(certificate.bounds["add-remove"], changes)


def test_add_remove_needs_the_query() -> None:
    certificate = bound_linear_background(np.ones(3), clip=1.0)
    with pytest.raises(CertificateError, match="No bound under add-remove"):
        certificate.sensitivity("l1", "add-remove")


# Logistic models


def steep(matrix: FloatArray) -> FloatArray:
    """A steep logistic curve, so that small steps reach its slope and large ones its ends."""
    return 1.0 / (1.0 + np.exp(-np.clip(matrix @ np.full(matrix.shape[1], 8.0), -700, 700)))


@pytest.mark.proves("shap-logistic-query")
@pytest.mark.parametrize(
    "masks", [all_masks(2), all_masks(4), sample_masks(6, 14), sample_masks(6, 40)]
)
@pytest.mark.parametrize("scale", [0.01, 0.3])
def test_a_moved_query_of_a_logistic_model(masks: MaskSet, scale: float) -> None:
    weights, radius = np.full(masks.features, 8.0), 0.01
    bounds = replaced(bound_logistic_query(weights, masks, radius=radius))
    changes = list(_query_changes(steep, masks, radius, scale))
    assert keeps(bounds, changes)
    if masks.kind == "exact" and scale < 0.1:
        assert tightness(bounds, "linf", changes) > 0.9


@pytest.mark.proves("shap-logistic-query")
@pytest.mark.parametrize("features", [1, 2, 3])
def test_every_one_way_move_of_the_values_is_within_the_query_bound(features: int) -> None:
    masks = all_masks(features)
    bounds = replaced(bound_logistic_query(np.ones(features), masks, radius=1.0, slope=1.0))
    moved = masks.operator[:, masks.coalitions[:, 0]]
    ups = np.array(list(itertools.product((0.0, 1.0), repeat=moved.shape[1])))
    changes = np.concatenate([ups @ moved.T, -ups @ moved.T])
    assert keeps(bounds, changes)
    assert tightness(bounds, "linf", changes) == pytest.approx(1, abs=1e-8)
    assert tightness(bounds, "l2", changes) > 0.9


@pytest.mark.proves("shap-logistic-query")
@pytest.mark.parametrize("features", [3, 5, 8, 12])
def test_the_closed_length_of_a_query_move_covers_the_one_from_the_operator(features: int) -> None:
    masks = all_masks(features)
    spread = sum(
        math.sqrt((k - 1) / ((features - k) * (features - 1) * (features - 2)))
        for k in range(2, features)
    )
    moved = masks.operator[:, masks.coalitions[:, 0]]
    centre = moved.sum(axis=1) / 2
    assert centre == pytest.approx(np.eye(features)[0] / 2, abs=1e-12)
    found = max(size(centre + s * change, "l2") for change in hunt(moved / 2) for s in (1, -1))
    assert found <= math.sqrt(1 + spread**2 / 4)


@pytest.mark.refutes("shap-logistic-query")
def test_all_masks_bound_is_caught_on_drawn_masks() -> None:
    masks = sample_masks(9, 40)
    exact = replaced(bound_logistic_query(np.ones(9), all_masks(9), radius=1.0, slope=1.0))
    drawn = replaced(bound_logistic_query(np.ones(9), masks, radius=1.0, slope=1.0))
    changes = []
    for i in range(9):
        moved = masks.operator[:, masks.coalitions[:, i]]
        changes += [moved.sum(axis=1) / 2 + sign * far for far in hunt(moved / 2) for sign in (1, -1)]
    assert keeps(drawn, changes)
    assert not keeps(exact, changes)


@pytest.mark.refutes("shap-logistic-query")
def test_a_shrunk_query_bound_is_caught() -> None:
    changes = list(_query_changes(steep, all_masks(4), 0.01, 0.01))
    good = replaced(bound_logistic_query(np.full(4, 8.0), all_masks(4), radius=0.01))
    assert keeps(good, changes)
    assert not keeps(replace(good, linf=good.linf * 0.5), changes)


def ridge(weights: FloatArray) -> Predict:
    return lambda matrix: 1.0 / (1.0 + np.exp(-np.clip(matrix @ weights, -700, 700)))


def saturated(features: int) -> FloatArray:
    """Attributions whose coalitions without feature 0 sit on the flat end of the curve.

    With the feature the curve is at its steepest, so that the moves of all other coordinates of the
    mean, half of them on average, are charged to feature 0.
    """
    weights, query, mean = np.ones(features), np.zeros(features), np.zeros(features)
    mean[0] = 40.0
    step = np.full(features, 1e-4 / math.sqrt(features - 1))
    step[0] = 0.0
    return mean_moves(ridge(weights), query, mean, step, all_masks(features))


@pytest.mark.proves("shap-logistic-background")
@pytest.mark.parametrize(
    "masks", [all_masks(4), sample_masks(6, 14), unconstrained(sample_masks(6, 30))]
)
def test_a_moved_mean_of_a_logistic_model(masks: MaskSet) -> None:
    rng = np.random.default_rng(0)
    d, rows, clip = masks.features, 200, 1.0

    def check() -> bool:
        weights = rng.normal(size=d) * rng.choice([0.3, 2.0, 8.0])
        query, mean = rng.normal(size=(2, d)) * rng.choice([0.1, 1.0, 3.0])
        step = ball(rng, d, 2 * clip / rows)
        bounds = replaced(bound_logistic_background(weights, masks, clip=clip, rows=rows))
        return keeps(bounds, [mean_moves(ridge(weights), query, mean, step, masks)])

    assert all(check() for _ in range(200))


@pytest.mark.proves("shap-logistic-background")
@pytest.mark.parametrize("features", [4, 10])
def test_the_saturated_model_is_within_the_background_bound(features: int) -> None:
    bounds = replaced(
        bound_logistic_background(np.ones(features), all_masks(features), clip=0.5, rows=10_000)
    )
    assert keeps(bounds, [saturated(features)])


@pytest.mark.refutes("shap-logistic-background")
def test_the_linear_bound_times_the_slope_is_caught() -> None:
    # Column cancellation does not carry over: 2 B max|w| / 4n is too small for a curve.
    change = saturated(10)
    good = replaced(bound_logistic_background(np.ones(10), all_masks(10), clip=0.5, rows=10_000))
    linear = 0.25 * replaced(bound_linear_background(np.ones(10), clip=0.5)).linf / 10_000
    assert keeps(good, [change])
    assert not keeps(replace(good, linf=linear), [change])


@pytest.mark.proves("shap-logistic-background")
def test_centering_costs_a_monotone_curve_nothing() -> None:
    # Lemma 11 of Alissaiei (2026): |change of y_k - f0| <= slope |w| |dmu| for every coalition.
    rng = np.random.default_rng(0)
    masks = all_masks(4)
    for _ in range(500):
        weights = rng.normal(size=4) * rng.choice([0.3, 2.0, 8.0])
        query, mean = rng.normal(size=(2, 4)) * rng.choice([0.1, 1.0, 3.0])
        step = ball(rng, 4, 0.01)
        values = [
            ridge(weights)(np.where(masks.coalitions, query, background))
            for background in (mean, mean + step)
        ]
        centred = (values[1] - values[1][0]) - (values[0] - values[0][0])
        assert np.abs(centred[:-1]).max() <= 0.25 * np.linalg.norm(weights) * 0.01 * (1 + 1e-9)


# The rank condition


@pytest.mark.proves("shap-rank-condition")
@pytest.mark.parametrize(
    "masks",
    [sample_masks(6, 30), unconstrained(sample_masks(6, 30)), all_masks(5), sample_masks(20, 200)],
)
def test_changes_of_a_given_length_are_within_the_rank_bound(masks: MaskSet) -> None:
    bounds = replaced(bound_rank_condition(masks, response_change=2.0, total_change=0.5))
    assert keeps(bounds, _stretched(masks, 2.0, 0.5))


@pytest.mark.refutes("shap-rank-condition")
def test_the_clean_form_is_caught() -> None:
    # "L0 / sqrt(d)", used informally in the paper, does not follow from the rank condition.
    masks = unconstrained(sample_masks(6, 12))
    changes = _stretched(masks, 1.0, 0.0)
    good = replaced(bound_rank_condition(masks, response_change=1.0))
    assert keeps(good, changes)
    assert not keeps(replace(good, linf=1 / math.sqrt(6)), changes)


def test_the_rank_bound_says_that_it_is_conservative() -> None:
    certificate = bound_rank_condition(sample_masks(20, 400), response_change=1.0)
    assert any(text.startswith("conservative") for text in certificate.assumptions)
    spectral = np.linalg.norm(sample_masks(20, 400).response, 2)
    assert replaced(certificate).l2 > 1.5 * spectral


def test_the_rank_bound_needs_full_rank() -> None:
    masks = mask_set(np.eye(3, dtype=bool)[:2], kernel_weights(np.eye(3, dtype=bool)[:2]))
    with pytest.raises(ArgumentError, match="masks must have full column rank"):
        bound_rank_condition(masks, response_change=1.0)


def _stretched(masks: MaskSet, response: float, total: float) -> list[FloatArray]:
    """Return the worst changes: along the operator's singular directions and its rows."""
    _, _, directions = np.linalg.svd(masks.response, full_matrices=False)
    rows = masks.response / np.maximum(np.linalg.norm(masks.response, axis=1, keepdims=True), 1e-12)
    return [
        response * masks.response @ direction + sign * total * masks.total
        for direction in [*directions, *rows]
        for sign in (1, -1)
    ]


# Stumps


def stumps(weights: FloatArray, thresholds: FloatArray) -> Predict:
    return lambda matrix: (matrix > thresholds) @ weights


WEIGHTS, THRESHOLDS = np.array([1.0, -3.0, 0.5]), np.array([0.0, 1.0, -1.0])


def _stump_changes(mean: FloatArray, reach: float) -> list[FloatArray]:
    steps = itertools.product((-reach, 0.0, reach), repeat=3)
    query = np.array([1.0, 2.0, 0.0])
    predict = stumps(WEIGHTS, THRESHOLDS)
    return [mean_moves(predict, query, mean, np.array(step), all_masks(3)) for step in steps]


@pytest.mark.proves("stump-margin")
def test_stumps_move_by_their_weights_at_the_threshold_and_not_at_all_away_from_it() -> None:
    certificate = bound_stumps(WEIGHTS)
    reach = 0.01 / math.sqrt(3)  # a step within 2 B / n = 0.01 in L2
    at = _stump_changes(THRESHOLDS, reach)
    assert keeps(_with_room(replaced(certificate)), at)
    assert all(
        tightness(replaced(certificate), norm, at) == pytest.approx(1, abs=1e-8) for norm in NORMS
    )
    assert certificate.bounds["add-remove"] == replaced(certificate)
    away = THRESHOLDS + np.array([0.02, -0.02, 0.02])
    local = stump_sensitivity(WEIGHTS, THRESHOLDS, away, clip=1.0, rows=200)
    assert np.array_equal(local, np.zeros(3))
    assert np.abs(_stump_changes(away, reach)).max() < 1e-12
    mixed = np.array([0.0, 1.5, -1.0])
    local = stump_sensitivity(WEIGHTS, THRESHOLDS, mixed, clip=1.0, rows=200)
    assert np.array_equal(local, [1.0, 0.0, 0.5])
    assert np.all(np.abs(_stump_changes(mixed, reach)) <= local + 1e-12)


@pytest.mark.refutes("stump-margin")
def test_a_bound_that_shrinks_with_the_number_of_records_is_caught() -> None:
    at = _stump_changes(THRESHOLDS, 0.01 / math.sqrt(3))
    good = replaced(bound_stumps(WEIGHTS))
    assert keeps(_with_room(good), at)
    shrinking = Bounds(good.l1 / 200, good.l2 / 200, good.linf / 200)
    assert not keeps(_with_room(shrinking), at)


# Refusals


@pytest.mark.parametrize(
    ("changes", "base"),
    [(np.ones(3), 1.0), (-np.ones(14), 1.0), (np.ones(14), math.nan), (np.ones(14), -1.0)],
)
def test_changes_that_mean_nothing_are_refused(changes: FloatArray, base: float) -> None:
    with pytest.raises(ArgumentError, match="changes must be one finite number per mask"):
        bound_operator(all_masks(4), changes, base)


def test_parameters_out_of_range_are_refused() -> None:
    masks = all_masks(3)
    with pytest.raises(ArgumentError, match="lipschitz must be"):
        bound_operator_lipschitz(masks, lipschitz=0.0, clip=1.0, rows=10)
    with pytest.raises(ArgumentError, match="rows must be"):
        bound_operator_lipschitz(masks, lipschitz=1.0, clip=1.0, rows=0)
    with pytest.raises(ArgumentError, match="radius must be"):
        bound_linear_query(np.ones(3), radius=-1.0)
    with pytest.raises(ArgumentError, match="clip must be"):
        bound_linear_background(np.ones(3), clip=math.inf)
    with pytest.raises(ArgumentError, match="low must not be above high"):
        bound_linear_box(np.ones(2), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    with pytest.raises(ArgumentError, match="slope must be"):
        bound_logistic_query(np.ones(3), masks, radius=1.0, slope=0.0)
    with pytest.raises(ArgumentError, match="weights must be one number per feature"):
        bound_logistic_query(np.ones(2), masks, radius=1.0)
    with pytest.raises(ArgumentError, match="weights must be one number per feature"):
        bound_logistic_background(np.ones(4), masks, clip=1.0, rows=10)
