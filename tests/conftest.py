"""Shared fixtures: tiny schemas, seeds, and marks that tie tests to statements."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from discreet.schema import Category, Number, Schema

# A slow machine is no fault: timing decides no test.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@pytest.fixture
def tiny_schema() -> Schema:
    return Schema(
        {
            "age": Number(18, 90, step=1, missing=False),
            "income": Number(0.0, 100.0, missing=False),
            "home": Category("rent", "own", "other", missing=False, other=False),
            "paid": Category(0, 1, missing=False, other=False),
        },
        target="paid",
    )


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close what a test drew: pyplot keeps figures until somebody does."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
