"""The public coalitions and their operator, against enumeration and the kernel's own shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.engines.shapley.coalitions import (
    MaskSet,
    all_coalitions,
    all_masks,
    kernel_weights,
    mask_set,
    sample_masks,
    shapley_values,
    unconstrained,
)
from discreet.errors import ArgumentError


def is_shapley(masks: MaskSet, seed: int = 0) -> bool:
    """Say whether a set of all masks gives the Shapley values of random games."""
    games = np.random.default_rng(seed).normal(size=(20, 2**masks.features))
    numbers = masks.coalitions @ (1 << np.arange(masks.features))
    return np.allclose(masks.solve(games[:, numbers]), shapley_values(games), rtol=0, atol=1e-10)


def follows_kernel(draw: Callable[[int], MaskSet], seeds: int = 300) -> bool:
    """Say whether the mean weight of every size over seeds is the Shapley kernel's, to a few errors."""
    sets = [draw(seed) for seed in range(seeds)]
    d = sets[0].features
    sizes = [np.bincount(s.masks.sum(axis=1), s.weights, d + 1)[1:d] for s in sets]
    kernel = np.array([(d - 1) / (k * (d - k)) for k in range(1, d)])
    shares = np.array([size / size.sum() for size in sizes])
    errors = shares.std(axis=0) / np.sqrt(seeds)
    return bool(np.all(np.abs(shares.mean(axis=0) - kernel / kernel.sum()) <= 5 * errors + 1e-12))


def twice_weighted(masks: MaskSet) -> MaskSet:
    """Apply the kernel again to masks that have or were drawn by it: the published estimator."""
    return mask_set(masks.masks, masks.weights * kernel_weights(masks.masks))


# The operator


@pytest.mark.proves("kernel-operator")
@pytest.mark.parametrize("features", [2, 3, 4, 5, 8, 10])
def test_all_masks_give_shapley_values(features: int) -> None:
    masks = all_masks(features)
    assert is_shapley(masks)
    regression = mask_set(masks.masks, masks.weights)
    assert is_shapley(regression)
    assert regression.operator == pytest.approx(masks.operator, abs=1e-12)


@pytest.mark.proves("kernel-operator")
@pytest.mark.parametrize(("features", "number"), [(9, 40), (20, 100), (20, 400), (50, 120)])
def test_drawn_masks_follow_the_kernel(features: int, number: int) -> None:
    assert follows_kernel(lambda seed: sample_masks(features, number, seed=seed))


@pytest.mark.proves("kernel-operator")
@pytest.mark.parametrize(("features", "number"), [(3, 6), (7, 14), (20, 40), (20, 300), (101, 250)])
def test_additive_games_are_attributed_exactly(features: int, number: int) -> None:
    masks = sample_masks(features, number, seed=3)
    parts = np.random.default_rng(1).normal(size=(5, features))
    values = 7.0 + parts @ masks.coalitions.T
    for each in (masks, twice_weighted(masks), unconstrained(masks)):
        assert each.solve(values) == pytest.approx(parts, abs=1e-10)


@pytest.mark.proves("kernel-operator")
@pytest.mark.parametrize(("features", "number"), [(4, 10), (20, 100), (20, 1600)])
def test_attributions_are_efficient(features: int, number: int) -> None:
    masks = sample_masks(features, number)
    values = np.random.default_rng(0).normal(size=len(masks) + 2)
    assert masks.solve(values).sum() == pytest.approx(values[-1] - values[0], abs=1e-11)


@pytest.mark.refutes("kernel-operator")
@pytest.mark.parametrize("features", [4, 5, 8])
def test_the_kernel_applied_twice_is_caught(features: int) -> None:
    masks = all_masks(features)
    assert is_shapley(masks)
    assert not is_shapley(twice_weighted(masks))


@pytest.mark.refutes("kernel-operator")
def test_weights_by_the_kernel_on_drawn_masks_are_caught() -> None:
    def draw(seed: int) -> MaskSet:
        return sample_masks(20, 100, seed=seed)

    assert follows_kernel(draw)
    assert not follows_kernel(lambda seed: twice_weighted(draw(seed)))


@pytest.mark.refutes("kernel-operator")
@pytest.mark.parametrize("features", [2, 5, 8])
def test_the_unconstrained_estimator_is_caught_on_all_masks(features: int) -> None:
    assert not is_shapley(unconstrained(all_masks(features)))


def test_more_masks_come_closer_to_the_shapley_values() -> None:
    game = np.random.default_rng(4).normal(size=2**12)
    numbers = 1 << np.arange(12)
    exact = shapley_values(game)

    def error(number: int, change: Callable[[MaskSet], MaskSet] = lambda m: m) -> float:
        sets = [change(sample_masks(12, number, seed=seed)) for seed in range(10)]
        return float(np.mean([np.abs(s.solve(game[s.coalitions @ numbers]) - exact) for s in sets]))

    assert error(4094) < 1e-12
    assert error(2000) < 0.6 * error(500) < 0.6 * error(100)
    assert error(2000) < 0.5 * error(2000, twice_weighted)


