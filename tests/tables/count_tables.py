"""All small tables of counts, and how far a measure of them moves between neighbours."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np


@lru_cache(maxsize=256)
def all_tables(rows: int, cells: int) -> np.ndarray:
    """Return every way to put so many equal records into so many cells, one row each."""
    bars = np.array(list(combinations(range(rows + cells - 1), cells - 1)), dtype=np.int64)
    bars = bars.reshape(-1, cells - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), rows + cells - 1)])
    return np.diff(edges, axis=1) - 1


def replaced(measure, rows: int, cells: int) -> float:
    """Return the greatest change when one of ``rows`` records moves to another cell."""
    values = measure(_with_one_more(rows - 1, cells).astype(float))
    return float(np.max(values.max(axis=1) - values.min(axis=1)))


def added(measure, rows: int, cells: int) -> float:
    """Return the greatest change when a record comes to a table of ``rows``."""
    before = measure(all_tables(rows, cells).astype(float))
    after = measure(_with_one_more(rows, cells).astype(float))
    return float(np.max(np.abs(after - before[:, None])))


def _with_one_more(rows: int, cells: int) -> np.ndarray:
    return all_tables(rows, cells)[:, None, :] + np.eye(cells, dtype=np.int64)
