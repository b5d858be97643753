"""A protected table with a card, and an analyst's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from tests.session.conftest import small_frame


@pytest.fixture
def model() -> Any:
    frame = small_frame(200)
    return LogisticRegression(max_iter=1_000).fit(frame[["age", "income"]], frame["paid"])


@pytest.fixture
def session(tiny_schema: dc.Schema, tmp_path: Path) -> dc.Session:
    terms: dict[str, Any] = {"dataset": "people", "epsilon": 1.0, "delta": 1e-6}
    return dc.protect(small_frame(), tiny_schema, **terms, ledger=tmp_path / "books.db")