# The set


@pytest.mark.parametrize(("features", "number"), [(4, 8), (7, 30), (20, 41), (20, 400), (33, 500)])
def test_masks_are_paired_different_and_hold_the_outer_sizes(features: int, number: int) -> None:
    masks = sample_masks(features, number, seed=1)
    rows = {row.tobytes() for row in masks.masks}
    assert len(rows) == len(masks) == number - number % 2
    assert {row.tobytes() for row in ~masks.masks} == rows
    sizes = masks.masks.sum(axis=1)
    assert (sizes == 1).sum() == (sizes == features - 1).sum() == features
    weights = {row.tobytes(): weight for row, weight in zip(masks.masks, masks.weights, strict=True)}
    assert all(
        weights[(~row).tobytes()] == weight
        for row, weight in zip(masks.masks, masks.weights, strict=True)
    )


def test_drawn_masks_weigh_the_same_and_whole_sizes_carry_the_kernel() -> None:
    masks = sample_masks(20, 2000)
    sizes = masks.masks.sum(axis=1)
    kernel = kernel_weights(masks.masks)
    whole = np.isin(sizes, [1, 2, 18, 19])
    assert (sizes == 2).sum() == 190
    assert masks.weights[whole] == pytest.approx(kernel[whole])
    assert len(set(masks.weights[~whole])) == 1


def test_the_middle_size_is_drawn_evenly() -> None:
    counts = np.zeros(20)
    for seed in range(400):
        masks = sample_masks(20, 200, seed=seed).masks
        counts += masks[masks.sum(axis=1) == 10].sum(axis=0)
    share = counts / counts.sum()
    assert share == pytest.approx(1 / 20, abs=5 * np.sqrt(1 / 20 / counts.sum()))


def test_masks_depend_on_the_arguments_alone() -> None:
    first, again, other = (sample_masks(12, 100, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first.masks, again.masks) and np.array_equal(first.operator, again.operator)
    assert not np.array_equal(first.masks, other.masks)


@pytest.mark.parametrize(("features", "number"), [(1, 1), (2, 2), (2, 100), (5, 30), (5, 1000)])
def test_all_masks_when_they_fit(features: int, number: int) -> None:
    masks = sample_masks(features, number)
    assert masks.kind == "exact"
    assert np.array_equal(masks.coalitions, all_coalitions(features))


def test_one_feature_gets_everything() -> None:
    assert sample_masks(1, 1).solve(np.array([2.0, 5.0])) == pytest.approx([3.0])


def test_a_set_cannot_be_changed_and_says_what_it_is() -> None:
    masks = sample_masks(20, 100)
    assert repr(masks) == "MaskSet(100 masks of 20 features, constrained)"
    with pytest.raises(ValueError, match="read-only"):
        masks.response[0, 0] = 1.0


# Refusals


def test_too_few_masks_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ArgumentError, match="number must be at least 40 for 20 features, got 39"):
        sample_masks(20, 39)


@pytest.mark.parametrize("constrained", [True, False])
def test_a_singular_design_is_refused_with_the_number_needed(constrained: bool) -> None:
    masks = np.eye(5, dtype=bool)[:3]
    needed = 4 if constrained else 5
    with pytest.raises(
        ArgumentError, match=f"At least {needed} independent ones .* the 10 of sizes 1 and 4"
    ):
        mask_set(masks, np.ones(3), constrained=constrained)


def test_enough_masks_that_all_miss_a_feature_are_singular() -> None:
    masks = all_coalitions(4)[1:]
    masks = np.column_stack([masks, masks[:, 0]])
    with pytest.raises(ArgumentError, match="masks must determine all 5 features"):
        mask_set(masks[~masks.all(axis=1)], np.ones(14))


@pytest.mark.parametrize(
    ("masks", "weights"),
    [
        ([[True, True]], [1.0]),
        ([[False, False]], [1.0]),
        ([True, False], [1.0]),
        ([[True, False], [False, True]], [1.0]),
        ([[True, False], [False, True]], [1.0, 0.0]),
        ([[True, False], [False, True]], [1.0, np.inf]),
        ([[True, False], [False, True]], [1.0, np.nan]),
    ],
)
def test_masks_and_weights_that_mean_nothing_are_refused(masks: list, weights: list) -> None:
    with pytest.raises(ArgumentError, match="must be"):
        mask_set(np.array(masks), np.array(weights))


@pytest.mark.parametrize(
    ("features", "number", "seed"), [(0, 5, 0), (3, 0, 0), (3, 5, -1), (3, 5.0, 0)]
)
def test_arguments_out_of_range_are_refused(features: int, number: int, seed: int) -> None:
    with pytest.raises(ArgumentError, match="must be a whole number"):
        sample_masks(features, number, seed=seed)
