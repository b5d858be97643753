"""Trees with a link on coalitions: against their answers to mixed rows, and each pair by itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from discreet.engines.shapley import tree_games
from discreet.engines.shapley.coalitions import MaskSet, all_masks, sample_masks
from discreet.engines.shapley.kernel import kernel_values, record_values
from discreet.engines.shapley.tree_games import TreeGames, fits_games
from discreet.models import BoundModel, Model, TreeEnsemble
from discreet.privacy.certificate import Box
from discreet.schema import MISSING, FloatArray, Number, Schema

PROBABILITY = Box(0.0, 1.0)


def rows(count: int, features: int, seed: int) -> FloatArray:
    """Rows with values that thresholds meet, and with missing ones."""
    draw = np.random.default_rng(seed)
    made = np.round(draw.normal(size=(count, features)), 1)
    made[draw.random(made.shape) < 0.05] = np.nan
    return made


@cache
def boosted(features: int, leaves: int = 31, trees: int = 12) -> BoundModel:
    draw = np.random.default_rng(features)
    train = rows(600, features, 1)
    score = np.nan_to_num(train).sum(axis=1) + np.nan_to_num(train[:, 0] * train[:, -1])
    answers = score + draw.logistic(size=600) > 0
    model = HistGradientBoostingClassifier(
        max_iter=trees, max_leaf_nodes=leaves, min_samples_leaf=3, random_state=0
    )
    schema = Schema({f"x{j}": Number(-4.0, 4.0) for j in range(features)})
    return Model(model.fit(train, answers)).bind(schema)


def ensemble(model: BoundModel) -> TreeEnsemble:
    assert isinstance(model.form, TreeEnsemble)
    return model.form


MASKS = {
    "one feature": (1, all_masks(1)),
    "all of five": (5, all_masks(5)),
    "some of five": (5, sample_masks(5, 20)),
    "some of twelve": (12, sample_masks(12, 60)),
}


@pytest.mark.parametrize("leaves", [2, 31, 64])
@pytest.mark.parametrize(("features", "masks"), MASKS.values(), ids=MASKS)
def test_answers_are_those_to_mixed_rows(features: int, masks: MaskSet, leaves: int) -> None:
    model = boosted(features, leaves)
    queries, background = rows(7, features, 2), rows(9, features, 3)
    plain = ensemble(model).predict  # called with the mixed rows themselves
    assert kernel_values(model, queries, background, masks) == pytest.approx(
        kernel_values(plain, queries, background, masks), abs=1e-12
    )
    assert record_values(model, queries, background, masks) == pytest.approx(
        record_values(plain, queries, background, masks), abs=1e-12
    )


def test_a_leaf_that_is_needed_where_it_is_barred_is_noticed() -> None:
    """Control of the comparison: queries in place of records give other values."""
    features, masks = MASKS["all of five"]
    one, other = rows(1, features, 2), rows(1, features, 3)
    plain = ensemble(boosted(features)).predict
    swapped = record_values(boosted(features), other, one, masks)[0, 0]
    assert not np.allclose(swapped, record_values(plain, one, other, masks)[0, 0], atol=1e-3)


@pytest.mark.proves("shap-rounding")
@pytest.mark.parametrize(("features", "masks"), MASKS.values(), ids=MASKS)
def test_a_pair_is_answered_for_alone(features: int, masks: MaskSet) -> None:
    model = boosted(features)
    queries, background = rows(40, features, 4), rows(30, features, 5)
    together = record_values(model, queries, background, masks)
    pooled = kernel_values(model, queries, background, masks)
    for q, i in ((0, 0), (17, 29), (39, 3)):
        alone = record_values(model, queries[q : q + 1], background[i : i + 1], masks)
        assert np.array_equal(alone[0, 0], together[q, i])
        assert np.array_equal(kernel_values(model, queries[q : q + 1], background, masks)[0], pooled[q])


def test_encoded_rows_are_shown_as_the_model_sees_them() -> None:
    features, masks = MASKS["all of five"]
    queries, background = rows(3, features, 2), rows(9, features, 3)
    encoded = [np.where(np.isnan(part), MISSING, part) for part in (queries, background)]
    seen = record_values(boosted(features), queries, background, masks)
    assert np.array_equal(record_values(boosted(features), *encoded, masks), seen)


@pytest.mark.parametrize("cells", [1, 500, 5_000])
def test_tiles_of_any_size_give_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    features, masks = MASKS["all of five"]
    queries, background = rows(11, features, 6), rows(13, features, 7)
    pooled = kernel_values(boosted(features), queries, background, masks)
    apart = record_values(boosted(features), queries, background, masks)
    monkeypatch.setattr(tree_games, "_TILE_CELLS", cells)
    assert np.array_equal(kernel_values(boosted(features), queries, background, masks), pooled)
    assert np.array_equal(record_values(boosted(features), queries, background, masks), apart)


def test_answers_are_clipped_to_the_bounds() -> None:
    features, masks = MASKS["all of five"]
    trees, queries, background = (
        ensemble(boosted(features)),
        rows(5, features, 8),
        rows(5, features, 9),
    )
    means = TreeGames(trees, lambda rows: rows, masks, Box(0.4, 0.6)).mean_values(queries, background)
    assert means.min() >= 0.4 and means.max() <= 0.6
    free = TreeGames(trees, lambda rows: rows, masks, PROBABILITY).mean_values(queries, background)
    assert free.min() < 0.4 and free.max() > 0.6


def test_large_trees_are_walked_as_whole_rows() -> None:
    train = rows(3_000, 3, 1)
    forest = RandomForestClassifier(2, random_state=0).fit(
        np.nan_to_num(train),
        np.nan_to_num(train).sum(axis=1) + np.sin(9 * np.nan_to_num(train[:, 0])) > 0,
    )
    schema = Schema({f"x{j}": Number(-4.0, 4.0) for j in range(3)})
    model = Model(forest, bounds=(0.2, 0.8)).bind(schema)
    assert not fits_games(ensemble(model))
    queries, background = rows(3, 3, 2), rows(4, 3, 3)
    found = kernel_values(model, np.nan_to_num(queries), np.nan_to_num(background), all_masks(3))
    assert found == pytest.approx(
        kernel_values(model.predict, np.nan_to_num(queries), np.nan_to_num(background), all_masks(3)),
        abs=1e-12,
    )
