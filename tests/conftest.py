"""Shared fixtures: tiny schemas, seeds, and marks that tie tests to statements."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from discreet.schema import Category, Number, Schema

# A slow machine is no fault: timing decides no test.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the whole suite what a test that is marked ``once_per`` asks more than once."""
    asked = set()
    for item in items:
        mark = item.get_closest_marker("once_per")
        if mark is not None and isinstance(item, pytest.Function):
            given = [item.callspec.params[name] for name in mark.args]
            keys = tuple(repr(getattr(value, "tier_key", value)) for value in given)
            key = (item.path, item.originalname, keys)
            if key in asked:
                item.add_marker(pytest.mark.slow)
            asked.add(key)


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


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C be heard, also in the background, where a shell lets jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close what a test drew: pyplot keeps figures until somebody does."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
