"""The published bootstrap against a loop, and a neighbour it does not see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from discreet.engines.shapley.bootstrap import (
    BootstrapSensitivity,
    bootstrap_sensitivity,
    draw_swaps,
)
from discreet.engines.shapley.coalitions import MaskSet, sample_masks, unconstrained
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import ArgumentError
from discreet.models import LinearForm, NetworkForm, TreeEnsemble, tree_ensemble
from discreet.randomness import public_generator
from discreet.schema import FloatArray

FEATURES, ROWS = 6, 9


def rows(count: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, FEATURES))


def baseline_masks(number: int = 40) -> MaskSet:
    return unconstrained(sample_masks(FEATURES, number))


def network() -> NetworkForm:
    rng = np.random.default_rng(3)
    return NetworkForm(
        rng.normal(size=(FEATURES, 4)), rng.normal(size=4), rng.normal(size=4), 0.1, "tanh", False
    )


def trees(depth: int = 3) -> TreeEnsemble:
    values = rows(400, 4)
    estimator = GradientBoostingRegressor(n_estimators=10, max_depth=depth, random_state=0)
    found = tree_ensemble(estimator.fit(values, values[:, 0] * values[:, 1]), "value", 0)
    assert found is not None
    return found


def probability_trees() -> TreeEnsemble:
    values = rows(400, 4)
    estimator = GradientBoostingClassifier(n_estimators=10, random_state=0)
    found = tree_ensemble(estimator.fit(values, values[:, 0] * values[:, 1] > 0), "probability", 1)
    assert found is not None
    return found


def steps(matrix: FloatArray) -> FloatArray:
    return np.floor(3 * matrix[:, 0]) * np.sign(matrix[:, 1]) + (matrix.sum(axis=1) > 0)


MODELS = {
    "logistic": LinearForm(np.arange(1.0, FEATURES + 1), -0.5, True),
    "linear": LinearForm(np.arange(1.0, FEATURES + 1), -0.5, False),
    "network": network(),
    "trees": trees(),
    "deep trees": trees(depth=9),
    "trees with a link": probability_trees(),
    "function": steps,
}


def by_loop(
    predict: Any, query: FloatArray, background: FloatArray, masks: MaskSet, resamples: int, hops: int
) -> FloatArray:
    """Algorithm 1 as it is written: one background, one swap, one explanation at a time."""
    plain = predict if callable(predict) else predict.predict
    generator = public_generator(7)

    def explain(rows: FloatArray) -> FloatArray:
        masked = np.where(masks.masks, query, rows.mean(axis=0))
        base = plain(rows.mean(axis=0, keepdims=True))
        return masks.response @ (plain(masked) - base)

    found = np.zeros((hops + 1, resamples))
    for hop in range(hops + 1):
        members, incoming = draw_swaps(generator, len(background), resamples, hop)
        for b in range(resamples):
            resampled = background[members[b]]
            for r in range(len(background)):
                swapped = resampled.copy()
                swapped[r] = background[incoming[b, r]]
                found[hop, b] = max(
                    found[hop, b], np.linalg.norm(explain(swapped) - explain(resampled))
                )
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("hops", [0, 2])
def test_swaps_are_those_of_a_loop(name: str, hops: int) -> None:
    query, background, masks = rows(1, 1)[0], rows(ROWS, 2), baseline_masks()
    found = bootstrap_sensitivity(
        MODELS[name], query, background, masks, greatest=3.0, resamples=12, hops=hops, seed=7
    )
    expected = by_loop(MODELS[name], query, background, masks, 12, hops)
    np.testing.assert_allclose(found.swaps, expected, rtol=0, atol=1e-10)


def test_the_deep_trees_are_too_deep_for_bits() -> None:
    assert np.diff(trees(depth=9).roots).max() > 125 > np.diff(trees().roots).max()


def test_a_query_with_a_missing_value_goes_where_the_trees_send_it() -> None:
    query, background, masks = rows(1, 1)[0], rows(ROWS, 2), baseline_masks()
    query[0] = np.nan
    found = bootstrap_sensitivity(
        MODELS["trees"], query, background, masks, greatest=3.0, resamples=12, seed=7
    )
    expected = by_loop(MODELS["trees"], query, background, masks, 12, 0)
    np.testing.assert_allclose(found.swaps, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_no_value_of_a_row_raises_or_warns(value: float) -> None:
    background = rows(ROWS, 2)
    background[2:4, 1] = value
    for model in MODELS.values():
        found = bootstrap_sensitivity(
            model, rows(1, 1)[0], background, baseline_masks(), greatest=1.0, resamples=5
        )
        assert found.swaps.shape == (1, 5)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (network(), rows(1, 1)[0], rows(ROWS, 2), baseline_masks())
    whole = bootstrap_sensitivity(*arguments, greatest=1.0, resamples=20)
    monkeypatch.setattr("discreet.engines.shapley.bootstrap._BLOCK", 7)
    parts = bootstrap_sensitivity(*arguments, greatest=1.0, resamples=20)
    np.testing.assert_array_equal(whole.swaps, parts.swaps)


def test_draws_overwrite_as_many_records_as_the_hop_says() -> None:
    members, incoming = draw_swaps(public_generator(0), 50, 400, 3)
    changed = (members != np.arange(50)).sum(axis=1)
    assert changed.max() == 3 and changed.mean() > 2.8  # a record may be drawn for its own place
    assert incoming.shape == (400, 50) and set(np.unique(incoming)) == set(range(50))
    untouched, _ = draw_swaps(public_generator(0), 50, 400, 0)
    assert (untouched == np.arange(50)).all()


def test_the_seed_decides() -> None:
    def swaps(seed: int) -> FloatArray:
        return bootstrap_sensitivity(
            steps, rows(1, 1)[0], rows(ROWS, 2), baseline_masks(), greatest=1.0, resamples=30, seed=seed
        ).swaps

    np.testing.assert_array_equal(swaps(5), swaps(5))
    assert not np.array_equal(swaps(5), swaps(6))


def test_noise_scale_by_hand() -> None:
    swaps = np.array([[0.1, 0.3, 0.2], [0.5, 0.5, 0.8]])
    found = BootstrapSensitivity(swaps, greatest=2.0, failure=0.02)
    confidence = math.log(2 / 0.01)
    envelopes = []
    for line in swaps:
        mean = sum(line) / 3
        variance = sum((value - mean) ** 2 for value in line) / 2
        correction = math.sqrt(2 * variance * confidence / 3) + 7 * 2.0 * confidence / (3 * 2)
        envelopes.append(max(line) + correction)
    np.testing.assert_allclose(found.envelopes, envelopes, rtol=1e-12)
    for epsilon in (0.5, 30.0):
        beta = epsilon / (2 * math.log(1e5))
        expected = max(envelopes[0], math.exp(-beta) * envelopes[1])
        assert found.sensitivity(epsilon, 1e-5) == pytest.approx(expected, rel=1e-12)
        sigma = expected * math.sqrt(2 * math.log(1.25e5)) / epsilon
        assert found.noise_scale(epsilon, 1e-5) == pytest.approx(sigma, rel=1e-12)
    assert not found.certified


def test_a_neighbour_exceeds_everything_the_bootstrap_allows_for() -> None:
    """Why it certifies nothing: equal records hide a threshold that one other record would cross."""
    masks = baseline_masks(2**FEATURES)
    background = np.full((100, FEATURES), -0.01)
    query = np.ones(FEATURES)

    def threshold(matrix: FloatArray) -> FloatArray:
        return (matrix[:, 0] > 0).astype(float)

    found = bootstrap_sensitivity(threshold, query, background, masks, greatest=1.0)
    neighbour = background.copy()
    neighbour[0, 0] = 1.5
    before, after = (
        kernel_values(threshold, query[None], rows, masks, value="mean")[0]
        for rows in (background, neighbour)
    )
    true_change = float(np.linalg.norm(after - before))
    assert found.swaps.max() == 0.0
    assert true_change == pytest.approx(1.0)
    assert true_change <= 1.0 + 1e-9  # the range bound given to it is honest
    assert true_change > 20 * found.sensitivity(1.0, 1e-5)


def test_the_scale_itself_jumps_between_neighbours() -> None:
    """Its noise tells neighbours apart: the scale is not smooth, though the formula needs it to be."""
    masks = baseline_masks(2**FEATURES)
    background = np.full((100, FEATURES), -0.01)
    neighbour = background.copy()
    neighbour[0, 0] = 1.5

    def threshold(matrix: FloatArray) -> FloatArray:
        return (matrix[:, 0] > 0).astype(float)

    here, there = (
        bootstrap_sensitivity(threshold, np.ones(FEATURES), rows, masks, greatest=1.0)
        for rows in (background, neighbour)
    )
    beta = 1.0 / (2 * math.log(1e5))
    assert there.sensitivity(1.0, 1e-5) > 20 * math.exp(beta) * here.sensitivity(1.0, 1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("query", np.zeros(FEATURES + 1)),
        ("query", np.zeros((1, FEATURES))),
        ("background", np.zeros((ROWS, FEATURES - 1))),
        ("background", np.zeros((1, FEATURES))),
        ("background", np.zeros(FEATURES)),
        ("greatest", 0.0),
        ("greatest", math.inf),
        ("resamples", 1),
        ("hops", -1),
        ("hops", ROWS + 1),
        ("failure", 0.0),
        ("failure", 1.0),
        ("seed", -1),
    ],
)
def test_bad_arguments_are_named(name: str, value: object) -> None:
    arguments: dict[str, Any] = {
        "query": np.zeros(FEATURES),
        "background": np.zeros((ROWS, FEATURES)),
        "masks": baseline_masks(),
        "greatest": 1.0,
    }
    with pytest.raises(ArgumentError, match=f"^{name} must be"):
        bootstrap_sensitivity(steps, **(arguments | {name: value}))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0)])
def test_bad_targets_are_named(epsilon: float, delta: float) -> None:
    found = BootstrapSensitivity(np.zeros((1, 2)), 1.0, 0.01)
    with pytest.raises(ArgumentError, match=r"^(epsilon|delta) must be"):
        found.noise_scale(epsilon, delta)
