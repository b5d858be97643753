"""A small protected table for the session's tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc


def small_frame(rows: int = 60, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.integers(18, 91, rows),
            "income": draw.uniform(0, 100, rows),
            "home": draw.choice(["rent", "own", "other"], rows),
            "paid": draw.integers(0, 2, rows),
        }
    )


@pytest.fixture
def open_session(tiny_schema: dc.Schema, tmp_path: Path) -> Callable[..., dc.Session]:
    def build(data: Any = None, **options: Any) -> dc.Session:
        terms = {"dataset": "people", "epsilon": 1.0, "delta": 1e-6, "ledger": tmp_path / "books.db"}
        return dc.protect(small_frame() if data is None else data, tiny_schema, **{**terms, **options})

    return build
