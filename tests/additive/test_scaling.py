"""One factor for all scores: it finds scores that were made too small, and leaves noise alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive import kernels
from discreet.additive.coding import Coder, Feature
from discreet.additive.evidence import BinEvidence, Totals
from discreet.additive.fit import AdditiveFit
from discreet.additive.noise import Purse, certify_counts
from discreet.additive.scaling import CELLS, margin_ends, rescale
from discreet.additive.stages import AdditiveGround, margin_stage
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.data import PrivateTable
from discreet.data.blocks import Block
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import Bins

BINS = 40
SIDE = np.linspace(-1.5, 1.5, BINS)
COLUMN = dc.Number(0, BINS, missing=False)
MARGINS = dc.Schema({"a": COLUMN, "b": COLUMN, "t": dc.Category("n", "y", missing=False, other=False)})


def feature(name: str) -> Feature:
    return Feature(name, Bins(tuple(map(str, range(BINS)))), BINS)


def fitted(short: float, noise_std: float, records: int = 20_000) -> tuple[AdditiveFit, np.ndarray]:
    """Return the scores of a logistic truth of two features, made too small, and records' margins."""
    draw = np.random.default_rng(3)
    codes = draw.integers(0, BINS, (2, records))
    target = draw.random(records) < 1 / (1 + np.exp(-(0.3 + SIDE[codes].sum(axis=0))))
    share = np.array([target.mean()])
    totals = Totals(float(records), share, share * (1 - share), 1.0, 1.0, 2, 1.0)
    evidence = [
        BinEvidence(
            feature(name),
            np.bincount(code[target], minlength=BINS)[:, None].astype(float),
            np.bincount(code, minlength=BINS).astype(float),
            np.eye(BINS),
            noise_std,
        )
        for name, code in zip("ab", codes, strict=True)
    ]
    model = AdditiveFit.start(totals, evidence, [np.eye(BINS)] * 2)
    model.scores = [short * SIDE[:, None] for _ in "ab"]
    model.variances = [np.array([np.mean((short * SIDE) ** 2)]) for _ in "ab"]
    return model, short * SIDE[codes].sum(axis=0)


def counted(model: AdditiveFit, margins: np.ndarray) -> tuple[object, np.ndarray]:
    """Return contrasts of cells of margins, and what they are without noise."""
    stage = staged(model)
    block = stage.noise.blocks[0]
    cells = np.bincount(np.searchsorted(margin_ends(model), margins), minlength=CELLS)
    return block, block.matrix @ cells


def staged(model: AdditiveFit) -> object:
    setting = Setting(MARGINS, ADD_REMOVE, None)
    ground = AdditiveGround(setting, ("a", "b"), "t", 2)
    purse = Purse.of(setting, 1.0, 1e-6, 48)
    features = tuple(Feature(name, COLUMN.bins(BINS), BINS) for name in "ab")
    scores = np.concatenate(model.scores)[:, 0].copy()
    return margin_stage(ground, purse, Coder(features), scores, margin_ends(model), share=0.02, times=1)


@pytest.mark.parametrize("short", [0.6, 1.0, 1.2])
def test_the_factor_brings_scores_to_their_truth(short: float) -> None:
    model, margins = fitted(short, noise_std=1.0)
    rescale(model, *counted(model, margins), 1.0)  # type: ignore[arg-type]
    np.testing.assert_allclose(model.scores[0][:, 0], SIDE, atol=0.06)
    assert abs(model.intercept[0] - 0.3) < 0.1


def test_noise_alone_moves_nothing() -> None:
    model, margins = fitted(0.6, noise_std=1e5)
    rescale(model, *counted(model, margins), 1e6)  # type: ignore[arg-type]
    np.testing.assert_allclose(model.scores[0][:, 0], 0.6 * SIDE, rtol=0.05)


def test_scores_of_zero_stay_zero() -> None:
    model, margins = fitted(0.0, noise_std=1.0)
    rescale(model, *counted(model, margins), 1.0)  # type: ignore[arg-type]
    assert not model.scores[0].any() and np.isfinite(model.intercept).all()


def test_a_record_is_in_one_cell_of_margins_and_one_without_a_target_in_none() -> None:
    model, _ = fitted(1.0, noise_std=1.0)
    stage = staged(model)
    values = np.array([[0.5, 7.5, 0.0], [7.5, 7.5, 1.0], [0.0, 0.0, 2.0]])
    (cells,) = stage.contribution.index(Block(0, ("a", "b", "t"), values))  # type: ignore[attr-defined]
    expected = np.searchsorted(margin_ends(model), [SIDE[0] + SIDE[7], 2 * SIDE[7]])
    assert cells.tolist() == [*expected, -1]
    proven = certify_counts(stage.noise.blocks, 1)  # type: ignore[attr-defined]
    assert stage.certificate.sensitivity("l2", ADD_REMOVE) >= proven.sensitivity("l2", ADD_REMOVE)  # type: ignore[attr-defined]


def broken_by_a_corner() -> list[str]:
    """Return what breaks if a record at a corner comes to records that are nearly alike."""
    model, _ = fitted(1.0, noise_std=1.0)
    stage = staged(model)
    alike = pd.DataFrame({"a": np.linspace(18, 22, 60), "b": 20.0, "t": "n"})
    corner = pd.DataFrame({"a": [40.0], "b": [40.0], "t": ["y"]})
    near = [PrivateTable(t, MARGINS, ADD_REMOVE) for t in (alike, pd.concat([alike, corner]))]
    return too_far(stage.noise, stage.certificate, ADD_REMOVE, raw_sums(stage, near))  # type: ignore[attr-defined]


@pytest.mark.proves("additive-counts")
def test_a_corner_moves_cells_of_margins_by_itself_alone() -> None:
    assert broken_by_a_corner() == []


@pytest.mark.refutes("additive-counts")
def test_ends_of_margins_taken_from_the_records_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """In cells between the least and the greatest margin, one record moves all others."""
    honest = kernels.add_scores

    def peeking(codes: Any, starts: Any, scores: Any, out: Any) -> None:
        honest(codes, starts, scores, out)
        out -= out.min()
        out *= 6.0 / max(float(out.max()), 1e-9)

    monkeypatch.setattr(kernels, "add_scores", peeking)
    assert broken_by_a_corner() != []
