"""The game of sources against a plain computation, coalition by coalition and row by row."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.value.engines.scores import LOSS_CLIP
from discreet.value.engines.shapley import shapley_of
from discreet.value.sources.game import ScoreName, SourceGame, SourceTables, TestCells, operator

LAYOUT = SourceTables(3, 3, (4, 2))
SMOOTHING = 2.5


def drawn(seed: int = 0, rows: int = 60) -> tuple[np.ndarray, TestCells]:
    """Return exact counts of records, and test rows."""
    draw = np.random.default_rng(seed)
    source, label = draw.integers(0, 3, rows), draw.integers(0, 3, rows)
    pair = 3 * source + label
    tables = [np.bincount(pair, minlength=9)]
    for cells in LAYOUT.cells:
        place = (label + draw.integers(0, 2, rows)) % cells
        tables.append(np.bincount(pair * cells + place, minlength=9 * cells))
    test = np.column_stack([draw.integers(0, 4, 40), draw.integers(0, 2, 40)])
    return np.concatenate(tables).astype(float), TestCells.of(test, draw.integers(0, 3, 40))


def plain_probabilities(counts: np.ndarray, members: tuple[int, ...], cells: np.ndarray) -> np.ndarray:
    """Return the probabilities of classes for one row, as a textbook has them."""
    tables = LAYOUT.tables(counts)
    alpha = SMOOTHING * math.sqrt(len(members))
    classes = sum(tables[0][i, :, 0] for i in members) + alpha
    found = classes / classes.sum()
    for place, table in enumerate(tables[1:]):
        column = sum(table[i] for i in members) + alpha
        found = found * column[:, cells[place]] / column.sum(axis=1)
    return np.asarray(found / found.sum())


def plain_utility(counts: np.ndarray, members: tuple[int, ...], test: TestCells, score: str) -> float:
    total = 0.0
    for cells, label, weight in zip(test.cells, test.labels, test.weights, strict=True):
        p = plain_probabilities(counts, members, cells)
        scores = {
            "brier": 1 - (1 - p[label]) ** 2,
            "log-loss": max(math.log(p[label]), -LOSS_CLIP),
            "accuracy": float(p[label] >= p.max() * (1 - 1e-9)),
        }
        total += weight * scores[score]
    return total / float(test.weights.sum())


@pytest.mark.parametrize("score", ["brier", "log-loss", "accuracy"])
def test_every_coalition_has_the_score_of_naive_bayes_on_its_counts(score: ScoreName) -> None:
    counts, test = drawn()
    found = SourceGame(LAYOUT, test, score, SMOOTHING).utilities(counts)
    for size in (1, 2, 3):
        for members in itertools.combinations(range(3), size):
            place = sum(1 << i for i in members)
            assert found[place] == pytest.approx(plain_utility(counts, members, test, score))
    thirds = {"brier": 1 - (2 / 3) ** 2, "log-loss": -math.log(3)}
    commonest = np.bincount(test.labels, test.weights).max() / test.weights.sum()
    assert found[0] == pytest.approx(thirds.get(score, commonest))


def test_values_are_those_of_shapley_and_banzhaf() -> None:
    counts, test = drawn()
    game = SourceGame(LAYOUT, test, "brier", SMOOTHING)
    utilities = game.utilities(counts)
    assert game.values(counts) == pytest.approx(shapley_of(utilities, 3))
    assert game.values(counts).sum() == pytest.approx(utilities[-1] - utilities[0])
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7)]  # without and with the first source
    banzhaf = np.mean([utilities[after] - utilities[before] for before, after in pairs])
    assert game.values(counts, "banzhaf")[0] == pytest.approx(banzhaf)
    assert operator(3, "banzhaf").shape == (3, 8)


def test_single_precision_and_pieces_change_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, test = drawn()
    game = SourceGame(LAYOUT, test, "brier", SMOOTHING)
    whole = game.values(counts)
    assert game.values(counts, kind=np.float32) == pytest.approx(whole, abs=1e-5)
    monkeypatch.setattr("discreet.value.sources.game._ENTRIES", 8)
    assert game.values(counts) == pytest.approx(whole, abs=1e-12)


def test_exact_counts_need_no_mending_and_noisy_ones_fit_together_afterwards() -> None:
    counts, _ = drawn()
    assert LAYOUT.mended(counts) == pytest.approx(counts, abs=1e-9)
    noise = np.random.default_rng(1).normal(0, 4, (200, len(counts)))
    mended = np.array([LAYOUT.mended(counts + each) for each in noise])
    assert mended.min() >= 0
    for each in mended[:20]:
        classes, *columns = LAYOUT.tables(each)
        for column in columns:
            assert column.sum(axis=2) == pytest.approx(classes[:, :, 0], abs=1e-9)
    assert np.square(mended - counts).sum() < 0.5 * np.square(noise).sum()


def test_equal_test_rows_are_kept_once() -> None:
    test = TestCells.of(np.array([[1, 0], [1, 0], [2, 1]]), np.array([0, 0, 1]))
    assert test.weights.tolist() == [2, 1] and test.cells.tolist() == [[1, 0], [2, 1]]
    assert len(test.thinned(1).labels) == 1 and len(test.thinned(9).labels) == 2
