"""Bins of rows are found once for all stages of a release, and forgotten with the rows."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive.coding import Coder, fine_features
from discreet.schema import Bins

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "b": dc.Category("p", "q"),
        "t": dc.Category("n", "y", missing=False, other=False),
    }
)


def values(rows: int = 50) -> np.ndarray:
    draw = np.random.default_rng(0)
    return np.asfortranarray(np.column_stack([draw.uniform(size=rows), draw.integers(0, 4, rows)]))


def test_codes_of_a_block_are_forgotten_with_it() -> None:
    coder, block = Coder(fine_features(SCHEMA, ("a", "b"))), values()
    assert coder.codes(block) is coder.codes(block)
    assert len(coder.kept) == 1
    del block
    gc.collect()
    assert not coder.kept


def test_no_stage_after_the_first_finds_bins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pd.DataFrame(values(9_000), columns=["a", "b"])
    rows["b"] = np.array(["p", "q", None, "r"], dtype=object)[rows["b"].astype(int)]
    rows["t"] = np.where(rows["a"] > 0.5, "y", "n")
    asked: list[int] = []
    honest = Bins.index

    def counted(self: Bins, encoded: np.ndarray) -> np.ndarray:
        asked.append(len(encoded))
        return honest(self, encoded)

    monkeypatch.setattr(Bins, "index", counted)
    session = dc.protect(
        rows, SCHEMA, dataset="t", ledger=":memory:", epsilon=2.0, delta=1e-5, workers=1
    )
    session.release(dc.additive_model("t", interactions=1, epsilon=1.0, delta=1e-6))
    # Fine cells of the number for its ranges, then the final bins of both features. Few are edges.
    assert sum(count for count in asked if count > 100) == 3 * len(rows)
