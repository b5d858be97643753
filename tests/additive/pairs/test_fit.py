"""Scores of a pair from noisy sums: known truths are found, noise is left alone, bands hold."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.additive.coding import Feature
from discreet.additive.contrasts import pair_contrasts
from discreet.additive.evidence import BinEvidence, Totals
from discreet.additive.fit import AdditiveFit
from discreet.additive.pairs.cells import FeaturePair, PairSide
from discreet.additive.pairs.fit import PairScores, cell_counts, fit_pair
from tests.additive.test_scaling import BINS, COLUMN, MARGINS, SIDE

COUNT = 0.3


class World:
    """Two features with known curves, and what they do together besides."""

    def __init__(self, records: int, strength: float, *, alike: bool = False) -> None:
        draw = np.random.default_rng(3)
        codes = draw.integers(0, BINS, (2, records))
        if alike:
            codes[1] = (codes[0] + draw.integers(0, 9, records)) % BINS
        together = strength * np.sin(3 * SIDE[codes[0]]) * np.sin(2 * SIDE[codes[1]])
        margin = 0.3 + SIDE[codes].sum(axis=0)
        target = draw.random(records) < 1 / (1 + np.exp(-(margin + together)))
        share = np.array([target.mean()])
        totals = Totals(float(records), share, share * (1 - share), 1.0, 1.0, 2, 1.0)
        features = [Feature(name, COLUMN.bins(BINS), BINS) for name in "ab"]
        evidence = [
            BinEvidence(
                one,
                np.bincount(code[target], minlength=BINS)[:, None].astype(float),
                np.bincount(code, minlength=BINS).astype(float),
                np.eye(BINS),
                1.0,
            )
            for one, code in zip(features, codes, strict=True)
        ]
        self.model = AdditiveFit.start(totals, evidence, [np.eye(BINS)] * 2)
        self.model.scores = [SIDE[:, None].copy() for _ in "ab"]
        self.model.intercept = np.array([0.3])
        self.pair = FeaturePair(
            *(
                PairSide.of(MARGINS, one, place, evidence[place].weights(totals))
                for place, one in enumerate(features)
            )
        )
        cells = self.pair.cells(codes.astype(np.int32))
        left = target - 1 / (1 + np.exp(-margin))
        self.sums = np.bincount(cells, weights=left, minlength=self.pair.size)
        self.counts = np.bincount(cells, minlength=self.pair.size).astype(float)
        self.truth = np.bincount(cells, weights=together, minlength=self.pair.size) / np.maximum(
            self.counts, 1
        )
        cells_of = self.pair.first.cells, self.pair.second.cells
        self.matrix = pair_contrasts(*cells_of, 2.0, 2.0**-30, norm="l2").matrix

    def fit(self, noise_std: float, seed: int | None = None) -> PairScores:
        """Return the scores with noise from a seed, or without."""
        released = self.matrix @ np.column_stack([self.sums, self.counts])
        scales = np.array([noise_std, noise_std / COUNT])
        if seed is not None:
            released += scales * np.random.default_rng(seed).normal(size=released.shape)
        return fit_pair(self.model, self.pair, self.matrix, released, scales)


def test_a_known_truth_is_found_with_little_noise() -> None:
    world = World(100_000, 1.5)
    found = world.fit(5.0, seed=0).scores[:, 0]
    assert np.corrcoef(found, world.truth)[0, 1] > 0.98
    assert 0.8 < found.std() / world.truth.std() < 1.1


def test_noise_alone_gives_next_to_nothing() -> None:
    world = World(20_000, 0.0)
    assert np.abs(world.fit(20.0, seed=0).scores).max() < 0.1


def test_cells_of_features_that_go_together_are_counted() -> None:
    world = World(20_000, 1.0, alike=True)
    true, alone = world.counts, world.pair.alone.ravel()
    found = cell_counts(world.pair, world.matrix, world.matrix @ true, 1.0).ravel()
    assert np.abs(found - true).mean() < 0.2 * np.abs(alone - true).mean()
    hidden = cell_counts(world.pair, world.matrix, world.matrix @ alone, 1e6).ravel()
    np.testing.assert_allclose(hidden, alone, rtol=1e-3)
    np.testing.assert_allclose(found.reshape(8, 8).sum(axis=0), world.pair.second.weights, rtol=1e-6)


def test_scores_average_to_nothing_over_either_feature() -> None:
    found = World(5_000, 1.0, alike=True).fit(3.0, seed=1)
    table = found.scores[:, 0].reshape(found.counts.shape)
    np.testing.assert_allclose(table @ found.counts.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(found.counts.sum(axis=1) @ table, 0, atol=1e-6)


@pytest.mark.parametrize("strength", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("noise_std", [5.0, 100.0])
def test_bands_hold_the_scores_without_noise(strength: float, noise_std: float) -> None:
    """Of 95 %; where noise hides that there is much, they hold a little less often."""
    world = World(20_000, strength)
    clean = world.fit(1e-6).scores[:, 0]
    held = []
    for seed in range(12):
        found = world.fit(noise_std, seed)
        held.append(np.mean(np.abs(found.scores[:, 0] - clean) <= 1.96 * found.noise_std[0]))
    assert np.mean(held) > 0.85
