"""Shared fixtures: tiny schemas, seeds, and marks that tie tests to statements."""

from __future__ import annotations

import pytest

from discreet.schema import Category, Number, Schema


@pytest.fixture
def tiny_schema() -> Schema:
    return Schema(
        {
            "age": Number(18, 90, step=1),
            "income": Number(0.0, 100.0),
            "home": Category("rent", "own", "other"),
            "paid": Category(0, 1),
        },
        target="paid",
    )
